/**
 * Replicas, as the leader knows them: each asks again and again for the newest position, and tells the position of the replica. The
 * leader answers when there is a newer commit, and gives the replica the right to serve for a time. A commit that ends or narrows a
 * right is answered when each replica with the right to serve has the commit.
 */

import type { Followers, ToldCommit } from "../../store/database/index.ts";
import type { InstanceRow } from "../../store/journal/index.ts";
import { Signal } from "./signal.ts";
import { awayMs, beatMs, leaseMs, pollMs } from "./timing.ts";

const dayMs = 86_400_000;

/** Notes that end or narrow the rights of callers. */
const narrowing: readonly string[] = ["sessions.changed", "definitions.changed"];

export interface ReplicaQuestion {
  readonly address: string;
  /** The last commit that the replica has. */
  readonly position: number;
  /** Whether the replica cannot reach the engine of the journal. */
  readonly isAway: boolean;
  /** Whether the replica stops, and serves no more. */
  readonly isLeaving: boolean;
  /** Whether a socket of the replica waits for the position of an answered write. */
  readonly hasViewers: boolean;
}

export interface LeaderAnswer {
  /** The last commit. */
  readonly position: number;
  /** The id of the entry of the last commit; absent if the leader does not know the id. */
  readonly id?: string | null;
  /** The clock of the leader at the answer, in milliseconds since 1970; absent in an earlier version. */
  readonly now?: number | null;
  /** The last commit that ended or narrowed rights. */
  readonly narrowed: number;
  /** How long the replica may serve from the moment of the question on, with the commit `narrowed`; 0 for not at all. */
  readonly ms: number;
  /** Whether certainly no instance has a later commit: no commit is under way, and no other instance leads. */
  readonly isNewest: boolean;
  /** Grows with each load of the server queries. */
  readonly queries: number;
  /** The callers whose writes were answered since the last answer to this replica, with the newest event at that time. */
  readonly wrote: readonly (readonly [caller: string, seq: number])[];
}

interface Replica {
  readonly address: string;
  position: number;
  isAway: boolean;
  hasViewers: boolean;
  /** See `LeaderAnswer`. Bounded by the writes of some seconds: only a replica that has asked lately gets callers. */
  readonly wrote: Map<string, number>;
  /** Times by `performance.now()`. */
  askedAt: number;
  serves: number;
}

export class Replicas implements Followers {
  readonly #replicas = new Map<string, Replica>();
  /** The other instances of the last day, also those that have ended or left: each may start again. The values are times of `performance.now()`. */
  readonly #known = new Map<string, number>();
  readonly #mayServe: () => boolean;
  readonly #newest: () => number | null;
  #position: number;
  #narrowed: number;
  /** See `LeaderAnswer`. */
  queries = 0;
  /** The next commit, for the answers to questions; the next question, for commits that wait for replicas. */
  readonly #commit = new Signal();
  readonly #question = new Signal();

  /**
   * @param options `mayServe`: whether this leader has the right to serve; `newest`: the newest position that the journal may have, null
   * if this leader does not know; `position`: the last commit; `earlier`: the addresses of the instances that may serve by a right that an
   * earlier leader gave, for `earlierMs`.
   */
  constructor(options: {
    mayServe: () => boolean;
    newest: () => number | null;
    position: number;
    earlier: readonly string[];
    earlierMs?: number;
  }) {
    const serves = performance.now() + (options.earlierMs ?? leaseMs);
    for (const address of options.earlier) this.#replicas.set(address, { ...unknownReplica(address), serves });
    this.#mayServe = options.mayServe;
    this.#newest = options.newest;
    this.#position = options.position;
    // Any commit of an earlier term may have narrowed rights.
    this.#narrowed = options.position;
  }

  /** The last commit. */
  get position(): number {
    return this.#position;
  }

  /** The replicas that have asked lately. */
  get living(): readonly Readonly<Replica>[] {
    const now = performance.now();
    return [...this.#replicas.values()].filter(({ askedAt }) => now - askedAt < leaseMs);
  }

  /**
   * Whether each other instance said lately that the instance cannot reach the engine of the journal, so that no other instance leads. An instance that
   * says nothing may lead: so a leader without other instances never knows.
   */
  get areAllAway(): boolean {
    const now = performance.now();
    const isAway = (address: string): boolean => {
      const replica = this.#replicas.get(address);
      return replica?.isAway === true && now - replica.askedAt < 2 * beatMs;
    };
    return this.#known.size > 0 && [...this.#known.keys()].every(isAway);
  }

  /** Waits until a replica has a commit. Answers whether the replica has the commit within the time. */
  has(address: string, position: number, ms: number): Promise<boolean> {
    return this.#question.until(() => (this.#replicas.get(address)?.position ?? 0) >= position, ms);
  }

  /** Waits for an instance no more. Answers whether the instance was known. */
  forget(address: string): boolean {
    const [isKnown, hasAsked] = [this.#known.delete(address), this.#replicas.delete(address)];
    this.#question.happened();
    return isKnown || hasAsked;
  }

  /** Forgets the replicas that do not live any more. @param instances the other instances that the journal knows. */
  keep(instances: readonly Pick<InstanceRow, "address" | "isLive">[]): void {
    const now = performance.now();
    const living = instances.filter(({ isLive }) => isLive).map(({ address }) => address);
    for (const { address } of instances) this.#known.set(address, now);
    for (const [address, seenAt] of this.#known) if (now - seenAt > dayMs) this.#known.delete(address);
    for (const { address, serves, askedAt } of this.#replicas.values())
      if (!living.includes(address) && serves < now && now - askedAt > leaseMs) this.#replicas.delete(address);
  }

  /** Answers a question when there is a newer commit, or after a second at most. */
  async answer({ address, isLeaving, ...asked }: ReplicaQuestion, signal: AbortSignal): Promise<LeaderAnswer> {
    if (isLeaving) {
      this.#replicas.delete(address);
      this.#question.happened();
      return this.#answer(0, []);
    }
    const replica = this.#replicas.getOrInsertComputed(address, unknownReplica);
    Object.assign(replica, asked, { askedAt: performance.now() });
    this.#known.set(address, replica.askedAt);
    this.#question.happened();
    // A replica without the engine learns by the answer that the replica has all commits.
    if (asked.position >= this.#position && !(replica.hasViewers && replica.wrote.size > 0))
      await this.#commit.next(asked.isAway ? awayMs : pollMs, signal);
    if (this.#mayServe() && !signal.aborted) replica.serves = performance.now() + leaseMs;
    const wrote = signal.aborted ? [] : [...replica.wrote];
    for (const [caller] of wrote) replica.wrote.delete(caller);
    return this.#answer(this.#mayServe() ? leaseMs : 0, wrote);
  }

  #answer(ms: number, wrote: LeaderAnswer["wrote"]): LeaderAnswer {
    const newest = this.#newest();
    const isNewest = newest !== null && newest <= this.#position;
    return { position: this.#position, narrowed: this.#narrowed, ms, isNewest, queries: this.queries, wrote };
  }

  /**
   * A write of a caller was answered: the replicas hear of the caller, at once if the replica had viewers at the last question. A viewer
   * may have come since, so each replica hears with the next answer.
   */
  wrote(caller: string, seq: number): void {
    const { living } = this;
    for (const { wrote } of living) wrote.set(caller, seq);
    if (living.some(({ hasViewers }) => hasViewers)) this.#commit.happened();
  }

  tell({ position, notes }: ToldCommit): Promise<void> | null {
    this.#position = position;
    const isNarrowing = notes.some(({ kind }) => narrowing.includes(kind));
    if (isNarrowing) this.#narrowed = position;
    this.#commit.happened();
    return isNarrowing ? this.#reached(position) : null;
  }

  async renew(): Promise<void> {
    // Replicas have files of their own, so no replica holds the write-ahead log of this instance.
  }

  /** Resolves when each instance has a commit, or may serve no more. */
  async #reached(position: number): Promise<void> {
    for (;;) {
      const now = performance.now();
      const behind = [...this.#replicas.values()].filter((each) => each.position < position && each.serves > now);
      if (behind.length === 0) return;
      await this.#question.next(Math.max(...behind.map(({ serves }) => serves)) - now);
    }
  }
}

function unknownReplica(address: string): Replica {
  return { address, position: 0, isAway: false, hasViewers: false, wrote: new Map(), askedAt: 0, serves: 0 };
}
