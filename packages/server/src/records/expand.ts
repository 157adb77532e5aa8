import type { Reader, Value } from "../database/index.ts";
import { AppError } from "../kernel/index.ts";
import type { Expansion, Selection } from "./selection.ts";
import type { Row, Source } from "./source.ts";

/** Records that one path may bring. */
const maxRecords = 1_000;
/** So few are read without asking first what they weigh. */
const fewRecords = 64;
/** What may be read, and what may be answered: a record that many point to is read once and answered often. */
const maxReadBytes = 16 * 1024 ** 2;
const maxAnswerBytes = 32 * 1024 ** 2;

/** Which rows of a source a path leads to. */
interface Matches {
  readonly where: string;
  readonly order: string;
  readonly values: readonly Value[];
}

const newestFirst = " ORDER BY _seq DESC";

/** A record that is answered, and about what it weighs with everything in it, in bytes. */
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
    if (expansion.selection.source.access === "none") return Promise.resolve(() => nothing);
    return expansion.isBackward ? this.#backward(expansion, rows) : this.#forward(expansion, rows);
  }

  async #forward({ field, selection }: Expansion, rows: readonly Row[]): Promise<Found> {
    const ids = [...new Set(rows.map((row) => row[field]).filter((id) => typeof id === "string"))];
    if (ids.length === 0) return () => nothing;
    const { source } = selection;
    const matches = this.#own(source, `${source.table}.id IN (SELECT value FROM json_each(?))`, JSON.stringify(ids));
    const found = await this.#read(selection, { ...matches, order: "" }, ids.length > fewRecords);
    const keys = found.map((row) => row["id"]);
    const weighed = await this.#weighed(selection, found);
    const byId = new Map(weighed.map(({ record, weight }, i) => [keys[i], { value: record, weight }]));
    return (row) => byId.get(row[field] ?? null) ?? nothing;
  }

  /** The newest first. Where there are too many, each row gets its newest, at most the same number for each. */
  async #backward({ field, selection }: Expansion, rows: readonly Row[]): Promise<Found> {
    const { source } = selection;
    const ids = JSON.stringify(rows.map((row) => row["id"] ?? null));
    const pointer = source.column(field);
    const all = this.#own(source, `${pointer} IN (SELECT value FROM json_each(?))`, ids);
    const isMany = await this.#isMore(source, all, fewRecords);
    const isTooMany = isMany && (await this.#isMore(source, all, maxRecords));
    const matches = isTooMany ? this.#newest(source, pointer, ids, rows.length) : all;
    const found = await this.#read(selection, matches, isMany);
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

  /** The newest of each parent, found by the index of the pointer. */
  #newest(source: Source, pointer: string, ids: string, parents: number): Matches {
    const { table, ownCondition } = source;
    const each = Math.max(1, Math.floor(maxRecords / parents));
    const own = ownCondition === null ? "" : ` AND ${ownCondition}`;
    const ofParent = `SELECT _seq FROM ${table} WHERE ${pointer} = _parent.value${own} ORDER BY _seq DESC LIMIT ${each}`;
    return {
      where: `${table}._seq IN (SELECT _each._seq FROM json_each(?) _parent, ${table} _each WHERE _each._seq IN (${ofParent}))`,
      order: newestFirst,
      values: ownCondition === null ? [ids] : [ids, this.#userId],
    };
  }

  async #isMore(source: Source, { where, values }: Matches, than: number): Promise<boolean> {
    const row = await this.#reader.get<{ n: number }>(
      `SELECT count(*) AS n FROM (SELECT 1 FROM ${source.table} WHERE ${where} LIMIT ${than + 1})`,
      ...values,
    );
    return (row?.n ?? 0) > than;
  }

  async #read(selection: Selection, { where, order, values }: Matches, isMany: boolean): Promise<Row[]> {
    const { source, columns } = selection;
    const from = `FROM ${source.table} WHERE ${where}`;
    if (isMany) {
      const sum = `SELECT sum(${source.weight(columns)}) AS bytes ${from}`;
      this.#count((await this.#reader.get<{ bytes: number | null }>(sum, ...values))?.bytes ?? 0, source);
    }
    const rows = await this.#reader.all<Row>(`SELECT ${selection.sql} ${from}${order}`, ...values);
    if (!isMany) for (const row of rows) this.#count(weightOf(row), source);
    return rows;
  }

  #count(bytes: number, source: Source): void {
    this.#readBytes += bytes;
    if (this.#readBytes > maxReadBytes) throw tooHeavy(`what it brings, up to "${source.name}",`, maxReadBytes);
  }

  #own({ ownCondition }: Source, where: string, value: Value): Matches {
    if (ownCondition === null) return { where, order: newestFirst, values: [value] };
    return { where: `${where} AND ${ownCondition}`, order: newestFirst, values: [value, this.#userId] };
  }
}

function tooHeavy(what: string, bytes: number): AppError {
  const advice = 'ask for fewer records, or for less of each with "fields"';
  return new AppError("bad_request", `"expand": ${what} weighs more than ${bytes / 1024 ** 2} MiB; ${advice}.`);
}

/** About the bytes of a row that was not decoded yet. */
function weightOf(row: Row): number {
  let weight = 2;
  for (const name in row) {
    const value = row[name];
    weight += name.length + (typeof value === "string" ? value.length : 8);
  }
  return weight;
}
