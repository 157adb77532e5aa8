/**
 * The readers of a record among the listeners: the callers who fulfil a condition, the expression of a read rule or of
 * a filter. One statement asks for all listeners. On the event loop the listeners are rows of a temporary table, so
 * that a membership finds its members by an index; on a reader thread the listeners are a parameter.
 */
import type { JsonValue } from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import { bind, collectionsIn, type Expression, toSql } from "../../data/expressions/index.ts";
import { callerOf } from "../../data/permissions/index.ts";
import type { RecordTable } from "../../data/records/index.ts";
import type { Database, ScratchConnection, Value } from "../../store/database/index.ts";
import type { Listener } from "./audience.ts";

/** A record with its owner, before or after an event. */
export interface OwnedState {
  readonly record: { readonly [name: string]: JsonValue };
  readonly owner: string | null;
  /** The same record after or before the change: the stored row may be in either state. */
  readonly other?: OwnedState | null;
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

/** The names of the listeners for whom a condition holds. */
export type Names = ReadonlySet<string>;

/** A condition takes too long for the event loop, or for a thread. */
export class TooSlow extends Error {
  override readonly name = "TooSlow";
}

/** The use of threads by questions: the caller whose share of the threads is counted, and the limit of time. */
export interface ThreadUse {
  readonly caller: string;
  readonly limitMs: number;
  /** Called with the milliseconds that the thread took, with or without an answer. */
  charge(ms: number): void;
}

/** Listeners of one user in one role; `sockets` counts the open sockets. */
interface Row {
  readonly key: number;
  sockets: number;
}

type Sql = ReturnType<typeof toSql>;

interface Texts {
  readonly forListeners: Sql;
  readonly forOne: Sql;
  /** Whether the condition asks for other records of the same collection. */
  readonly entersItself: boolean;
}

interface Statement {
  readonly sql: string;
  readonly values: Value[];
}

/** A statement on the event loop over at most this many records has eight times as much time. */
const fewVisits = 50;
const fewGrace = 8;

const noNames: Names = new Set();

/** The name of a listener in sets of `Names`: sockets of one user in one role have the same. */
export function nameOf(listener: Listener): string {
  return listener === null ? "" : `${listener.userId} ${listener.role}`;
}

/** The listeners of the thread's statement: the parameter is an array of `[name, id, role]`. */
const givenListeners =
  "(SELECT value ->> 0 AS key, value ->> 1 AS id, value ->> 2 AS role FROM json_each(?)) AS _listener";

export class Readers {
  readonly #database: Pick<Database, "openScratch" | "query">;
  readonly #users: string;
  readonly #texts = new WeakMap<Expression, Texts>();
  readonly #groups = new Set<ListenerGroup>();
  /** All listeners. */
  readonly everybody: ListenerGroup;
  /** Opened for the first event that needs its readers. */
  #connection: ScratchConnection | null = null;
  #isClosed = false;
  #lastKey = 0;
  /** The end of the statement's time on the event loop, and the records that the statement has looked at. */
  #deadline = Number.POSITIVE_INFINITY;
  #graceMs = 0;
  #visits = 0;

  /** @param options `users` is the name of the table of users. */
  constructor(options: { database: Pick<Database, "openScratch" | "query">; users: string }) {
    this.#database = options.database;
    this.#users = options.users;
    this.everybody = this.group();
  }

  /** The service ends: the remaining sockets leave without a statement, because the database may be closed. */
  close(): void {
    this.#isClosed = true;
  }

  /** An empty group of listeners. The caller dissolves the group. */
  group(): ListenerGroup {
    const group = new ListenerGroup(this.#nextKey(), {
      nextKey: () => this.#nextKey(),
      added: (key, name) => {
        if (this.#connection !== null && !this.#isClosed) insert(this.#connection, { group: group.number, key, name });
      },
      removed: (key) => {
        if (!this.#isClosed) this.#connection?.run("DELETE FROM temp._listeners WHERE key = ?", key);
      },
      dissolved: () => this.#groups.delete(group),
    });
    this.#groups.add(group);
    return group;
  }

  /**
   * Answers a question on the event loop, within some milliseconds if the statement looks at many records. A statement
   * over few records has more time: the machine is busy.
   * @throws TooSlow.
   */
  ask(question: Question, ms: number): Names {
    const { among, condition } = question;
    if (condition.isLong === true) throw new TooSlow();
    const { sql, values } = this.#statement(question, {
      text: 'SELECT _listener.key AS key FROM _state AS _record, temp._listeners AS _listener WHERE _listener."group" = ? AND',
      listeners: among instanceof ListenerGroup ? among.number : null,
    });
    this.#connection ??= this.#begin();
    this.#deadline = performance.now() + ms;
    this.#graceMs = ms * fewGrace;
    this.#visits = 0;
    try {
      const rows = this.#connection.all<{ key: number }>(sql, ...values);
      if (!(among instanceof ListenerGroup)) return rows.length > 0 ? new Set([nameOf(among)]) : noNames;
      return new Set(rows.flatMap(({ key }) => among.nameOf(key) ?? []));
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
            const { among } = question;
            const { sql, values } = this.#statement(question, {
              text: `SELECT _listener.key AS key FROM _state AS _record, ${givenListeners} WHERE`,
              listeners: among instanceof ListenerGroup ? among.toJson() : null,
            });
            const rows = await reader.all<{ key: string }>(sql, ...values);
            if (among instanceof ListenerGroup) answers.push(new Set(rows.map(({ key }) => key)));
            else answers.push(rows.length > 0 ? new Set([nameOf(among)]) : noNames);
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

  /** Whether `names` contains a listener. */
  static includes(names: Names, listener: Listener): boolean {
    return names.has(nameOf(listener));
  }

  #statement(
    { condition, state, among }: Question,
    forGroup: { text: string; listeners: number | string | null },
  ): Statement {
    const { table } = condition;
    const { forListeners, forOne, entersItself } = this.#textsOf(condition);
    const isGroup = among instanceof ListenerGroup;
    const { text, values } = isGroup ? forListeners : forOne;
    const given = table.givenState(entersItself && pointsToItself(state));
    const user = isGroup ? null : callerOf(among);
    const bound = bind(values, { now: Date.now(), user });
    return {
      sql: `${given} ${isGroup ? forGroup.text : "SELECT 1 FROM _state AS _record WHERE"} ${text}`,
      values: [...table.stateValues(state.record, state.owner), ...(isGroup ? [forGroup.listeners] : []), ...bound],
    };
  }

  #textsOf({ table, expression }: Condition): Texts {
    let texts = this.#texts.get(expression);
    if (texts === undefined) {
      const options = { users: this.#users, isOfOneRecord: true, isProbed: true };
      texts = {
        forListeners: toSql(expression, "_record", { ...options, caller: "_listener" }),
        forOne: toSql(expression, "_record", options),
        entersItself: collectionsIn(expression).has(table.collection.name),
      };
      this.#texts.set(expression, texts);
    }
    return texts;
  }

  #begin(): ScratchConnection {
    const connection = this.#database.openScratch(() => {
      this.#visits += 1;
      if (this.#isOver()) throw new TooSlow();
    });
    connection.run('CREATE TEMP TABLE _listeners (key INTEGER PRIMARY KEY, "group" INTEGER, id TEXT, role TEXT)');
    connection.run('CREATE INDEX temp._listeners_id ON _listeners ("group", id)');
    for (const group of this.#groups)
      for (const [name, key] of group.rows()) insert(connection, { group: group.number, key, name });
    return connection;
  }

  #isOver(): boolean {
    return performance.now() >= this.#deadline + (this.#visits > fewVisits ? 0 : this.#graceMs);
  }

  #nextKey(): number {
    this.#lastKey += 1;
    return this.#lastKey;
  }
}

/** Whether a field of a record names the record itself, in this state or in the other state. */
export function pointsToItself({ record, other = null }: OwnedState): boolean {
  const { id = null, ...fields } = record;
  const names = (value: JsonValue): boolean => value === id || (Array.isArray(value) && value.includes(id));
  return Object.values(fields).some(names) || (other !== null && pointsToItself({ ...other, other: null }));
}

interface GroupHooks {
  nextKey(): number;
  added(key: number, name: string): void;
  removed(key: number): void;
  dissolved(): void;
}

/** The listeners among which the readers of a record are searched; each user in each role once. */
export class ListenerGroup {
  readonly number: number;
  readonly #hooks: GroupHooks;
  readonly #rows = new Map<string, Row>();
  readonly #byKey = new Map<number, string>();
  #json: string | null = null;

  constructor(number: number, hooks: GroupHooks) {
    this.number = number;
    this.#hooks = hooks;
  }

  add(listener: Listener): void {
    const name = nameOf(listener);
    const known = this.#rows.get(name);
    if (known !== undefined) {
      known.sockets += 1;
      return;
    }
    const key = this.#hooks.nextKey();
    this.#rows.set(name, { key, sockets: 1 });
    this.#byKey.set(key, name);
    this.#json = null;
    this.#hooks.added(key, name);
  }

  remove(listener: Listener): void {
    const name = nameOf(listener);
    const row = this.#rows.get(name);
    if (row === undefined) return;
    row.sockets -= 1;
    if (row.sockets > 0) return;
    this.#rows.delete(name);
    this.#byKey.delete(row.key);
    this.#json = null;
    this.#hooks.removed(row.key);
  }

  nameOf(key: number): string | undefined {
    return this.#byKey.get(key);
  }

  *rows(): IterableIterator<[name: string, key: number]> {
    for (const [name, { key }] of this.#rows) yield [name, key];
  }

  /** The listeners as the parameter of a statement on a thread. */
  toJson(): string {
    this.#json ??= JSON.stringify([...this.#rows.keys()].map((name) => [name, ...columnsOf(name)]));
    return this.#json;
  }

  /** The group is empty, and not asked for any more. */
  dissolve(): void {
    this.#hooks.dissolved();
  }
}

/** The id and role of a listener. A listener without a token has the id null, which equals no field. */
function columnsOf(name: string): [id: string | null, role: string | null] {
  const [id = null, role = null] = name === "" ? [] : name.split(" ");
  return [id, role];
}

function insert(
  connection: ScratchConnection,
  { group, key, name }: { group: number; key: number; name: string },
): void {
  const sql = 'INSERT INTO temp._listeners (key, "group", id, role) VALUES (?, ?, ?, ?)';
  connection.run(sql, key, group, ...columnsOf(name));
}
