/** Changes of the property test of rules: whether the model allows a change of a caller. */
import {
  itemsIn,
  type Model,
  type ModelCaller,
  type ModelFile,
  type ModelRecord,
  ownerField,
  pairOf,
} from "./model.ts";
import type { Literal, Value } from "./syntax.ts";

export interface Attempt {
  readonly caller: ModelCaller;
  readonly name: string;
  readonly operation: "create" | "update" | "delete";
  readonly body: { readonly [field: string]: Value };
  /** The record before the change; null for a new record. */
  readonly record: ModelRecord | null;
  /** The files that a body may name. */
  readonly files: readonly ModelFile[];
}

/** The statuses by which a change may be refused; null for an allowed change. */
export function refusalOf(model: Model, attempt: Attempt): readonly number[] | null {
  const { caller, name, operation, record } = attempt;
  const { rules } = model.collection(name);
  const rule = rules[operation];
  const denied = caller.id === null ? [401, 403] : [403];
  const isForOwners = rule === "owner" && operation === "create";
  if (isForOwners ? caller.id === null : model.standing(rule, caller) === "none") return denied;
  if (record !== null && !model.allows(rule, caller, { collection: name, record }))
    return typeof rules.read !== "string" && !model.canRead(caller, name, record) ? [404] : denied;
  if (operation === "delete") return null;
  const next = nextOf(model, attempt);
  const isAllowed = typeof rule === "string" || model.allows(rule, caller, { collection: name, record: next });
  if (!isAllowed) return denied;
  if (writesClosed(model, attempt, next)) return [403];
  return pointsToHidden(model, attempt) ? [400] : null;
}

/** The ids that a body lets a field point to anew. */
function namedAnew({ body, record }: Attempt, field: string): Literal[] {
  return itemsIn(body[field]).filter((id) => id !== null && !itemsIn(record?.[field]).includes(id));
}

/** Whether a body lets a record point anew to a record that the caller may not read. */
function pointsToHidden(model: Model, attempt: Attempt): boolean {
  const { caller, name } = attempt;
  return model.collection(name).fields.some(({ name: field, type, collection: target }) => {
    if (type !== "relation" || target === undefined || target === "users") return false;
    return namedAnew(attempt, field).some((id) => !model.list(caller, target).some((each) => each.id === id));
  });
}

/** Notes for each file that a change names anew whether the caller could download the file. @param id the changed record. */
export function noteFiles(model: Model, attempt: Attempt, { id, unread }: { id: Value; unread: Set<string> }): void {
  const { caller, name, files } = attempt;
  for (const { name: field, type } of model.collection(name).fields) {
    if (type !== "file") continue;
    for (const file of files.filter((each) => namedAnew(attempt, field).includes(each.id)))
      if (model.mayDownload(caller, file)) unread.delete(pairOf(id, file.id));
      else unread.add(pairOf(id, file.id));
  }
}

/** The record after the change. */
function nextOf(model: Model, { caller, name, body, record }: Attempt): ModelRecord {
  const fields = model
    .collection(name)
    .fields.map(({ name: field, multiple }) => [field, multiple === true ? [] : null] as const);
  const owner = caller.isAdmin ? null : caller.id;
  const empty = { ...Object.fromEntries(fields), id: "", createdAt: "", updatedAt: "", [ownerField]: owner };
  return { ...(record ?? empty), ...body };
}

/** Whether a body gives another value to a field that the caller may not write, before the change or after the change. */
function writesClosed(model: Model, { caller, name, body, record }: Attempt, next: ModelRecord): boolean {
  const states = record === null ? [next] : [record, next];
  const visible = record === null ? new Set<string>() : model.visible(caller, name, record);
  return model.collection(name).fields.some(({ name: field, read, update }) => {
    if (!Object.hasOwn(body, field)) return false;
    const rule = update ?? read;
    if (rule === null || states.every((state) => model.allows(rule, caller, { collection: name, record: state })))
      return false;
    return record === null || !visible.has(field) || JSON.stringify(record[field]) !== JSON.stringify(body[field]);
  });
}
