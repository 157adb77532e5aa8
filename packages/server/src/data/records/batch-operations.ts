/**
 * Operations of a batch: parses the body into operations that can be tried (contract, "Batch, search, groups"). An object
 * `{ "$ref": N }` in an operation is a reference: it stands for the id of the record of an earlier operation.
 */
import { type ErrorDetail, type ErrorRule, MAX_BATCH_OPERATIONS } from "@socle/protocol";
import { AppError, isObject, oneOf, quote } from "../../base/kernel/index.ts";
import type { Body } from "./references.ts";

const methods = ["create", "update", "delete"] as const;
type Method = (typeof methods)[number];

/** An operation whose form is right. */
export interface Operation {
  readonly method: Method;
  readonly collection: string;
  /** The record that the operation changes: an id, the number of an earlier operation, or "" for a create. */
  readonly id: string | number;
  readonly ifMatch: string | null;
  /** The body; empty for a delete. */
  readonly body: Body;
  readonly references: readonly Reference[];
}

/** The most problems that an answer lists. */
export const maxProblems = 1_000;

const keysOf: { readonly [method in Method]: readonly string[] } = {
  create: ["method", "collection", "body"],
  update: ["method", "collection", "id", "ifMatch", "body"],
  delete: ["method", "collection", "id", "ifMatch"],
};

/** 400 with the problems of the operations of a batch. */
export function invalidBatch(problems: readonly ErrorDetail[]): AppError {
  const operations = [...new Set(problems.map(({ operation }) => operation))];
  const message =
    operations.length === 1
      ? `Operation ${operations[0]} of the batch is not valid.`
      : `${operations.length} operations of the batch are not valid.`;
  return new AppError("validation_error", message, { details: problems.slice(0, maxProblems) });
}

/**
 * The operations of a body `{ "operations": [ … ] }`. References are replaced in the body itself, when the batch runs.
 * @throws AppError `bad_request`, or `validation_error` with every problem of the operations' form.
 */
export function parseBatch(given: Record<string, unknown>): Operation[] {
  const { operations } = given;
  if (!Array.isArray(operations)) throw new AppError("bad_request", 'The body needs "operations", an array.');
  const [unknown] = Object.keys(given).filter((key) => key !== "operations");
  if (unknown !== undefined)
    throw new AppError("bad_request", `Unknown attribute ${quote(unknown)}: the body has only "operations".`);
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
    const found = parseOperation(operation, refuse);
    if (found === null) continue;
    checkReferences(found, { index, operations, refuse });
    parsed.push(found);
  }
  if (problems.length > 0) throw invalidBatch(problems);
  return parsed;
}

type Refuse = (field: string, rule: ErrorRule, message: string) => void;

/** An operation, whose problems go to `refuse`; null if the operation is no object or has no method. */
function parseOperation(given: unknown, refuse: Refuse): Operation | null {
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
      refuse(key, "unknown", `${quote(key)} is not a part of a ${method}`);
  const textOf = (key: "collection" | "ifMatch"): string | null => {
    const value = given[key] ?? null;
    if (typeof value === "string") return value;
    if (value !== null) refuse(key, "type", `${key} must be a string, not ${quote(value)}`);
    else if (key === "collection") refuse(key, "required", "collection is required");
    return null;
  };
  const collection = textOf("collection") ?? "";
  const id = method === "create" ? "" : idOf(given["id"], refuse);
  const ifMatch = method === "create" ? null : textOf("ifMatch");
  const body = method === "delete" ? {} : bodyOf(given["body"], refuse);
  return { method, collection, id, ifMatch, body, references: referencesIn(body) };
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

/** A reference must name an earlier operation that leaves a record. */
function checkReferences(
  { id, references }: Operation,
  { index, operations, refuse }: { index: number; operations: readonly unknown[]; refuse: Refuse },
): void {
  const named = references.map(({ field, operation }) => ({ field, operation }));
  if (typeof id === "number") named.push({ field: "id", operation: id });
  for (const { field, operation } of named) {
    const target: unknown = operation >= 0 && operation < index ? operations[operation] : undefined;
    if (target === undefined)
      refuse(
        field,
        "relation",
        `{ "$ref": ${operation} } is no operation before this one, which has the number ${index}`,
      );
    else if (isObject(target) && target["method"] === "delete")
      refuse(field, "relation", `{ "$ref": ${operation} } is a delete, after which there is no record`);
  }
}

/** A place in a body that a reference holds. */
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
