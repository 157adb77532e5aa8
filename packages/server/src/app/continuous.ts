/** The continuous backup of a service: the parts by the configuration, the snapshots, and the commits of a journal that have not left. */
import { type Config, keptBackups } from "../base/config/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { isBucket } from "../files/storage/index.ts";
import { BackupPlace, ContinuousBackup, driverOf, encryptionFor, Snapshots } from "../operate/backup/index.ts";
import type { Database, KeptCommit } from "../store/database/index.ts";
import { ChainBroken, type ChainPlace, type Journal, JournalGap } from "../store/journal/index.ts";
import { dataPathsOf, knownSchemas } from "./service.ts";
import { SnapshotKeeper } from "./snapshot-keeper.ts";

const dayMs = 86_400_000;
/** About how many bytes of entries of a journal are read at a time, and at most in all. */
const readBytes = 4 * 1024 ** 2;
const maxBytes = 64 * 1024 ** 2;

interface ContinuousOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly build: string;
  /** The journal of the cluster that this process leads. */
  readonly journal: Journal | undefined;
}

export interface Continuous {
  readonly backup: ContinuousBackup;
  /** Begins to send, and to make snapshots. Answers the keeper of the snapshots, to be stopped before the database. */
  start(database: Database): SnapshotKeeper;
}

/** Null without `backup.continuous`. @throws SetupError for a bucket without keys. */
export function continuousOf({ config, logger: root, build, journal }: ContinuousOptions): Continuous | null {
  const address = config["backup.continuous"];
  if (address === undefined) return null;
  const paths = dataPathsOf(config);
  const logger = root.for("backup");
  const place = new BackupPlace(address, { keys: paths.files.s3 });
  const encryption = encryptionFor(config["backup.recipient"], null);
  const keepMs = (): number => keptBackups(config["backup.keep"]).ms;
  const snapshots = new Snapshots({
    paths,
    address: place.snapshotAddress,
    work: "continuous",
    encryption,
    version: build,
    schemas: knownSchemas,
    maxLog: config["backup.log"],
    logger,
  });
  const backup = new ContinuousBackup({
    place,
    snapshots,
    everyMs: config["backup.every"],
    keepMs,
    encryption,
    local: isBucket(config.storage) ? null : driverOf(paths),
    missing: journal === undefined ? null : (after, position) => commitsOf(journal, after, position),
    logger,
  });
  return {
    backup,
    start(database) {
      backup.start();
      const every = config["cluster.snapshotEvery"];
      const longestMs = (): number => Math.min(dayMs, keepMs());
      return new SnapshotKeeper({ journal: backup, database, snapshots, every, longestMs, logger });
    },
  };
}

/** The commits of a journal behind a place, up to a position; null if the journal does not have the commits, or they are too many. */
async function commitsOf(journal: Journal, after: ChainPlace, position: number): Promise<readonly KeptCommit[] | null> {
  const commits: KeptCommit[] = [];
  let place = after;
  let bytes = 0;
  try {
    while (place.position < position) {
      const entries = await journal.read(place, readBytes);
      for (const { position: at, id, before, body } of entries) {
        if (at > position) break;
        if (id === null) return null;
        bytes += body.byteLength;
        const entry = Buffer.from(body).toString();
        commits.push({ position: at, id, before, at: Date.now(), entry, notes: [] });
        place = { position: at, id };
      }
      if (entries.length === 0 || bytes > maxBytes) return null;
    }
    return commits;
  } catch (thrown) {
    if (thrown instanceof JournalGap || thrown instanceof ChainBroken) return null;
    throw thrown;
  }
}
