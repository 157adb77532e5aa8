/** Putting the database of a single service into a new journal: the first snapshot of a cluster has the data, and entries follow the snapshot. */
import { existsSync } from "node:fs";
import type { Config } from "../base/config/index.ts";
import { messageOf, SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { isBucket } from "../files/storage/index.ts";
import { putRight, type Snapshot } from "../operate/backup/index.ts";
import { type CommitEntry, Database, enterJournal } from "../store/database/index.ts";
import { type Journal, JournalAway, openJournal } from "../store/journal/index.ts";
import { addressOf, checkConfig, snapshotsOf } from "./cluster.ts";
import { databaseOptions, dataPathsOf } from "./service.ts";

/** The lease keeps instances away meanwhile. */
const leaseMs = 30_000;
const renewMs = 10_000;

/** The first position of a database that had data before the journal. */
const firstPosition = 1;
/** An entry that no database can run, so that an instance with an empty database begins with the snapshot. */
const closing: CommitEntry = { site: null, texts: [], runs: [[0, 0]], notes: [] };

/**
 * Puts the database of the configuration into the journal of the configuration. The journal has the database when the first entry stands;
 * an interrupted call can be repeated.
 * @throws SetupError when the storage is no bucket, the database is missing, or used by a service, or belongs to another journal; or when
 * the journal is not new.
 */
export async function initCluster({ config, logger }: { config: Config; logger: Logger }): Promise<Snapshot> {
  if (!isBucket(config.storage))
    throw new SetupError(
      `storage ${config.storage}: the instances of a cluster share the files in a bucket. To move the files: socle backup FILE, set storage to s3://BUCKET/PREFIX, socle restore FILE --force`,
    );
  const { journal: url } = checkConfig(config);
  if (!existsSync(config.database)) throw new SetupError(`database ${config.database}: there is none`);
  const cluster = config["cluster.name"];
  const journal = openJournal({ url, cluster, logger });
  try {
    const { id } = await journal.open();
    const { last } = await journal.extent();
    if (last > 0) throw new SetupError(`cluster.name ${cluster}: ${await whyFilled({ config, logger }, id)}`);
    const instance = `${addressOf(config)} (socle cluster init)`;
    const term = await journal.takeLease({ instance, address: addressOf(config), ms: leaseMs });
    if (term === null) throw new SetupError(`cluster.name ${cluster}: an instance runs; stop the instance first`);
    const renewing = setInterval(() => void journal.renewLease(term, leaseMs).catch(() => undefined), renewMs);
    try {
      return await fill({ config, logger }, journal, { id, term });
    } finally {
      clearInterval(renewing);
      await journal.releaseLease(term);
    }
  } catch (thrown) {
    throw thrown instanceof JournalAway ? new SetupError(`cluster.journal: ${messageOf(thrown)}`) : thrown;
  } finally {
    await journal.close();
  }
}

/** Why a journal with data takes no database. */
async function whyFilled(options: { config: Config; logger: Logger }, id: string): Promise<string> {
  await using opened = openAlone(options);
  return opened.database.journal === id
    ? "the journal has this database already; go on with `socle serve`"
    : "the journal has data already; set another name for a new cluster";
}

async function fill(
  { config, logger }: { config: Config; logger: Logger },
  journal: Journal,
  { id, term }: { id: string; term: number },
): Promise<Snapshot> {
  const snapshots = snapshotsOf({ config, logger });
  await assertFree({ config, logger }, id);
  enterJournal(config.database, { id, position: firstPosition });
  await using entered = openAlone({ config, logger });
  const snapshot = await snapshots.put(entered.database, new AbortController().signal);
  await journal.addSnapshot({ ...snapshot, madeAt: Date.now() });
  const body = Buffer.from(JSON.stringify(closing));
  if ((await journal.append({ position: firstPosition, term, body })) === "fenced")
    throw new SetupError("cluster.journal: another instance has begun the journal meanwhile");
  await journal.trim(firstPosition);
  return snapshot;
}

/** @throws SetupError when a service has the database, or the database belongs to another journal. */
async function assertFree(options: { config: Config; logger: Logger }, id: string): Promise<void> {
  await using opened = openAlone(options);
  const { journal } = await opened.database.placeInJournal();
  if (journal !== null && journal !== id)
    throw new SetupError(
      `database ${options.config.database}: belongs to another journal; a backup that is restored belongs to no journal`,
    );
}

/** Opens the database; no service has the database then. */
function openAlone({ config, logger }: { config: Config; logger: Logger }): AsyncDisposable & { database: Database } {
  const paths = dataPathsOf(config);
  const database = new Database({
    ...databaseOptions(config, logger.for("database")),
    onFatal: (error) => logger.error("The disk refused a write", { error }),
    onLocked: () => void putRight(paths),
  });
  return { database, [Symbol.asyncDispose]: () => database.close() };
}
