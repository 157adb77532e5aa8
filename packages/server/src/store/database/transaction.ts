/**
 * Transactions: what the function of a transaction gets, and the projection, which applies the notes of the commits.
 *
 * The projection is the state in memory that follows the data, for example definitions, sessions and counts. A transaction notes
 * its meaning for that state (`Transactor.note`), and the projection applies the notes in the moment of the commit, in
 * commit order. Notes are plain data that JSON carries, so a second projection with the same notes has the same state.
 */
import { AppError, type Principal } from "../../base/kernel/index.ts";
import { countsChanges, type Note, returnsChanges, type StatementLog } from "./entry.ts";
import { asSlowReader, type Reader, type SlowReader, type Value } from "./store.ts";

/** A kind of note, with the type of the data. */
export interface NoteKind<T> {
  readonly kind: string;
  readonly of: (data: T) => Note;
  /** See `noteKind`. */
  readonly join: Join<T> | null;
}

/** The data of one note with the meaning of two notes; null if no single note has the meaning. */
type Join<T> = (earlier: T, later: T) => T | null;

/**
 * @param kind a name of the form `part.happened`, like `sessions.ended`.
 * @param join joins two notes of a commit between which are only notes of other kinds that join: the order of these kinds does not matter.
 */
export function noteKind<T>(kind: string, join: Join<T> | null = null): NoteKind<T> {
  return { kind, of: (data) => ({ kind, data }), join };
}

/** The data of the notes of a kind. */
export function notesOf<T>(notes: readonly Note[], { kind }: NoteKind<T>): T[] {
  // The kind of a note determines the type of the data.
  return notes.filter((note) => note.kind === kind).map(({ data }) => data as T);
}

/** A commit, as the processes learn of the commit that follow. */
export interface ToldCommit {
  /** The number of the commit; the database has the number, too (`positionSchema`). */
  readonly position: number;
  readonly notes: readonly Note[];
  /** Whether tables have changed: long reads go on with the former tables. */
  readonly isMigration: boolean;
}

/** Processes that follow the commits of this process, each with the state in memory of a position. */
export interface Followers {
  /** Tells a commit, at once. Resolves when each process has the data and the state of the commit; null without processes. */
  tell(commit: ToldCommit): Promise<void> | null;
  /** Resolves when no process reads a state older than the last commit. No commit comes meanwhile. */
  renew(): Promise<void>;
}

/** A commit before the commit point has decided. */
export interface UndecidedCommit {
  /** See `StatementLog.toEntry`. */
  readonly entry: string;
  /** The id of the entry, and the id of the entry before. */
  readonly id: string;
  readonly before: string | null;
  readonly notes: readonly Note[];
  /** Reads the database as the commit leaves the database; until the answer of the commit point. */
  readonly state: Reader;
}

/** The place outside of the database that decides whether a commit happens: the journal of a cluster. */
export interface CommitPoint {
  /** The reason for which no transaction may run now; null if transactions may run. */
  readonly refusal: AppError | null;
  /** The role of the leader, which begins the ids of the entries. */
  readonly role: string;
  /**
   * Resolves when the entry is the commit of a position. An error means that the commit does not happen. While the outcome stays unknown,
   * `giveUp` is called with the answer for the callers, who wait no longer.
   */
  append(position: number, commit: UndecidedCommit, giveUp: (reason: AppError) => void): Promise<void>;
}

/** A commit that is on disk, for a copy outside of the machine. */
export interface KeptCommit {
  readonly position: number;
  /** The id of the entry, and the id of the entry before. */
  readonly id: string;
  readonly before: string | null;
  /** The moment of the commit, in milliseconds since 1970. */
  readonly at: number;
  /** See `StatementLog.toEntry`; null for a commit that is too large for an entry. */
  readonly entry: string | null;
  readonly notes: readonly Note[];
}

/** Takes copies of the commits: the continuous backup. */
export interface CommitCopies {
  /** Begins the ids of the entries, unless a commit point has a role. */
  readonly role: string;
  /** Takes a commit that is on disk, in commit order, before the callers are answered. */
  take(commit: KeptCommit): void;
}

/** The numbering of commits, with everything that hears of each commit. */
export interface Lead {
  /** Null without processes that follow. */
  readonly followers: Followers | null;
  /** Null if the commit of this database decides. */
  readonly commitPoint: CommitPoint | null;
  /** Null without copies. */
  readonly copies: CommitCopies | null;
}

/** The lead of a database that only runs entries. */
export const runsEntries: Omit<Lead, "copies"> = {
  followers: null,
  commitPoint: {
    refusal: new AppError("unavailable", "This instance does not lead.", { retryAfter: 1 }),
    role: "",
    append: () => Promise.reject(new Error("A replica appends nothing to the journal")),
  },
};

export class Projection {
  readonly #parts = new Map<string, ((data: never) => void)[]>();
  readonly #joins = new Map<string, (earlier: never, later: never) => unknown>();

  /** Calls `apply` with each note of a kind. Several parts may follow a kind; an error ends the service: state and data differ. */
  on<T>({ kind, join }: NoteKind<T>, apply: (data: T) => void): void {
    this.#parts.getOrInsertComputed(kind, () => []).push(apply);
    if (join !== null) this.#joins.set(kind, join);
  }

  /** The notes of a commit, with fewer notes if kinds of the notes join. */
  joined(notes: readonly Note[]): readonly Note[] {
    if (notes.length < 2) return notes;
    const joined: Note[] = [];
    /** The places of the notes that the next notes of their kind may join. */
    const places = new Map<string, number>();
    for (const note of notes) {
      const { kind } = note;
      const join = this.#joins.get(kind);
      if (join === undefined) places.clear();
      const place = places.get(kind);
      const earlier = place === undefined ? undefined : joined[place];
      const data = join === undefined || earlier === undefined ? null : join(earlier.data as never, note.data as never);
      if (data !== null && place !== undefined) {
        joined[place] = { kind, data };
        continue;
      }
      joined.push(note);
      if (join !== undefined) places.set(kind, joined.length - 1);
    }
    return joined;
  }

  /** Applies the notes of a commit, in order. */
  apply(notes: readonly Note[]): void {
    for (const { kind, data } of notes) for (const apply of this.#parts.get(kind) ?? []) apply(data as never);
  }
}

/** The statements of a transaction that may take long; see `Migration`. */
export interface SlowTransactor extends SlowReader {
  /** Answers the number of rows that changed. */
  run(sql: string, ...values: Value[]): Promise<number>;
}

/** Reads and writes inside a transaction. The transactor ends with the function that received the transactor. */
export interface Transactor extends Reader {
  /** Answers the number of rows that changed. */
  run(sql: string, ...values: Value[]): number;
  /**
   * Notes what the commit means for the state in memory: the projection applies the note at the moment of the commit, when
   * readers find both the data and the state changed. Transactions that share the commit have run before.
   */
  note(note: Note): void;
  /**
   * The data of the newest note of a kind in this commit: of this transaction, or of an earlier transaction that was
   * not rolled back. Null if the state in memory is still the newest.
   */
  lastNote<T>(kind: NoteKind<T>): T | null;
  /** The next transaction begins after this commit: for a change with notes that the next transactions depend on. */
  endBatch(): void;
  /**
   * `effect` is called when the transaction is on disk, in commit order; never after a rollback. When an effect answers a
   * promise, the next effect waits for that promise.
   */
  onDurable(effect: () => unknown): void;
}

/** The transaction of a migration. Its own statements block the event loop: statements on many rows go through `slow`. */
export interface Migration extends Transactor {
  readonly slow: SlowTransactor;
}

/** The tables of a module: each step runs once, in order. The number of steps is the version of the module's schema. */
export interface ModuleSchema {
  readonly module: string;
  readonly steps: readonly string[];
}

/**
 * The number of the last commit. By the number, a process that follows the commits knows the notes that belong to the data of a read. In a
 * cluster, the row names the journal to which the number belongs.
 */
export const positionSchema: ModuleSchema = {
  module: "position",
  steps: [
    "CREATE TABLE _position (only INTEGER PRIMARY KEY CHECK (only = 1), position INTEGER NOT NULL) STRICT",
    "INSERT INTO _position (only, position) VALUES (1, 0)",
    "ALTER TABLE _position ADD COLUMN journal TEXT",
    // The id of the entry at the position.
    "ALTER TABLE _position ADD COLUMN entry TEXT",
    // The first entry of each role of a leader; see `History` of the journal.
    "CREATE TABLE _roles (position INTEGER PRIMARY KEY, id TEXT NOT NULL) STRICT",
  ],
};

/** The name of the chain that a database belongs to, the database of a single service with a continuous backup. */
export const chainSchema: ModuleSchema = {
  module: "chain",
  steps: ["CREATE TABLE _chain (only INTEGER PRIMARY KEY CHECK (only = 1), name TEXT NOT NULL) STRICT"],
};

/** Work in a transaction on behalf of a caller, with the role of the moment when the transaction begins. */
export type CallersWork<T> = (tx: Transactor, caller: Principal) => T;

/** A migration on behalf of a caller, with the present role. */
export type CallersMigration<T> = (tx: Migration, caller: Principal) => T | Promise<T>;

export interface TransactOptions {
  /** Whether the transaction may use the reserve on a full disk. */
  readonly makesRoom?: boolean;
  /**
   * Whether the transaction also runs while the service is read-only: for sessions, for what the service keeps for itself, and for
   * transactions that are taken back.
   */
  readonly whileReadOnly?: boolean;
  /**
   * Whether the function may be called again: the only results are changes to the database and the effects. For transactions
   * that rarely fail after a write: the transaction costs less, but a failure after a write costs more.
   */
  readonly isRepeatable?: boolean;
}

/** The connection of a transaction: the writer's connection, or the connection of a migration on a thread. */
export type TransactionConnection = Pick<Transactor, keyof Reader | "run">;

/** The parts of a commit that the transactions of the commit share. */
export interface CommitParts {
  readonly connection: TransactionConnection;
  /** The connection for statements that may take long; null for the connection of the event loop. */
  readonly thread: SlowTransactor | null;
  /** The notes of the transactions that have run. */
  readonly notes: Note[];
  /** Takes the statements; null without a journal. */
  readonly log: StatementLog | null;
}

/** The argument of a transaction's function. The transactor is dead after the end of the function. */
export class JobTransactor implements Migration {
  readonly #commit: CommitParts;
  readonly effects: (() => unknown)[] = [];
  endsBatch = false;
  /** Whether a statement has written, so that an error of the function needs a rollback. SQLite itself undoes a failed statement. */
  hasWritten = false;
  #open = true;

  constructor(commit: CommitParts) {
    this.#commit = commit;
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    return this.#answered(sql, values, this.#live().get<T>(sql, ...values));
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    return this.#answered(sql, values, this.#live().all<T>(sql, ...values));
  }

  some<T>(statement: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[] {
    return this.#answered(statement.sql, statement.values, this.#live().some(statement, isLast));
  }

  run(sql: string, ...values: Value[]): number {
    return this.#changed(sql, values, this.#live().run(sql, ...values));
  }

  get slow(): SlowTransactor {
    const slow = this.#commit.thread ?? asSlowTransactor(this.#commit.connection);
    return {
      get: async <T>(sql: string, ...values: Value[]) => this.#answered(sql, values, await slow.get<T>(sql, ...values)),
      all: async <T>(sql: string, ...values: Value[]) => this.#answered(sql, values, await slow.all<T>(sql, ...values)),
      run: async (sql, ...values) => this.#changed(sql, values, await slow.run(sql, ...values)),
    };
  }

  note(note: Note): void {
    this.#commit.notes.push(note);
  }

  lastNote<T>({ kind }: NoteKind<T>): T | null {
    // The kind of a note determines the type of the data.
    return (this.#commit.notes.findLast((note) => note.kind === kind)?.data ?? null) as T | null;
  }

  endBatch(): void {
    this.endsBatch = true;
  }

  onDurable(effect: () => unknown): void {
    this.effects.push(effect);
  }

  end(): void {
    this.#open = false;
  }

  /** A statement has answered rows. A statement with RETURNING has written. */
  #answered<R>(sql: string, values: readonly Value[], rows: R): R {
    if (sql.startsWith("SELECT ")) return rows;
    this.hasWritten = true;
    const { log } = this.#commit;
    if (log !== null && returnsChanges(sql)) log.add(sql, values, null);
    return rows;
  }

  #changed(sql: string, values: readonly Value[], changes: number): number {
    this.hasWritten = true;
    this.#commit.log?.add(sql, values, countsChanges(sql) ? changes : null);
    return changes;
  }

  #live(): TransactionConnection {
    if (!this.#open) throw new Error("A transaction was used after its end");
    return this.#commit.connection;
  }
}

/** A connection of the event loop, for migrations of few rows. */
function asSlowTransactor(connection: TransactionConnection): SlowTransactor {
  return { ...asSlowReader(connection), run: async (sql, ...values) => connection.run(sql, ...values) };
}
