/** The form of configuration keys, with a default or without a default. */
import type { ValueKind } from "./values.ts";

/** The kind of the value, the default and the meaning of a key. */
export interface Key<T> {
  readonly kind: ValueKind<T>;
  /** As the file would have the default; undefined for a key without a default. */
  readonly default: unknown;
  readonly meaning: string;
}

export function key<T>(kind: ValueKind<T>, fallback: unknown, meaning: string): Key<T> {
  return { kind, default: fallback, meaning };
}

export function optional<T>(kind: ValueKind<T>, meaning: string): Key<T | undefined> {
  return { kind, default: undefined, meaning };
}
