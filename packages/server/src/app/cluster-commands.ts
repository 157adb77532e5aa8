/**
 * Commands for a cluster, which ask or tell the journal, also when no instance runs: a database enters a new journal, becomes the state of the
 * journal, or is set aside; the state of the cluster. And commands to the leader: a snapshot, the removal of an instance, a hand-over. The first snapshot of a journal has the data, and entries follow the snapshot.
 */
import { existsSync } from "node:fs";
import type { Config } from "../base/config/index.ts";
import { AppError, messageOf, SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import {
  ask,
  askLeader,
  assertGone,
  ClusterSecret,
  type ClusterStatus,
  clusterStatus,
  introductionPath,
  type LeaderCommands,
  notRunning,
} from "../edge/cluster/index.ts";
import { nothingHere } from "../edge/http/index.ts";
import { isBucket } from "../files/storage/index.ts";
import { putRight, type Snapshot, setAside } from "../operate/backup/index.ts";
import type { MirrorState } from "../operate/mirror/index.ts";
import { type Database, enterJournal, reasonOfEnd } from "../store/database/index.ts";
import {
  ChainBroken,
  type History,
  type Journal,
  JournalAway,
  openJournal,
  type SnapshotRow,
} from "../store/journal/index.ts";
import { build } from "./app.ts";
import { addressOf, checkConfig, snapshotsOf } from "./cluster.ts";
import {
  nextStep,
  type UpgradeInstance,
  type UpgradeStep,
  type UpgradeTarget,
  unreadinessOf,
} from "./cluster-upgrade.ts";
import { type Branch, compared } from "./instance-database.ts";
import { projectFingerprint } from "./project-files.ts";
import { dataPathsOf, openDatabase } from "./service.ts";

/** The lease keeps instances away meanwhile. */
const leaseMs = 30_000;
const renewMs = 10_000;
/** The longest wait for an instance that begins to lead, and the time between two looks. */
const beginMs = 60_000;
const lookMs = 50;

/** The first position of a database that had data before the journal. */
const firstPosition = 1;

type ClusterSettings = { readonly config: Config; readonly logger: Logger };

/**
 * Puts the database of the configuration into the journal of the configuration. The journal has the database when the journal has begun;
 * an interrupted call can be repeated.
 * @throws SetupError when the storage is no bucket, the database is missing, or used by a service, or belongs to another journal; or when
 * the journal is not new.
 */
export async function initCluster(options: ClusterSettings): Promise<Snapshot> {
  const { config } = options;
  if (!isBucket(config.storage))
    throw new SetupError(
      `storage ${config.storage}: the instances of a cluster share the files in a bucket. To move the files: socle backup FILE, set storage to s3://BUCKET/PREFIX, socle restore FILE --force`,
    );
  return withDatabase(options, async (journal, id) => {
    const { last } = await journal.extent();
    if (last > 0) throw new SetupError(`cluster.name ${config["cluster.name"]}: ${await whyFilled(options, id)}`);
    return withLease(config, journal, async () => {
      await assertFree(options, id);
      return begin(options, journal, enterJournal(config.database, { id, position: firstPosition }));
    });
  });
}

/** Works with the journal of the configuration. @throws SetupError for a journal that does not answer, or is broken. */
async function withJournal<T>({ config, logger }: ClusterSettings, work: (journal: Journal) => Promise<T>): Promise<T> {
  const journal = openJournal({ url: checkConfig(config).journal, cluster: config["cluster.name"], logger });
  try {
    return await work(journal);
  } catch (thrown) {
    const isLine = thrown instanceof JournalAway || thrown instanceof ChainBroken;
    throw isLine ? new SetupError(`cluster.journal: ${messageOf(thrown)}`) : thrown;
  } finally {
    await journal.close();
  }
}

/** Works with the journal, for the database of the configuration. @throws SetupError when one is not there. */
async function withDatabase<T>(
  settings: ClusterSettings,
  work: (journal: Journal, id: string) => Promise<T>,
): Promise<T> {
  const { database } = settings.config;
  checkConfig(settings.config);
  if (!existsSync(database)) throw new SetupError(`database ${database}: there is none`);
  return withJournal(settings, async (journal) => work(journal, (await journal.open()).id));
}

/** Why a journal with data takes no database. */
async function whyFilled(options: ClusterSettings, id: string): Promise<string> {
  await using opened = openAlone(options);
  return opened.database.journal === id
    ? "the journal has this database already; go on with `socle serve`"
    : "the journal has data already; set another name for a new cluster";
}

/** Works while no instance leads, and none begins to lead. @throws SetupError when an instance leads. */
async function withLease<T>(config: Config, journal: Journal, work: () => Promise<T>): Promise<T> {
  const address = addressOf(config);
  const lease = await journal.takeLease({ instance: `${address} (command)`, address, ms: leaseMs });
  if (lease === null)
    throw new SetupError(`cluster.name ${config["cluster.name"]}: an instance runs; stop the instance first`);
  const renewing = setInterval(() => void journal.renewLease(lease, leaseMs).catch(() => undefined), renewMs);
  try {
    return await work();
  } finally {
    clearInterval(renewing);
    await journal.releaseLease(lease);
  }
}

/** Begins the journal with a snapshot of the database. The journal has no entry then, so each instance without a database begins with the snapshot. */
async function begin(options: ClusterSettings, journal: Journal, history: History): Promise<Snapshot> {
  const snapshots = snapshotsOf(options);
  await using entered = openAlone(options);
  const chain = entered.database.journal ?? "";
  const snapshot = await snapshots.put(entered.database, chain, new AbortController());
  await journal.addSnapshot({ ...snapshot, madeAt: Date.now() });
  await journal.begin(history);
  return snapshot;
}

/**
 * Sets the database of this instance aside, so that the next start follows the journal. Answers the folder of the database.
 * @throws SetupError while a service has the database, or when there is none.
 */
export async function rejoinCluster(options: ClusterSettings): Promise<Branch & { aside: string }> {
  return withDatabase(options, async (journal) => {
    const branch = await branchOf(options, journal);
    return { ...branch, aside: await setAside(dataPathsOf(options.config)) };
  });
}

/**
 * Makes the state of this database the state of the journal. The commits that only the journal has are dropped.
 * @param isAgreed whether to go on; otherwise nothing is changed, and the snapshot is null.
 * @throws SetupError while an instance leads, or a service has the database.
 */
export async function adoptDatabase(
  options: ClusterSettings,
  isAgreed: boolean,
): Promise<Branch & { snapshot: Snapshot | null }> {
  const { config } = options;
  return withDatabase(options, (journal, id) =>
    withLease(config, journal, async () => {
      const branch = await branchOf(options, journal);
      if (!isAgreed) return { ...branch, snapshot: null };
      return { ...branch, snapshot: await begin(options, journal, enterJournal(config.database, { id })) };
    }),
  );
}

/** The database beside the journal. @throws SetupError for the database of a single service. */
async function branchOf(options: ClusterSettings, journal: Journal): Promise<Branch> {
  await using opened = openAlone(options);
  const { database } = opened;
  if ((await database.placeInJournal()).journal === null)
    throw new SetupError(
      `database ${database.path}: belongs to no journal; socle cluster init puts the database into a new journal`,
    );
  return compared(database.history, journal);
}

/** @throws SetupError when a service has the database, or the database belongs to another journal. */
async function assertFree(options: ClusterSettings, id: string): Promise<void> {
  await using opened = openAlone(options);
  const { journal } = await opened.database.placeInJournal();
  if (journal !== null && journal !== id)
    throw new SetupError(
      `database ${options.config.database}: belongs to another journal; a backup that is restored belongs to no journal`,
    );
}

/** Opens the database; no service has the database then. */
function openAlone(options: ClusterSettings): AsyncDisposable & { database: Database } {
  const paths = dataPathsOf(options.config);
  const database = openDatabase(options, {
    onFatal: (error) => options.logger.error(reasonOfEnd(error), { error }),
    onLocked: () => void putRight(paths),
  });
  return { database, [Symbol.asyncDispose]: () => database.close() };
}

/** The state of the cluster of a configuration, also without an instance. @throws SetupError with one line. */
export function statusOfCluster(settings: ClusterSettings): Promise<ClusterStatus & { mirror: MirrorState | null }> {
  return withJournal(settings, async (journal) => {
    await journal.open(false);
    const { mirrorStateOf } = await import("../operate/mirror/index.ts");
    return { ...(await clusterStatus(journal)), mirror: await mirrorStateOf(journal, settings.config["cluster.name"]) };
  });
}

/** How far a rolling upgrade to this executable and this project folder is. */
interface Upgrade {
  readonly target: UpgradeTarget;
  readonly instances: readonly UpgradeInstance[];
  readonly step: UpgradeStep;
}

/** The next step of a rolling upgrade. @param size how many instances the cluster has; 0 if only those count that the journal knows. */
export function upgradeOf(settings: ClusterSettings, size: number): Promise<Upgrade> {
  const target = { version: build, files: projectFingerprint(settings.config.folder) };
  return withJournal(settings, async (journal) => {
    await journal.open(false);
    const known = (await clusterStatus(journal)).instances;
    const instances = await Promise.all(
      known.map(async (each) => ({ ...each, unready: each.isLive ? await unreadinessOf(each.address) : null })),
    );
    return { target, instances, step: nextStep(instances, { target, order: await journal.files(), size }) };
  });
}

/** The leader of a cluster, as the journal and the configuration know the leader. */
type KnownLeader = Parameters<typeof askLeader>[0];

/** Works with the journal and the leader; the leader is null if no instance leads. Errors of the leader are readable lines. */
function withLeader<T>(
  settings: ClusterSettings,
  work: (journal: Journal, leader: KnownLeader | null) => Promise<T>,
): Promise<T> {
  return withJournal(settings, async (journal) => {
    await journal.open(false);
    const leader = await journal.leader();
    const { header: credentials } = new ClusterSecret(checkConfig(settings.config).secret);
    try {
      return await work(journal, leader?.isLive === true ? { address: leader.address, credentials } : null);
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      const isUnknown = thrown.code === "not_found" && thrown.message === nothingHere().message;
      const reason = isUnknown ? refused : thrown.message;
      throw new SetupError(`the leader ${leader?.address}: ${reason}`);
    }
  });
}

const refused =
  "does not know this command: the leader has an earlier version, or another cluster.secret than this configuration";

function noLeader({ config }: ClusterSettings): SetupError {
  return new SetupError(`cluster.name ${config["cluster.name"]}: no instance leads (socle cluster status)`);
}

/** Has the leader make a snapshot now, unless there is a snapshot of the present state. @throws SetupError when no snapshot was made. */
export function makeSnapshot(settings: ClusterSettings): Promise<SnapshotRow> {
  return withLeader(settings, async (_, leader) => {
    if (leader === null) throw noLeader(settings);
    for (let position: number | null = null; ; ) {
      const answer: LeaderCommands["snapshot"]["answer"] = await askLeader(leader, "snapshot", { position });
      if (answer.snapshot !== null) return answer.snapshot;
      ({ position } = answer);
    }
  });
}

/** Removes an instance that is gone from the journal, and from the instances that the leader waits for. @throws SetupError for an instance that lives. */
export function removeInstance(settings: ClusterSettings, name: string): Promise<void> {
  return withLeader(settings, async (journal, leader) => {
    if (leader !== null) {
      await askLeader(leader, "remove", { name });
      return;
    }
    const rows = await journal.instances();
    if (rows.every((row) => row.name !== name))
      throw new SetupError(`${name}: is no instance of the cluster; known: ${rows.map((row) => row.name).join(", ")}`);
    await assertGone(name, rows, false).catch((thrown: unknown) => {
      throw new SetupError(messageOf(thrown));
    });
    await journal.removeInstance(name);
  });
}

/** The outcome of a hand-over. */
interface HandedOver {
  /** The files in force, if the hand-over changed them. */
  readonly files: string | null;
  /** For how long no write was acknowledged, at most; null if nothing led before, or the instance led before. */
  readonly pausedMs: number | null;
  readonly ledBefore: boolean;
}

/**
 * Lets an instance lead: the leader hands over when the instance has every commit. Without a leader, only puts the files of the instance in force.
 * @param withFiles whether the files of the instance are in force from then on.
 * @throws SetupError when the instance cannot lead: the leader leads on. Error when the instance does not begin in time.
 */
export function leadBy(
  settings: ClusterSettings,
  { name, withFiles }: { name: string; withFiles: boolean },
): Promise<HandedOver> {
  return withLeader(settings, async (journal, leader) => {
    const before = (await journal.files()).at(-1) ?? null;
    if (leader === null) {
      if (!withFiles) throw noLeader(settings);
      const rows = await journal.instances();
      const files = rows.find((each) => each.isLive && each.name === name)?.files ?? null;
      if (files === null) throw new SetupError(`${name}: ${notRunning(rows)}`);
      await journal.addFiles(files);
      return { files, pausedMs: null, ledBefore: false };
    }
    const { heldMs, files } = await askLeader(leader, "lead", { name, withFiles });
    if (heldMs === null) return { files: null, pausedMs: null, ledBefore: true };
    const answeredAt = performance.now();
    await untilLeads(name, leader);
    const changed = files === before ? null : files;
    return { files: changed, pausedMs: heldMs + performance.now() - answeredAt, ledBefore: false };
  });
}

/** Waits until an instance serves as the leader. @throws Error after some time. */
async function untilLeads(address: string, { credentials }: KnownLeader): Promise<void> {
  const end = performance.now() + beginMs;
  for (;;) {
    const signal = AbortSignal.timeout(lookMs * 10);
    try {
      await ask({ credentials }, `${address}${introductionPath}`, { body: {}, signal });
      return;
    } catch (thrown) {
      if (performance.now() > end)
        throw new Error(
          `${address} has the lease, and does not serve as the leader after ${beginMs / 1_000} s (${messageOf(thrown)}); see its log and socle cluster status`,
        );
      await Bun.sleep(lookMs);
    }
  }
}
