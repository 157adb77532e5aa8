/**
 * Queries: lists that are filtered, sorted and cut into pages, single records with chosen fields, and what stands
 * beside them.
 *
 * 1. **Text → query.** `query-text.ts` picks the parameters; `list-query.ts` parses them against the read scope
 *    (`read-scope.ts`): filter, sort (`sort.ts`), fields and expansions (`selection.ts`), cursor (`cursor.ts`).
 * 2. **Query → plan.** The query becomes plain data (`plan.ts`) with its SQL (`sql/`). `index-use.ts` says whether one index of
 *    the definition answers it.
 * 3. **Plan → records.** `run.ts` reads a page (`sql/keyset.ts` finds its place), `expand.ts` the records beside it. A list that an
 *    index answers, or that has few keys (`keyed-list.ts`), runs on the event loop, every other one on a reader thread
 *    (`query-thread.ts`) with a limit of time.
 */
import type { Collection, Collections } from "../collections/index.ts";
import { type Database, type Reader, SchemaChanged } from "../database/index.ts";
import { AppError, BoundedMap, isAdmin, JsonText, type Principal } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
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

import { type CursorPosition, Cursors } from "./cursor.ts";
import { type FileUses, fileColumns, isShownIn, readableFileColumns } from "./file-uses.ts";
import { indexAdvice } from "./index-advice.ts";
import { type KeyedList, KeyedLists } from "./keyed-list.ts";
import { isForEverybody, type ListQuery, parseListQuery } from "./list-query.ts";
import type { FileShownInput, FileUsesInput, PageInput, QueryInput, ReadableFileColumn, RecordInput } from "./plan.ts";
import { readQueryText, selectionParameters } from "./query-text.ts";
import { ReadScope } from "./read-scope.ts";
import { type PageOutcome, type RecordOutcome, type Reported, runQuery } from "./run.ts";
import { parseSelection } from "./selection.ts";
import { listChanged, type RecordPages, readByPages, readWhole } from "./whole-list.ts";

/** Queries that are remembered in their parsed form, and the longest text that is worth it. */
const maxQueries = 1_500;
const maxCharacters = 1_000;
/** Records of a page of a whole list. */
const wholePageSize = 200;
/** Records of other collections that the rules of expansions may look at on the event loop; a query that needs more runs on a thread. */
const maxVisits = 5_000;
/** How often a query is begun anew because a migration came in between, and how long it waits before that. */
const maxAttempts = 5;
const attemptMs = 5;

export interface QueriesOptions {
  database: Database;
  collections: Collections;
  records: Records;
  /** The secret of cursors; asked for when it is needed. */
  cursorKey: () => string;
  logger: Logger;
  /** Queries that take longer, in milliseconds, are logged with advice. */
  slowQueryMs: number;
}

/** A list that is asked for. */
export interface PreparedList {
  /** The parameters as they were sent. */
  readonly search: string;
  /** Null for the whole list. */
  readonly query: ListQuery | null;
  /** Where the page begins; null for the first. */
  readonly position: CursorPosition | null;
}

/** The state of a list, which is known before it is read. */
export interface ListState {
  /** Changes when the list may have; null where nothing tells that. */
  readonly version: string | null;
  /** Whether everybody who may read it gets the same. */
  readonly isShared: boolean;
}

/** The caller of a query. */
export interface QueryCaller {
  readonly principal: Principal;
  /** A user id or an address: the share of the reader threads counts by it. Asked for only where a thread runs the query. */
  readonly caller: () => string;
  /** Aborted when nobody waits for the answer any more. Asked for only when that may take a while. */
  readonly signal: () => AbortSignal;
}

/** For reads of the service itself. */
const forService = { caller: (): string => "service", signal: (): AbortSignal => new AbortController().signal };

/** The input of a run, with the place where it runs, and the collections whose rights it rests on. */
interface Planned<T extends QueryInput> extends Pick<ListQuery, "site" | "entered"> {
  readonly input: T;
  /** See `ListQuery`. */
  readonly keyed?: KeyedList | null;
}

/** The list that cursors belong to. */
function listOf({ cursorScope }: ListQuery, principal: Principal): string {
  return `${cursorScope} ${principal?.userId ?? ""}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A malformed escape is no cursor, and is refused as one.
    return text;
  }
}

export class Queries {
  readonly #options: QueriesOptions;
  readonly #cursors: Cursors;
  readonly #keyedLists: KeyedLists;
  /** By the parameters without their cursor; null where nothing of them makes a query. */
  readonly #prepared = new BoundedMap<string, ListQuery | null>(maxQueries);

  /** The columns of files that the last caller of `isShownNow` may read: a record may name hundreds of files. */
  #shown: { principal: Principal; epoch: number; columns: ReadableFileColumn[] } | null = null;

  constructor(options: QueriesOptions) {
    this.#options = options;
    this.#cursors = new Cursors(options.cursorKey);
    const { collections, records } = options;
    this.#keyedLists = new KeyedLists((asked) => `${collections.epoch} ${records.versions.of(new Map(), null, asked)}`);
  }

  /**
   * Parses the parameters of a list.
   * @param search the parameters as they were sent, percent-encoded.
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

  /** The version of a list, for caches and conditional requests. */
  state(collection: Collection, principal: Principal, { query }: PreparedList): ListState {
    const { versions } = this.#options.records;
    if (query !== null) {
      const version = query.isFleeting ? null : versions.of(query.entered, principal, query.asked);
      return { version, isShared: query.isPublic };
    }
    const scope = this.#scope(principal);
    scope.enter(collection);
    const version = scope.isFleeting ? null : versions.of(scope.entered, principal, scope.asked);
    return { version, isShared: isForEverybody(collection) };
  }

  /** All records of a collection that the caller may read, newest first. @throws AppError when that is none. */
  async whole(
    collection: Collection,
    principal: Principal,
    waiter: Omit<QueryCaller, "principal"> = forService,
  ): Promise<RecordPages> {
    const { access } = collection.policies.read.admit(principal);
    if (access !== "where" && fieldLimits(collection, principal) === null)
      return readWhole(this.#options, collection, principal);
    return readByPages(async (cursor) => {
      const now = await this.#options.database.recheck(principal);
      // With another role the caller is owed another list.
      if (isAdmin(now) !== isAdmin(principal)) throw listChanged();
      const search = String(new URLSearchParams({ limit: String(wholePageSize), ...(cursor !== "" && { cursor }) }));
      const current = this.#readable(collection.name, principal);
      return this.page(current, this.prepare(current, principal, search), { principal, ...waiter });
    });
  }

  /** One page of a list, as JSON: `items`, `nextCursor`, and `total` where it was asked for. */
  async page(collection: Collection, list: PreparedList, caller: QueryCaller): Promise<string> {
    const { principal } = caller;
    let { query, position } = list;
    const plan = (): Planned<PageInput> => {
      if (query !== null && !this.#isCurrent(query))
        ({ query, position } = this.prepare(this.#readable(collection.name, principal), principal, list.search));
      if (query === null) throw new Error("The whole list has no pages");
      return { input: { type: "page", plan: query.plan, position, ...this.#basics(caller) }, ...query };
    };
    const { outcome, report } = await this.#run<PageOutcome>(plan, caller);
    if (query === null) throw new Error("The whole list has no pages");
    if (report.steps !== null) this.#logSlow(query, report.ms, report.steps);
    const { next } = outcome;
    const cursor = next === null ? null : this.#cursors.write(next, listOf(query, principal));
    const total = query.countsAll ? await this.#options.records.count(query.collection) : outcome.total;
    const end = total === null ? "" : `,"total":${total}`;
    return `{"items":${outcome.items},"nextCursor":${cursor === null ? null : `"${cursor}"`}${end}}`;
  }

  /**
   * A record with the fields and expansions that were asked for, as JSON, and the tag of that.
   * @param search the parameters as they were sent; those that are not for one record are ignored.
   * @throws AppError `not_found`, `forbidden` for a record of another owner; see `parseSelection`.
   */
  async one(collection: Collection, id: string, request: QueryCaller & { search: string }): Promise<TaggedRecord> {
    const { principal, search } = request;
    const { records } = this.#options;
    const { name } = collection;
    // Rights and record come before the parameters.
    await records.admit(name, "read", { principal, id });
    const text = readQueryText(new URLSearchParams(search), selectionParameters);
    if (text === null) {
      const record = await records.get(collection, principal, id);
      return { json: JsonText.of(record), tag: recordTag(collection, record) };
    }
    let current = collection;
    const plan = (): Planned<RecordInput> => {
      current = this.#readable(name, principal);
      const scope = this.#scope(principal);
      const parsed = parseSelection(scope.source(current), text, scope);
      const site = parsed.leadsToMany ? "thread" : "event-loop";
      const selection = parsed.plan({ isProbed: true, users: scope.users.table });
      const input: RecordInput = { type: "record", selection, id, ...this.#basics(request) };
      return { input, site, entered: scope.entered };
    };
    const { outcome } = await this.#run<RecordOutcome | null>(plan, request);
    if (outcome === null) throw missingRecord(current, id);
    const { owner } = outcome;
    const missing = (): AppError => missingRecord(current, id);
    const target = { table: recordTableOf(current), principal, id, owner, missing };
    await records.rights.admit(this.#options.database.reader, "read", target);
    return { json: JsonText.from(outcome.record), tag: selectionTag(outcome, outcome.record) };
  }

  /** The records that hold the id of a file, for admins: no rule is asked. */
  async fileUses(fileId: string, page: { limit: number; offset: number }, caller: QueryCaller): Promise<FileUses> {
    const plan = (): Planned<FileUsesInput> => {
      const columns = fileColumns(this.#options.collections);
      const input: FileUsesInput = { type: "file uses", columns, fileId, ...page, ...this.#basics(caller) };
      return { input, site: "thread", entered: new Map() };
    };
    return (await this.#run<FileUses>(plan, caller)).outcome;
  }

  /**
   * Whether a caller may read some record that points to a file: where a read rule asks about the record on a thread, else at once.
   * @throws AppError `unavailable` when it takes too long, or too many queries wait.
   */
  async isShownByRecord(fileId: string, caller: QueryCaller): Promise<boolean> {
    const plan =
      (isOpen: boolean): (() => Planned<FileShownInput>) =>
      () => {
        const scope = this.#scope(caller.principal);
        const columns = readableFileColumns(this.#options.collections, scope, { isProbed: true }).filter(
          ({ condition }) => (condition === null) === isOpen,
        );
        const input: FileShownInput = { type: "file shown", columns, fileId, ...this.#basics(caller) };
        return { input, site: isOpen ? "event-loop" : "thread", entered: scope.entered };
      };
    if ((await this.#run<boolean>(plan(true), caller)).outcome) return true;
    const conditional = plan(false);
    return conditional().input.columns.length > 0 && (await this.#run<boolean>(conditional, caller)).outcome;
  }

  /** The same in a transaction of the caller, by the newest records of each collection that point to the file. */
  isShownNow(reader: Reader, fileId: string, principal: Principal): Promise<boolean> {
    const { collections } = this.#options;
    if (this.#shown?.principal !== principal || this.#shown.epoch !== collections.epoch) {
      const columns = readableFileColumns(collections, this.#scope(principal), { isProbed: false });
      this.#shown = { principal, epoch: collections.epoch, columns };
    }
    const { columns } = this.#shown;
    const context = { now: Date.now(), user: callerOf(principal) };
    return isShownIn(reader, { columns, fileId, context });
  }

  #query(collection: Collection, principal: Principal, parameters: string): ListQuery | null {
    const role = isAdmin(principal) ? "admin" : principal === null ? "nobody" : "user";
    const key = `${collection.name} ${role} ${parameters}`;
    const known = this.#prepared.get(key);
    if (known !== undefined && (known === null || this.#isCurrent(known))) return known;
    const text = readQueryText(new URLSearchParams(parameters));
    const { epoch } = this.#options.collections;
    const query = text && { ...parseListQuery(collection, text, this.#scope(principal)), epoch };
    if (key.length <= maxCharacters) this.#prepared.set(key, query);
    return query;
  }

  /**
   * Runs a query where its plan says. `plan` is called again when the turn of a thread has come: by then definitions,
   * and with them the tables, may be others.
   */
  async #run<T>(plan: () => Planned<QueryInput>, { principal, caller, signal }: QueryCaller): Promise<Reported<T>> {
    const { database } = this.#options;
    const { input, site, keyed = null } = plan();
    // The outcome of an input is of its type.
    const { rows } = database;
    const runHere = (here: QueryInput) =>
      rows.within(maxVisits, () => runQuery(rows, here, false)) as Reported<T> | null;
    let reported = site === "event-loop" ? runHere(input) : null;
    const page = keyed && this.#keyedLists.page(rows, keyed, input.context);
    if (page !== null && input.type === "page") reported = runHere({ ...input, plan: page });
    if (reported !== null) return reported;
    const waiter = { principal, caller: caller(), signal: signal() };
    for (let attempt = 1; ; attempt++) {
      let entered: Planned<QueryInput>["entered"] = new Map();
      // As JSON: a text is sent to a thread in a sixth of the time of an object.
      const makeInput = (): string => {
        const planned = plan();
        entered = planned.entered;
        return JSON.stringify(planned.input);
      };
      try {
        const outcome = await database.task<Reported<T>>(makeInput, waiter);
        if (this.#isAllowedStill(entered)) return outcome;
      } catch (thrown) {
        if (!(thrown instanceof SchemaChanged)) throw thrown;
      }
      if (attempt >= maxAttempts)
        throw new AppError("unavailable", "The definitions change too often at the moment; try again.");
      // The commit of a migration on a thread is known here a moment after it.
      await Bun.sleep(attemptMs);
    }
  }

  #basics({ principal }: QueryCaller): Pick<QueryInput, "context" | "slowMs"> {
    const context = { now: Date.now(), user: callerOf(principal) };
    return { context, slowMs: this.#options.slowQueryMs };
  }

  #scope(principal: Principal): ReadScope {
    return new ReadScope(this.#options.collections, principal);
  }

  #readable(name: string, principal: Principal): Collection {
    const collection = this.#options.records.collection(name);
    collection.policies.read.admit(principal);
    return collection;
  }

  /** Whether the definitions that a query was made of are those in force. */
  #isCurrent({ epoch }: ListQuery): boolean {
    return epoch === this.#options.collections.epoch;
  }

  /** Whether the rights by which a query was made are in force after it has waited. */
  #isAllowedStill(entered: ReadonlyMap<Collection, Decision>): boolean {
    for (const { name, createdAt, policies, fieldPolicies } of entered.keys()) {
      const now = this.#options.collections.get(name);
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
      ...(cursor === undefined ? {} : { page: "a later one" }),
      plan: steps.join("; "),
      index: indexAdvice(query),
    });
  }
}
