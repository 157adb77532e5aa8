/** Journal: the interface to the journal of a cluster, and the errors of a journal. The engine behind keeps what the engine has confirmed. */
import type { Logger } from "../../base/logging/index.ts";

/** A group commit of a leader. */
export interface Entry {
  /** The place in the journal: 1 for the first entry, then without a gap. */
  readonly position: number;
  /** The term of the leader that appended the entry. */
  readonly term: number;
  readonly body: Uint8Array;
}

/** The leader of the newest term. */
export interface Leader {
  readonly term: number;
  readonly instance: string;
  readonly address: string;
  /** Whether the lease still runs, by the engine's clock. */
  readonly isLive: boolean;
}

export interface InstanceRow {
  readonly name: string;
  readonly address: string;
  readonly version: string;
  /** The newest position that the instance has applied. */
  readonly position: number;
  /** Whether the row still counts, by the engine's clock. */
  readonly isLive: boolean;
  /** A name of the process, different at each start. */
  readonly run: string;
}

/** A copy of the database, kept outside the journal under `name`. */
/** A function of the engine that an append calls in the same statement, so that both happen or neither. */
export interface Beside {
  /** The quoted name of a function `(position bigint, a text, b text)`, whose error undoes the append. */
  readonly call: string;
  readonly values: readonly [a: string, b: string];
  /** Called when the entry is appended without the changes of the function. */
  readonly failed: (reason: string) => void;
}

export interface SnapshotRow {
  /** The newest position that the copy includes. */
  readonly position: number;
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since 1970, by the clock of the instance that made the copy. */
  readonly madeAt: number;
}

export interface JournalExtent {
  /** The oldest entry that is kept; `last + 1` when every entry was trimmed; 0 when nothing was ever appended. */
  readonly first: number;
  /** The newest entry, also when the entry was trimmed; 0 when nothing was ever appended. */
  readonly last: number;
  /** The sum of the bodies that are kept. */
  readonly bytes: number;
  /** The term of the newest entry; 0 when nothing was ever appended. */
  readonly term: number;
}

/**
 * The journal of a single cluster. Leases run by the engine's clock, in milliseconds from the moment at which the engine
 * runs the statement. Every method but `open` throws `JournalAway` when the engine does not answer in time, or refuses.
 * The next call connects again.
 */
export interface Journal {
  /**
   * Connects, refuses an engine that does not keep what the engine confirms, and makes the tables. Answers the id of the journal,
   * which is made at the first call for the name of a cluster.
   * @throws SetupError with one readable line.
   */
  open(): Promise<{ id: string; isNew: boolean }>;
  /**
   * Appends the entry at `position`, which has to be the next position, while `term` is the term of the leader. An entry that was sent before in the same
   * term, and stands in the journal, is "appended". "fenced": the entry is certainly not in the journal, and never will be; the term is over.
   * `entry.body` must not change before the answer. A failure of `beside` does not hold up the entry.
   * @throws JournalAway: the entry was certainly not appended by this call.
   * @throws OutcomeUnknown: the entry may stand in the journal, or may still be appended; `nextTerm`, then `read`, decides.
   * @throws Error for a position that is not the next, or holds another entry of the same term: a defect of the caller.
   */
  append(entry: Entry, beside?: Beside | null): Promise<"appended" | "fenced">;
  /**
   * The entries after position `after`, in order and without a gap: at least one if the journal has one, and bodies of about
   * `maxBytes` in sum, at most.
   * @throws JournalGap when the next entries were trimmed.
   */
  read(after: number, maxBytes: number): Promise<readonly Entry[]>;
  /** Reads the length of every entry, so the call is not for each turn. */
  extent(): Promise<JournalExtent>;
  /** Null before the first leader. */
  leader(): Promise<Leader | null>;
  /**
   * Takes the lease when the lease has run out, when the cluster has no leader yet, or when `instance` has the lease. Answers
   * the new term, greater by 1. Null when another instance has the lease. Waits for appends that run in the engine: a later `read` has every
   * entry of the earlier terms. `JournalAway` may hide a lease that was taken; the next call tells.
   */
  takeLease(me: { instance: string; address: string; ms: number }): Promise<number | null>;
  /** Prolongs the lease of a term, also when the lease has run out and no other instance has taken the lease. False when the term is over. */
  renewLease(term: number, ms: number): Promise<boolean>;
  /**
   * The same leader begins a new term, so that an append of the former term that is still under way can never succeed. Null when
   * the term is over. Waits for appends that run in the engine: a later `read` has every entry of the former term.
   */
  nextTerm(term: number, ms: number): Promise<number | null>;
  /** Ends the lease at once; the term stays. */
  releaseLease(term: number): Promise<void>;
  /** Writes the row of this instance, alive for `ms`. False when a living instance with another `run` has the name. */
  register(me: {
    name: string;
    address: string;
    version: string;
    position: number;
    run: string;
    ms: number;
  }): Promise<boolean>;
  unregister(name: string, run: string): Promise<void>;
  /** By name, also the instances that do not live any more; a row goes a day after the end of the instance. */
  instances(): Promise<readonly InstanceRow[]>;
  /** Replaces the snapshot of the same position. */
  addSnapshot(snapshot: SnapshotRow): Promise<void>;
  removeSnapshot(position: number): Promise<void>;
  /** Newest first. */
  snapshots(): Promise<readonly SnapshotRow[]>;
  /** Removes the entries up to `position`, in steps. Positions after the newest entry are never skipped. */
  trim(position: number): Promise<void>;
  /** Runs a statement on tables beside the journal; without values, several statements in a transaction. Answers the rows. */
  ask<Row>(statement: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Ends the connections, and the statements that still run. Later calls throw `JournalAway`. */
  close(): Promise<void>;
}

export interface JournalOptions {
  readonly url: string;
  /** The name of the cluster: several clusters may share an engine. */
  readonly cluster: string;
  readonly logger: Logger;
  /** The bound for each statement; 5,000 by default. */
  readonly timeoutMs?: number;
}

/** The engine cannot be reached now, or refuses a statement. An append has certainly changed nothing. */
export class JournalAway extends Error {
  override readonly name = "JournalAway";
}

/** An append was sent, and the answer was lost. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/** The entries after a position were trimmed: a replica at this position needs a snapshot. */
export class JournalGap extends Error {
  override readonly name = "JournalGap";
}
