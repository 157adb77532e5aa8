/** References of a batch: objects `{ "$ref": N }` that stand for the id of the record of an earlier operation. */
import { isObject } from "../../base/kernel/index.ts";

/** A place in a body that a reference holds. */
export interface Reference {
  /** The object or array that the reference stands in. */
  readonly holder: Record<string, unknown> | unknown[];
  readonly key: string | number;
  /** The field of the body that holds the reference. */
  readonly field: string;
  /** The number of the named operation, unchecked. */
  readonly operation: number;
}

/** The number of a reference; null for any other value. An object with more keys, or without a number, is a value. */
export function referenceOf(value: unknown): number | null {
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
