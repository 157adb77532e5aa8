import { type Collection, indexesOf } from "../collections/index.ts";
import type { Value } from "../database/index.ts";
import {
  type Constant,
  ExpressionError,
  type ExpressionSchema,
  type Path,
  parsePath,
  pathSql,
} from "../expressions/index.ts";
import { quote } from "../kernel/index.ts";
import { refuseParameter } from "./query-text.ts";

/** Fields that a list may be sorted by. */
const maxKeys = 5;

interface SortKey {
  readonly path: Path;
  readonly isDescending: boolean;
  /** Its value as SQL, and what stands for the `?` in it. */
  readonly sql: string;
  readonly constants: readonly Constant[];
  /** Whether there may be records without a value. */
  readonly isNullable: boolean;
}

/** A part of a list that begins behind a place: its condition, in which each value stands for a `?`. */
export interface Segment {
  readonly where: string;
  readonly values: readonly (Value | Constant)[];
  /** How many comparisons it is. */
  readonly constraints: number;
}

/** A place in a sorted list: the values that it is sorted by, and the hidden place of the record in its collection. */
export interface Place {
  readonly seq: number;
  readonly values: readonly Value[];
}

/** What comes before every other value of a column's type. */
const leastOf = { text: "''", datetime: "''", number: "-9e999", boolean: "0", json: null } as const;

/**
 * The order of a list. Ties are broken by the order of creation, in the direction of the last key: so an index over the
 * keys gives the whole order. Without keys, the newest come first.
 */
export class Sort {
  readonly #keys: readonly SortKey[];
  readonly #seq: string;
  readonly #isSeqDescending: boolean;

  /** @param table the quoted SQL name of the collection's table. */
  constructor(keys: readonly SortKey[], table: string, isSeqDescending = keys.at(-1)?.isDescending ?? true) {
    this.#keys = keys;
    this.#seq = `${table}._seq`;
    this.#isSeqDescending = isSeqDescending;
  }

  /** Whether it is the order of creation, or that backwards. */
  get isByCreation(): boolean {
    return this.#keys.length === 0;
  }

  /** The names of fields of the collection itself by which it sorts, from the first, up to one that is something else. */
  get leadingFields(): string[] {
    const end = this.#keys.findIndex(({ path }) => path.hops.length > 0 || path.members.length > 0);
    return this.#keys.slice(0, end < 0 ? this.#keys.length : end).map(({ path }) => path.field.name);
  }

  /** Whether it goes up by some keys and down by others. */
  get isMixed(): boolean {
    return new Set(this.#keys.map(({ isDescending }) => isDescending)).size > 1;
  }

  get paths(): readonly Path[] {
    return this.#keys.map(({ path }) => path);
  }

  get constants(): readonly Constant[] {
    return this.#keys.flatMap(({ constants }) => constants);
  }

  /** After ORDER BY; its `?` stand for `constants`. */
  get order(): string {
    const keys = this.#keys.map(({ sql, isDescending }) => `${sql} ${direction(isDescending)}`);
    return [...keys, `${this.#seq} ${direction(this.#isSeqDescending)}`].join(", ");
  }

  /** What is selected to know the place of a record: `seq`, `k0`, `k1`, …; its `?` stand for `constants`. */
  get placeColumns(): string {
    return [`${this.#seq} AS seq`, ...this.#keys.map(({ sql }, i) => `${sql} AS k${i}`)].join(", ");
  }

  placeOf(row: { readonly [column: string]: Value }): Place {
    return { seq: Number(row["seq"]), values: this.#keys.map((_, i) => row[`k${i}`] ?? null) };
  }

  /**
   * What comes behind a place, as parts that follow each other: first what is equal in all keys, then in fewer of
   * them. Each is a range of an index over the keys, where there is one.
   */
  behind({ seq, values }: Place): Segment[] {
    const made: Segment = {
      where: `${this.#seq} ${beyondSign(this.#isSeqDescending)} ?`,
      values: [seq],
      constraints: 1,
    };
    const same = this.#keys.map((key, i) => equal(key, values[i] ?? null));
    const segments = [both([...same, made])];
    for (const [level, key] of [...this.#keys.entries()].reverse())
      for (const segment of beyond(key, values[level] ?? null)) segments.push(both([...same.slice(0, level), segment]));
    return segments;
  }
}

/** What lies behind a value of a key. */
function beyond({ sql, constants, isDescending, isNullable, path }: SortKey, value: Value): Segment[] {
  if (value === null) {
    // Nothing sorts before everything else, so it comes last when the order is turned.
    if (isDescending) return [];
    const least = leastOf[path.valueType];
    return [{ where: least === null ? `${sql} IS NOT NULL` : `${sql} >= ${least}`, values: constants, constraints: 1 }];
  }
  const further = { where: `${sql} ${beyondSign(isDescending)} ?`, values: [...constants, value], constraints: 1 };
  if (!isDescending || !isNullable) return [further];
  return [further, { where: `${sql} IS NULL`, values: constants, constraints: 1 }];
}

function beyondSign(isDescending: boolean): "<" | ">" {
  return isDescending ? "<" : ">";
}

function direction(isDescending: boolean): "DESC" | "ASC" {
  return isDescending ? "DESC" : "ASC";
}

function equal({ sql, constants }: SortKey, value: Value): Segment {
  if (value === null) return { where: `${sql} IS NULL`, values: constants, constraints: 1 };
  return { where: `${sql} = ?`, values: [...constants, value], constraints: 1 };
}

function both(segments: readonly Segment[]): Segment {
  return {
    where: segments.map(({ where }) => where).join(" AND "),
    values: segments.flatMap(({ values }) => values),
    constraints: segments.length,
  };
}

function pathOf(name: string, schema: ExpressionSchema): Path {
  try {
    return parsePath(name, schema);
  } catch (thrown) {
    throw thrown instanceof ExpressionError ? refuseParameter("sort", thrown.problem) : thrown;
  }
}

/** Whether a definition asks for an index with the field in it. */
function isIndexed(field: string, { definition }: Collection): boolean {
  return indexesOf(definition).some(({ fields }) => fields.includes(field));
}

/** Whether some record may have no value at the end of a path. */
function isNullable(path: Path, collection: Collection): boolean {
  if (path.hops.length > 0 || path.members.length > 0) return true;
  if (["id", "createdAt", "updatedAt"].includes(path.field.name)) return false;
  return collection.definition.fields.find(({ name }) => name === path.field.name)?.required !== true;
}

/** Whose records are sorted. */
interface Sorted {
  readonly collection: Collection;
  readonly schema: ExpressionSchema;
  /** The quoted SQL name of its table. */
  readonly table: string;
}

/**
 * Reads `sort`: names of fields, or paths to values elsewhere, each with a `-` where the greatest come first.
 * @throws AppError `bad_request`; `unauthorized` or `forbidden` where a path leads to what the caller may not read.
 */
export function parseSort(text: string | undefined, { collection, schema, table }: Sorted): Sort {
  const parts = text === undefined ? [] : text.split(",").map((part) => part.trim());
  if (parts.length > maxKeys) throw refuseParameter("sort", `at most ${maxKeys} fields are allowed`);
  const keys: SortKey[] = [];
  const seen = new Set<string>();
  for (const part of parts) {
    const name = part.replace(/^[-+]/, "");
    const word = /^(\S+)\s+(asc|desc)$/i.exec(name);
    if (word !== null) {
      const meant = word[2]?.toLowerCase() === "desc" ? `-${word[1]}` : word[1];
      throw refuseParameter("sort", `${quote(name)} is no field; did you mean "${meant}"?`);
    }
    if (name === "") throw refuseParameter("sort", "there is a comma too much, or a name is missing");
    if (seen.has(name)) throw refuseParameter("sort", `${quote(name)} is there twice`);
    seen.add(name);
    const path = pathOf(name, schema);
    if (path.valueType === "json" && path.members.length === 0)
      throw refuseParameter("sort", `${quote(name)} is JSON; name what is in it, such as ${name}.size`);
    const { text: sql, values } = pathSql(path, table);
    keys.push({
      path,
      isDescending: part.startsWith("-"),
      sql,
      constants: values,
      isNullable: isNullable(path, collection),
    });
  }
  // Creation is the order of the table itself, which needs no index: times never run backwards.
  const last = keys.at(-1);
  const isCreation = last?.path.hops.length === 0 && last.path.field.name === "createdAt";
  if (last === undefined || !isCreation || isIndexed("createdAt", collection)) return new Sort(keys, table);
  return new Sort(keys.slice(0, -1), table, last.isDescending);
}
