import { type Reader, type Value, visited } from "../database/index.ts";
import { AppError } from "../kernel/index.ts";
import type { Expansion, Selection } from "./selection.ts";
import type { Row, Source } from "./source.ts";

/** Records that one path may bring. */
const maxRecords = 1_000;
/** So few are read without asking first what they weigh. */
const fewRecords = 8;
/** What may be read, and what may be answered: a record that many point to is read once and answered often. */
const maxReadBytes = 8 * 1024 ** 2;
const maxAnswerBytes = 16 * 1024 ** 2;

/** Which rows of a source a path leads to. */
interface Matches {
  readonly where: string;
  readonly values: readonly Value[];
  /** Whether the order matters: then the newest come first. */
  readonly isOrdered: boolean;
  /** Whether they may be more than a few. */
  readonly isMany: boolean;
}

/** A record that is answered, and what it weighs with everything in it, in bytes. */
interface Weighed {
  readonly record: Row;
  readonly weight: number;
}

/** What a path brings for a row. */
type Found = (row: Row) => { readonly value: Row[string]; readonly weight: number };

const nothing = { value: null, weight: 4 } as const;

/** Turns rows into the records that are answered, with what was asked for beside them: for one answer. */
export class Expander {
  readonly #reader: Reader;
  /** The caller's id, for what is their own; "" for nobody. */
  readonly #userId: string;
  #readBytes = 0;

  constructor(reader: Reader, userId: string | null) {
    this.#reader = reader;
    this.#userId = userId ?? "";
  }

  /**
   * The records for some rows, in their order. A path takes the same few queries, whatever the number of rows.
   * @throws AppError `bad_request` when paths bring too much.
   */
  async records(selection: Selection, rows: Row[]): Promise<Row[]> {
    const weighed = await this.#weighed(selection, rows);
    if (selection.expansions.length > 0) {
      let bytes = 0;
      for (const { weight } of weighed) bytes += weight;
      if (bytes > maxAnswerBytes) throw tooHeavy("the answer", maxAnswerBytes);
    }
    return weighed.map(({ record }) => record);
  }

  async #weighed(selection: Selection, rows: Row[]): Promise<Weighed[]> {
    const { expansions } = selection;
    const weights = rows.map(weightOf);
    selection.decode(rows);
    if (expansions.length === 0)
      return rows.map((row, i) => ({ record: selection.shape(row, null), weight: weights[i] ?? 0 }));
    const beside: Row[] = rows.map(() => ({}));
    for (const expansion of expansions) {
      const found = await this.#follow(expansion, rows);
      for (const [i, row] of rows.entries()) {
        const { value, weight } = found(row);
        weights[i] = (weights[i] ?? 0) + weight;
        const into = beside[i];
        if (into !== undefined) into[expansion.name] = value;
      }
    }
    return rows.map((row, i) => ({ record: selection.shape(row, beside[i] ?? null), weight: weights[i] ?? 0 }));
  }

  #follow(expansion: Expansion, rows: readonly Row[]): Promise<Found> {
    if (rows.length === 0 || expansion.selection.source.access === "none") return Promise.resolve(() => nothing);
    return expansion.isBackward ? this.#backward(expansion, rows) : this.#forward(expansion, rows);
  }

  async #forward({ field, selection }: Expansion, rows: readonly Row[]): Promise<Found> {
    const ids = [...new Set(rows.map((row) => row[field]).filter((id) => typeof id === "string"))];
    if (ids.length === 0) return () => nothing;
    const { source } = selection;
    const list = listOf(ids);
    const matches = this.#own(source, `${source.table}.id IN ${list.sql}`, list.values);
    const found = await this.#read(selection, { ...matches, isOrdered: false, isMany: ids.length > fewRecords });
    const keys = found.map((row) => row["id"]);
    const weighed = await this.#weighed(selection, found);
    const byId = new Map(weighed.map(({ record, weight }, i) => [keys[i], { value: record, weight }]));
    return (row) => byId.get(row[field] ?? null) ?? nothing;
  }

  /** The newest first. Where there are too many, each row gets its newest, at most the same number for each. */
  async #backward({ field, selection }: Expansion, rows: readonly Row[]): Promise<Found> {
    const { source } = selection;
    const ids = rows.flatMap(({ id }) => (typeof id === "string" ? [id] : []));
    const list = listOf(ids);
    const pointer = source.column(field);
    const all = this.#own(source, `${pointer} IN ${list.sql}`, list.values);
    const isMany = await this.#isMore(source, all, fewRecords);
    const isTooMany = isMany && (await this.#isMore(source, all, maxRecords));
    const matches = isTooMany ? await this.#newest(source, pointer, ids) : all;
    const found = await this.#read(selection, { ...matches, isOrdered: true, isMany });
    const parents = found.map((row) => row[field]);
    const weighed = await this.#weighed(selection, found);
    const byParent = Map.groupBy(weighed.keys(), (i) => parents[i]);
    return (row) => {
      const own = (byParent.get(row["id"]) ?? []).flatMap((i) => weighed[i] ?? []);
      let weight = 2;
      for (const each of own) weight += each.weight;
      return { value: own.map(({ record }) => record), weight };
    };
  }

  /** The newest of each parent, found by the index of the pointer: so many that all together are not too many. */
  async #newest(source: Source, pointer: string, ids: readonly string[]): Promise<Pick<Matches, "where" | "values">> {
    const { table } = source;
    const list = listOf(ids);
    const counted = this.#own(source, `${pointer} IN ${list.sql}`, list.values);
    const counts = await this.#reader.all<{ n: number }>(
      `SELECT count(*) AS n FROM ${table} WHERE ${visited(table)} AND ${counted.where} GROUP BY ${pointer}`,
      ...counted.values,
    );
    const each = shareOf(
      counts.map(({ n }) => n),
      maxRecords,
    );
    const ofParent = this.#own(source, `${pointer} = _parents.column1`, []);
    const newest = `SELECT _seq FROM ${table} WHERE ${ofParent.where} ORDER BY _seq DESC LIMIT ${each}`;
    const parents = `(VALUES ${ids.map(() => "(?)").join(", ")}) _parents`;
    return {
      where: `${table}._seq IN (SELECT _each._seq FROM ${parents}, ${table} _each WHERE _each._seq IN (${newest}))`,
      values: [...ids, ...ofParent.values],
    };
  }

  async #isMore(source: Source, { where, values }: Pick<Matches, "where" | "values">, than: number): Promise<boolean> {
    const row = await this.#reader.get<{ n: number }>(
      `SELECT count(*) AS n FROM (SELECT 1 FROM ${source.table} WHERE ${where} LIMIT ${than + 1})`,
      ...values,
    );
    return (row?.n ?? 0) > than;
  }

  async #read(selection: Selection, { where, values, isOrdered, isMany }: Matches): Promise<Row[]> {
    const { source, columns } = selection;
    const from = `FROM ${source.table} WHERE ${where}`;
    if (isMany) {
      const sum = `SELECT sum(${source.weight(columns)}) AS bytes ${from}`;
      this.#count((await this.#reader.get<{ bytes: number | null }>(sum, ...values))?.bytes ?? 0, source);
    }
    const order = isOrdered ? " ORDER BY _seq DESC" : "";
    const rows = await this.#reader.all<Row>(`SELECT ${selection.sql} ${from}${order}`, ...values);
    if (!isMany) for (const row of rows) this.#count(weightOf(row), source);
    return rows;
  }

  #count(bytes: number, source: Source): void {
    this.#readBytes += bytes;
    if (this.#readBytes > maxReadBytes) throw tooHeavy(`what it brings, up to "${source.name}",`, maxReadBytes);
  }

  /** Only what the caller may see. What is their own is looked for among what is meant, and not the other way round. */
  #own({ table, ownCondition }: Source, where: string, values: readonly Value[]): Pick<Matches, "where" | "values"> {
    if (ownCondition === null) return { where, values };
    return { where: `${visited(table)} AND ${where} AND +${ownCondition}`, values: [...values, this.#userId] };
  }
}

/** A list of values for IN. It has one of few lengths, so that statements are met again: the last one is repeated. */
function listOf(values: readonly string[]): { sql: string; values: string[] } {
  let length = 1;
  while (length < values.length) length *= 2;
  const last = values.at(-1) ?? "";
  const all = [...values, ...Array.from({ length: length - values.length }, () => last)];
  return { sql: `(${all.map(() => "?").join(", ")})`, values: all };
}

/** The most that each may have, so that all of them have no more than `total`; at least 1. */
function shareOf(counts: readonly number[], total: number): number {
  let [left, share] = [total, 0];
  const ascending = [...counts].sort((a, b) => a - b);
  for (const [i, count] of ascending.entries()) {
    const others = ascending.length - i;
    if ((count - share) * others > left) return Math.max(1, share + Math.floor(left / others));
    left -= (count - share) * others;
    share = count;
  }
  return Math.max(1, share);
}

function tooHeavy(what: string, bytes: number): AppError {
  const advice = 'ask for fewer records, or for less of each with "fields"';
  return new AppError("bad_request", `"expand": ${what} weighs more than ${bytes / 1024 ** 2} MiB; ${advice}.`);
}

/** The bytes that a row takes in an answer, at most; it was not decoded yet. */
function weightOf(row: Row): number {
  let weight = 2;
  for (const name in row) {
    const value = row[name];
    weight += name.length + 4 + (typeof value === "string" ? textWeight(value) : 8);
  }
  return weight;
}

/** Short texts count as much as they might take, which spares looking at them: six bytes for a control character. */
function textWeight(text: string): number {
  return text.length <= 40 ? text.length * 6 : Buffer.byteLength(JSON.stringify(text));
}
