/**
 * Record effects: the event and the note that follow the write of a record, and the state in memory that follows the notes:
 * the number of records of each collection, and the versions of its lists.
 */
import type { JsonValue, StoredRecord } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { isAdmin, type JsonText, type Principal } from "../../base/kernel/index.ts";
import { type Database, noteKind, type Projection, type Transactor } from "../../store/database/index.ts";
import type { EventBasis, EventLog } from "../../store/events/index.ts";
import { type Collection, definitionsChanged } from "../collections/index.ts";
import { type Expression, ownColumnsIn } from "../expressions/index.ts";
import { type Decision, ownerColumn } from "../permissions/index.ts";
import { type OwnedRow, type RecordTable, recordTableOf } from "./record-table.ts";

/** Without `events.before`: the most characters of the values of one change. Filters compare short values. */
const shortBasis = 1_024;

const columnsOf = new WeakMap<Expression, ReadonlySet<string>>();

const none: ReadonlySet<string> = new Set();

/** The columns that the read rule asks about. */
function columnsOfReadRule(table: RecordTable): ReadonlySet<string> {
  const { read } = table.collection.policies;
  const decision = read.audience === "condition" ? read.decide(null) : null;
  return decision?.access === "where" ? columnsOf.getOrInsertComputed(decision.condition, ownColumnsIn) : none;
}

/**
 * The basis of a change: the former values of the changed fields. If the change touched a field of the read rule, the basis
 * has all fields of the read rule. Values beyond the room are only named.
 * @param after the record after the change; null for a deletion.
 * @param room the most characters of the values.
 */
function basisOf(table: RecordTable, [before, after]: [OwnedRow, OwnedRow | null], room: number): EventBasis {
  const asked = columnsOfReadRule(table);
  const { names } = table;
  const changed = names.filter((name) => !isSameValue(before.record[name], after?.record[name]));
  const isAsked = (name: string): boolean => asked.has(table.columnName(name));
  const isOwnerAsked = asked.has(ownerColumn) && before.owner !== after?.owner;
  const isRuleTouched =
    asked.size > 0 && (isOwnerAsked || changed.some((name) => name !== "updatedAt" && isAsked(name)));
  const fields: Record<string, JsonValue> = {};
  const omitted: string[] = [];
  let left = room;
  for (const name of isRuleTouched ? names : changed) {
    const isForRule = isRuleTouched && isAsked(name);
    if (!isForRule && !changed.includes(name)) continue;
    const value = before.record[name] ?? null;
    const length = room === Number.POSITIVE_INFINITY ? 0 : lengthOf(value);
    if (length <= left || isForRule) {
      fields[name] = value;
      left -= length;
    } else {
      omitted.push(name);
    }
  }
  return { fields, owner: before.owner, ...(omitted.length > 0 && { omitted }) };
}

/** Whether the basis has all fields of the read rule, because the change touched a field of the rule. */
export function touchesReadRule(table: RecordTable, { fields }: EventBasis): boolean {
  const asked = columnsOfReadRule(table);
  return Object.keys(fields).some((name) => name !== "updatedAt" && asked.has(table.columnName(name)));
}

/** A record's id and the changed fields of an update. */
function changesOf(record: StoredRecord, previous: StoredRecord): object {
  const changed = Object.entries(record).filter(([name, value]) => !isSameValue(value, previous[name]));
  return { id: record.id, ...Object.fromEntries(changed) };
}

export function isSameValue(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b));
}

/** About the characters of a value's JSON. */
function lengthOf(value: JsonValue): number {
  if (typeof value === "string") return value.length;
  return typeof value === "object" && value !== null ? JSON.stringify(value).length : 20;
}

/** A change of records of a collection: the owners before and after, and by how many the number of records has grown. */
interface RecordsChange {
  readonly collection: string;
  readonly owners: readonly (string | null)[];
  readonly by: number;
}

/** The owners in a note beyond which no further change joins: each owner is looked for. */
const mostJoined = 50;

function joined(earlier: RecordsChange, later: RecordsChange): RecordsChange | null {
  if (earlier.collection !== later.collection || earlier.owners.length > mostJoined) return null;
  const owners = later.owners.filter((owner) => !earlier.owners.includes(owner));
  return {
    collection: earlier.collection,
    owners: owners.length === 0 ? earlier.owners : [...earlier.owners, ...owners],
    by: earlier.by + later.by,
  };
}

export const recordsChanged = noteKind<RecordsChange>("records.changed", joined);

export interface Written {
  readonly table: RecordTable;
  /** The record after the write. */
  readonly row: OwnedRow;
  readonly principal: Principal;
  readonly now: number;
  readonly json: JsonText;
}

/** The types of the events about records of a collection, also under its former names. */
export function eventTypesOf({ name, logMarks }: Collection): string[] {
  return [name, ...(logMarks.formerNames ?? [])].flatMap((each) =>
    ["created", "updated", "deleted"].map((change) => `${each}.${change}`),
  );
}

export class RecordEffects {
  readonly #events: EventLog;
  /** See `basisOf`. */
  readonly #room: number;

  constructor(events: EventLog, { "events.before": keepsValues }: Pick<Config, "events.before">) {
    this.#events = events;
    this.#room = keepsValues ? Number.POSITIVE_INFINITY : shortBasis;
  }

  created(tx: Transactor, { table, row, principal, now, json }: Written): void {
    const { collection } = table;
    const { owner } = row;
    tx.note(recordsChanged.of({ collection: collection.name, owners: [owner], by: 1 }));
    const type = `${collection.name}.created`;
    this.#events.append(tx, { type, source: "collections", payload: json, principal, owner }, now);
  }

  /** @param before the record before the update. */
  updated(tx: Transactor, { table, row, principal, now, json }: Written, before: OwnedRow): void {
    const { name } = table.collection;
    const { record, owner } = row;
    const previous: StoredRecord = before.record;
    tx.note(recordsChanged.of({ collection: name, owners: [owner, before.owner], by: 0 }));
    const changes = (): object => changesOf(record, previous);
    const basis = basisOf(table, [before, row], this.#room);
    const type = `${name}.updated`;
    const event = { type, source: "collections", payload: json, changes, principal, owner, previous, basis } as const;
    this.#events.append(tx, event, now);
  }

  /** Erases the values of a record in the log. */
  erase(tx: Transactor, collection: Collection, id: string): void {
    this.#events.erase(tx, id, eventTypesOf(collection));
  }

  deleted(tx: Transactor, { table, row, principal }: Omit<Written, "now" | "json">): void {
    const { collection } = table;
    const { owner } = row;
    tx.note(recordsChanged.of({ collection: collection.name, owners: [owner], by: -1 }));
    this.#events.append(tx, {
      type: `${collection.name}.deleted`,
      source: "collections",
      payload: { id: row.record.id },
      principal,
      owner,
      previous: row.record,
      basis: basisOf(table, [row, null], this.#room),
    });
  }
}

export class RecordCounts {
  readonly #database: Database;
  /** With the creation time of the collection: a later collection of the same name is counted anew. */
  readonly #counted = new Map<string, { readonly createdAt: string; records: number }>();

  constructor(options: { database: Database }) {
    this.#database = options.database;
    options.database.projection.on(recordsChanged, ({ collection, by }) => {
      const counted = this.#counted.get(collection);
      if (counted !== undefined) counted.records += by;
    });
    // A collection may take a former name again.
    options.database.projection.on(definitionsChanged, ({ dropped }) => {
      for (const name of dropped) this.#counted.delete(name);
    });
  }

  of(collection: Collection): number {
    const { name, createdAt } = collection;
    const known = this.#counted.get(name);
    if (known?.createdAt === createdAt) return known.records;
    const records = this.#database.reader.get<{ n: number }>(recordTableOf(collection).count)?.n ?? 0;
    this.#counted.set(name, { createdAt, records });
    return records;
  }
}

/** Owners of one collection with a remembered last change; beyond, all owners count as changed. */
const maxOwners = 10_000;

interface Changes {
  /** The last change of any record. */
  last: number;
  /** The last change of an owner's records, by owner. */
  readonly byOwner: Map<string, number>;
  /** The last change of the owners that are not remembered. */
  ofOthers: number;
}

/** The number of the last change, and of the last change of definitions, in a run of the service. */
export interface VersionState {
  /** Random for each run of the service, so that a version of an earlier run never fits. */
  readonly run: string;
  readonly now: number;
  readonly defined: number;
}

/**
 * The last change of the records of each collection, as a number that only grows; kept in memory while the service runs. A
 * caller that sees only own records gets the last change of these records.
 *
 * All processes of a service give the same version for the same records: a process that starts later takes over the numbers
 * (`startFrom`), and takes every collection for changed at that moment. No other process gives that version for other records.
 */
export class Versions {
  readonly #changes = new Map<string, Changes>();
  #run = crypto.randomUUID().slice(0, 8);
  #now = 0;
  /** The number of the last change of definitions. */
  #defined = 0;
  /** The number of the last change that may have changed a collection without entry in `#changes`. */
  #unknown = 0;

  constructor(projection: Projection) {
    projection.on(recordsChanged, ({ collection, owners }) => this.#changed(collection, owners));
    projection.on(definitionsChanged, () => {
      this.#now += 1;
      this.#defined = this.#now;
    });
  }

  get state(): VersionState {
    return { run: this.#run, now: this.#now, defined: this.#defined };
  }

  /** Takes over the state of another process, before the first note. */
  startFrom({ run, now, defined }: VersionState): void {
    this.#run = run;
    this.#now = now;
    this.#defined = defined;
    this.#unknown = now;
  }

  #changed(collection: string, owners: readonly (string | null)[]): void {
    this.#now += 1;
    const changes = this.#of(collection);
    changes.last = this.#now;
    for (const owner of owners) {
      if (owner === null) continue;
      if (changes.byOwner.size >= maxOwners && !changes.byOwner.has(owner)) {
        changes.byOwner.clear();
        changes.ofOthers = this.#now;
      }
      changes.byOwner.set(owner, this.#now);
    }
  }

  /** A number that grows with each change of a record. */
  get now(): number {
    return this.#now;
  }

  /** The version of all that a caller can see of some collections, and of the definitions. */
  of(entered: ReadonlyMap<Collection, Decision>, principal: Principal): string {
    const userId = principal?.userId ?? null;
    let version = `${this.#run}.${this.#defined.toString(36)}`;
    for (const [{ name, fieldPolicies }, { access }] of entered) {
      version += ".";
      // Admins get other fields of the same records: the role is a part of the version.
      if (fieldPolicies !== null) version += isAdmin(principal) ? "f" : "-f";
      if (access === "none") continue;
      const { last, byOwner, ofOthers } = this.#of(name);
      // All records, own records and the records of a rule may have the same last change, and differ.
      if (access === "own") version += `-o${(byOwner.get(userId ?? "") ?? ofOthers).toString(36)}`;
      else version += `-${access === "all" ? "a" : "w"}${last.toString(36)}`;
    }
    return version;
  }

  #of(collection: string): Changes {
    return this.#changes.getOrInsertComputed(collection, () => ({
      last: this.#unknown,
      byOwner: new Map(),
      ofOthers: this.#unknown,
    }));
  }
}
