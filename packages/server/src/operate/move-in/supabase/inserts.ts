/** Rows as INSERT, as pg_dump writes rows with --inserts, --column-inserts and --rows-per-insert. The cells are those of COPY. */
import { SqlError, textOf } from "./tokens.ts";

/** A value that PostgreSQL computes from other columns; COPY leaves the column out. */
export const computed = Symbol("DEFAULT");
export type InsertedRow = readonly (string | null | typeof computed)[];

interface Insert {
  /** With the schema: `public.posts`. */
  readonly name: string;
  /** Null for a statement that names no columns: the values are those of the table's columns, in order. */
  readonly columns: readonly string[] | null;
  /** The statement up to the rows. */
  readonly head: string;
}

const quoted = '"(?:[^"]|"")*"';
const headPattern = new RegExp(
  String.raw`^INSERT\sINTO ((?:${quoted}|[^\s"(])+) (?:\(((?:${quoted}|[^")])*)\) )?(?:OVERRIDING SYSTEM VALUE )?VALUES(?=\s)`,
);

/** The head of a statement. @throws SqlError for a form that pg_dump does not write. */
export function insertOf(statement: string): Insert {
  const [head, name = "", columns] = headPattern.exec(statement) ?? [];
  if (head === undefined) throw new SqlError("an INSERT of another form than pg_dump writes");
  return { head, name: name.replaceAll('"', ""), columns: columns === undefined ? null : namesIn(columns) };
}

/** The names of a list of columns. */
export function namesIn(list: string): string[] {
  return [...list.matchAll(/"((?:[^"]|"")*)"|[^\s,]+/g)].map(([all, name]) => name ?? all);
}

const sign = /\s*(ON CONFLICT DO NOTHING|.|$)/sy;
const value = /\s*(?:(?<text>E?)'|(?<bits>B'[01]*')|(?<number>[-+.\d][-+.\deE]*)|(?<word>[A-Za-z]+))/y;
const rest = /\s*$/y;

/** The rows of a statement from a place on, to the end. @throws SqlError for a form that pg_dump does not write. */
export function* rowsIn(statement: string, from: number): Generator<InsertedRow> {
  let at = from;
  const next = (pattern: RegExp): RegExpExecArray => {
    pattern.lastIndex = at;
    const found = pattern.exec(statement);
    if (found === null) throw new SqlError(`unexpected ${statement.slice(at, at + 20)}`);
    at = pattern.lastIndex;
    return found;
  };
  const need = (...signs: readonly string[]): string => {
    const before = at;
    const [, found = ""] = next(sign);
    if (!signs.includes(found)) throw new SqlError(`unexpected ${statement.slice(before, before + 20) || "end"}`);
    return found;
  };
  const valueAt = (): InsertedRow[number] => {
    const { text, bits, word, number } = next(value).groups ?? {};
    if (text !== undefined) {
      const begin = at - 1 - text.length;
      at = endOfText(statement, at, text);
      if (at === -1) throw new SqlError("a text without an end");
      return textOf(statement.slice(begin, at));
    }
    if (bits !== undefined) return bits.slice(2, -1);
    if (number !== undefined) return number;
    if (word === "NULL") return null;
    if (word === "DEFAULT") return computed;
    if (word === "true" || word === "false") return word.slice(0, 1);
    throw new SqlError(`unexpected ${word}`);
  };
  const isOver = (): boolean => {
    rest.lastIndex = at;
    return rest.test(statement);
  };
  for (let end = ","; end === ","; end = need(",", ";", "ON CONFLICT DO NOTHING")) {
    // The statement may go on after a comma.
    if (isOver()) return;
    need("(");
    const row = [];
    do row.push(valueAt());
    while (need(",", ")") === ",");
    yield row;
  }
  if (!isOver()) need(";");
}

/** The place behind a text; -1 without an end. @param at behind the opening quote. @param prefix "E" for a text with escapes. */
export function endOfText(sql: string, at: number, prefix: string): number {
  const stop = prefix === "E" ? /\\.|''|'/gs : /''|'/g;
  stop.lastIndex = at;
  for (let found = stop.exec(sql); found !== null; found = stop.exec(sql)) if (found[0] === "'") return stop.lastIndex;
  return -1;
}
