/**
 * Commands for a cluster, which ask or tell the journal, also when no instance runs: a database enters a new journal, becomes the state of the
 * journal, or is set aside; the state of the cluster; the files in force. The first snapshot of a journal has the data, and entries follow the snapshot.
 */
import { existsSync } from "node:fs";
import type { Config } from "../base/config/index.ts";
import { messageOf, SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { type ClusterStatus, clusterStatus } from "../edge/cluster/index.ts";
import { isBucket } from "../files/storage/index.ts";
import { putRight, type Snapshot, setAside } from "../operate/backup/index.ts";
import type { MirrorState } from "../operate/mirror/index.ts";
import { type Database, enterJournal, reasonOfEnd } from "../store/database/index.ts";
import { ChainBroken, type History, type Journal, JournalAway, openJournal } from "../store/journal/index.ts";
import { addressOf, checkConfig, snapshotsOf } from "./cluster.ts";
import { type Branch, compared } from "./instance-database.ts";
import { dataPathsOf, openDatabase } from "./service.ts";

/** The lease keeps instances away meanwhile. */
const leaseMs = 30_000;
const renewMs = 10_000;

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
  const snapshot = await snapshots.put(entered.database, new AbortController().signal);
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

/** Puts the files of an instance in force: a leader with other files hands over. Answers the files. @throws SetupError for an instance that does not run. */
export function leadWithFiles(settings: ClusterSettings, name: string): Promise<string> {
  return withJournal(settings, async (journal) => {
    await journal.open(false);
    const instances = await journal.instances();
    const files = instances.find((each) => each.isLive && each.name === name)?.files ?? null;
    const names = instances.filter(({ isLive }) => isLive).map((each) => each.name);
    if (files === null)
      throw new SetupError(
        `${name}: is no running instance; running: ${names.join(", ") || "none"} (socle cluster status)`,
      );
    await journal.addFiles(files);
    return files;
  });
}
