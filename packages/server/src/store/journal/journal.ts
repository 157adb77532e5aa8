/** Journal: the interface to the journal of a cluster, and the errors of a journal. The engine behind keeps what the engine has confirmed. */
import type { Logger } from "../../base/logging/index.ts";
import type { ChainPlace, History } from "./chain.ts";

/** A group commit of a leader. */
export interface Entry {
  /** The place in the journal: 1 for the first entry, then without a gap. */
  readonly position: number;
  /** The term of the leader that appended the entry. */
  readonly term: number;
  /** See `newEntryId`; null for an entry of a version without ids. */
  readonly id: string | null;
  /** The id of the entry before; null for the first entry, and behind an entry without an id. */
  readonly before: string | null;
  readonly body: Uint8Array;
}

/** A lease that was won. */
export interface Lease {
  readonly term: number;
  /** The random name of the role: the ids of the entries of the role begin with the name. A journal that went back may give a term twice, and never a role. */
  readonly role: string;
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
  /** Why the instance does not serve, in a line; null for an instance without a problem. */
  readonly problem: string | null;
  /** The fingerprint of the project folder; null for an instance of a version without fingerprints. */
  readonly files: string | null;
}

/** A function of the engine that an append calls in the same statement, so that both happen or neither. */
export interface Beside {
  /** The quoted name of a function `(position bigint, a text, b text)`, whose error undoes the append. */
  readonly call: string;
  readonly values: readonly [a: string, b: string];
  /** Called when the entry is appended without the changes of the function. */
  readonly failed: (reason: string) => void;
}

/** A copy of the database, kept outside the journal under `name`. */
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
  /** The id of the newest entry; null for no entry, and for an entry of a version without ids. */
  readonly id: string | null;
}

/**
 * The journal of a single cluster. Leases run by the engine's clock, in milliseconds from the moment at which the engine
 * runs the statement. Every method but `open` throws `JournalAway` when the engine does not answer in time, or refuses.
 * The next call connects again.
 */
export interface Journal {
  /**
   * Connects, refuses an engine that does not keep what the engine confirms, and makes the tables. Answers the id of the journal,
   * which is made at the first call for the name of a cluster, unless `mayBegin` is false.
   * @throws SetupError with one readable line. ChainBroken for a cluster that is not there and must not begin.
   */
  open(mayBegin?: boolean): Promise<{ id: string; isNew: boolean }>;
  /**
   * Appends the entry behind the entry `before`, while the term and the role are the leader's. An entry that was sent before in the same
   * term, and stands in the journal, is "appended". "fenced": the entry is certainly not in the journal, and never will be; the term is over.
   * `entry.body` must not change before the answer. A failure of `beside` does not hold up the entry.
   * @throws JournalAway: the entry was certainly not appended by this call.
   * @throws OutcomeUnknown: the entry may stand in the journal, or may still be appended; `nextTerm`, then `read`, decides.
   * @throws ChainBroken when the journal does not end with the entry before, or holds another entry of the same term.
   */
  append(entry: Entry, beside?: Beside | null): Promise<"appended" | "fenced">;
  /**
   * The entries after the place `after`, in order and without a gap: at least one if the journal has one, and bodies of about
   * `maxBytes` in sum, at most.
   * @throws JournalGap when the next entries were trimmed.
   * @throws ChainBroken when the journal does not have the place.
   */
  read(after: ChainPlace, maxBytes: number): Promise<readonly Entry[]>;
  /**
   * Looks whether the journal is still the journal of `open`, and has a place. Answers the id of the entry there, if the journal knows the id.
   * @throws ChainBroken when the journal does not have the place.
   */
  check(place: ChainPlace): Promise<string | null>;
  /** The first entry of each role of a leader, also when the entry was trimmed, and the last entry. */
  history(): Promise<History>;
  /** Reads the length of every entry, so the call is not for each turn. */
  extent(): Promise<JournalExtent>;
  /** Null before the first leader. */
  leader(): Promise<Leader | null>;
  /**
   * Takes the lease when the lease has run out, when the cluster has no leader yet, or when `instance` has the lease. Answers
   * the new term, greater by 1, and a new role. Null when another instance has the lease. Waits for appends that run in the engine: a later `read` has every
   * entry of the earlier terms. `JournalAway` may hide a lease that was taken; the next call tells.
   */
  takeLease(me: { instance: string; address: string; ms: number }): Promise<Lease | null>;
  /** Prolongs the lease of a term, also when the lease has run out and no other instance has taken the lease. False when the term is over. */
  renewLease(lease: Lease, ms: number): Promise<boolean>;
  /**
   * The same leader begins a new term, so that an append of the former term that is still under way can never succeed. Null when
   * the term is over. Waits for appends that run in the engine: a later `read` has every entry of the former term.
   */
  nextTerm(lease: Lease, ms: number): Promise<Lease | null>;
  /** Gives the lease to another instance, which takes the lease and begins a new term; the term is over. False when the term was over before. */
  passLease(lease: Lease, to: { instance: string; address: string; ms: number }): Promise<boolean>;
  /** Ends the lease at once; the term stays. */
  releaseLease(lease: Lease): Promise<void>;
  /** Writes the row of this instance, alive for `ms`. False when a living instance with another `run` has the name. */
  register(me: {
    name: string;
    address: string;
    version: string;
    position: number;
    run: string;
    problem?: string | null;
    files?: string | null;
    ms: number;
  }): Promise<boolean>;
  /** The fingerprints of the project folders with which instances have led, in order; the last is in force. */
  files(): Promise<readonly string[]>;
  /** Puts the fingerprint of a project folder in force. */
  addFiles(files: string): Promise<void>;
  unregister(name: string, run: string): Promise<void>;
  /** Removes the row of an instance that does not live. False without such a row. */
  removeInstance(name: string): Promise<boolean>;
  /** By name, also the instances that do not live any more; a row goes a day after the end of the instance. */
  instances(): Promise<readonly InstanceRow[]>;
  /** Replaces the snapshot of the same position. */
  addSnapshot(snapshot: SnapshotRow): Promise<void>;
  removeSnapshot(position: number): Promise<void>;
  /** Newest first. */
  snapshots(): Promise<readonly SnapshotRow[]>;
  /** Removes the entries up to `position`, in steps. Positions after the newest entry are never skipped. */
  trim(position: number): Promise<void>;
  /**
   * Begins the journal anew behind a history of a database: removes all entries, and all snapshots but the snapshot at the end of the history. For the
   * holder of the lease, when the bucket has that snapshot.
   */
  begin(history: History): Promise<void>;
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
