/**
 * Cursors and keyset pagination: the position of a record in a list, as text, and the part of the list after the position.
 *
 * A cursor belongs to one list of one caller. A cursor holds the id of the record and the values that the list is sorted by, and is
 * signed together with the list (HMAC-SHA256). A cursor holds nothing that the caller may not read: no list is sorted
 * by a hidden value, and the rank of a search counts the words of readable records alone.
 *
 * The sort keys give the order, then creation (`_seq`) in the direction of the last key, so that an index over the keys gives the
 * whole order. Null sorts before every value. The part after a position is a sequence of segments: first the records that are
 * equal in all keys, then the records that are equal in fewer. Each segment is a range of the index.
 */
import { isSameSecret } from "../../base/kernel/index.ts";
import type { Value } from "../../store/database/index.ts";
import { plain, type SqlPart, separated, sqlPart } from "../expressions/index.ts";
import type { ValueType } from "../fields/index.ts";
import type { CursorPosition, KeyPlan, PageOutcome, SortPlan } from "./plan.ts";
import { refuseParameter } from "./query-text.ts";

/** Longer values stay out of the cursor, which is part of an address; the record is read again instead. */
const maxCharacters = 1_000;
/** Numbers of records are less. */
const maxPlace = 2 ** 48;
/** Characters of a signature: 132 bits in base64url. */
const signatureLength = 22;

/** Cursors of earlier versions have no place. */
type CursorText = [id: string, values: Value[] | null, digest?: string | null, place?: number | null];

export function digestOf(values: readonly Value[]): string {
  return Bun.SHA256.hash(JSON.stringify(values), "base64url").slice(0, 22);
}

export class Cursors {
  readonly #key: () => string;
  #knownKey: string | null = null;

  /** @param key the secret of the signatures; called once, for the first cursor. */
  constructor(key: () => string) {
    this.#key = key;
  }

  /** The cursor of a record. @param list a text that names the list and the caller of the cursor. */
  write({ id, seq, values }: NonNullable<PageOutcome["next"]>, list: string): string {
    const isShort = JSON.stringify(values).length <= maxCharacters;
    const place = seq === null ? null : (seq + this.#maskOf(id)) % maxPlace;
    const text = JSON.stringify(isShort ? [id, values, null, place] : [id, null, digestOf(values), place]);
    return this.#signature(text, list) + Buffer.from(text).toString("base64url");
  }

  /** @throws AppError `bad_request` for a cursor that was changed, or belongs to another list. */
  read(cursor: string, list: string): CursorPosition {
    const [signature, content] = [cursor.slice(0, signatureLength), cursor.slice(signatureLength)];
    const text = Buffer.from(content, "base64url").toString();
    const isSigned = isSameSecret(signature, this.#signature(text, list));
    // Decoders are lenient: several texts could stand for the same cursor.
    if (!isSigned || Buffer.from(text).toString("base64url") !== content)
      throw refuseParameter(
        "cursor",
        "this list gave no such cursor: collection, filter, sort and caller must be the same as for the page before, and the text of the cursor unchanged",
      );
    // The signature proves that the function above wrote the text.
    const [id, values, digest = null, place = null] = JSON.parse(text) as CursorText;
    const seq = place === null ? null : (place - this.#maskOf(id) + maxPlace) % maxPlace;
    return { id, seq, values, digest };
  }

  /** Hides the number of a record in a cursor: the number would tell how many records there are. */
  #maskOf(id: string): number {
    this.#knownKey ??= this.#key();
    return new Bun.CryptoHasher("sha256", this.#knownKey).update(id).digest().readUIntBE(0, 6);
  }

  /** @param text JSON, without a line break: a line break separates the text from the list. */
  #signature(text: string, list: string): string {
    this.#knownKey ??= this.#key();
    const digest = new Bun.CryptoHasher("sha256", this.#knownKey).update(`${text}\n${list}`).digest("base64url");
    return digest.slice(0, signatureLength);
  }
}

export interface SortPosition {
  readonly seq: number;
  readonly values: readonly Value[];
}

/** The least value of each type as SQL; null for a type without an order. */
const leastOf: { readonly [type in ValueType]: string | null } = {
  text: "''",
  datetime: "''",
  number: "-9e999",
  boolean: "0",
  json: null,
  geo: null,
  vector: null,
};

/** The names of the sort keys among the columns of a position: `_k0`, `_k1`, …. No field begins with an underscore. */
export function keyNames({ keys }: SortPlan): string[] {
  return keys.map((_, i) => `_k${i}`);
}

/** The columns of a position: `_seq`, which no field is called, and the sort keys. */
export function positionColumns({ keys, seq }: SortPlan): SqlPart {
  const values = keys.map((key, i) => sqlPart`${key} AS _k${i}`);
  return separated([plain(`${seq} AS _seq`), ...values], ", ");
}

/** The order of rows of `positionColumns`. @param of the alias with a dot, or nothing. */
export function positionOrder({ keys, isSeqDescending }: SortPlan, of = ""): string {
  const terms = keys.map(({ isDescending }, i) => `${of}_k${i} ${direction(isDescending)}`);
  return [...terms, `${of}_seq ${direction(isSeqDescending)}`].join(", ");
}

/** The position in a row of `positionColumns`. */
export function positionOf({ keys }: SortPlan, row: { readonly [column: string]: Value }): SortPosition {
  return { seq: Number(row["_seq"]), values: keys.map((_, i) => row[`_k${i}`] ?? null) };
}

/** The conditions of the segments after a position, in the order of the list. */
export function segmentsAfter(sort: SortPlan, { seq, values }: SortPosition): SqlPart[] {
  const { keys, isSeqDescending, isIndexed } = sort;
  const later: SqlPart = { text: `${sort.seq} ${sign(isSeqDescending)} ?`, values: [seq] };
  const ties = keys.map((key, i) => tie(key, values[i] ?? null));
  const segments = [separated([...ties, later], " AND ")];
  for (const [level, key] of [...keys.entries()].reverse())
    for (const segment of after(key, values[level] ?? null))
      segments.push(separated([...ties.slice(0, level), segment], " AND "));
  if (isIndexed || segments.length === 1) return segments;
  const ranges = segments.map((segment) => sqlPart`(${segment})`);
  return [sqlPart`(${separated(ranges, " OR ")})`];
}

/**
 * The conditions of all records, by the first sort key: SQLite takes the index that has the key, as behind a position. Without
 * this condition SQLite takes any index of the ids that a rule leads to.
 */
export function allSegments({ keys: [key] }: SortPlan): (SqlPart | null)[] {
  if (key === undefined) return [null];
  const [empty, filled] = [tie(key, null), after({ ...key, isDescending: false }, null)];
  if (!key.isNullable) return filled;
  return key.isDescending ? [...filled, empty] : [empty, ...filled];
}

/** The records with a later value of a key. */
function after(key: KeyPlan, value: Value): SqlPart[] {
  const { text, values, isDescending, isNullable, valueType } = key;
  if (value === null) {
    // Null sorts before every value, so nothing comes after null in a descending order.
    if (isDescending) return [];
    const least = leastOf[valueType];
    return [{ text: least === null ? `${text} IS NOT NULL` : `${text} >= ${least}`, values }];
  }
  const further = { text: `${text} ${sign(isDescending)} ?`, values: [...values, value] };
  return isDescending && isNullable ? [further, { text: `${text} IS NULL`, values }] : [further];
}

/** The records with the same value of a key. */
function tie({ text, values }: KeyPlan, value: Value): SqlPart {
  // The sign: see `parameter` of expressions.
  return value === null ? { text: `${text} IS NULL`, values } : { text: `${text} = +?`, values: [...values, value] };
}

function sign(isDescending: boolean): "<" | ">" {
  return isDescending ? "<" : ">";
}

export function direction(isDescending: boolean): "DESC" | "ASC" {
  return isDescending ? "DESC" : "ASC";
}
