/**
 * Follower: a replica's way along the journal. Entries are read and run in order, and the events of an entry are told to the sockets of this
 * instance. Beside this, the follower asks the leader for the newest position, which wakes the reading, and gives the replica the right to serve.
 */
import { isObject, messageOf } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { CommitEntry, Database } from "../../store/database/index.ts";
import { ChainBroken, JournalAway } from "../../store/journal/index.ts";
import { questionPath } from "./instance-paths.ts";
import type { ClusterMember } from "./member.ts";
import type { LeaderAnswer, ReplicaQuestion } from "./replicas.ts";
import type { ServingRight } from "./serving-right.ts";
import { Signal } from "./signal.ts";
import { pollMs, questionMs } from "./timing.ts";

/** About how many bytes of entries are read at a time. */
const readBytes = 4 * 1024 ** 2;
/** The pause after a failure. */
const pauseMs = 200;
/** How long a request waits for a commit. */
const reachedMs = 2_000;

export interface FollowerOptions {
  readonly member: ClusterMember;
  /** The right of this replica to serve. */
  readonly right: ServingRight;
  readonly database: Pick<Database, "place" | "position" | "replay">;
  /** An entry was run: the events of the entry are told. An error ends the following. */
  readonly onCommit: (entry: CommitEntry) => Promise<void>;
  /** Gets how far the clock of this machine is ahead of the leader's clock, in milliseconds; 0 within a tolerance. */
  readonly onClock: (aheadMs: number) => void;
  /** Gets the number of the leader's last load of server queries. */
  readonly onQueries: (number: number) => void;
  readonly logger: Logger;
}

/** The sockets of this instance that wait for the positions of answered writes; see `Positions`. */
interface Viewers {
  readonly hasViewers: boolean;
  wrote(caller: string | null, seq?: number): void;
}

export class Follower {
  readonly #options: FollowerOptions;
  readonly #stopping = new AbortController();
  readonly #ended = Promise.withResolvers<never>();
  #running: Promise<unknown> = Promise.resolve();
  /** A commit was run, or the end of the journal was seen. */
  readonly #progress = new Signal();
  /** The newest position that the leader has told, and when the leader was asked, by `performance.now()`. */
  #newest = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  /** This instance has all entries that the journal had at this moment, as the journal or the leader says. */
  #completeAt = performance.now();
  /** Somebody waits for the next read. */
  readonly #wake = new Signal();
  #isWoken = false;
  #viewers: Viewers | null = null;

  constructor(options: FollowerOptions) {
    this.#options = options;
    // The end is looked at when somebody asks.
    this.#ended.promise.catch(() => undefined);
  }

  /** Rejects when the replica cannot go on. */
  get ended(): Promise<never> {
    return this.#ended.promise;
  }

  /** For how long this instance has perhaps been without the newest commit, in milliseconds. */
  get lagMs(): number {
    const now = performance.now();
    const isTold = now - this.#toldAt < 2 * pollMs;
    return isTold && this.position >= this.#newest ? 0 : now - this.#completeAt;
  }

  get position(): number {
    return this.#options.database.position;
  }

  /** From now on, the viewers hear of the writes at other instances. */
  tellWrites(viewers: Viewers): void {
    this.#viewers = viewers;
  }

  start(): void {
    const failed = (thrown: unknown): void => {
      this.#ended.reject(thrown);
    };
    this.#running = Promise.all([this.#read().catch(failed), this.#ask().catch(failed)]);
  }

  /** Ends the following. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#hurry();
    this.#progress.happened();
    await this.#running;
  }

  /** Waits, for some seconds at most, until this instance has all commits that the journal has now. Answers whether this instance has them. */
  catchUp(): Promise<boolean> {
    const now = performance.now();
    this.#hurry();
    return this.reached(() => this.#completeAt >= now);
  }

  /** Waits until `isReached` holds after a commit, for some seconds at most, or until the stop. Answers whether `isReached` holds. */
  async reached(isReached: () => boolean): Promise<boolean> {
    await this.#progress.until(() => isReached() || this.#stopping.signal.aborted, reachedMs);
    return isReached();
  }

  /** Reads and runs entries. @throws EntryMismatch, JournalGap, ChainBroken. */
  async #read(): Promise<void> {
    const { member, database } = this.#options;
    while (!this.#stopping.signal.aborted) {
      const readAt = performance.now();
      const entries = await member.journal.read(database.place, readBytes).catch((thrown: unknown) => {
        if (!(thrown instanceof JournalAway)) throw thrown;
        return null;
      });
      let bytes = 0;
      for (const { body, id } of entries ?? []) {
        if (this.#stopping.signal.aborted) return;
        bytes += body.byteLength;
        await this.#run(JSON.parse(Buffer.from(body).toString()) as CommitEntry, id);
      }
      if (entries !== null && bytes < readBytes / 2) this.#isComplete(readAt);
      if (entries === null || entries.length === 0)
        await this.#pause(entries === null || this.position < this.#newest ? pauseMs : pollMs);
    }
  }

  async #run(entry: CommitEntry, id: string | null): Promise<void> {
    const { database, onCommit } = this.#options;
    await database.replay(entry, id);
    this.#progress.happened();
    await onCommit(entry);
  }

  #isComplete(moment: number): void {
    this.#completeAt = Math.max(this.#completeAt, moment);
    this.#progress.happened();
  }

  /** The next read begins at once. */
  #hurry(): void {
    this.#isWoken = true;
    this.#wake.happened();
  }

  /** Resolves after a time, or when somebody hurries. */
  async #pause(ms: number): Promise<void> {
    if (!this.#isWoken) await this.#wake.next(ms);
    this.#isWoken = false;
  }

  /** Asks the leader again and again. */
  async #ask(): Promise<void> {
    const { member, right, onQueries, onClock, logger } = this.#options;
    let isCut = false;
    while (!this.#stopping.signal.aborted) {
      const { leader } = member;
      if (leader === null || leader.instance === member.address) {
        await Bun.sleep(pauseMs);
        continue;
      }
      const askedAt = performance.now();
      try {
        const answer = await this.#question(leader.address, false);
        if (isCut) logger.info(`The leader ${leader.address} is reached again`);
        isCut = false;
        this.#newest = Math.max(this.#newest, answer.position);
        this.#toldAt = askedAt;
        if (answer.position > this.position) this.#hurry();
        this.#compare(answer);
        if (answer.now != null) onClock(member.state.compareClock(Date.now() - answer.now));
        // Without the engine, the newest commits cannot be read.
        const isStopping = (): boolean => this.#stopping.signal.aborted;
        await this.#progress.until(() => this.position >= answer.position || isStopping(), pollMs);
        // Without the engine, the leader's word has to do. A leader without the right to serve may have been replaced, and not know the newest commits.
        if (member.isAway && answer.ms > 0 && answer.isNewest && this.position >= answer.position)
          this.#isComplete(askedAt);
        onQueries(answer.queries);
        for (const [caller, seq] of answer.wrote) this.#viewers?.wrote(caller, seq);
        if (answer.ms > 0 && this.position >= answer.narrowed && !this.#stopping.signal.aborted)
          right.prolong(askedAt + answer.ms);
      } catch (thrown) {
        if (thrown instanceof ChainBroken) throw thrown;
        if (!isCut && !this.#stopping.signal.aborted)
          logger.warn(`The leader ${leader.address} does not answer: ${messageOf(thrown)}`);
        isCut = true;
        // The answer that is lost may have told of writes.
        this.#viewers?.wrote(null);
        await Bun.sleep(pauseMs);
      }
    }
    const { leader } = member;
    right.end();
    if (leader !== null && leader.instance !== member.address)
      await this.#question(leader.address, true).catch(() => undefined);
  }

  /** @throws ChainBroken when leader and replica have another entry at one position: they follow two journals. */
  #compare({ position, id = null }: LeaderAnswer): void {
    const own = this.#options.database.place;
    if (position === own.position && id !== null && own.id !== null && id !== own.id)
      throw new ChainBroken(`the leader has another commit ${position} than this instance`);
  }

  async #question(address: string, isLeaving: boolean): Promise<LeaderAnswer> {
    const { member } = this.#options;
    const { address: own, isAway } = member;
    const hasViewers = this.#viewers?.hasViewers ?? false;
    const question: ReplicaQuestion = { address: own, position: this.position, isAway, isLeaving, hasViewers };
    const signals = [
      AbortSignal.timeout(isLeaving ? pauseMs : questionMs),
      ...(isLeaving ? [] : [this.#stopping.signal]),
    ];
    const response = await fetch(`${address}${questionPath}`, {
      method: "POST",
      headers: { ...member.credentials, "Content-Type": "application/json" },
      body: JSON.stringify(question),
      signal: AbortSignal.any(signals),
    });
    if (response.ok) return answerOf(await response.json());
    throw new Error(`it answers ${response.status}`);
  }
}

/** @throws Error for JSON of another form. */
function answerOf(json: unknown): LeaderAnswer {
  const { position, id, now, narrowed, ms, isNewest, queries, wrote = [] } = isObject(json) ? json : {};
  const isNumber = (value: unknown): value is number => typeof value === "number";
  if (!isNumber(position) || !isNumber(narrowed) || !isNumber(ms) || !isNumber(queries) || !Array.isArray(wrote))
    throw new Error("the response has another form");
  return {
    position,
    id: typeof id === "string" ? id : null,
    now: isNumber(now) ? now : null,
    narrowed,
    ms,
    isNewest: isNewest === true,
    queries,
    wrote,
  };
}
