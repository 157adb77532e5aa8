/** Read-only: whether changes are refused, for an admin (kept in the database) or for want of room on a disk. */
import { AppError } from "../../base/kernel/index.ts";
import type { Reader } from "./store.ts";
import { type ModuleSchema, noteKind, type Projection, type Transactor } from "./transaction.ts";

export const readOnlySchema: ModuleSchema = {
  module: "readOnly",
  steps: ["CREATE TABLE _read_only (only INTEGER PRIMARY KEY CHECK (only = 1), since INTEGER NOT NULL) STRICT"],
};

/** Why changes are refused, and since when, in milliseconds since 1970. */
export interface ReadOnlyState {
  readonly cause: "admin" | "disk";
  readonly since: number;
  /** For operators. */
  readonly text: string;
}

interface Switched {
  /** Null for the end of the mode. */
  readonly since: number | null;
}

const switched = noteKind<Switched>("database.readOnly");

/** Seconds after which a refused change is worth another try. */
const retryAfter = 10;

export class ReadOnly {
  #byAdmin: ReadOnlyState | null = null;
  #byDisk: ReadOnlyState | null = null;
  readonly #listeners: (() => void)[] = [];
  /** Until when changes were refused the last time, by `performance.now()`. */
  #until = Number.NEGATIVE_INFINITY;

  constructor(projection: Pick<Projection, "on">) {
    projection.on(switched, (note) => this.#take(note));
  }

  /** Takes the mode from the database, at the start. */
  load(reader: Reader): void {
    this.#take({ since: reader.get<{ since: number }>("SELECT since FROM _read_only")?.since ?? null });
  }

  /** Null while changes are accepted. */
  get state(): ReadOnlyState | null {
    return this.#byAdmin ?? this.#byDisk;
  }

  /** The refusal of a change; null while changes are accepted. */
  get refusal(): AppError | null {
    if (this.state === null) return null;
    return new AppError("unavailable", "The service is read-only at the moment, and takes no changes.", { retryAfter });
  }

  /** @throws AppError `unavailable` while changes are refused. */
  demandWritable(): void {
    const { refusal } = this;
    if (refusal !== null) throw refusal;
  }

  /** Whether changes were refused at any time since a moment of `performance.now()`. */
  hasRefusedSince(moment: number): boolean {
    return this.state !== null || this.#until >= moment;
  }

  /** Begins or ends the mode of the admin. Answers false if nothing changes. @param since null for the end. */
  switch(tx: Transactor, since: number | null): boolean {
    const isOn = tx.get("SELECT 1 FROM _read_only") !== null;
    if (isOn === (since !== null)) return false;
    if (since === null) tx.run("DELETE FROM _read_only");
    else tx.run("INSERT INTO _read_only (only, since) VALUES (1, ?)", since);
    tx.note(switched.of({ since }));
    // The next transaction finds the mode in force.
    tx.endBatch();
    return true;
  }

  get lacksRoom(): boolean {
    return this.#byDisk !== null;
  }

  /** A disk has too little room, or has room again. @param state null for room. */
  lackRoom(state: Omit<ReadOnlyState, "cause"> | null): void {
    this.#change(() => {
      this.#byDisk = state === null ? null : { ...state, cause: "disk" };
    });
  }

  /** Calls `listener` when changes are accepted again. */
  onEnd(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #take({ since }: Switched): void {
    this.#change(() => {
      this.#byAdmin = since === null ? null : { cause: "admin", since, text: "an admin has switched changes off" };
    });
  }

  #change(change: () => void): void {
    const wasOn = this.state !== null;
    change();
    if (!wasOn || this.state !== null) return;
    this.#until = performance.now();
    for (const listener of this.#listeners) listener();
  }
}
