/** References: the checks of a record that need the database (relations, files, unique fields). */
import type { ErrorDetail, FieldDefinition, JsonValue, StoredRecord } from "@socle/protocol";
import type { Collections } from "../collections/index.ts";
import { isUniqueViolation, type Reader, type Transactor, type Value } from "../database/index.ts";
import { typeOf } from "../fields/index.ts";
import { AppError, type Awaitable, allOf, LoopTurns, type Principal, quote } from "../kernel/index.ts";
import { type RecordTable, recordTableOf } from "./record-table.ts";
import type { ValidatedBody } from "./validate.ts";

/** A file as a caller's record may point to it: `closed` where the record would give the caller a right to its content. */
export type FileStanding = "there" | "closed" | "missing";

/** Lookups of users and files, which other modules keep. */
export interface Lookups {
  userExists(reader: Reader, id: string): Awaitable<boolean>;
  fileStanding(reader: Reader, id: string, principal: Principal): Awaitable<FileStanding>;
}

/** A record to be written, as far as it is known: an undefined value stays as it is. */
interface Candidate {
  readonly id: string;
  /** By the positions of the fields. */
  readonly values: readonly (Value | undefined)[];
  readonly createdAt?: string;
  readonly updatedAt?: string;
  /** The problems so far; the value of a field with a problem is not known. */
  readonly problems?: readonly ErrorDetail[];
}

const fileProblems: { readonly [standing in FileStanding]: string | null } = {
  there: null,
  closed: "a file that you may not download",
  missing: "but there is no such stored file",
};

/** A message for each of hundreds of items helps nobody. */
const maxMissing = 20;

/** A caller, and a field of theirs. */
interface Reference {
  readonly field: FieldDefinition;
  readonly principal: Principal;
}

export class References {
  readonly #collections: Collections;
  readonly #lookups: Lookups;

  constructor(options: { collections: Collections; lookups: Lookups }) {
    this.#collections = options.collections;
    this.#lookups = options.lookups;
  }

  /**
   * Adds a problem for each value that points to nothing, or to a file that it would open to the caller. An id that the record has
   * already is left alone: its target may be gone, and what GET returned can be PUT all the same.
   * @param body `before` is the record that is changed; null for a new one.
   */
  async check(
    tx: Transactor,
    { table, principal }: { table: RecordTable; principal: Principal },
    { values, problems, before }: ValidatedBody & { before: StoredRecord | null },
  ): Promise<void> {
    for (const position of table.references) {
      const [field, value] = [table.fields[position], values[position]];
      if (field === undefined || typeof value !== "string") continue;
      const former = before?.[field.name] ?? null;
      if (field.multiple === true) {
        const checking = this.#checkItems(tx, { field, principal }, { value, former, problems });
        if (checking instanceof Promise) await checking;
        continue;
      }
      const problem = value === former ? null : await this.#problemOf(tx, { field, principal }, value);
      if (problem === null) continue;
      const message = `${field.name} points to ${quote(value)}, ${problem}`;
      problems.push({ field: field.name, rule: ruleOf(field), message });
    }
  }

  #checkItems(
    tx: Transactor,
    { field, principal }: Reference,
    { value, former, problems }: { value: string; former: JsonValue; problems: ErrorDetail[] },
  ): Awaitable<void> {
    const known = new Set(Array.isArray(former) ? former : []);
    // A stored value is the JSON of an array of ids.
    const ids = JSON.parse(value) as string[];
    const isAdded = (id: string): boolean => !known.has(id);
    const tell = (refused: ReadonlyMap<string, string>): void => {
      for (const [id, problem] of [...refused].slice(0, maxMissing)) {
        const item = ids.indexOf(id);
        const message = `${field.name}[${item}] points to ${quote(id)}, ${problem}`;
        problems.push({ field: field.name, item, rule: ruleOf(field), message });
      }
    };
    const refused = this.#problemsOf(tx, { field, principal }, former === null ? ids : ids.filter(isAdded));
    return refused instanceof Promise ? refused.then(tell) : tell(refused);
  }

  /** Of several ids, those that cannot stand in a field, each with the reason. One statement finds the records that are missing. */
  #problemsOf(tx: Transactor, reference: Reference, ids: readonly string[]): Awaitable<Map<string, string>> {
    const { field } = reference;
    const target = typeOf(field).reference === "record" ? this.#collections.get(field.collection ?? "") : undefined;
    if (target === undefined) return this.#problemsOfEach(tx, reference, ids);
    const told = (missing: readonly { value: string }[]): Map<string, string> =>
      new Map(missing.map(({ value }) => [value, missingFrom(field)]));
    const missing = tx.all<{ value: string }>(recordTableOf(target).missing, JSON.stringify(ids));
    return missing instanceof Promise ? missing.then(told) : told(missing);
  }

  async #problemsOfEach(tx: Transactor, reference: Reference, ids: readonly string[]): Promise<Map<string, string>> {
    const refused = new Map<string, string>();
    // The lookup of a file may ask read rules, and there may be hundreds of items.
    const turns = new LoopTurns();
    for (const id of ids) {
      if (turns.isDue()) await turns.next();
      const problem = await this.#problemOf(tx, reference, id);
      if (problem !== null) refused.set(id, problem);
      if (refused.size >= maxMissing) break;
    }
    return refused;
  }

  /** The reason why an id cannot stand in a field, as the end of a sentence; null where it can. */
  async #problemOf(tx: Transactor, { field, principal }: Reference, id: string): Promise<string | null> {
    if (typeOf(field).reference === "file") return fileProblems[await this.#lookups.fileStanding(tx, id, principal)];
    return (await this.#exists(tx, field, id)) ? null : missingFrom(field);
  }

  /**
   * Runs a write, and turns a refusal by a unique index into the problems of the fields.
   * @throws AppError `validation_error`.
   */
  write(write: () => Awaitable<unknown>, duplicates: () => Promise<ErrorDetail[]>): Awaitable<unknown> {
    const failed = async (thrown: unknown): Promise<never> => {
      if (!isUniqueViolation(thrown)) throw thrown;
      const problems = await duplicates();
      throw problems.length === 0 ? thrown : AppError.validation(problems);
    };
    try {
      const writing = write();
      return writing instanceof Promise ? writing.catch(failed) : undefined;
    } catch (thrown) {
      return failed(thrown);
    }
  }

  /** Unique values that another record has; a problem for each field. */
  async duplicates(tx: Transactor, table: RecordTable, candidate: Candidate): Promise<ErrorDetail[]> {
    const { id, values, createdAt, updatedAt, problems = [] } = candidate;
    const known = new Map([
      ["createdAt", createdAt],
      ["updatedAt", updatedAt],
      ...table.fields.map(({ name }, position) => [name, values[position]] as const),
    ]);
    const found: ErrorDetail[] = [];
    for (const { fields, duplicate } of table.uniqueKeys) {
      const key = fields.map((name) => known.get(name));
      const isRefused = fields.some((name, i) => key[i] === undefined && problems.some(({ field }) => field === name));
      // Null never counts, and an unchanged value was no duplicate before.
      if (isRefused || key.includes(null) || key.every((value) => value === undefined)) continue;
      if ((await tx.get(duplicate, ...key.flatMap((value) => [value ?? null, id]), id)) === null) continue;
      const message =
        fields.length === 1
          ? `${fields[0]} is taken by another record`
          : `${allOf(fields)} together are taken by another record`;
      found.push(...fields.map((field) => ({ field, rule: "unique" as const, message })));
    }
    return found;
  }

  #exists(tx: Transactor, field: FieldDefinition, id: string): Awaitable<boolean> {
    if (field.collection === "users") return this.#lookups.userExists(tx, id);
    const target = this.#collections.get(field.collection ?? "");
    if (target === undefined) return false;
    const row = tx.get(recordTableOf(target).exists, id);
    return row instanceof Promise ? row.then((found) => found !== null) : row !== null;
  }
}

function missingFrom({ collection }: FieldDefinition): string {
  return `but there is no such record of "${collection}"`;
}

function ruleOf(field: FieldDefinition): "file" | "relation" {
  return typeOf(field).reference === "file" ? "file" : "relation";
}
