/** Data check of a migration: checks before any change whether the records allow the new definition. */
import {
  boundsOf,
  type ErrorDetail,
  type ErrorRule,
  type FieldDefinition,
  FORMATS_IN_WORDS,
  isFormatted,
  isView,
  RECORD_TIMES,
} from "@socle/protocol";
import { AppError, count, nearest, nextTurn, quote } from "../../../base/kernel/index.ts";
import { identifier, literal, type SlowReader, type Value } from "../../../store/database/index.ts";
import {
  compilePattern,
  decode,
  fillOf,
  foldedSql,
  isEmptySql,
  maxItemLength,
  maxItemsOf,
  scopeOf,
  storedDefault,
} from "../../fields/index.ts";
import { ownerColumn } from "../../permissions/index.ts";
import { columnName, tableName } from "../collection.ts";
import { isSetSql, restoredSql } from "../dropped-table.ts";
import { rethrow } from "../migration-error.ts";
import { type BoundRule, type CollectionPlan, originOf, type PlanStep, renamedValuesOf } from "../plan.ts";
import { turnedSql } from "../table.ts";

/** Ids of offending records that an error names. */
const maxExamples = 5;
/** The most values that one step matches against a pattern. */
const pageSize = 500;
const pageBytes = 512 * 1024;

/** Records that contradict a change. */
interface Offenders {
  readonly records: number;
  /** The ids of the first records. */
  readonly examples: readonly string[];
}

/** The parts of the message about records that contradict a change: "field cannot …: 3 records have …". */
interface Contradiction {
  readonly field: string;
  readonly rule: ErrorRule;
  readonly why: string;
  readonly state: string;
  /** The way out; absent if the contradiction tells the way. */
  readonly advice?: string;
}

/** The check of one collection's records. Each field of the new definition is an expression over the old columns. */
class DataCheck {
  readonly #reader: SlowReader;
  readonly #plan: CollectionPlan;
  /** The name of the table in expressions. */
  readonly #table: string;
  /** The records, for FROM. */
  readonly #records: string;
  readonly #before: ReadonlyMap<string, FieldDefinition>;
  readonly #after: ReadonlyMap<string, FieldDefinition>;
  readonly #added: ReadonlySet<string>;
  readonly #problems: ErrorDetail[] = [];

  constructor(reader: SlowReader, plan: CollectionPlan) {
    this.#reader = reader;
    this.#plan = plan;
    this.#table = identifier(tableName((plan.before ?? plan.after).name));
    this.#records = plan.base === undefined ? this.#table : `(${plan.base.rows}) AS ${this.#table}`;
    this.#before = byName((plan.before ?? plan.base?.definition)?.fields ?? []);
    this.#after = byName(plan.after.fields);
    this.#added = new Set(plan.steps.flatMap((step) => (step.step === "add" ? [step.field] : [])));
  }

  /** @throws AppError `bad_request` with every contradiction: the number of records, and some ids. */
  async refuse(): Promise<void> {
    if (this.#plan.before === null && this.#plan.base === undefined) return;
    for (const step of this.#plan.steps) {
      if (step.step === "index" && step.on && step.unique) await this.#refuseDuplicates(step.fields);
      const field = "field" in step ? this.#after.get(step.field) : undefined;
      if (field !== undefined) await this.#refuseStep(step, field);
    }
    if (this.#problems.length === 0) return;
    const reasons = this.#problems.map(
      ({ field, message }) => `field${field.includes(",") ? "s" : ""} "${field}" ${message}`,
    );
    throw new AppError("bad_request", reasons.join("; "), { details: this.#problems });
  }

  /** How many records have a value in a field that is dropped. */
  async dropped(field: string): Promise<number> {
    // The owner column stays: the owner is hidden, not lost.
    if (this.#before.get(field)?.owner === true) return 0;
    return this.#count(this.#isSet(field));
  }

  /** How many records have a text that gets another name. */
  async withText(field: string, text: string): Promise<number> {
    const old = this.#before.get(originOf(this.#plan, field));
    const column = this.#column(originOf(this.#plan, field));
    const item = `EXISTS (SELECT 1 FROM json_each(${column}) _item WHERE _item.value = ?)`;
    return this.#count(old?.multiple === true ? item : `${column} = ?`, text);
  }

  async #refuseStep(step: PlanStep, field: FieldDefinition): Promise<void> {
    const name = field.name;
    const value = this.#value(name);
    switch (step.step) {
      case "require": {
        const why = this.#added.has(name) ? "cannot be required: it is new and" : "cannot be required:";
        return this.#refuseWhere(
          { field: name, rule: "required", why, state: "no value in it" },
          isEmptySql(field, value),
        );
      }
      case "unique":
        if (step.to === "nocase") return this.#refuseTwins(name, value);
        return step.on ? this.#refuseDuplicates([name]) : undefined;
      case "retarget": {
        const why = `cannot point to "${step.to}" instead of "${step.from}":`;
        const condition = this.#isSet(originOf(this.#plan, name));
        return this.#refuseWhere({ field: name, rule: "relation", why, state: "a value in it" }, condition);
      }
      case "multiple":
        return this.#refuseTurn(field);
      case "sequence":
        return step.on ? this.#refuseDuplicates([...scopeOf(field), name]) : undefined;
      case "values":
        return this.#refuseOthers(field, value);
      case "rules":
        return this.#refuseBounds(field, value, step.stricter);
      case "restore":
        await this.#refuseOthers(field, value);
        return this.#refuseBounds(field, value, ["min", "max", "regex", "format"]);
      default:
    }
  }

  /** Refuses records with a text that is not among the values, and names the texts. */
  async #refuseOthers({ name, values, multiple }: FieldDefinition, value: string): Promise<void> {
    if (values === undefined) return;
    const text = multiple === true ? "_item.value" : value;
    const allowed = [...values, ...renamedValuesOf(this.#plan, name).map(({ from }) => from)];
    const other = `${text} NOT IN (${allowed.map(() => "?").join(", ")})`;
    const items = `json_each(${value}) _item`;
    const others = await this.#reader.all<{ value: string }>(
      `SELECT DISTINCT substr(${text}, 1, 100) AS value FROM ${this.#records}${multiple === true ? `, ${items}` : ""} WHERE ${other} LIMIT ${maxExamples + 1}`,
      ...allowed,
    );
    const condition = multiple === true ? `EXISTS (SELECT 1 FROM ${items} WHERE ${other})` : other;
    const shown = others.slice(0, maxExamples).map((row) => quote(row.value));
    const state = `another value: ${shown.join(", ")}${others.length > maxExamples ? ", …" : ""}`;
    const why = `cannot have "values" ${quote(values)}:`;
    const old = this.#before.get(originOf(this.#plan, name))?.values ?? [];
    const advice = renameAdvice(others[0]?.value ?? "", { old, values });
    await this.#refuseWhere({ field: name, rule: "type", why, state, advice }, condition, ...allowed);
  }

  async #refuseBounds(field: FieldDefinition, value: string, rules: readonly BoundRule[]): Promise<void> {
    const bounds = boundsOf(field);
    const measure =
      bounds === "length" ? `length(${value})` : bounds === "items" ? `nullif(json_array_length(${value}), 0)` : value;
    const has = {
      length: { min: "a text that is shorter", max: "a text that is longer" },
      items: { min: "fewer items", max: "more items" },
      value: { min: "a value below it", max: "a value above it" },
    }[bounds ?? "value"];
    for (const bound of ["min", "max"] as const) {
      const limit = bound === "max" && field.multiple === true ? maxItemsOf(field) : field[bound];
      if (limit === undefined || !rules.includes(bound)) continue;
      await this.#refuseWhere(
        { field: field.name, rule: bound, why: `cannot have "${bound}" ${limit}:`, state: has[bound] },
        `${measure} ${bound === "min" ? "<" : ">"} ?`,
        limit,
      );
    }
    const { regex, format } = field;
    const wrong = async (rule: "regex" | "format", state: string, test: (text: string) => boolean): Promise<void> => {
      if (!rules.includes(rule)) return;
      const why = `cannot have "${rule}" ${quote(field[rule])}:`;
      const broken = rule === "format" ? "type" : rule;
      this.#refuse({ field: field.name, rule: broken, why, state }, await this.#unmatched(field, value, test));
    };
    if (format !== undefined)
      await wrong("format", `a text that is not ${FORMATS_IN_WORDS[format]}`, (text) => isFormatted(text, format));
    if (regex === undefined) return;
    const pattern = compilePattern(regex);
    await wrong("regex", "a text that does not match", (text) => pattern.test(text));
  }

  /** Refuses records with several items in a field that turns single, or with a value that is too long for an item. */
  async #refuseTurn({ name, multiple }: FieldDefinition): Promise<void> {
    const old = this.#column(originOf(this.#plan, name));
    const [why, state, condition] =
      multiple === true
        ? [
            "cannot be multiple:",
            `a text of more than ${maxItemLength} characters`,
            `length(${old}) > ${maxItemLength}`,
          ]
        : ["cannot hold a single value:", "several items", `json_array_length(${old}) > 1`];
    await this.#refuseWhere({ field: name, rule: "max", why, state }, condition);
  }

  /** Refuses records whose texts differ in case at most, and names texts of a group. */
  async #refuseTwins(field: string, value: string): Promise<void> {
    const folded = foldedSql(value);
    const group = `SELECT ${folded} FROM ${this.#records} WHERE ${value} IS NOT NULL GROUP BY 1 HAVING count(*) > 1`;
    const texts = await this.#reader.all<{ text: string }>(
      `SELECT substr(${value}, 1, 100) AS text FROM ${this.#records} WHERE ${folded} IN (${group}) ORDER BY ${folded}, _seq LIMIT ${maxExamples}`,
    );
    const state = `a text that another has too, but for case: ${texts.map(({ text }) => quote(text)).join(", ")}`;
    const why = 'cannot be unique ("nocase"):';
    await this.#refuseWhere({ field, rule: "unique", why, state }, `${folded} IN (${group})`);
  }

  /** Refuses records that share the values of all of these fields, without nulls. */
  async #refuseDuplicates(fields: readonly string[]): Promise<void> {
    const values = fields.map((name) => this.#value(name));
    const list = values.join(", ");
    const isSet = values.map((value) => `${value} IS NOT NULL`).join(" AND ");
    const places = values.map((_, i) => i + 1).join(", ");
    const repeated = `(${list}) IN (SELECT ${list} FROM ${this.#records} WHERE ${isSet} GROUP BY ${places} HAVING count(*) > 1)`;
    const [why, state] =
      fields.length === 1
        ? ["cannot be unique:", "a value that another has too"]
        : ["cannot be unique together:", "values that another has too"];
    await this.#refuseWhere({ field: fields.join(", "), rule: "unique", why, state }, repeated);
  }

  async #refuseWhere(contradiction: Contradiction, condition: string, ...values: Value[]): Promise<void> {
    const records = await this.#count(condition, ...values);
    if (records === 0) return;
    const sql = `SELECT id FROM ${this.#records} WHERE ${condition} ORDER BY _seq LIMIT ${maxExamples}`;
    const rows = await this.#reader.all<{ id: string }>(sql, ...values);
    this.#refuse(contradiction, { records, examples: rows.map(({ id }) => id) });
  }

  #refuse({ field, rule, why, state, advice = "" }: Contradiction, { records, examples }: Offenders): void {
    if (records === 0) return;
    const ids = `${examples.join(", ")}${records > examples.length ? ", …" : ""}`;
    const reason = `${why} ${count(records, "record")} ${records === 1 ? "has" : "have"} ${state} (${ids})${advice}`;
    this.#problems.push({ field, rule, message: reason });
  }

  /** Patterns are no part of SQL, so the values are read: as many at a time as are not too heavy. */
  async #unmatched(field: FieldDefinition, value: string, test: (text: string) => boolean): Promise<Offenders> {
    const matches = (stored: string): boolean => [decode(field, stored)].flat().every((each) => test(String(each)));
    const examples: string[] = [];
    let [records, after] = [0, 0];
    while (true) {
      const until = await this.#pageEnd(value, after);
      if (until === null) return { records, examples };
      const sql = `SELECT id, ${value} AS value FROM ${this.#records} WHERE _seq > ? AND _seq <= ? AND ${value} IS NOT NULL ORDER BY _seq`;
      const rows = await this.#reader.all<{ id: string; value: string }>(sql, after, until);
      for (const row of rows) {
        if (matches(row.value)) continue;
        records += 1;
        if (examples.length < maxExamples) examples.push(row.id);
      }
      after = until;
      await nextTurn();
    }
  }

  /** The end of the page that starts after a seq; null after the last record. */
  async #pageEnd(value: string, after: number): Promise<number | null> {
    const sql = `SELECT _seq AS seq, octet_length(${value}) AS bytes FROM ${this.#records} WHERE _seq > ? ORDER BY _seq LIMIT ${pageSize}`;
    const sizes = await this.#reader.all<{ seq: number; bytes: number | null }>(sql, after);
    let [end, bytes]: [number | null, number] = [null, 0];
    for (const row of sizes) {
      bytes += row.bytes ?? 0;
      if (end !== null && bytes > pageBytes) break;
      end = row.seq;
    }
    return end;
  }

  async #count(condition: string, ...values: Value[]): Promise<number> {
    const sql = `SELECT count(*) AS n FROM ${this.#records} WHERE ${condition}`;
    return (await this.#reader.get<{ n: number }>(sql, ...values))?.n ?? 0;
  }

  /** The value that a field, or a time of the record, will have. */
  #value(name: string): string {
    if (RECORD_TIMES.some((time) => time === name)) return this.#qualified(name);
    const owner = this.#qualified(ownerColumn);
    const field = this.#after.get(name);
    const isOwner = field?.owner === true;
    if (this.#added.has(name)) return isOwner ? owner : this.#fill(field);
    const old = this.#column(originOf(this.#plan, name));
    const restored = this.#plan.steps.find((step) => step.step === "restore" && step.field === name);
    if (field !== undefined && restored?.step === "restore")
      return restoredSql(field, { table: this.#table, n: restored.n });
    const turns = this.#plan.steps.some((step) => step.step === "multiple" && step.field === name);
    const column = field !== undefined && turns ? turnedSql(field, old) : old;
    // The creator stays the owner of a record with an empty field.
    return isOwner && column !== owner ? `coalesce(${column}, ${owner})` : column;
  }

  /** Whether a record has a value in an old field. */
  #isSet(name: string): string {
    const column = this.#column(name);
    return isSetSql(this.#before.get(name) ?? {}, column);
  }

  /** The value that records get of a field that comes, as SQL. */
  #fill(field: FieldDefinition | undefined): string {
    if (field === undefined || fillOf(field) === undefined) return "NULL";
    const value = storedDefault(field, { now: "", userId: null });
    return typeof value === "string" ? literal(value) : String(value);
  }

  /** The column of an old field. */
  #column(name: string): string {
    const field = this.#before.get(name);
    return field === undefined ? "NULL" : this.#qualified(columnName(field));
  }

  /** SQLite takes an unknown quoted name for a string, unless the name of the table stands before the name. */
  #qualified(column: string): string {
    return `${this.#table}.${identifier(column)}`;
  }
}

/** @throws MigrationError with the number of records that contradict a plan, and some ids. */
export async function checkRecords(reader: SlowReader, plans: readonly CollectionPlan[]): Promise<void> {
  for (const plan of plans)
    if (!isView(plan.after))
      await new DataCheck(reader, plan).refuse().catch((thrown) => rethrow(plan.after.name, thrown));
}

/** The number of records with a value in a field that a plan drops. */
export function countDropped(reader: SlowReader, plan: CollectionPlan, field: string): Promise<number> {
  return new DataCheck(reader, plan).dropped(field);
}

/** The number of records with a text in a field, before a plan; `field` is the name after the plan. */
export function countText(
  reader: SlowReader,
  plan: CollectionPlan,
  { field, text }: { field: string; text: string },
): Promise<number> {
  return new DataCheck(reader, plan).withText(field, text);
}

/** How a value of records that is no value any more gets a new name; empty if no value is new. */
function renameAdvice(from: string, { old, values }: { old: readonly string[]; values: readonly string[] }): string {
  const added = values.filter((value) => !old.includes(value));
  const to = nearest(from, added) ?? added[0];
  if (to === undefined || !old.includes(from)) return "";
  const written = `{ "name": ${quote(to)}, "renamedFrom": ${quote(from)} }`;
  return `; if ${quote(to)} is the new name of ${quote(from)}, write ${written}`;
}

function byName(fields: readonly FieldDefinition[]): Map<string, FieldDefinition> {
  return new Map(fields.map((field) => [field.name, field]));
}
