/**
 * The readers of a record among the listeners: the callers who fulfil a condition, the expression of a read rule or of
 * a filter. One statement asks for all listeners. On the event loop the listeners are rows of a temporary table, so
 * that a membership finds its members by an index; on a reader thread the listeners are a parameter.
 */
import type { JsonValue } from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import { bind, collectionsIn, type Expression, type SqlPart, toSql } from "../../data/expressions/index.ts";
import { callerOf } from "../../data/permissions/index.ts";
import type { RecordTable } from "../../data/records/index.ts";
import type { Database, ScratchConnection, Value } from "../../store/database/index.ts";
import { type Listener, nameOf, tally } from "./audience.ts";

/** A record with its owner, before or after an event. */
export interface OwnedState {
  readonly record: { readonly [name: string]: JsonValue };
  readonly owner: string | null;
  /** The same record after or before the change: the stored row may be in either state. */
  readonly other?: OwnedState | null;
  /** For a state before a change: records that were deleted from this seq on count as present. */
  readonly deletedFrom?: number;
}

/** The deleted records of a collection: a JSON array of `stateValues`. */
export interface DeletedRecords {
  readonly table: RecordTable;
  readonly values: string;
}

/** A condition on the records of a table. `isLong`: too long for the event loop, even with few records. */
export interface Condition {
  readonly table: RecordTable;
  readonly expression: Expression;
  readonly isLong?: boolean;
}

/** A question: the listeners of a group, or the single listener, for whom a condition holds on a state of a record. */
export interface Question {
  readonly condition: Condition;
  readonly state: OwnedState;
  readonly among: ListenerGroup | Listener;
}

/** The names of the listeners for whom a condition holds, as `nameOf` gives the names. */
export type Names = ReadonlySet<string>;

/** The listeners whom a condition lets hear of a record: all (true), some, or not any (false). */
export type Held = boolean | Names;

/** Whether a listener is among the listeners of `held`. */
export function isHeld(held: Held, listener: Listener): boolean {
  return typeof held === "boolean" ? held : held.has(nameOf(listener));
}

/** A condition takes too long for the event loop, or for a thread. */
export class TooSlow extends Error {
  override readonly name = "TooSlow";
}

/** The changes that wait for a decision are too many, or wait for too long. */
export class TooLate extends Error {
  override readonly name = "TooLate";
}

/** Milliseconds before busy threads are asked again. */
const retryMs = 100;

/** Asks reader threads until a thread is free. @throws the errors of `ask`, other than `unavailable`. */
export async function whenFree<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code !== "unavailable") throw thrown;
  }
  await Bun.sleep(retryMs);
  return whenFree(ask);
}

/** The use of threads by questions: the caller whose share of the threads is counted, and the limit of time. */
export interface ThreadUse {
  readonly caller: string;
  readonly limitMs: number;
  /** Called with the milliseconds that the thread took, with or without an answer. */
  charge(ms: number): void;
}

interface Texts {
  readonly forGroup: SqlPart;
  /** For one listener: the indexes of the caller's fields are of use. */
  readonly forOne: SqlPart;
  /** The collections whose records the condition asks for. */
  readonly entered: readonly string[];
}

/** A statement on the event loop over at most this many records has eight times as much time. */
const fewVisits = 50;
const fewGrace = 8;

/**
 * The beginnings of the statements: about the listeners of a group in the temporary table; about the listeners that
 * are a parameter, an array of `[name, id, role]`; and about one listener.
 */
const beginnings = {
  ofGroup:
    'SELECT _listener.name AS name FROM _state AS _record, temp._listeners AS _listener WHERE _listener."group" = ? AND',
  given:
    "SELECT _listener.name AS name FROM _state AS _record, (SELECT value ->> 0 AS name, value ->> 1 AS id, value ->> 2 AS role FROM json_each(?)) AS _listener WHERE",
  one: "SELECT ? AS name FROM _state AS _record WHERE",
};

export interface ReadersOptions {
  readonly database: Pick<Database, "openScratch" | "query">;
  /** The name of the table of users. */
  readonly users: string;
  /** The records of some collections that were deleted from a seq on; no entry for a collection without such records. */
  readonly deleted: (collections: readonly string[], from: number) => readonly DeletedRecords[];
}

export class Readers {
  readonly #database: Pick<Database, "openScratch" | "query">;
  readonly #users: string;
  readonly #deleted: ReadersOptions["deleted"];
  readonly #texts = new WeakMap<Expression, Texts>();
  /** The groups with listeners. */
  readonly #groups = new Set<ListenerGroup>();
  readonly everybody: ListenerGroup;
  /** Opened for the first event that needs its readers. */
  #connection: ScratchConnection | null = null;
  #lastGroup = 0;
  /** The end of the statement's time on the event loop, and the records that the statement has looked at. */
  #deadline = Number.POSITIVE_INFINITY;
  #graceMs = 0;
  #visits = 0;

  constructor(options: ReadersOptions) {
    this.#database = options.database;
    this.#deleted = options.deleted;
    this.#users = options.users;
    this.everybody = this.group();
  }

  /** The service ends: the remaining sockets leave without a statement, because the database may be closed. */
  close(): void {
    this.#connection = null;
  }

  /** A group without listeners. */
  group(): ListenerGroup {
    this.#lastGroup += 1;
    const number = this.#lastGroup;
    const group = new ListenerGroup(number, (name, isHere) => {
      if (group.names.size > 0) this.#groups.add(group);
      else this.#groups.delete(group);
      if (this.#connection === null) return;
      if (isHere) insert(this.#connection, number, name);
      else this.#connection.run('DELETE FROM temp._listeners WHERE "group" = ? AND name = ?', number, name);
    });
    return group;
  }

  /** Answers within `ms` on the event loop, or later if few records were looked at: the machine is busy. @throws TooSlow. */
  ask(question: Question, ms: number): Names {
    if (question.condition.isLong === true) throw new TooSlow();
    const { sql, values } = this.#statement(question, "in place");
    this.#connection ??= this.#begin();
    this.#deadline = performance.now() + ms;
    this.#graceMs = ms * fewGrace;
    this.#visits = 0;
    try {
      return namesOf(this.#connection.all<NameRow>(sql, ...values));
    } catch (thrown) {
      throw this.#isOver() ? new TooSlow() : thrown;
    }
  }

  /**
   * Answers questions on a reader thread, in one snapshot.
   * @throws TooSlow after the limit; AppError `unavailable` when the threads have too much to do.
   */
  async askOnThread(questions: readonly Question[], { caller, limitMs, charge }: ThreadUse): Promise<Names[]> {
    const end = new AbortController();
    let timer: Timer | undefined;
    let start = Number.POSITIVE_INFINITY;
    try {
      return await this.#database.query(
        async (reader) => {
          start = performance.now();
          timer = setTimeout(() => end.abort(), limitMs);
          const answers: Names[] = [];
          for (const question of questions) {
            const { sql, values } = this.#statement(question, "on a thread");
            answers.push(namesOf(await reader.all<NameRow>(sql, ...values)));
          }
          return answers;
        },
        { caller, signal: end.signal },
      );
    } catch (thrown) {
      throw end.signal.aborted && thrown instanceof AppError ? new TooSlow() : thrown;
    } finally {
      clearTimeout(timer);
      charge(Math.max(0, performance.now() - start));
    }
  }

  #statement(
    { condition, state, among }: Question,
    place: "in place" | "on a thread",
  ): { sql: string; values: Value[] } {
    const { table } = condition;
    const { forGroup, forOne, entered } = this.#textsOf(condition);
    const { deletedFrom } = state;
    const deleted = deletedFrom === undefined || entered.length === 0 ? [] : this.#deleted(entered, deletedFrom);
    // The record itself is among the deleted records of its collection.
    const isDeleted = deleted.some((each) => each.table === table);
    const isStored = !isDeleted && entered.includes(table.collection.name) && pointsToItself(state);
    const states = [table.givenState(isStored), ...deleted.map((each) => each.table.withDeleted())].join(", ");
    const stateValues = [...table.stateValues(state.record, state.owner), ...deleted.map(({ values }) => values)];
    const now = Date.now();
    if (!(among instanceof ListenerGroup)) {
      const bound = bind(forOne.values, { now, user: callerOf(among) });
      return { sql: `${states} ${beginnings.one} ${forOne.text}`, values: [...stateValues, nameOf(among), ...bound] };
    }
    const [beginning, parameter] =
      place === "in place" ? [beginnings.ofGroup, among.number] : [beginnings.given, among.toJson()];
    const bound = bind(forGroup.values, { now, user: null });
    return { sql: `${states} ${beginning} ${forGroup.text}`, values: [...stateValues, parameter, ...bound] };
  }

  #textsOf({ expression }: Condition): Texts {
    return this.#texts.getOrInsertComputed(expression, () => {
      const options = { users: this.#users, isOfOneRecord: true, isProbed: true };
      return {
        forGroup: toSql(expression, "_record", { ...options, caller: "_listener" }),
        forOne: toSql(expression, "_record", options),
        entered: [...collectionsIn(expression)],
      };
    });
  }

  #begin(): ScratchConnection {
    const connection = this.#database.openScratch(() => {
      this.#visits += 1;
      if (this.#isOver()) throw new TooSlow();
    });
    connection.run(
      'CREATE TEMP TABLE _listeners ("group" INTEGER, name TEXT, id TEXT, role TEXT, PRIMARY KEY ("group", name)) WITHOUT ROWID',
    );
    connection.run('CREATE INDEX temp._listeners_id ON _listeners ("group", id)');
    for (const { number, names } of this.#groups) for (const name of names.keys()) insert(connection, number, name);
    return connection;
  }

  #isOver(): boolean {
    return performance.now() >= this.#deadline + (this.#visits > fewVisits ? 0 : this.#graceMs);
  }
}

/** Finds the listeners who fulfil a condition on a state. @throws TooSlow. */
export type Answer = (condition: Condition, state: OwnedState) => Names;

/** The listeners who fulfil conditions on the states of a record, asked on the event loop, or learned from a reader thread. */
export class Verdicts {
  readonly #readers: Readers;
  readonly #among: Question["among"];
  readonly #ms: number;
  readonly #known = new Map<Expression, Map<OwnedState, Names>>();

  /** @param options `ms` that an answer may take on the event loop. */
  constructor(readers: Readers, options: { among: Question["among"]; ms: number }) {
    this.#readers = readers;
    this.#among = options.among;
    this.#ms = options.ms;
  }

  readonly of: Answer = (condition, state) => {
    const known = this.#known.get(condition.expression)?.get(state);
    if (known !== undefined) return known;
    const names = this.#readers.ask({ condition, state, among: this.#among }, this.#ms);
    this.#keep(condition, state, names);
    return names;
  };

  /** Learns from a thread the answers that `decide` asks for. @throws as `Readers.askOnThread`. */
  async learn(decide: (answer: Answer) => unknown, use: ThreadUse): Promise<void> {
    const questions: Question[] = [];
    decide((condition, state) => {
      questions.push({ condition, state, among: this.#among });
      return new Set();
    });
    if (questions.length === 0) return;
    const answers = await this.#readers.askOnThread(questions, use);
    for (const [place, { condition, state }] of questions.entries())
      this.#keep(condition, state, answers[place] ?? new Set());
  }

  forget(): void {
    this.#known.clear();
  }

  #keep({ expression }: Condition, state: OwnedState, names: Names): void {
    this.#known.getOrInsertComputed(expression, () => new Map()).set(state, names);
  }
}

/** Whether a field of a record names the record itself, in this state or in the other state. */
export function pointsToItself({ record, other = null }: OwnedState): boolean {
  const { id = null, ...fields } = record;
  const names = (value: JsonValue): boolean => value === id || (Array.isArray(value) && value.includes(id));
  return Object.values(fields).some(names) || (other !== null && pointsToItself({ ...other, other: null }));
}

/** The listeners among which the readers of a record are searched; each user in each role once. */
export class ListenerGroup {
  readonly number: number;
  /** How many sockets or subscriptions the listener of a name has. */
  readonly names = new Map<string, number>();
  readonly #changed: (name: string, isHere: boolean) => void;
  #json: string | null = null;

  /** @param changed is called when a listener has come or gone. */
  constructor(number: number, changed: (name: string, isHere: boolean) => void) {
    this.number = number;
    this.#changed = changed;
  }

  add(listener: Listener): void {
    this.#count(nameOf(listener), 1);
  }

  remove(listener: Listener): void {
    this.#count(nameOf(listener), -1);
  }

  /** The listeners as the parameter of a statement. */
  toJson(): string {
    this.#json ??= JSON.stringify([...this.names.keys()].map((name) => [name, ...columnsOf(name)]));
    return this.#json;
  }

  #count(name: string, change: 1 | -1): void {
    const sockets = tally(this.names, name, change);
    if (sockets > 0 && sockets > change) return;
    this.#json = null;
    this.#changed(name, change > 0);
  }
}

interface NameRow {
  readonly name: string;
}

function namesOf(rows: readonly NameRow[]): Names {
  return new Set(rows.map(({ name }) => name));
}

/** The id and role of a listener. A listener without a user has the id null, which equals no field. */
function columnsOf(name: string): [id: string | null, role: string | null] {
  const [id = "", role = null] = name.split(" ");
  return [id === "" ? null : id, role];
}

function insert(connection: ScratchConnection, group: number, name: string): void {
  const sql = 'INSERT INTO temp._listeners ("group", name, id, role) VALUES (?, ?, ?, ?)';
  connection.run(sql, group, name, ...columnsOf(name));
}
