/**
 * Queries: filtered and sorted lists in pages, single records with chosen fields, and the expansions of both.
 *
 * 1. **Text → query.** `list-query.ts` reads the parameters, and allows only what the caller may read
 *    (`read-scope.ts`): filter, sort (`sort.ts`), fields and expansions (`selection.ts`), words (`search.ts`),
 *    groups (`sql/groups.ts`). `Queries` verifies the cursor (`cursor.ts`).
 * 2. **Query → plan.** The query becomes plain data (`plan.ts`) with the SQL (`sql/`).
 * 3. **Plan → records.** `sql/run.ts` reads a page (`cursor.ts` finds the start), `sql/expand.ts` reads the related
 *    records. A query is tried on the event loop, within a bound of rows and time. A query beyond the bound begins anew on a
 *    reader thread (`query-thread.ts`) with a time limit; `query-budget.ts` spares tries that are likely to be in vain.
 */

import { isView, type StoredRecord } from "@socle/protocol";
import { AppError, BoundedMap, identityOf, isAdmin, JsonText, type Principal, quote } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { type Database, SchemaChanged, type Transactor, type Waiter } from "../../store/database/index.ts";
import { type Collection, type Collections, viewSql } from "../collections/index.ts";
import { callerOf, type Decision } from "../permissions/index.ts";
import {
  fieldLimits,
  missingRecord,
  type Records,
  recordTableOf,
  recordTag,
  selectionTag,
  type TaggedRecord,
} from "../records/index.ts";
import { Cursors } from "./cursor.ts";
import { indexAdvice } from "./index-advice.ts";
import { type ListQuery, parseListQuery, readQueryText } from "./list-query.ts";
import type {
  CursorPosition,
  FileShownInput,
  FileUsesInput,
  PageInput,
  PageOutcome,
  QueryInput,
  RecordInput,
} from "./plan.ts";
import { QueryBudget, shapeOf } from "./query-budget.ts";
import { selectionParameters } from "./query-text.ts";
import { classOf, isForEverybody, ReadScope } from "./read-scope.ts";
import { parseSelection } from "./selection.ts";
import { type FileUses, fileColumns, readableFileColumns } from "./sql/file-uses.ts";
import { TooMuchForLoop } from "./sql/rows.ts";
import { type RecordOutcome, type Reported, runQuery } from "./sql/run.ts";
import { vectorBytes } from "./sql/vector-memory.ts";
import { listChanged, type RecordPages, readByPages, readWhole } from "./whole-list.ts";

/** The most parsed queries in memory, and the longest text of a query in memory. */
const maxQueries = 1_500;
const maxCharacters = 1_000;
/** Records in a page when a whole list is read. */
const wholePageSize = 200;
/** The most rows that a query may meet on the event loop: about as much work as a query on a thread. */
const maxLoopRows = 1_000;
/** The most rows that a read of an open transaction may meet. */
const maxOwnRows = 5_000;
/** The attempts of a query that migrations interrupt, and the pause between two attempts. */
const maxAttempts = 5;
const attemptMs = 5;

export interface QueriesOptions {
  database: Database;
  collections: Collections;
  records: Records;
  /** The secret of cursors; called for the first cursor. */
  cursorKey: () => string;
  logger: Logger;
  /** Slower queries, in milliseconds, are logged with advice. */
  slowQueryMs: () => number;
  /** The most bytes of the vectors that a thread keeps in memory. */
  vectorMemory: number;
  views: ViewRunner;
}

/** Runs queries of views in processes: the SELECT of a view has no stop probes, so a run beyond its time ends with the process. */
interface ViewRunner {
  /**
   * Runs an input of `runQuery`, as JSON, for tables of a version. @param makeMessage is called when the turn of the query has come.
   * @returns a `Reported` as JSON. @throws AppError `unavailable`; SchemaChanged for tables of another version.
   */
  view(makeMessage: () => { input: string; schemaVersion: number }, waiter: Waiter): Promise<string>;
}

/** Runs a query beside the event loop. @param makeInput is called when the turn of the query has come. @throws SchemaChanged as `Database.task`. */
type RunPlace = (makeInput: () => string, waiter: Waiter) => Promise<Reported<unknown>>;

export interface PreparedList {
  readonly search: string;
  /** Null for the whole list. */
  readonly query: ListQuery | null;
  /** The start of the page; null for the first page. */
  readonly position: CursorPosition | null;
}

export interface QueryCaller {
  readonly principal: Principal;
  /** A user id or an address: identifies the caller for a share of the reader threads. Called only for a thread. */
  readonly caller: () => string;
  /** Aborted when the caller has gone. Called only for a thread. */
  readonly signal: () => AbortSignal;
  /** Makes a query wait before a thread begins the query. */
  readonly inTurn?: <T>(onThread: () => Promise<T>) => Promise<T>;
}

/** The caller of the service's own reads. */
const forService = { caller: (): string => "service", signal: (): AbortSignal => new AbortController().signal };

/** The input of a run, and the collections with rights that the run depends on. */
interface Planned<T extends QueryInput> extends Pick<ListQuery, "entered"> {
  readonly input: T;
}

/** The list that cursors belong to. */
function listOf({ cursorScope }: ListQuery, principal: Principal): string {
  return `${cursorScope} ${identityOf(principal) ?? ""}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A text with a malformed escape is refused later, as a malformed cursor.
    return text;
  }
}

export class Queries {
  readonly #options: QueriesOptions;
  readonly #cursors: Cursors;
  /** Parsed queries, by parameters without the cursor; null for parameters that make no query. */
  readonly #prepared = new BoundedMap<string, ListQuery | null>(maxQueries);
  readonly #tries = new QueryBudget();

  constructor(options: QueriesOptions) {
    this.#options = options;
    this.#cursors = new Cursors(options.cursorKey);
  }

  /**
   * Parses the parameters of a list.
   * @param search the percent-encoded parameters as sent.
   * @throws AppError, see `parseListQuery`.
   */
  prepare(collection: Collection, principal: Principal, search: string): PreparedList {
    if (search === "") return { search, query: null, position: null };
    // The next page is the same query with another cursor.
    const found = search.includes("cursor=") ? /(^|&)cursor=([^&]*)/.exec(search) : null;
    const cursorFlag = (found?.[2] ?? "") === "" ? "" : "1";
    const withoutCursor = found === null ? search : search.replace(found[0], `${found[1]}cursor=${cursorFlag}`);
    const query = this.#query(collection, principal, withoutCursor);
    const given = decoded(found?.[2] ?? "");
    const cursor = given === "" ? query?.text.cursor : given;
    if (query === null || cursor === undefined) return { search, query, position: null };
    return { search, query, position: this.#cursors.read(cursor, listOf(query, principal)) };
  }

  /**
   * The state of a list, known before the list is read. The version changes when the list may have changed; without a version, only
   * the text of the answer shows a change. A shared list is the same for all callers with the right to read the list.
   */
  state(
    collection: Collection,
    principal: Principal,
    { query }: PreparedList,
  ): { readonly version: string | null; readonly isShared: boolean } {
    const scope = query ?? this.#scope(principal);
    if (scope instanceof ReadScope) scope.source(collection);
    const version = scope.hasVersion ? this.#options.records.versions.of(scope.entered, principal) : null;
    return { version, isShared: query?.isPublic ?? isForEverybody(collection) };
  }

  /** All records of a collection that the caller may read, newest first. @throws AppError if the caller may read no record. */
  async whole(
    collection: Collection,
    principal: Principal,
    waiter: Omit<QueryCaller, "principal"> = forService,
  ): Promise<RecordPages> {
    const { access } = collection.policies.read.admit(principal);
    if (collection.isChronological && access !== "where" && fieldLimits(collection, principal) === null)
      return readWhole(this.#options, collection, principal);
    return readByPages(async (cursor) => {
      const now = this.#options.database.callers.recheck(principal);
      // A caller with another role must get another list.
      if (isAdmin(now) !== isAdmin(principal)) throw listChanged();
      const search = String(new URLSearchParams({ limit: String(wholePageSize), ...(cursor !== "" && { cursor }) }));
      const current = this.#readable(collection.name, principal);
      return (await this.page(current, this.prepare(current, principal, search), { principal, ...waiter })).text;
    });
  }

  /** A page of a list, as JSON: `items`, `nextCursor`, and `total` with `count=exact`. */
  async page(collection: Collection, list: PreparedList, caller: QueryCaller): Promise<JsonText> {
    const { query, outcome } = await this.parts(collection, list, caller);
    return this.#pageText(query, outcome, caller.principal);
  }

  /**
   * Runs the first page of a list, and answers SQLite's plan and the index that would help, as the log of a slow query.
   * @throws AppError `bad_request` for parameters of no list; see `prepare`.
   */
  async explain(
    collection: Collection,
    search: string,
    caller: QueryCaller,
  ): Promise<{ ms: number; plan: readonly string[]; index: string }> {
    // Without a parameter, the whole list would have no pages.
    const list = this.prepare(collection, caller.principal, search === "" ? "limit=100" : search);
    if (list.query === null) throw new AppError("bad_request", `${quote(search)} has no parameter of a list.`);
    const { query, ms, steps } = await this.#page(collection, { ...list, position: null }, { ...caller, slowMs: -1 });
    return { ms, plan: steps ?? [], index: indexAdvice(query) };
  }

  /** The cursor of the page behind a record, which belongs to a caller. */
  cursorAfter(query: ListQuery, next: NonNullable<PageOutcome["next"]>, principal: Principal): string {
    return this.#cursors.write(next, listOf(query, principal));
  }

  /** A page of a list in parts, with the query as run and the milliseconds of the run. */
  async parts(
    collection: Collection,
    list: PreparedList,
    caller: QueryCaller,
  ): Promise<{ query: ListQuery; outcome: PageOutcome; ms: number }> {
    const { slowQueryMs, records } = this.#options;
    const { query, outcome, ms, steps } = await this.#page(collection, list, { ...caller, slowMs: slowQueryMs() });
    if (steps !== null) this.#logSlow(query, ms, steps);
    const total = query.countsAll ? records.count(query.collection) : outcome.total;
    return { query, outcome: { ...outcome, total }, ms };
  }

  /** @param caller with the milliseconds beyond which a run answers the steps of SQLite's plan. */
  async #page(
    collection: Collection,
    list: PreparedList,
    caller: QueryCaller & { readonly slowMs: number },
  ): Promise<Reported<PageOutcome> & { query: ListQuery }> {
    const { principal, slowMs } = caller;
    let { query, position } = list;
    const plan = (): Planned<PageInput> => {
      if (query !== null && !this.#isCurrent(query))
        ({ query, position } = this.prepare(this.#readable(collection.name, principal), principal, list.search));
      if (query === null) throw new Error("The whole list has no pages");
      const vectorMemory = this.#vectorMemoryFor(query);
      const basics = { ...this.#basics(caller, query), slowMs };
      return { input: { type: "page", plan: query.plan, position, vectorMemory, ...basics }, ...query };
    };
    const reported = await this.#run<PageOutcome>(plan, caller);
    if (query === null) throw new Error("The whole list has no pages");
    return { ...reported, query };
  }

  /**
   * A page of a list with the changes of an open transaction, as `page`. @throws AppError `bad_request` for a list that
   * reads more than a few thousand rows.
   */
  pageIn(tx: Transactor, { query, position }: PreparedList, principal: Principal): JsonText {
    if (query === null) throw new Error("The whole list has no pages");
    if (isView(query.collection.definition))
      throw new AppError("bad_request", `The view "${query.collection.name}" cannot see the writes of a transaction.`);
    const { plan } = query;
    const input: PageInput = { type: "page", plan, position, vectorMemory: 0, ...this.#basics({ principal }) };
    const { outcome } = this.#options.database.readOwn(maxOwnRows, () => runQuery(tx, input, { isOnLoop: false }));
    // The outcome has the type that belongs to the input.
    const found = outcome as PageOutcome;
    const all = query.countsAll ? tx.get<{ n: number }>(recordTableOf(query.collection).count) : null;
    return this.#pageText(query, { ...found, total: all?.n ?? found.total }, principal);
  }

  #pageText(query: ListQuery, { items, next, total }: PageOutcome, principal: Principal): JsonText {
    const cursor = next === null ? null : this.cursorAfter(query, next, principal);
    const end = total === null ? "" : `,"total":${total}`;
    return JsonText.from('{"items":', items, `,"nextCursor":${cursor === null ? null : `"${cursor}"`}${end}}`);
  }

  /**
   * A record as JSON, with the requested fields and expansions, and the tag of that JSON.
   * @param search the parameters as sent; parameters of lists are ignored.
   * @throws AppError `not_found`, `forbidden` for a record of another owner; see `parseSelection`.
   */
  async one(collection: Collection, id: string, request: QueryCaller & { search: string }): Promise<TaggedRecord> {
    const { principal, search } = request;
    if (isView(collection.definition)) return this.#oneOfView(collection, id, request);
    const { records } = this.#options;
    const { name } = collection;
    // Rights and record are checked before the parameters.
    records.admit(name, "read", { principal, id });
    const text = readQueryText(new URLSearchParams(search), selectionParameters);
    if (text === null) {
      const record = records.get(collection, principal, id);
      return { json: JsonText.of(record), tag: recordTag(collection, record) };
    }
    let current = collection;
    const plan = (): Planned<RecordInput> => {
      current = this.#readable(name, principal);
      const scope = this.#scope(principal);
      const selection = parseSelection(scope.source(current), text, scope);
      const input: RecordInput = { type: "record", selection, id, ...this.#basics(request) };
      return { input, entered: scope.entered };
    };
    const { outcome } = await this.#run<RecordOutcome | null>(plan, request);
    if (outcome === null) throw missingRecord(current, id);
    const { owner } = outcome;
    const missing = (): AppError => missingRecord(current, id);
    const target = { table: recordTableOf(current), principal, id, owner, missing };
    records.rights.admit(this.#options.database.reader, "read", target);
    const json = JsonText.from("", outcome.record);
    return { json, tag: selectionTag(outcome, json.mark) };
  }

  /** A record of a view, as `one`; a record that the caller may not read is `not_found`. */
  async #oneOfView(view: Collection, id: string, request: QueryCaller & { search: string }): Promise<TaggedRecord> {
    const text = readQueryText(new URLSearchParams(request.search), selectionParameters);
    const asked = { ...text, filter: `id = ${JSON.stringify(id)}`, limit: "1" };
    const plan = (): Planned<PageInput> => {
      const current = this.#readable(view.name, request.principal);
      const query = parseListQuery(current, asked, this.#scope(request.principal));
      const basics = this.#basics(request, { collection: current });
      return { input: { type: "page", plan: query.plan, position: null, vectorMemory: 0, ...basics }, ...query };
    };
    const { items } = (await this.#run<PageOutcome>(plan, request)).outcome;
    const [record] = JSON.parse(JsonText.from("", items).text) as StoredRecord[];
    if (record === undefined) throw missingRecord(view, id);
    const json = JsonText.of(record);
    return { json, tag: selectionTag({ id, updatedAt: "" }, json.mark) };
  }

  /** The records that hold the id of a file, for admins: no rule is checked. */
  async fileUses(fileId: string, page: { limit: number; offset: number }, caller: QueryCaller): Promise<FileUses> {
    const plan = (): Planned<FileUsesInput> => {
      const columns = this.#options.collections.all().flatMap(fileColumns);
      const input: FileUsesInput = { type: "file uses", columns, fileId, ...page, ...this.#basics(caller) };
      return { input, entered: new Map() };
    };
    return (await this.#run<FileUses>(plan, caller)).outcome;
  }

  /**
   * Whether a caller may read a record that points to a file.
   * @throws AppError `unavailable` when the query takes too long, or too many queries wait.
   */
  async isShownByRecord(fileId: string, caller: QueryCaller): Promise<boolean> {
    const plan = (): Planned<FileShownInput> => {
      const scope = this.#scope(caller.principal);
      // Columns without a rule first: these columns cost no more than a look into an index.
      const columns = readableFileColumns(scope).toSorted(
        (a, b) => Number(a.condition !== null) - Number(b.condition !== null),
      );
      const input: FileShownInput = { type: "file shown", columns, fileId, ...this.#basics(caller) };
      return { input, entered: scope.entered };
    };
    return (await this.#run<boolean>(plan, caller)).outcome;
  }

  #query(collection: Collection, principal: Principal, parameters: string): ListQuery | null {
    const key = `${collection.name} ${classOf(principal)} ${parameters}`;
    const known = this.#prepared.get(key);
    if (known !== undefined && (known === null || this.#isCurrent(known))) return known;
    const text = readQueryText(new URLSearchParams(parameters));
    const { epoch } = this.#options.collections;
    const query = text && { ...parseListQuery(collection, text, this.#scope(principal)), epoch };
    if (key.length <= maxCharacters) this.#prepared.set(key, query);
    return query;
  }

  /** Runs a query on the event loop if possible, otherwise on a thread; a query of a view in a process. */
  async #run<T>(plan: () => Planned<QueryInput>, caller: QueryCaller): Promise<Reported<T>> {
    const { input } = plan();
    const reported = this.#runHere<T>(input);
    if (reported !== null) return reported;
    const usesMemory = input.type === "page" && input.vectorMemory > 0;
    const place = input.view !== undefined ? this.#inProcess : usesMemory ? this.#inMemory : this.#onThread;
    const run = (): Promise<Reported<T>> => this.#runAt<T>(place, plan, caller);
    return caller.inTurn === undefined ? run() : caller.inTurn(run);
  }

  readonly #onThread: RunPlace = (makeInput, waiter) => this.#options.database.task(makeInput, waiter);

  readonly #inMemory: RunPlace = (makeInput, waiter) => this.#options.database.memoryTask(makeInput, waiter);

  readonly #inProcess: RunPlace = async (makeInput, waiter) => {
    const { database, views } = this.#options;
    const makeMessage = () => {
      database.callers.refuseOtherRole(waiter.principal ?? null);
      return { input: makeInput(), schemaVersion: database.schemaVersion };
    };
    return JSON.parse(await views.view(makeMessage, waiter));
  };

  /** Runs a query beside the event loop. When the turn of the query has come, `plan` is called: definitions may have changed. */
  async #runAt<T>(
    place: RunPlace,
    plan: () => Planned<QueryInput>,
    { principal, caller, signal }: QueryCaller,
  ): Promise<Reported<T>> {
    const waiter = { principal, caller: caller(), signal: signal() };
    for (let attempt = 1; ; attempt++) {
      let entered: Planned<QueryInput>["entered"] = new Map();
      // JSON text, because a thread receives a text in a sixth of the time of an object.
      const makeInput = (): string => {
        const planned = plan();
        entered = planned.entered;
        return JSON.stringify(planned.input);
      };
      try {
        const outcome = await place(makeInput, waiter);
        // The outcome has the type that belongs to the input.
        if (this.#isAllowedStill(entered)) return outcome as Reported<T>;
      } catch (thrown) {
        if (!(thrown instanceof SchemaChanged)) throw thrown;
      }
      if (attempt >= maxAttempts)
        throw new AppError("unavailable", "The definitions change too often at the moment; try again.");
      // This thread learns of a migration on another thread a moment after the commit.
      await Bun.sleep(attemptMs);
    }
  }

  /** Runs a query on the event loop; null for a query that reads or answers too much, and so needs a thread. */
  #runHere<T>(input: QueryInput): Reported<T> | null {
    if (input.view !== undefined) return null;
    const shape = shapeOf(input);
    if (shape === null || !this.#tries.isTried(shape)) return null;
    const reported = this.#tryHere<T>(input);
    this.#tries.note(shape, reported !== null);
    return reported;
  }

  #tryHere<T>(input: QueryInput): Reported<T> | null {
    const { rows } = this.#options.database;
    try {
      // The outcome has the type that belongs to the input.
      return rows.within(maxLoopRows, () => runQuery(rows, input, { isOnLoop: true })) as Reported<T> | null;
    } catch (thrown) {
      if (thrown instanceof TooMuchForLoop) return null;
      throw thrown;
    }
  }

  /** @param query of a collection or a view; absent for a query of collections. */
  #basics(
    { principal }: Pick<QueryCaller, "principal">,
    query?: Pick<ListQuery, "collection">,
  ): Pick<QueryInput, "context" | "slowMs" | "view"> {
    const context = { now: Date.now(), user: callerOf(principal) };
    const definition = query?.collection.definition;
    const { collections, slowQueryMs } = this.#options;
    const slowMs = slowQueryMs();
    if (definition === undefined || !isView(definition)) return { context, slowMs };
    return { context, slowMs, view: viewSql(definition, (name) => collections.get(name)?.definition) };
  }

  /** The bound of the vectors in memory; 0 for a list whose vectors are more than the bound, and for any other list. */
  #vectorMemoryFor({ collection, plan }: ListQuery): number {
    if (plan.type !== "records" || plan.nearest === null) return 0;
    const { vectorMemory, records } = this.#options;
    return vectorBytes(records.count(collection), plan.nearest.dimensions) <= vectorMemory ? vectorMemory : 0;
  }

  #scope(principal: Principal): ReadScope {
    return new ReadScope(this.#options.collections, principal);
  }

  #readable(name: string, principal: Principal): Collection {
    const collection = this.#options.collections.listed(name);
    collection.policies.read.admit(principal);
    return collection;
  }

  /** Whether the definitions of a query are still in force. */
  #isCurrent({ epoch }: ListQuery): boolean {
    return epoch === this.#options.collections.epoch;
  }

  /** Whether the rights of a query are still in force after the query has waited. */
  #isAllowedStill(entered: ReadonlyMap<Collection, Decision>): boolean {
    for (const { name, createdAt, policies, fieldPolicies } of entered.keys()) {
      const now = this.#options.collections.getListed(name);
      if (now?.createdAt !== createdAt || now.policies.read.rule !== policies.read.rule) return false;
      if (now.fieldPolicies?.key !== fieldPolicies?.key) return false;
    }
    return true;
  }

  #logSlow(query: ListQuery, ms: number, steps: readonly string[]): void {
    const { cursor, ...text } = query.text;
    this.#options.logger.warn("A query was slow", {
      collection: query.collection.name,
      ms: Math.round(ms),
      ...text,
      ...(text.sort !== undefined && { sort: text.sort.slice(0, maxCharacters) }),
      ...(text.filter !== undefined && { filter: text.filter.slice(0, maxCharacters) }),
      ...(cursor === undefined ? {} : { page: "a later one" }),
      plan: steps.join("; "),
      index: indexAdvice(query),
    });
  }
}
