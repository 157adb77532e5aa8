/**
 * The survey before a move: every row is read and checked as the move will check the row. A rule of a field that stored rows
 * break is taken out of the definition, and told. Nothing is written.
 */
import { type CollectionDefinition, type FieldDefinition, foldCase, isRuleWord, USERS } from "@socle/protocol";
import { AppError, count, LoopTurns, SetupError } from "../../base/kernel/index.ts";
import {
  type Definitions,
  givenRules,
  type ParsedDefinition,
  parseDefinition,
  planChange,
  ruleSource,
  trialCollection,
  withRule,
} from "../../data/collections/index.ts";
import { recordTableOf, validateBody } from "../../data/records/index.ts";
import { userTable } from "../../people/auth/index.ts";
import type { Choices, MovedRow, MoveFinding, MoveSource, MoveTable, Oddity } from "./source.ts";

export interface Survey {
  readonly findings: readonly MoveFinding[];
  readonly records: number;
  readonly files: number;
  /** Bytes of the files. */
  readonly size: number;
  /** Bytes of the files of the user with the most bytes. */
  readonly largestOwner: number;
}

const maxRounds = 10;
/** The old ids that a finding names. */
const maxNamed = 5;

/** @throws SetupError for a definition or a row that Socle cannot take. */
export async function survey(source: MoveSource, choices: Choices): Promise<Survey> {
  const findings: MoveFinding[] = [...source.findings];
  closeBadRules(source, findings);
  const surveyor = new Surveyor(source, findings);
  for (const table of source.tables) await surveyor.look(table);
  surveyor.tellOddities(choices);
  const { records, files, size, largestOwner } = surveyor;
  return { findings, records, files, size, largestOwner };
}

/** Rules that do not parse in Socle become `admin`: an expression that is too long, or a comparison of other types. */
function closeBadRules({ tables }: MoveSource, findings: MoveFinding[]): void {
  const given = tables.flatMap((table) =>
    givenRules(table.definition).flatMap(({ site, rule }) => (isRuleWord(rule) ? [] : [{ table, site, rule }])),
  );
  for (const { table, site } of given) table.definition = withRule(table.definition, site, "admin");
  parseAll(tables);
  /** Gives rules back; if these do not parse together, each half in turn, down to a single bad rule. */
  const giveBack = (rules: typeof given): void => {
    const before = new Map(rules.map(({ table }) => [table, table.definition]));
    for (const { table, site, rule } of rules) table.definition = withRule(table.definition, site, rule);
    try {
      parseAll(tables);
    } catch (thrown) {
      if (!(thrown instanceof SetupError)) throw thrown;
      for (const [table, definition] of before) table.definition = definition;
      const half = rules.length >> 1;
      for (const part of half > 0 ? [rules.slice(0, half), rules.slice(half)] : []) giveBack(part);
      if (half > 0) return;
      for (const { table, site, rule } of rules)
        findings.push({ kind: "closed", text: `${table.from}: ${site.operation}: ${rule}: ${thrown.message}` });
    }
  };
  giveBack(given);
}

/** The definitions as Socle stores them. @throws SetupError for a definition that Socle refuses. */
function parseAll(tables: readonly MoveTable[]): Definitions {
  try {
    const define: ParsedDefinition[] = tables.map(({ definition }) => parseDefinition(definition));
    planChange({ define, drop: [] }, new Map(), { users: userTable, successorsOf: () => [] });
    return new Map(define.map(({ definition }) => [definition.name, definition]));
  } catch (thrown) {
    throw thrown instanceof AppError ? new SetupError(thrown.message) : thrown;
  }
}

/** A rule of a field that rows break: the old id of the first row, the number of rows, and the message about the first row. */
interface BrokenRule {
  readonly first: string;
  rows: number;
  readonly message: string;
}

class Surveyor {
  readonly #source: MoveSource;
  readonly #findings: MoveFinding[];
  readonly #turns = new LoopTurns();
  /** The old ids of rows with an odd value, by the field and the oddity. */
  readonly #odd = new Map<string, { table: MoveTable; field: string; oddity: Oddity; ids: string[]; values: number }>();
  readonly #sizes = new Map<string, number>();
  records = 0;
  files = 0;
  size = 0;
  largestOwner = 0;

  constructor(source: MoveSource, findings: MoveFinding[]) {
    this.#source = source;
    this.#findings = findings;
  }

  /** Reads all rows, again until no row breaks a rule. @throws SetupError for a row that breaks what is no rule. */
  async look(table: MoveTable): Promise<void> {
    for (let round = 1; ; round++) {
      const broken = await this.#broken(table, round === 1);
      if (broken.size === 0) return;
      for (const [key, { first, rows, message }] of broken) {
        const [field = "", rule = ""] = key.split(" ");
        const changed = loosened(table.definition, field, rule);
        if (changed === null || round === maxRounds)
          throw new SetupError(`${table.from}/${first}: cannot be moved: ${message}`);
        table.definition = changed;
        const isFloat = changed.fields.find(({ name }) => name === field)?.type === "float";
        const outcome = rule === "type" && isFloat ? "so the field is a float" : "so the rule is left out";
        const which = rows === 1 ? first : count(rows, "record");
        const text = `${table.from}.${field}: the rule "${rule}" does not hold for ${which}, ${outcome}: ${message}`;
        this.#findings.push({ kind: "other", text });
      }
    }
  }

  async #broken(table: MoveTable, isFirst: boolean): Promise<Map<string, BrokenRule>> {
    const definitions = parseAll(this.#source.tables);
    const source = ruleSource(userTable, (name) => definitions.get(name));
    const definition = definitions.get(table.definition.name) ?? table.definition;
    const checks = recordTableOf(trialCollection(definition, source));
    const broken = new Map<string, BrokenRule>();
    const uniqueHere = definition.fields.filter((field) => isUniqueHereAlone(field, definition));
    const values = new Map<string, Set<unknown>>();
    const found = (key: string, message: string, { sourceId }: MovedRow): void => {
      broken.getOrInsertComputed(key, () => ({ first: sourceId, rows: 0, message })).rows += 1;
    };
    for (const row of table.rows()) {
      const note = (oddity: Oddity, field: string): void => {
        if (isFirst) this.#note(table, { field, oddity, id: row.sourceId });
      };
      const body = row.values(definition, note);
      for (const { field, rule, message } of validateBody(checks, body, "import").problems)
        found(`${field} ${rule}`, message, row);
      for (const { name, unique } of uniqueHere) {
        const value = body[name] ?? null;
        const seen = values.getOrInsertComputed(name, () => new Set());
        const key = unique === "nocase" && typeof value === "string" ? foldCase(value) : value;
        if (value !== null && seen.size === seen.add(key).size)
          found(
            `${name} unique`,
            `${JSON.stringify(value)} stands twice${unique === "nocase" ? " without regard to case" : ""}`,
            row,
          );
      }
      if (isFirst) {
        const files = row.files();
        this.records += 1;
        this.files += files.length;
        const size = files.reduce((sum, file) => sum + file.size, 0);
        this.size += size;
        if (size > 0 && row.owner !== null) this.#countFor(row.owner, size);
      }
      if (this.#turns.isDue()) await this.#turns.next();
    }
    return broken;
  }

  #countFor(owner: string, size: number): void {
    const sum = (this.#sizes.get(owner) ?? 0) + size;
    this.#sizes.set(owner, sum);
    this.largestOwner = Math.max(this.largestOwner, sum);
  }

  #note(table: MoveTable, { field, oddity, id }: { field: string; oddity: Oddity; id: string }): void {
    const key = `${table.from} ${field} ${oddity}`;
    const found = this.#odd.getOrInsertComputed(key, () => ({ table, field, oddity, ids: [], values: 0 }));
    found.values += 1;
    if (found.ids.at(-1) !== id && found.ids.length <= maxNamed) found.ids.push(id);
  }

  tellOddities(choices: Choices): void {
    for (const { table, field, oddity, ids, values } of this.#odd.values()) {
      const named = ids.length > maxNamed ? `${ids.slice(0, maxNamed).join(", ")} …` : ids.join(", ");
      const isRequired = table.definition.fields.some((each) => each.name === field && each.required === true);
      const { isOpen = false, advice } = outcomeOf(oddity, choices, isRequired);
      this.#findings.push({
        kind: isOpen ? "decide" : "other",
        text: `${table.from}.${field}: ${count(values, "value")} with ${oddity} (${named})${advice}`,
      });
    }
  }
}

/** The outcome for a value that is not as before, as the end of a sentence, and whether an option must decide first. */
function outcomeOf(
  oddity: Oddity,
  { dangling, clearsFiles }: Choices,
  isRequired: boolean,
): { isOpen?: boolean; advice: string } {
  switch (oddity) {
    case "an id of no record":
      return dangling === null
        ? { isOpen: true, advice: ": keep such ids with --dangling keep, or clear them with --dangling clear" }
        : { advice: dangling === "keep" || isRequired ? ": kept" : ": cleared" };
    case "a file that is missing":
      return clearsFiles
        ? { advice: ": the field is cleared" }
        : { isOpen: true, advice: ": put the file back, or clear the field with --missing-files clear" };
    case "a file above 10 MiB":
      return { advice: ": the field is cleared; keep the file elsewhere, and its address in the record" };
    default:
      return { advice: "" };
  }
}

/** Whether a field may be unique here alone: PocketBase heeds the case of letters beyond ASCII, and knows each auth collection alone. */
function isUniqueHereAlone({ name, unique }: FieldDefinition, definition: CollectionDefinition): boolean {
  return unique === "nocase" || (unique === true && definition.name === USERS && name !== "sourceId");
}

/** The definition without a rule of a field that rows break; null for what is no such rule. */
function loosened(definition: CollectionDefinition, name: string, rule: string): CollectionDefinition | null {
  const field = definition.fields.find((each) => each.name === name);
  if (field === undefined) return null;
  const changed: FieldDefinition = { ...field };
  const ofType = field.values !== undefined ? "values" : "format";
  const broken = rule === "type" ? ofType : rule;
  if (rule === "type" && field.type === "integer") changed.type = "float";
  else if (rule === "unique" && field.unique === "nocase") changed.unique = true;
  else if (!Object.hasOwn(field, broken) || !Reflect.deleteProperty(changed, broken)) return null;
  return { ...definition, fields: definition.fields.map((each) => (each === field ? changed : each)) };
}
