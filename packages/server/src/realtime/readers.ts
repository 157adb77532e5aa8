/**
 * The readers of a record among the listeners: the callers who fulfil the expression of a read rule, found by one statement for
 * all of them. The listeners are rows of a temporary table on a connection of its own, so a membership finds its members there.
 */
import type { StoredRecord } from "@socle/protocol";
import type { ScratchConnection } from "../database/index.ts";
import { bind, type Expression, toSql } from "../expressions/index.ts";
import type { RecordTable } from "../records/index.ts";
import type { Listener } from "./audience.ts";

/** A record with its owner, as it was or is at an event. */
export interface RecordState {
  readonly record: Readonly<StoredRecord>;
  readonly owner: string | null;
}

/** Listeners of one user in one role; `sockets` are those that are open. */
interface Row {
  readonly key: number;
  sockets: number;
}

type Sql = ReturnType<typeof toSql>;

/** The key of a listener in memory. */
function keyOf(listener: Listener): string {
  return listener === null ? "" : `${listener.userId} ${listener.role}`;
}

export class Readers {
  readonly #open: () => ScratchConnection;
  readonly #users: string;
  readonly #rows = new Map<string, Row>();
  readonly #byKey = new Map<number, string>();
  readonly #texts = new WeakMap<Expression, Sql>();
  /** Opened with the first event whose readers are asked for. */
  #connection: ScratchConnection | null = null;
  #lastKey = 0;

  constructor(options: { open: () => ScratchConnection; users: string }) {
    this.#open = options.open;
    this.#users = options.users;
  }

  add(listener: Listener): void {
    const key = keyOf(listener);
    const known = this.#rows.get(key);
    if (known !== undefined) {
      known.sockets += 1;
      return;
    }
    this.#lastKey += 1;
    this.#rows.set(key, { key: this.#lastKey, sockets: 1 });
    this.#byKey.set(this.#lastKey, key);
    if (this.#connection !== null) this.#insert(this.#connection, this.#lastKey, key);
  }

  remove(listener: Listener): void {
    const key = keyOf(listener);
    const row = this.#rows.get(key);
    if (row === undefined) return;
    row.sockets -= 1;
    if (row.sockets > 0) return;
    this.#rows.delete(key);
    this.#byKey.delete(row.key);
    this.#connection?.run("DELETE FROM temp._listeners WHERE key = ?", row.key);
  }

  /**
   * The listeners who fulfil a condition on a record, as `keyOf` names them.
   * @param condition of the read rule.
   */
  of(table: RecordTable, condition: Expression, { record, owner }: RecordState): ReadonlySet<string> {
    this.#connection ??= this.#begin();
    let sql = this.#texts.get(condition);
    if (sql === undefined) {
      sql = toSql(condition, "_record", { caller: "_listener", users: this.#users });
      this.#texts.set(condition, sql);
    }
    const text = `SELECT _listener.key AS key FROM ${table.state("_record")}, temp._listeners AS _listener WHERE ${sql.text}`;
    const bound = bind(sql.values, { now: Date.now(), user: null });
    const rows = this.#connection.all<{ key: number }>(text, ...table.stateValues(record, owner), ...bound);
    return new Set(rows.flatMap(({ key }) => this.#byKey.get(key) ?? []));
  }

  /** Whether a listener is in such a set. */
  static includes(readers: ReadonlySet<string>, listener: Listener): boolean {
    return readers.has(keyOf(listener));
  }

  #begin(): ScratchConnection {
    const connection = this.#open();
    connection.run("CREATE TEMP TABLE _listeners (key INTEGER PRIMARY KEY, id TEXT, role TEXT)");
    connection.run("CREATE INDEX temp._listeners_id ON _listeners (id)");
    for (const [key, row] of this.#rows) this.#insert(connection, row.key, key);
    return connection;
  }

  #insert(connection: ScratchConnection, key: number, name: string): void {
    // Nobody has no id, and equals no field.
    const [id = null, role = null] = name === "" ? [] : name.split(" ");
    connection.run("INSERT INTO temp._listeners (key, id, role) VALUES (?, ?, ?)", key, id, role);
  }
}
