/** The transactor: the argument of a transaction's function, with its notes for the commit and its effects after the flush. */
import type { CommitNotes, Note, NoteKind } from "../projection.ts";
import type { Reader, Transactor, Value } from "../store.ts";

/** The connection of a transaction: the writer's connection, or the connection of a migration on a thread. */
export interface TransactionConnection extends Reader {
  run(sql: string, ...values: Value[]): number;
}

/** The argument of a transaction's function. The transactor is dead after the end of the function. */
export class JobTransactor implements Transactor {
  readonly #connection: TransactionConnection;
  /** The notes of the earlier transactions of the same commit. */
  readonly #earlier: CommitNotes;
  readonly notes: Note[] = [];
  readonly durableEffects: (() => unknown)[] = [];
  /** Whether the next transaction begins after this commit. */
  endsBatch = false;
  /** Whether a statement has written, so that an error of the function needs a rollback. SQLite undoes a failed statement itself. */
  hasWritten = false;
  #open = true;

  constructor(connection: TransactionConnection, earlier: CommitNotes) {
    this.#connection = connection;
    this.#earlier = earlier;
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    const row = this.#live().get<T>(sql, ...values);
    this.#note(sql);
    return row;
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    const rows = this.#live().all<T>(sql, ...values);
    this.#note(sql);
    return rows;
  }

  some<T>(statement: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[] {
    const rows = this.#live().some(statement, isLast);
    this.#note(statement.sql);
    return rows;
  }

  run(sql: string, ...values: Value[]): number {
    const changes = this.#live().run(sql, ...values);
    this.hasWritten = true;
    return changes;
  }

  note(note: Note): void {
    this.notes.push(note);
  }

  lastNote<T>({ kind }: NoteKind<T>): T | null {
    const own = this.notes.findLast((note) => note.kind === kind);
    // The kind of a note determines the type of its data.
    return ((own ?? this.#earlier.newest(kind))?.data as T | undefined) ?? null;
  }

  endBatch(): void {
    this.endsBatch = true;
  }

  onDurable(effect: () => unknown): void {
    this.durableEffects.push(effect);
  }

  end(): void {
    this.#open = false;
  }

  /** Notes a statement that has answered rows: a statement with RETURNING has written. */
  #note(sql: string): void {
    this.hasWritten ||= !sql.startsWith("SELECT ");
  }

  #live(): TransactionConnection {
    if (!this.#open) throw new Error("A transaction was used after its end");
    return this.#connection;
  }
}
