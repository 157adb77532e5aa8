/**
 * ClusterMember: this process as an instance of a cluster, from the start to the stop, as a leader or as a replica. A member beats every second:
 * the row of the instance, and the lease of the leader. A member finds out which role the process has.
 */
import { AppError, messageOf, SetupError } from "../../base/kernel/index.ts";
import { type Logger, Repeats } from "../../base/logging/index.ts";
import {
  beginning,
  ChainBroken,
  type ChainPlace,
  type InstanceRow,
  type Journal,
  JournalAway,
  type Leader,
  type Lease,
  type SnapshotRow,
} from "../../store/journal/index.ts";
import { ClusterSecret } from "./cluster-secret.ts";
import { JournalCommits } from "./commit-point.ts";
import { InstanceState, isWaiting } from "./instance-state.ts";
import { Replicas } from "./replicas.ts";
import { ServingRight } from "./serving-right.ts";
import { beatMs, leaseMs, withoutEngineMs } from "./timing.ts";

/** Between two looks for a leader. */
const lookMs = 250;

export interface MemberOptions {
  readonly journal: Journal;
  /** The URL by which the other instances reach this instance; names the instance. */
  readonly address: string;
  readonly secret: string;
  readonly version: string;
  /** Answers the fingerprint of the project folder of this instance. */
  readonly filesOf: () => string;
  readonly logger: Logger;
}

/** The role of a leader: from a won lease until the lease is lost. */
export interface Leading {
  readonly commits: JournalCommits;
  /** Resolves when another instance leads. */
  readonly lost: Promise<void>;
  /** Answers a snapshot that has a position; null until the leader serves. */
  snapshotAt: ((position: number) => Promise<SnapshotRow>) | null;
}

export class ClusterMember {
  readonly journal: Journal;
  readonly address: string;
  readonly version: string;
  #right = new ServingRight();
  readonly #secret: ClusterSecret;
  readonly #logger: Logger;
  readonly #run = crypto.randomUUID();
  readonly #repeats = new Repeats();
  #beating: Promise<void> | null = null;
  #timer: Timer | null = null;
  #leading: Leading | null = null;
  #replicas: Replicas | null = null;
  #isAway = false;
  /**
   * When this instance last could not reach the engine, by `performance.now()`. The process before may have said so until the start of this process,
   * which is 0.
   */
  #wasAwayAt = 0;
  #leader: Leader | null = null;
  /** The end of the lease of this leader, by `performance.now()`. The right to serve may last longer, without the engine. */
  #leaseUntil = Number.NEGATIVE_INFINITY;
  /** Called when another instance leads. */
  readonly #onChange = new Set<() => void>();
  /** The last commit of this instance. */
  place: () => ChainPlace = () => beginning;
  readonly state: InstanceState;
  /** Whether the leader has begun to serve with the files: from then on, the files are in force. */
  hasApplied = false;
  #brokenBy: ChainBroken | null = null;
  readonly #broken = Promise.withResolvers<never>();

  private constructor({ journal, address, secret, version, filesOf, logger }: MemberOptions) {
    this.journal = journal;
    this.address = address;
    this.version = version;
    this.state = new InstanceState({ address, filesOf, logger });
    this.#secret = new ClusterSecret(secret);
    this.#logger = logger;
    // The break is looked at when a role runs.
    this.#broken.promise.catch(() => undefined);
  }

  get position(): number {
    return this.place().position;
  }

  /** Rejects with `ChainBroken` when the journal is not the journal that has the commits of this instance. */
  get broken(): Promise<never> {
    return this.#broken.promise;
  }

  /** @throws ChainBroken as `broken`. */
  assertWhole(): void {
    if (this.#brokenBy !== null) throw this.#brokenBy;
  }

  /** Ends the role: the state of this instance is not a state of the journal. */
  #break(broken: ChainBroken): void {
    const lease = this.#leading?.commits.lease ?? null;
    this.#brokenBy ??= broken;
    this.right.end();
    this.#leading?.commits.lose();
    // Another instance, whose state the journal has, may lead at once.
    if (lease !== null) void this.journal.releaseLease(lease).catch(() => undefined);
    this.#broken.reject(broken);
  }

  /** Becomes an instance of the cluster. @throws SetupError when a living instance has the address. */
  static async join(options: MemberOptions): Promise<ClusterMember> {
    const member = new ClusterMember(options);
    // The row of an instance that was killed counts for the time of a lease.
    const end = performance.now() + leaseMs + beatMs;
    while (!(await member.#register())) {
      if (performance.now() > end)
        throw new SetupError(
          `cluster.address ${options.address}: another instance has this address; give each instance a separate address`,
        );
      await Bun.sleep(lookMs);
    }
    member.#timer = setInterval(() => {
      member.#goOnWithoutEngine();
      member.#beating ??= member.#beat().finally(() => {
        member.#beating = null;
      });
    }, beatMs);
    return member;
  }

  /** Whether the engine of the journal cannot be reached. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** The right of the role that began last. */
  get right(): ServingRight {
    return this.#right;
  }

  /** Begins a role: the right of the role before is over. */
  beginRole(): ServingRight {
    this.#right.end();
    this.#right = new ServingRight();
    return this.#right;
  }

  /** The leader at the last look. */
  get leader(): Leader | null {
    return this.#leader;
  }

  /** Calls `changed` once another instance leads than now. Answers how to end the wait. */
  onOtherLeader(changed: () => void): () => void {
    this.#onChange.add(changed);
    return () => void this.#onChange.delete(changed);
  }

  #saw(leader: Leader | null): void {
    const isSame = leader?.instance === this.#leader?.instance;
    this.#leader = leader;
    if (isSame) return;
    for (const changed of this.#onChange) changed();
    this.#onChange.clear();
  }

  /** Whether this instance leads, and certainly no other: another instance may lead when the lease has run out. */
  get hasLease(): boolean {
    return this.#leading !== null && performance.now() < this.#leaseUntil;
  }

  /** The role of a leader; null for a replica. */
  get leading(): Leading | null {
    return this.#leading;
  }

  /** The replicas of a leader; null in a replica. */
  get replicas(): Replicas | null {
    return this.#replicas;
  }

  /** Whether a text of an address is the secret; see `ClusterSecret`. */
  isSecret(given: string, address: string): boolean {
    return this.#secret.isRight(given, address, performance.now());
  }

  /** The header by which another instance knows an instance of the cluster. */
  get credentials(): Record<string, string> {
    return this.#secret.header;
  }

  /** Waits until this instance leads, or until another instance does. Null after the signal. @throws ChainBroken as `broken`. */
  async findRole(signal: AbortSignal): Promise<Leading | Leader | null> {
    while (!signal.aborted) {
      this.assertWhole();
      const role = await this.#look().catch((thrown: unknown) => this.#failed(thrown));
      if (role !== null) return role;
      await Bun.sleep(lookMs);
    }
    return null;
  }

  /**
   * Whether this instance may lead with its files: never with files that other files have followed; with files that never led, only if no
   * living instance has the files in force.
   */
  async #mayLead(): Promise<boolean> {
    const { state } = this;
    state.readFiles();
    const newest = (await this.#compareFiles()) ?? state.files;
    if (state.isSuperseded || state.storage?.isRefused === true) return false;
    const others = newest === state.files ? [] : await this.#others();
    return !others.some(
      ({ isLive, files, problem }) => isLive && files === newest && (problem === null || isWaiting(problem)),
    );
  }

  /** Compares the files of this instance with the files in force, and answers these. The files of a leader that serves are in force. */
  async #compareFiles(): Promise<string | null> {
    const { state } = this;
    const order = await this.journal.files();
    const newest = order.at(-1) ?? null;
    state.compareFiles(order);
    if (this.#leading !== null && this.hasApplied) {
      if (state.isSuperseded) await this.#handOver(this.#leading);
      else if (newest !== state.files) await this.journal.addFiles(state.files);
    }
    return newest;
  }

  /** Runs work of less than a lease between two beats: no rows of the instances that were read before count afterwards. */
  async betweenBeats<T>(work: () => Promise<T>): Promise<T> {
    while (this.#beating !== null) await this.#beating;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#beating = promise;
    try {
      return await work();
    } finally {
      this.#beating = null;
      resolve();
    }
  }

  /** Gives the lease to another instance; the role of the leader ends in any case. @throws AppError `unavailable` without the lease; JournalAway. */
  async passLease(to: Pick<InstanceRow, "name" | "address">): Promise<void> {
    const { leading } = this;
    if (leading === null) throw doesNotLead();
    const { commits } = leading;
    try {
      const { name: instance, address } = to;
      if (!(await this.journal.passLease(commits.lease, { instance, address, ms: leaseMs }))) throw doesNotLead();
      this.#logger.info(`This instance hands over to ${address}`);
    } finally {
      // Also without an answer of the engine, which may have given the lease away.
      commits.lose();
    }
  }

  /** Why this instance would not take the lease; null for an instance that would. @param withFiles whether its files will be in force then. */
  refusalToLead(withFiles: boolean): string | null {
    const { state } = this;
    state.readFiles();
    if (state.lost !== null) return state.lost;
    if (state.storage?.isRefused === true) return state.storage.text;
    return withFiles ? null : state.ofFiles;
  }

  /** The role of the leader ends, and another instance can lead at once. */
  async #handOver({ commits }: Leading): Promise<void> {
    const { lease } = commits;
    commits.lose();
    await this.journal.releaseLease(lease);
  }

  /** Takes the lease if no instance has the lease; otherwise answers the leader. */
  async #look(): Promise<Leading | Leader | null> {
    const { journal, address } = this;
    const leader = await journal.leader();
    this.#reached(true);
    this.#saw(leader);
    if (leader?.isLive === true && leader.instance !== address) return leader;
    if (!(await this.#mayLead())) return null;
    const sentAt = performance.now();
    const lease = await journal.takeLease({ instance: address, address, ms: leaseMs });
    if (lease === null) return null;
    return this.#lead(lease, sentAt);
  }

  #lead(lease: Lease, sentAt: number): Leading {
    const { term } = lease;
    const { promise: lost, resolve } = Promise.withResolvers<void>();
    const right = this.beginRole();
    const commits = new JournalCommits({
      journal: this.journal,
      lease,
      onBroken: (broken) => this.#break(broken),
      onLost: () => {
        right.end();
        this.#leading = null;
        this.#replicas = null;
        const reason =
          this.#brokenBy?.message ?? (this.state.isSuperseded ? "other files are in force" : "another instance leads");
        this.#logger.warn(`This instance has led in term ${term}, and leads no more: ${reason}`);
        resolve();
      },
      onContact: (isThere) => this.#reached(isThere),
    });
    this.#leading = { commits, lost, snapshotAt: null };
    this.hasApplied = false;
    this.state.compareClock(0);
    this.state.tables = null;
    right.prolong(sentAt + leaseMs);
    this.#leaseUntil = sentAt + leaseMs;
    this.#logger.info(`This instance leads, in term ${term}`);
    return this.#leading;
  }

  /** Knows the replicas of a leader from now on. @param position the last commit. */
  async openReplicas(position: number): Promise<Replicas> {
    const before = this.leader?.instance;
    // The lease of the leader before has run out, unless the leader went on without the engine. Then no row of an instance was written, either.
    const wasAway = performance.now() - this.#wasAwayAt < withoutEngineMs;
    const others = await this.#others();
    const earlier = others.filter(({ address, isLive }) => wasAway || (isLive && address !== before));
    const { right } = this;
    const commits = this.#leading?.commits;
    this.#replicas = new Replicas({
      mayServe: () => right.isValid,
      newest: () => (this.hasLease ? (commits?.newest ?? null) : null),
      position,
      earlier: earlier.map(({ address }) => address),
      ...(wasAway && { earlierMs: withoutEngineMs }),
    });
    this.#replicas.keep(others);
    return this.#replicas;
  }

  /** The other instances that the journal knows. */
  async #others(): Promise<readonly InstanceRow[]> {
    return (await this.journal.instances()).filter(({ address }) => address !== this.address);
  }

  async #register(): Promise<boolean> {
    const { address, version, position, state } = this;
    return this.journal.register({
      name: address,
      address,
      version,
      position,
      run: this.#run,
      problem: state.problem,
      files: state.files,
      ms: leaseMs,
    });
  }

  async #beat(): Promise<void> {
    try {
      const leading = this.#leading;
      const sentAt = performance.now();
      if (this.state.lost === null) await this.journal.check(this.place());
      await this.#compareFiles();
      if (leading !== null) {
        const { commits } = leading;
        const { lease } = commits;
        const isTerm = await this.journal.renewLease(lease, leaseMs);
        // A new term of this leader may have begun meanwhile.
        if (isTerm) {
          this.right.prolong(sentAt + leaseMs);
          this.#leaseUntil = sentAt + leaseMs;
        } else if (commits.lease === lease) commits.lose();
        commits.reached(true);
        this.#replicas?.keep(await this.#others());
      } else this.#saw(await this.journal.leader());
      await this.#register();
      this.#reached(true);
    } catch (thrown) {
      this.#failed(thrown);
      this.#leading?.commits.reached(false);
    }
  }

  /** Without the engine nobody commits: a leader may serve on if each other instance says that the engine is away for the instance, too. */
  #goOnWithoutEngine(): void {
    if (this.#leading === null || this.#replicas === null || !this.#isAway) return;
    if (this.#replicas.areAllAway) this.right.prolong(performance.now() + leaseMs);
  }

  #failed(thrown: unknown): null {
    if (thrown instanceof ChainBroken) {
      this.#break(thrown);
      return null;
    }
    if (!(thrown instanceof JournalAway)) {
      this.#logger.error("The journal of the cluster cannot be used", { error: thrown });
      return null;
    }
    this.#reached(false);
    const leftOut = this.#repeats.admit("away");
    if (leftOut !== null)
      this.#logger.error(
        `The journal of the cluster cannot be reached; reads go on, writes wait: ${messageOf(thrown)}`,
      );
    return null;
  }

  #reached(isThere: boolean): void {
    if (isThere && this.#isAway) this.#logger.info("The journal of the cluster is reached again");
    this.#isAway = !isThere;
    if (!isThere) this.#wasAwayAt = performance.now();
  }

  /** Gives up the lease at once, so that another instance can lead. The instance commits nothing afterwards. */
  async resign(): Promise<void> {
    const leading = this.#leading;
    this.#leading = null;
    this.#replicas = null;
    this.right.end();
    if (leading !== null)
      await this.journal.releaseLease(leading.commits.lease).catch((thrown) => this.#failed(thrown));
  }

  /** Leaves the cluster. */
  async stop(): Promise<void> {
    clearInterval(this.#timer ?? undefined);
    await this.#beating;
    await this.resign();
    await this.journal.unregister(this.address, this.#run).catch((thrown) => this.#failed(thrown));
    await this.journal.close();
  }
}

function doesNotLead(): AppError {
  return new AppError("unavailable", "This instance does not lead.");
}
