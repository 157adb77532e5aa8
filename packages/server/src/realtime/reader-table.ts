/**
 * The readers of a record among the listeners: the callers who fulfil a condition, the expression of a read rule or of a filter,
 * found by one statement for all of them. The listeners are rows of a temporary table on a connection of its own, so a membership
 * finds its members there.
 */
import type { JsonValue } from "@socle/protocol";
import type { ScratchConnection } from "../database/index.ts";
import { bind, type Expression, toSql } from "../expressions/index.ts";
import { callerOf } from "../permissions/index.ts";
import type { RecordTable } from "../records/index.ts";
import type { Listener } from "./audience.ts";

/** A record with its owner, as it was or is at an event. */
export interface RecordState {
  readonly record: { readonly [name: string]: JsonValue };
  readonly owner: string | null;
}

/** A condition on the records of a table. `isBounded`: it may look at `maxVisits` records, as it is no admin's. */
export interface Condition {
  readonly table: RecordTable;
  readonly expression: Expression;
  readonly isBounded: boolean;
}

/** Records that a bounded condition may look at, to decide about one. */
export const maxVisits = 1_000;

/** A condition has looked at more records than it may. */
export class TooManyVisits extends Error {
  override readonly name = "TooManyVisits";
}

/** Listeners of one user in one role; `sockets` are those that are open. */
interface Row {
  readonly key: number;
  sockets: number;
}

type Sql = ReturnType<typeof toSql>;

/** The name of a listener in the sets of `Readers`: sockets of one user in one role have the same. */
export function nameOf(listener: Listener): string {
  return listener === null ? "" : `${listener.userId} ${listener.role}`;
}

export class Readers {
  readonly #open: (onProbe: () => void) => ScratchConnection;
  readonly #users: string;
  readonly #texts = new WeakMap<Expression, { forListeners: Sql; forOne: Sql }>();
  readonly #groups = new Set<ListenerGroup>();
  /** All listeners. */
  readonly everybody: ListenerGroup;
  /** Opened with the first event whose readers are asked for. */
  #connection: ScratchConnection | null = null;
  #isClosed = false;
  #lastKey = 0;
  #visits = 0;

  constructor(options: { open: (onProbe: () => void) => ScratchConnection; users: string }) {
    this.#open = options.open;
    this.#users = options.users;
    this.everybody = this.group();
  }

  /** The service ends: sockets that are still there leave without a statement, as the database may be closed. */
  close(): void {
    this.#isClosed = true;
  }

  /** A group of listeners, which is empty. It is to be dissolved. */
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

  /** The listeners of a group who fulfil a condition on a record. @throws TooManyVisits. */
  of(group: ListenerGroup, condition: Condition, state: RecordState): ReadonlySet<string> {
    const { text, values } = this.#sql(condition).forListeners;
    const rows = this.#all<{ key: number }>(condition, state, {
      text: `SELECT _listener.key AS key FROM ${condition.table.state("_record")}, temp._listeners AS _listener WHERE _listener."group" = ? AND ${text}`,
      values: [group.number, ...bind(values, { now: Date.now(), user: null })],
    });
    return new Set(rows.flatMap(({ key }) => group.nameOf(key) ?? []));
  }

  /** Whether a listener fulfils a condition on a record. @throws TooManyVisits. */
  holds(condition: Condition, state: RecordState, listener: Listener): boolean {
    const { text, values } = this.#sql(condition).forOne;
    const rows = this.#all(condition, state, {
      text: condition.table.stateFulfils("_record", text),
      values: bind(values, { now: Date.now(), user: callerOf(listener) }),
    });
    return rows.length > 0;
  }

  /** Whether a listener is in such a set. */
  static includes(readers: ReadonlySet<string>, listener: Listener): boolean {
    return readers.has(nameOf(listener));
  }

  #all<T>(
    { table, isBounded }: Condition,
    state: RecordState,
    sql: { text: string; values: ReturnType<typeof bind> },
  ): T[] {
    this.#connection ??= this.#begin();
    this.#visits = 0;
    try {
      return this.#connection.all<T>(sql.text, ...table.stateValues(state.record, state.owner), ...sql.values);
    } catch (thrown) {
      throw isBounded && this.#visits > maxVisits ? new TooManyVisits() : thrown;
    }
  }

  #sql({ expression, isBounded }: Condition): { forListeners: Sql; forOne: Sql } {
    let sql = this.#texts.get(expression);
    if (sql === undefined) {
      const options = { users: this.#users, isOfOneRecord: true, isProbed: isBounded };
      sql = {
        forListeners: toSql(expression, "_record", { ...options, caller: "_listener" }),
        forOne: toSql(expression, "_record", options),
      };
      this.#texts.set(expression, sql);
    }
    return sql;
  }

  #begin(): ScratchConnection {
    const connection = this.#open(() => {
      this.#visits += 1;
      if (this.#visits > maxVisits) throw new TooManyVisits();
    });
    connection.run('CREATE TEMP TABLE _listeners (key INTEGER PRIMARY KEY, "group" INTEGER, id TEXT, role TEXT)');
    connection.run('CREATE INDEX temp._listeners_id ON _listeners ("group", id)');
    for (const group of this.#groups)
      for (const [name, key] of group.rows()) insert(connection, { group: group.number, key, name });
    return connection;
  }

  #nextKey(): number {
    this.#lastKey += 1;
    return this.#lastKey;
  }
}

interface GroupHooks {
  nextKey(): number;
  added(key: number, name: string): void;
  removed(key: number): void;
  dissolved(): void;
}

/** Listeners of which the readers of a record are asked for; each user in each role once. */
export class ListenerGroup {
  readonly number: number;
  readonly #hooks: GroupHooks;
  readonly #rows = new Map<string, Row>();
  readonly #byKey = new Map<number, string>();

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
    this.#hooks.removed(row.key);
  }

  nameOf(key: number): string | undefined {
    return this.#byKey.get(key);
  }

  *rows(): IterableIterator<[name: string, key: number]> {
    for (const [name, { key }] of this.#rows) yield [name, key];
  }

  /** The group is empty, and not asked for any more. */
  dissolve(): void {
    this.#hooks.dissolved();
  }
}

function insert(
  connection: ScratchConnection,
  { group, key, name }: { group: number; key: number; name: string },
): void {
  // Nobody has no id, and equals no field.
  const [id = null, role = null] = name === "" ? [] : name.split(" ");
  connection.run('INSERT INTO temp._listeners (key, "group", id, role) VALUES (?, ?, ?, ?)', key, group, id, role);
}
