/**
 * Cluster: runs this process as an instance of a cluster. The instance is the leader or a replica; when the role changes, the service of one role
 * stops and the service of the other role starts, over the same database and the same port.
 */
import { rmSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type Config, configWith } from "../base/config/index.ts";
import { AppError, messageOf, SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { ClusterMember, type Leading } from "../edge/cluster/index.ts";
import { errorResponse, freePort, pathIn } from "../edge/http/index.ts";
import { isBucket } from "../files/storage/index.ts";
import { Snapshots } from "../operate/backup/index.ts";
import { DatabaseFile, EntryMismatch, historyOf, placeInFile } from "../store/database/index.ts";
import { ChainBroken, type Journal, JournalAway, JournalGap, openJournal } from "../store/journal/index.ts";
import { type App, type AppOptions, build, graceMs, type Running, startApp, version } from "./app.ts";
import { openHttps } from "./http-parts.ts";
import { brokenLine, notInJournal } from "./instance-database.ts";
import { leadingInstance } from "./instance-part.ts";
import { processesOf } from "./processes.ts";
import { projectFingerprint } from "./project-files.ts";
import { type ReplicaService, startReplica } from "./replica.ts";
import { dataPathsOf, knownSchemas } from "./service.ts";
import { type SnapshotJournal, SnapshotKeeper } from "./snapshot-keeper.ts";

/** The pause before a role is tried again that could not begin. */
const pauseMs = 500;
/** The longest that a statement of the journal takes: less than half of a lease, so that an instance finds out in time that the engine is away. */
const engineMs = 2_000;
/** The longest time for the last requests of a role when this instance changes the role. */
const roleMs = 1_500;
/** Between two looks whether the bucket serves this instance. */
const storageMs = 10_000;
/** The longest time with changes and without a snapshot. */
const hourMs = 3_600_000;

/** Starts this process as an instance of a cluster. @throws SetupError with a readable line. */
export function startInstance(options: AppOptions): Promise<Running> {
  return Instance.start(options);
}

/** @throws SetupError for a configuration that no cluster can have. */
export function checkConfig(config: Config): { journal: string; secret: string } {
  const journal = config["cluster.journal"];
  const secret = config["cluster.secret"];
  if (journal === undefined)
    throw new SetupError("cluster.journal: is missing; set postgres://USER:PASSWORD@HOST:PORT/DATABASE");
  if (secret === undefined)
    throw new SetupError(
      "cluster.secret: is missing; the instances of a cluster share a secret of 16 characters or more",
    );
  if (!isBucket(config.storage))
    throw new SetupError(
      `storage ${config.storage}: in a cluster, all instances share the files: set s3://BUCKET/PREFIX`,
    );
  if (processesOf(config) > 1)
    throw new SetupError(`processes: ${config.processes} is not possible in a cluster; allowed here: 1`);
  return { journal: journal.reveal(), secret: secret.reveal() };
}

/** The address of this instance for the others: as configured, or by the host and the port that the instance listens on. */
export function addressOf(config: Config): string {
  const address = config["cluster.address"];
  if (address !== "auto") return address;
  const isEverywhere = ["0.0.0.0", "::", "[::]"].includes(config.host);
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const outer = own.find(({ internal, family }) => !internal && family === "IPv4")?.address ?? "127.0.0.1";
  const host = isEverywhere ? outer : config.host;
  const isSecure = config["tls.cert"] !== undefined || config["tls.acme.domains"] !== undefined;
  return `${isSecure ? "https" : "http"}://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${config.port}`;
}

type Role =
  | { readonly kind: "leader"; readonly app: App }
  | { readonly kind: "replica"; readonly service: ReplicaService };

class Instance implements Running {
  readonly #options: AppOptions;
  readonly #member: ClusterMember;
  readonly #journalId: string;
  readonly #logger: Logger;
  readonly #snapshots: Snapshots;
  readonly #stopping = new AbortController();
  #role: Role | null = null;
  /** Why the database began anew the last time. */
  #mended = "";
  #running: Promise<void> = Promise.resolve();
  /** Whether the instance has served in any role. */
  #hasServed = false;
  readonly #first = Promise.withResolvers<void>();

  static async start(given: AppOptions): Promise<Running> {
    const { journal: url, secret } = checkConfig(given.config);
    // Each role listens on the same port.
    const port = await freePort(given.config);
    const options: AppOptions = { ...given, config: configWith(given.config, { port }) };
    const { config } = options;
    const logger = options.logger.for("cluster");
    const snapshots = snapshotsOf(options);
    const journal = openJournal({ url, cluster: config["cluster.name"], logger, timeoutMs: engineMs });
    const path = config.database;
    const found = placeInFile(path);
    // A cluster begins with an instance without data: a refused instance leaves no row.
    const { id } = await journal.open(found === null).catch(async (thrown: unknown) => {
      try {
        if (!(thrown instanceof ChainBroken)) throw thrown;
        if (found === null || found.journal === null) throw notInJournal(path, true);
        throw new SetupError(await brokenLine({ path, history: found.history }, journal, thrown));
      } finally {
        await journal.close();
      }
    });
    const filesOf = (): string => projectFingerprint(config.folder);
    const member = await ClusterMember.join({
      journal,
      address: addressOf(config),
      secret,
      version: build,
      filesOf,
      logger,
    }).catch(async (thrown: unknown) => {
      await journal.close();
      throw thrown instanceof JournalAway ? new SetupError(`cluster.journal: ${messageOf(thrown)}`) : thrown;
    });
    const instance = new Instance(options, { member, journalId: id, logger, snapshots });
    options.interrupted?.addEventListener("abort", () => instance.#stopping.abort(), { once: true });
    await instance.#askStorage();
    const { storage } = member.state;
    if (storage?.isRefused === true && (await journal.leader().catch(() => null))?.isLive !== true) {
      await member.stop();
      throw new SetupError(storage.text);
    }
    const asking = setInterval(() => void instance.#askStorage(), storageMs);
    instance.#stopping.signal.addEventListener("abort", () => clearInterval(asking));
    instance.#running = instance.#run();
    await instance.#first.promise.catch(async (thrown: unknown) => {
      await instance.stop();
      throw thrown;
    });
    return instance;
  }

  private constructor(
    options: AppOptions,
    parts: { member: ClusterMember; journalId: string; logger: Logger; snapshots: Snapshots },
  ) {
    this.#options = options;
    this.#member = parts.member;
    this.#journalId = parts.journalId;
    this.#logger = parts.logger;
    this.#snapshots = parts.snapshots;
  }

  get url(): string {
    if (this.#role === null) return this.#member.address;
    return this.#role.kind === "leader" ? this.#role.app.url : this.#role.service.url;
  }

  firstSteps(): string[] {
    return [];
  }

  async works(): Promise<boolean> {
    // A replica, and an instance between two roles, write nothing.
    return this.#role?.kind === "leader" && !this.#member.isAway ? this.#role.app.works() : true;
  }

  async reload(): Promise<void> {
    this.#member.state.readFiles();
    await (this.#role?.kind === "leader" ? this.#role.app.reload() : this.#role?.service.reload());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#member.stop();
  }

  /** Takes a role after another until the stop. An error of the first start ends the process; a later error that cannot be mended, too. */
  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        // A replica that has taken the lease ends, and leads.
        const role = this.#member.leading ?? (await this.#member.findRole(signal));
        if (role === null || signal.aborted) break;
        await ("commits" in role ? this.#lead(role) : this.#follow());
      } catch (thrown) {
        if (!(await this.#mend(thrown))) return;
        await Bun.sleep(pauseMs);
      }
    }
    // A start that was told to stop is over.
    this.#first.resolve();
  }

  /** Looks whether the bucket serves this instance, and tells a change. */
  async #askStorage(): Promise<void> {
    const before = this.#member.state.storage;
    const failure = await this.#snapshots.failure();
    this.#member.state.storage = failure;
    if (failure !== null && failure.text !== before?.text) this.#logger.warn(failure.text);
    if (failure === null && before !== null) this.#logger.info("The bucket answers this instance again");
  }

  #serves(role: Role): void {
    this.#role = role;
    this.#hasServed = true;
    this.#first.resolve();
  }

  async #lead(leading: Leading): Promise<void> {
    try {
      await this.#serve(leading);
    } finally {
      await leading.commits.mirror?.close();
    }
  }

  async #serve(leading: Leading): Promise<void> {
    const stopped = aborted(this.#stopping.signal);
    const { config } = this.#options;
    const instance = { member: this.#member, journalId: this.#journalId, config, logger: this.#logger };
    const app = await startApp({ ...this.#options, instance: leadingInstance(instance) });
    this.#serves({ kind: "leader", app });
    this.#member.hasApplied = true;
    const keeper = new SnapshotKeeper({
      database: app.service.database,
      every: config["cluster.snapshotEvery"],
      journal: clusterSnapshots(this.#member.journal, { name: this.#journalId, leading }),
      logger: this.#logger,
      longestMs: () => hourMs,
      snapshots: this.#snapshots,
    });
    leading.snapshotAt = (position) => keeper.snapshotAt(position);
    const isLost = await Promise.race([leading.lost.then(() => true), stopped.then(() => false)]);
    this.#role = null;
    await keeper.stop();
    await app.stop(isLost ? roleMs : graceMs);
    await this.#member.resign();
    this.#member.assertWhole();
  }

  async #follow(): Promise<void> {
    const over = new AbortController();
    const { signal } = over;
    const { config, live, logger, onFatal } = this.#options;
    const member = this.#member;
    const leads = this.#watch(signal).then(() => over.abort());
    const stopped = aborted(this.#stopping.signal).then(() => over.abort());
    try {
      const options = { config, live, logger, onFatal, member, journal: this.#journalId, version, stopping: signal };
      const service = await startReplica(options);
      if (service === null) return;
      this.#serves({ kind: "replica", service });
      this.#logger.info(`This instance follows ${member.leader?.address ?? "the journal"}`);
      logger.notice(`Listening on ${service.url}`);
      try {
        await Promise.race([leads, stopped, service.ended, member.broken]);
      } finally {
        this.#role = null;
        over.abort();
        await service.stop(this.#stopping.signal.aborted ? graceMs : roleMs);
      }
    } finally {
      over.abort();
      // A lease that the last look takes belongs to this instance: what follows leads with the lease, or resigns.
      await leads;
    }
  }

  /** Resolves when this instance has become the leader, or the signal comes. */
  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // The next look of `#run` tells why a role cannot be found.
      const role = await this.#member.findRole(signal).catch(() => null);
      if (role === null || "commits" in role) return;
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Whether the instance can go on after an error of a role: with a new copy of the database, or when the journal is reached again. Otherwise
   * the process ends.
   */
  async #mend(thrown: unknown): Promise<boolean> {
    try {
      if (thrown instanceof ChainBroken) return await this.#stayFor(thrown);
      if (thrown instanceof EntryMismatch || thrown instanceof JournalGap) {
        await this.#beginAnew(thrown);
        return true;
      }
      // Another instance has become the leader meanwhile.
      if (thrown instanceof AppError && thrown.code === "unavailable") return true;
      throw thrown;
    } catch (final) {
      if (final instanceof JournalAway) return true;
      this.#first.reject(final);
      if (this.#member.leading !== null) await this.#member.resign();
      if (this.#hasServed && !this.#stopping.signal.aborted) this.#options.onFatal(final);
      return false;
    }
  }

  /**
   * The journal does not have the state of this instance: the instance serves nothing until the stop, and can be looked at. Answers false.
   * @throws SetupError at the start.
   */
  async #stayFor(broken: ChainBroken): Promise<false> {
    const member = this.#member;
    const { config } = this.#options;
    if (member.leading !== null) await member.resign();
    const file = new DatabaseFile(config.database);
    const history = historyOf(file);
    file.close();
    const line = await brokenLine({ path: config.database, history }, member.journal, broken);
    if (!this.#hasServed) throw new SetupError(line);
    await using _ = await serveReason({ config, logger: this.#logger, version }, broken.message);
    this.#logger.error(line);
    member.state.lost = line;
    await aborted(this.#stopping.signal);
    return false;
  }

  /**
   * Replaces the database of this instance by the newest snapshot that can be restored; without a snapshot, removes the database: the journal has everything then.
   * @throws SetupError when the journal has not everything, or the database differs from the journal again.
   */
  async #beginAnew(cause: EntryMismatch | JournalGap): Promise<void> {
    const { journal } = this.#member;
    const { database } = dataPathsOf(this.#options.config);
    const reason = `after position ${this.#member.position}: ${cause.message}`;
    // The same fault a second time: a snapshot does not help.
    if (reason === this.#mended)
      throw new SetupError(`database ${database}: cannot follow the journal of cluster.name ${reason}`);
    this.#mended = reason;
    const isGap = cause instanceof JournalGap;
    const text =
      isGap && this.#member.position === 0
        ? "This instance has no data yet, and begins with the newest snapshot of the cluster"
        : `The database of this instance begins anew; the database does not follow the journal ${reason}`;
    if (isGap) this.#logger.notice(text);
    else this.#logger.error(text);
    let failure = "the cluster has no snapshot";
    for (const { name } of await journal.snapshots())
      try {
        return await this.#snapshots.restore(name);
      } catch (thrown) {
        failure = messageOf(thrown);
        this.#logger.warn(
          `The snapshot cannot be restored; an older snapshot, with the entries behind, may work: ${failure}`,
        );
      }
    const { first } = await journal.extent();
    if (first > 1) throw new SetupError(`cluster.journal: has no beginning any more, and ${failure}`);
    for (const ending of ["", "-wal", "-shm"]) rmSync(`${database}${ending}`, { force: true });
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Serves an instance whose database does not follow the journal: 503 with the reason, except for the question whether the process lives. */
async function serveReason(
  { config, logger, version }: { config: Config; logger: Logger; version: string },
  reason: string,
): Promise<AsyncDisposable> {
  const { certificate } = await openHttps(config, logger);
  const error = new AppError("unavailable", `Not ready: ${reason}. The log has the ways on.`);
  const server = Bun.serve({
    hostname: config.host,
    port: config.port,
    ...(certificate !== null && { tls: certificate.pair }),
    fetch: ({ url }) =>
      pathIn(url) === "/health"
        ? Response.json({ status: "ok", version })
        : errorResponse(error, { "Cache-Control": "no-store" }),
  });
  return { [Symbol.asyncDispose]: () => server.stop(true) };
}

/** The journal of a cluster, for the keeper of the snapshots. */
function clusterSnapshots(journal: Journal, { name, leading }: { name: string; leading: Leading }): SnapshotJournal {
  return {
    name,
    get appended() {
      return leading.commits.bytes;
    },
    isReady: true,
    snapshots: () => journal.snapshots(),
    addSnapshot: (snapshot) => journal.addSnapshot(snapshot),
    removeSnapshot: (position) => journal.removeSnapshot(position),
    isMissing: () => false,
    async sizeAfter(position) {
      const { first, last, bytes } = await journal.extent();
      const entries = last + 1 - first;
      return entries > 0 ? (bytes * Math.min(entries, last - position)) / entries : 0;
    },
    prepare: async () => undefined,
    kept: () => 2,
    trim: (position) => journal.trim(position),
  };
}

/**
 * The snapshots of a cluster, in the folder `.snapshots` below the prefix of the files, which the driver of files does not list. `backup.recipient`
 * encrypts no snapshot: each instance must be able to restore a snapshot alone, without the identity. So the bucket must be kept as carefully as the
 * database. The storage is a bucket (`checkConfig`). @throws SetupError without keys.
 */
export function snapshotsOf({ config, logger }: Pick<AppOptions, "config" | "logger">): Snapshots {
  const paths = dataPathsOf(config);
  const { address } = paths.files;
  return new Snapshots({
    paths,
    address: `${address.replace(/\/+$/, "")}/.snapshots`,
    work: "",
    encryption: null,
    version: build,
    schemas: knownSchemas,
    maxLog: config["backup.log"],
    logger: logger.for("cluster"),
  });
}
