/** References: the checks of a record that need the database (relations, files, unique fields). */
import type { ErrorDetail, FieldDefinition, StoredRecord } from "@socle/protocol";
import { allOf, isObject, LoopTurns, type Principal, quote, system } from "../../base/kernel/index.ts";
import type { Reader, Transactor, Value } from "../../store/database/index.ts";
import { type Collections, noteRead } from "../collections/index.ts";
import { typeOf } from "../fields/index.ts";
import { type RecordTable, recordTableOf } from "./record-table.ts";
import type { Rights } from "./rights.ts";

export type Body = Record<string, unknown>;

/** An array with more items is looked up in turns with the event loop. */
export const longArray = 50;

/** The ids that a value of a body adds to a multiple field: an array, or the operand of `$add`. */
export function addedItems(value: unknown): readonly unknown[] {
  const items = isObject(value) ? value["$add"] : value;
  return Array.isArray(items) ? items : [];
}

/**
 * The fields of a body, in the order of the definition: the value to store, or undefined for a field that the body does
 * not have.
 */
export interface ValidatedBody {
  readonly values: (Value | undefined)[];
  /** Everything that can be said without the database. */
  readonly problems: ErrorDetail[];
}

type FileAccess = "missing" | "unread" | "readable";

/** Lookups of users and files, which other modules keep. */
export interface Lookups {
  userExists(reader: Reader, id: string): boolean;
  /** Whether a stored file exists, and whether a caller may download the file. */
  fileAccess(reader: Reader, id: string, principal: Principal): FileAccess;
}

/** A record before its write; an undefined value stays unchanged. */
interface Candidate {
  readonly id: string;
  /** The values by the positions of the fields. */
  readonly values: readonly (Value | undefined)[];
  readonly createdAt?: string;
  readonly updatedAt?: string;
  /** The problems so far; the value of a field with a problem is not known. */
  readonly problems?: readonly ErrorDetail[];
}

/**
 * Takes an id of a record or file that does not exist yet. `problemAtEnd` answers the problem if there is no such record or file at the
 * end of the transaction.
 */
export type TakesTarget = (id: string, problemAtEnd: () => ErrorDetail | null) => boolean;

/** The most lost ids of a field that an error names. */
const maxMissing = 20;

export class References {
  readonly #collections: Collections;
  readonly #lookups: Lookups;
  readonly #rights: Rights;
  /** The files that `lookAhead` has looked up, by transaction. */
  readonly #found = new WeakMap<Transactor, Map<string, FileAccess>>();

  constructor(options: { collections: Collections; lookups: Lookups; rights: Rights }) {
    this.#collections = options.collections;
    this.#lookups = options.lookups;
    this.#rights = options.rights;
  }

  /**
   * Adds a problem for each id of a file that does not exist, and of a record that does not exist or is not readable by the
   * caller; both have the same message. An id that the record holds already is not checked: its target may be deleted, and a body from GET can be sent
   * back.
   * @param by `trusted` has the fields that a hook has set, which may point anywhere. A caller that is not admitted learns
   * nothing of fields that may point anywhere.
   * @param body `id` is the record's, `before` the record before the update; null for a new record.
   */
  check(
    tx: Transactor,
    by: {
      table: RecordTable;
      principal: Principal;
      trusted: Body;
      isAdmitted: boolean;
      takes?: TakesTarget | undefined;
    },
    { id, values, problems, before }: ValidatedBody & { id: string; before: StoredRecord | null },
  ): void {
    const { table, principal, trusted, isAdmitted, takes } = by;
    for (const [position, field] of table.references) {
      const value = values[position];
      if (typeof value !== "string") continue;
      const { name, multiple, anyTarget } = field;
      const known = new Set([before?.[name] ?? []].flat());
      // The stored value of a multiple field is the JSON of an array of ids.
      const given = multiple === true ? (JSON.parse(value) as string[]) : [value];
      const ids = given.filter((id) => !known.has(id));
      if (ids.length === 0) continue;
      const isFree = anyTarget === true || field.collection === "users" || Object.hasOwn(trusted, name);
      if (isFree && !isAdmitted) continue;
      const reference = typeOf(field).reference === "file" ? "file" : "relation";
      const missing = reference === "file" ? "stored file" : `record of "${field.collection}"`;
      const lostOf = (some: readonly string[]): readonly string[] =>
        this.#lost(tx, { field, principal: isFree ? system : principal, ids: some, id, isNew: before === null });
      const problemOf = (target: string): ErrorDetail => {
        const item = given.indexOf(target);
        const path = multiple === true ? `${name}[${item}]` : name;
        const message = `${path} points to ${quote(target)}, but there is no such ${missing}`;
        return { field: name, ...(multiple === true && { item }), rule: reference, message };
      };
      const isTaken = (target: string): boolean =>
        takes?.(target, () => (lostOf([target]).length === 0 ? null : problemOf(target))) === true;
      const lost = lostOf(ids).filter((target) => !isTaken(target));
      problems.push(...lost.slice(0, maxMissing).map(problemOf));
    }
  }

  /**
   * Looks the files of long arrays up, in turns with the event loop. `check` does not ask again: a transaction sees no other
   * change.
   * @param before the record before the update; null for a new record.
   */
  async lookAhead(
    tx: Transactor,
    { table, principal }: { table: RecordTable; principal: Principal },
    { body, before }: { body: Body; before: StoredRecord | null },
  ): Promise<void> {
    const turns = new LoopTurns();
    const found = new Map<string, FileAccess>();
    this.#found.set(tx, found);
    for (const [, field] of table.references) {
      if (typeOf(field).reference !== "file") continue;
      const known = new Set([before?.[field.name] ?? []].flat());
      for (const id of addedItems(body[field.name])) {
        if (typeof id !== "string" || known.has(id)) continue;
        found.set(id, this.#lookups.fileAccess(tx, id, principal));
        if (turns.isDue()) await turns.next();
      }
    }
  }

  /**
   * The ids that lead to nothing, or to a record that the caller may not read. A file need not be readable: the record then
   * gives no right to the file.
   */
  #lost(
    tx: Transactor,
    {
      field,
      principal,
      ids,
      ...record
    }: { field: FieldDefinition; principal: Principal; ids: readonly string[] } & { id: string; isNew: boolean },
  ): readonly string[] {
    if (typeOf(field).reference === "file") {
      // Shorter arrays were not looked up: an earlier change of the transaction may have ended a right.
      const found = ids.length > longArray ? this.#found.get(tx) : undefined;
      return lostOf(ids, (file) => {
        const access = found?.get(file) ?? this.#lookups.fileAccess(tx, file, principal);
        const isRead = access === "readable";
        if (access === "unread" || (isRead && !record.isNew)) noteRead(tx, record.id, { file, isRead });
        return access !== "missing";
      });
    }
    // Users have no read rule: every id of a user may be set.
    if (field.collection === "users") return lostOf(ids, (id) => this.#lookups.userExists(tx, id));
    const target = this.#collections.get(field.collection ?? "");
    return target === undefined ? ids : this.#rights.unreadable(tx, { table: recordTableOf(target), principal, ids });
  }

  /** Unique values that another record has; a problem for each field. */
  duplicates(tx: Transactor, table: RecordTable, candidate: Candidate): ErrorDetail[] {
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
      if (tx.get(duplicate, ...key.flatMap((value) => [value ?? null, id]), id) === null) continue;
      const message =
        fields.length === 1
          ? `${fields[0]} is taken by another record`
          : `${allOf(fields)} together are taken by another record`;
      found.push(...fields.map((field) => ({ field, rule: "unique" as const, message })));
    }
    return found;
  }
}

/** The ids for which a lookup answers no. */
function lostOf(ids: readonly string[], isThere: (id: string) => boolean): string[] {
  const lost: string[] = [];
  for (const id of ids) {
    if (!isThere(id)) lost.push(id);
    if (lost.length >= maxMissing) break;
  }
  return lost;
}
