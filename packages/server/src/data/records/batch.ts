/**
 * A batch: many changes in one transaction, each with permission, rules and event; all of the changes or no
 * change.
 *
 * Every operation sees the records as the operations before left the records. A relation may point to a record that a later operation
 * creates: whether the record exists, and the caller may read the record, is checked after the last operation. After an operation with refused values, the later
 * operations are tried too, so that the answer has every problem; any other refusal ends the batch.
 */
import { type BatchResult, type ErrorDetail, type ErrorRule, MAX_BATCH_OPERATIONS } from "@socle/protocol";
import {
  type Acting,
  AppError,
  isObject,
  JsonText,
  LoopTurns,
  newId,
  oneOf,
  type Principal,
  quote,
} from "../../base/kernel/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import { type HeldValues, mayNameManyFiles, type RecordChanges, type SavedRecord } from "./changes.ts";
import type { Body, TakesTarget } from "./references.ts";
import type { HookFailure, WriteHooks } from "./write-hooks.ts";

const methods = ["create", "update", "upsert", "delete"] as const;
type Method = (typeof methods)[number];

/** An operation of the right form. */
export interface Operation {
  readonly method: Method;
  readonly collection: string;
  /** The record that the operation changes: an id, the number of an earlier operation, or "" for a create and an upsert. */
  readonly id: string | number;
  /** The unique field of an upsert; "" for another method. */
  readonly by: string;
  readonly ifMatch: string | null;
  /** The id of the record that a create of a transaction makes; by default, the create makes the id. */
  readonly newId?: string;
  /** The time of the change, in milliseconds, for a rehearsal; by default, the present. */
  readonly at?: number;
  /** The user under whose rules code makes the change of a transaction; by default, the caller of the batch makes the change. */
  readonly as?: Acting;
  /** The body; empty for a delete. */
  readonly body: Body;
  readonly references: readonly Reference[];
}

/** The most operations of a short transaction. */
const maxShort = 16;
/** The most problems that an answer lists. */
const maxProblems = 1_000;

/** The bytes of changed records, before and after, that a batch may keep in memory until the flush. */
const maxHeldBytes = 64 * 1024 ** 2;

const noBody = JsonText.from("null");

export interface BatchOptions {
  readonly operations: readonly Operation[];
  readonly changes: RecordChanges;
  /** Null if no operation has hooks. */
  readonly hooks: WriteHooks | null;
  /** Whether `ifMatch` is a version before the batch, as in a transaction of code, which sees no versions of its own writes. */
  readonly isTransaction: boolean;
}

/** More work of a batch's transaction: before the first change; and after the last, with the ids of the records and the JSON of the results. */
export interface WorkBeside {
  /** See `LongWrite`. */
  readonly callerOf?: () => string;
  readonly before?: () => Promise<void>;
  readonly after?: (tx: Transactor, ids: readonly string[], results: JsonText) => void;
}

export class Batch {
  readonly #options: BatchOptions;
  /** The JSON of each result. */
  readonly #results: string[] = [];
  /**
   * The ids of the records of the operations: of the operations so far, and of creates to which earlier operations point. A failed
   * operation has a separate id, which no record has.
   */
  readonly ids: string[];
  /** The number of the present operation. */
  #index = 0;
  /** The relations of operations so far to records of later operations. */
  readonly #ahead: { readonly index: number; readonly target: number; problem(): ErrorDetail | null }[] = [];
  /** The unique values that operations so far have held back, because other records had the values. */
  #held: { readonly index: number; readonly held: HeldValues }[] = [];
  /** The ids of the records that the operations so far have written, for a transaction. */
  readonly #own = new Set<string>();
  readonly #failed = new Set<number>();
  readonly #problems: ErrorDetail[] = [];
  #heldBytes = 0;

  constructor(options: BatchOptions) {
    this.#options = options;
    this.ids = [];
    for (const { id, newId: chosen } of options.operations)
      this.ids.push(chosen ?? (typeof id === "number" ? (this.ids[id] ?? "") : id));
  }

  /**
   * Runs the batch in a transaction, which must be taken back when `run` throws. To be called once.
   * @returns the JSON of an array of `BatchResult`.
   * @throws AppError of the first operation that failed, or `validation_error` with the problems of all operations; each
   * detail has the number of the operation. `payload_too_large` if the records are too many bytes.
   * @param at called before each operation and after the last, with the number of the operations so far.
   */
  async run(tx: Transactor, principal: Principal, at: (done: number) => void = () => undefined): Promise<JsonText> {
    const { operations, changes, hooks } = this.#options;
    const turns = new LoopTurns();
    for (const [index, operation] of operations.entries()) {
      hooks?.startPart(index);
      at(index);
      try {
        const { method, collection, ifMatch, body, references, as: caller = principal } = operation;
        const id = this.#idOf(operation);
        // The ids of earlier records stand in the body from now on.
        if (references.length > 0) resolve(references, this.ids);
        if (mayNameManyFiles(body))
          await changes.lookAhead(tx, caller, { collection, id: method === "update" ? id : null, body });
        if (method === "delete")
          this.#done(id, 204, {
            json: noBody,
            weight: await changes.delete(tx, caller, { collection, id, ifMatch, hooks, own: this.#own }),
          });
        else this.#write(tx, caller, { ...operation, id });
      } catch (thrown) {
        this.#fail(operation, thrown);
      }
      // Reads and answers go on meanwhile.
      if (turns.isDue()) await turns.next();
    }
    this.#checkAhead();
    this.#settle();
    if (this.#failed.size > 0) throw invalidBatch(this.#problems);
    at(operations.length);
    return JsonText.from(`[${this.#results.join(",")}]`);
  }

  /**
   * Runs creates and updates without references, which name few files, in a short transaction, as `run`.
   * @throws AppError as `run`.
   */
  runShort(tx: Transactor, caller: Principal): void {
    for (const operation of this.#options.operations) {
      try {
        this.#write(tx, operation.as ?? caller, { ...operation, id: String(operation.id) });
      } catch (thrown) {
        this.#fail(operation, thrown);
      }
    }
    this.#settle();
    if (this.#failed.size > 0) throw invalidBatch(this.#problems);
  }

  /** A create or an update. */
  #write(tx: Transactor, caller: Principal, operation: Operation & { id: string }): void {
    const { changes, hooks } = this.#options;
    const { method, collection, id, by, ifMatch, body, newId, at } = operation;
    const now = at !== undefined && { now: at };
    const takes = operation.references.length === 0 ? undefined : this.#takes;
    const written = { collection, body, hooks, takes, own: this.#own };
    const given = { ...written, ...(newId !== undefined && { id: newId }), ...now };
    if (method === "create") {
      const made = changes.create(tx, caller, given);
      this.#done(made.record.id, 201, made);
    } else if (method === "upsert") {
      const made = changes.upsert(tx, caller, { ...given, by, ifMatch });
      this.#done(made.record.id, made.isNew ? 201 : 200, made);
    } else this.#done(id, 200, changes.update(tx, caller, { ...written, id, ifMatch, ...now, holds: this.#holds }));
  }

  /**
   * Holds unique values of the present update back until the last operation, if another update or a deletion may free the values. The
   * record keeps the former values so long, so no later operation may be about the record.
   */
  readonly #holds = (held: HeldValues): boolean => {
    const { operations, isTransaction } = this.#options;
    const index = this.#index;
    const present = operations[index];
    if (isTransaction || present === undefined) return false;
    const later = operations.slice(index + 1).filter(({ collection }) => collection === present.collection);
    const id = this.#idOf(present);
    const isAbout = (each: Operation): boolean => each.method === "upsert" || this.#recordOf(each) === id;
    const isFreed =
      later.some(({ method }) => method !== "create") ||
      this.#held.some((each) => operations[each.index]?.collection === present.collection);
    if (later.some(isAbout) || !isFreed) return false;
    this.#held.push({ index, held });
    return true;
  };

  /** Puts the values in place that were held back: all fields are empty before, so that records can exchange values. */
  #settle(): void {
    for (const { held } of this.#held) held.empty();
    for (const { index, held } of this.#held) this.#refuse(index, held.settle());
  }

  #refuse(index: number, problems: readonly ErrorDetail[]): void {
    for (const problem of problems) {
      if (this.#problems.length < maxProblems) this.#problems.push({ operation: index, ...problem });
      this.#failed.add(index);
    }
  }

  readonly #takes: TakesTarget = (id, problem) => {
    const target = this.#options.operations.findIndex((each, at) => each.newId === id && at >= this.#index);
    if (target !== -1) this.#ahead.push({ index: this.#index, target, problem });
    return target !== -1;
  };

  /** Adds the problems of relations to later operations. A failed operation has told its own problems. */
  #checkAhead(): void {
    for (const { index, target, problem } of this.#ahead) {
      const found = this.#failed.has(index) || this.#failed.has(target) ? null : problem();
      if (found === null) continue;
      if (this.#problems.length < maxProblems) this.#problems.push({ operation: index, ...found });
      this.#failed.add(index);
    }
  }

  /** Whether operations can run in a short transaction: few creates and updates, without references. */
  static isShort(operations: readonly Operation[]): boolean {
    const isSimple = ({ method, references, body }: Operation): boolean =>
      method !== "delete" && references.length === 0 && !mayNameManyFiles(body);
    return operations.length <= maxShort && operations.every(isSimple);
  }

  /** The record of an operation: a given id, or the record of an earlier operation. */
  #idOf({ id }: Operation): string {
    // The target of the operation does not exist: the failed create has told the problems.
    if (typeof id === "number" && this.#failed.has(id)) throw AppError.validation([]);
    return typeof id === "number" ? (this.ids[id] ?? "") : id;
  }

  /** The id of the record of a later operation, which may name the record by an operation that has not run yet; empty for a new record. */
  #recordOf({ method, id }: Operation): string {
    if (method === "create") return "";
    if (typeof id === "string") return id;
    const named = this.#options.operations[id];
    return id < this.#index || named === undefined ? (this.ids[id] ?? "") : this.#recordOf(named);
  }

  /** Keeps the problems of refused values. @throws AppError any other refusal, which ends the batch. */
  #fail(operation: Operation, thrown: unknown): void {
    const index = this.#index;
    if (!(thrown instanceof AppError) || thrown.code === "unavailable") throw thrown;
    // A batch that fails changes nothing: the values that were held back are taken.
    for (const { index: earlier, held } of this.#held) this.#refuse(earlier, held.problems);
    this.#held = [];
    const isOfValues = thrown.code === "validation_error";
    // After a failed operation, another refusal may be a consequence.
    if (!isOfValues && this.#failed.size === 0) throw refusalOf(index, operation, thrown);
    // A reference to a failed operation is a consequence, not a problem.
    const failed = isOfValues ? operation.references.filter((each) => this.#failed.has(each.operation)) : [];
    const lost = new Set(failed.map(({ field }) => field));
    for (const detail of isOfValues ? detailsOf(operation, thrown) : []) {
      if (lost.has(detail.field) || this.#problems.length >= maxProblems) continue;
      this.#problems.push({ operation: index, ...detail });
    }
    this.#failed.add(index);
    this.ids[this.#index++] = newId("rec", Date.now());
  }

  #done(id: string, status: BatchResult["status"], { json, weight }: Pick<SavedRecord, "json" | "weight">): void {
    this.#heldBytes += weight;
    if (this.#heldBytes > maxHeldBytes)
      throw new AppError(
        "payload_too_large",
        `The records of the batch are larger than ${maxHeldBytes / 1024 ** 2} MiB in all; send fewer operations at a time.`,
      );
    this.ids[this.#index++] = id;
    if (this.#options.isTransaction) this.#own.add(id);
    this.#results.push(`{"status":${status},"body":${json.text}}`);
  }
}

/** The error of a batch with hooks that refused operations or did not answer. */
export function hookRefusal(operations: readonly Operation[], failures: readonly HookFailure[]): unknown {
  const details: ErrorDetail[] = [];
  for (const { part, error } of failures) {
    const operation = operations[part];
    if (!(error instanceof AppError) || error.code === "unavailable" || operation === undefined) return error;
    if (error.code !== "validation_error") return refusalOf(part, operation, error);
    for (const detail of detailsOf(operation, error)) details.push({ operation: part, ...detail });
  }
  return invalidBatch(details);
}

/** A refusal with the number of the operation. */
function refusalOf(index: number, operation: Operation, refusal: AppError): AppError {
  const { code, message, status } = refusal;
  return new AppError(code, message, {
    details: detailsOf(operation, refusal).map((detail) => ({ operation: index, ...detail })),
    ...(status !== undefined && { status }),
  });
}

function detailsOf({ method }: Operation, { details, message }: AppError): readonly ErrorDetail[] {
  const field = method === "create" ? "collection" : method === "upsert" ? "by" : "id";
  return details ?? [{ field, rule: "refused", message }];
}

const keysOf: { readonly [method in Method]: readonly string[] } = {
  create: ["method", "collection", "body"],
  update: ["method", "collection", "id", "ifMatch", "body"],
  upsert: ["method", "collection", "by", "ifMatch", "body"],
  delete: ["method", "collection", "id", "ifMatch"],
};

/** 400 with the problems of the operations of a batch. */
function invalidBatch(problems: readonly ErrorDetail[]): AppError {
  const operations = [...new Set(problems.map(({ operation }) => operation))];
  const message =
    operations.length === 1
      ? `Operation ${operations[0]} of the batch is not valid.`
      : `${operations.length} operations of the batch are not valid.`;
  return new AppError("validation_error", message, { details: problems.slice(0, maxProblems) });
}

/**
 * The operations of a body `{ "operations": [ … ] }`. References are replaced in the body, when the batch runs.
 * @throws AppError `bad_request`, or `validation_error` with every problem of the operations' form.
 */
export function parseBatch(given: Record<string, unknown>): Operation[] {
  const { operations } = given;
  if (!Array.isArray(operations)) throw new AppError("bad_request", 'The body needs "operations", an array.');
  const [unknown] = Object.keys(given).filter((key) => key !== "operations");
  if (unknown !== undefined)
    throw new AppError("bad_request", `Unknown attribute ${quote(unknown)}: the body has only "operations".`);
  return withIdsAhead(parseOperations(operations, referencesIn));
}

/** The operations, with an id for each create to which an earlier operation, or the create, points. */
function withIdsAhead(operations: readonly Operation[]): Operation[] {
  const ahead = new Set<number>();
  for (const [index, { references }] of operations.entries())
    for (const { operation } of references) {
      let target = operation;
      for (let id = operations[target]?.id; typeof id === "number"; id = operations[target]?.id) target = id;
      if (operation >= index) ahead.add(target);
    }
  return operations.map((each, i) =>
    ahead.has(i) && each.method === "create" ? { ...each, newId: newId("rec", Date.now()) } : each,
  );
}

/**
 * The operations of a batch.
 * @param findReferences answers the references of a body; none for bodies without references.
 * @throws AppError as `parseBatch`.
 */
export function parseOperations(
  operations: readonly unknown[],
  findReferences: (body: Body) => readonly Reference[] = () => [],
): Operation[] {
  if (operations.length > MAX_BATCH_OPERATIONS)
    throw new AppError(
      "bad_request",
      `A batch has at most ${MAX_BATCH_OPERATIONS} operations, not ${operations.length}.`,
    );
  const problems: ErrorDetail[] = [];
  const parsed: Operation[] = [];
  for (const [index, operation] of operations.entries()) {
    const refuse = (field: string, rule: ErrorRule, message: string): void => {
      if (problems.length < maxProblems) problems.push({ operation: index, field, rule, message });
    };
    const form = parseOperation(operation, refuse);
    if (form === null) continue;
    const found = { ...form, references: findReferences(form.body) };
    checkReferences(found, { index, operations, refuse });
    parsed.push(found);
  }
  if (problems.length > 0) throw invalidBatch(problems);
  return parsed;
}

type Refuse = (field: string, rule: ErrorRule, message: string) => void;

/** An operation; problems go to `refuse`; null if the operation is no object or has no method. */
function parseOperation(given: unknown, refuse: Refuse): Omit<Operation, "references"> | null {
  if (!isObject(given)) {
    refuse("", "type", `an operation must be an object, not ${quote(given)}`);
    return null;
  }
  const method = methods.find((each) => each === given["method"]);
  if (method === undefined) {
    refuse("method", given["method"] === undefined ? "required" : "type", `method must be ${oneOf(methods)}`);
    return null;
  }
  const known = keysOf[method];
  // Null says as much as nothing.
  for (const key of Object.keys(given).slice(0, 20))
    if (!known.includes(key) && given[key] !== null)
      refuse(key, "unknown", `${quote(key)} is not a part of the operation ${method}`);
  const textOf = (key: "collection" | "by" | "ifMatch"): string | null => {
    const value = given[key] ?? null;
    if (typeof value === "string") return value;
    if (value !== null) refuse(key, "type", `${key} must be a string, not ${quote(value)}`);
    else if (key !== "ifMatch") refuse(key, "required", `${key} is required`);
    return null;
  };
  const collection = textOf("collection") ?? "";
  const id = known.includes("id") ? idOf(given["id"], refuse) : "";
  const by = method === "upsert" ? (textOf("by") ?? "") : "";
  const ifMatch = method === "create" ? null : textOf("ifMatch");
  const body = method === "delete" ? {} : bodyOf(given["body"], refuse);
  return { method, collection, id, by, ifMatch, body };
}

function bodyOf(given: unknown, refuse: Refuse): Body {
  if (isObject(given) && referenceOf(given) === null) return given;
  if (given === undefined || given === null) refuse("body", "required", "body is required");
  else refuse("body", "type", "body must be an object with the values of a record");
  return {};
}

function idOf(given: unknown, refuse: Refuse): string | number {
  const reference = referenceOf(given);
  if (reference !== null) return reference;
  if (typeof given === "string") return given;
  if (given === undefined || given === null) refuse("id", "required", "id is required");
  else refuse("id", "type", `id must be a string or { "$ref": N }, not ${quote(given)}`);
  return "";
}

/** A reference must name an operation that leaves a record; the record to change, an earlier operation. */
function checkReferences(
  { id, references }: Operation,
  { index, operations, refuse }: { index: number; operations: readonly unknown[]; refuse: Refuse },
): void {
  const named = references.map(({ field, operation }) => ({ field, operation, end: operations.length }));
  if (typeof id === "number") named.push({ field: "id", operation: id, end: index });
  for (const { field, operation, end } of named) {
    const target: unknown = operation >= 0 && operation < end ? operations[operation] : undefined;
    if (target === undefined) {
      const place = end === index ? `before this operation, which has the number ${index}` : "of the batch";
      refuse(field, "relation", `{ "$ref": ${operation} } is no operation ${place}`);
    } else if (isObject(target) && target["method"] === "delete")
      refuse(field, "relation", `{ "$ref": ${operation} } is a delete, which leaves no record`);
    else if (isObject(target) && target["method"] === "upsert" && operation >= index)
      refuse(field, "relation", `{ "$ref": ${operation} } is an upsert, which only later operations may point to`);
  }
}

/** A reference: an object `{ "$ref": N }` in a body, which stands for the id of the record of operation N. */
interface Reference {
  /** The object or array that the reference stands in. */
  readonly holder: Record<string, unknown> | unknown[];
  readonly key: string | number;
  /** The field of the body that holds the reference. */
  readonly field: string;
  /** The number of the named operation, unchecked. */
  readonly operation: number;
}

/** The number of a reference; null for any other value. An object with more keys, or without a number, is a value. */
function referenceOf(value: unknown): number | null {
  if (!isObject(value)) return null;
  const { $ref } = value;
  return typeof $ref === "number" && Object.keys(value).length === 1 ? $ref : null;
}

/** The references of a body, also deep in JSON. The walk uses no recursion: a body may nest to any depth. */
export function referencesIn(body: Record<string, unknown>): Reference[] {
  const found: Reference[] = [];
  if (!Object.values(body).some((value) => typeof value === "object" && value !== null)) return found;
  const open: { holder: Record<string, unknown> | unknown[]; field: string | null }[] = [{ holder: body, field: null }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { holder } = next;
    const entries = Array.isArray(holder) ? holder.entries() : Object.entries(holder);
    for (const [key, value] of entries) {
      if (!Array.isArray(value) && !isObject(value)) continue;
      const field = next.field ?? String(key);
      const operation = referenceOf(value);
      if (operation !== null) found.push({ holder, key, field, operation });
      else open.push({ holder: value, field });
    }
  }
  return found;
}

/** Puts ids in the places of references. */
export function resolve(references: readonly Reference[], ids: readonly string[]): void {
  for (const { holder, key, operation } of references) {
    const id = ids[operation];
    if (Array.isArray(holder)) holder[Number(key)] = id;
    else holder[key] = id;
  }
}
