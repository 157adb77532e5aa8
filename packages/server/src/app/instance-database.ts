/** The database of an instance of a cluster: whether the file belongs to the journal, and the way to the end of the journal. */
import type { Config } from "../base/config/index.ts";
import { AppError, SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import type { ClusterMember, JournalCommits } from "../edge/cluster/index.ts";
import type { Mirror } from "../operate/mirror/index.ts";
import type { CommitEntry, CommitPoint, Database } from "../store/database/index.ts";
import { type Journal, JournalGap } from "../store/journal/index.ts";

/** About how many bytes of entries are read at a time. */
const readBytes = 4 * 1024 ** 2;

/** The commit point of a replica: only the leader commits. */
const closed: CommitPoint = {
  refusal: new AppError("unavailable", "This instance does not lead.", { retryAfter: 1 }),
  append: () => Promise.reject(new Error("A replica appends nothing to the journal")),
};

/**
 * Joins a database to the journal: an empty database begins at the start of the journal. From then on the database runs entries alone.
 * @param id the id of the journal.
 * @throws JournalGap for an empty database when the cluster has snapshots: a snapshot is the way into the journal.
 * @throws SetupError for a database that does not belong to the journal.
 */
export async function joinJournal(database: Database, journal: Journal, id: string): Promise<void> {
  const place = await database.placeInJournal();
  const { last } = await journal.extent();
  const { path } = database;
  if (place.journal === null && isEmpty(database)) {
    if ((await journal.snapshots()).length > 0) throw new JournalGap("the database is new");
    await database.joinJournal(id);
  } else if (place.journal !== id) {
    const isNew = last === 0 && (await journal.snapshots()).length === 0;
    const advice = isNew
      ? "the journal is new: put the database into the journal with `socle cluster init`, or move the database away"
      : "move the database away; the instance then begins with a snapshot of the cluster";
    throw new SetupError(`database ${path}: does not belong to the journal of cluster.name; ${advice}`);
  } else if (last === 0 && place.position > 0)
    throw new SetupError(
      `database ${path}: \`socle cluster init\` was interrupted, or PostgreSQL has lost all commits; run \`socle cluster init\` again to put this database into the journal`,
    );
  else if (place.position > last)
    throw new SetupError(
      `database ${path}: has ${place.position} commits, and the journal has ${last}: PostgreSQL has lost commits, or holds another journal. Restore PostgreSQL; or, to go on with the state of the journal, move the database away`,
    );
  database.journalBy({ followers: null, commitPoint: closed });
}

/** Whether a database has nothing but the place in a journal. */
function isEmpty(database: Database): boolean {
  return database.tableVersions().size <= 1;
}

/** Runs the entries that the journal has now. @throws JournalAway, JournalGap, EntryMismatch. */
export async function runToEnd(database: Database, journal: Journal): Promise<void> {
  for (;;) {
    const entries = await journal.read(database.position, readBytes);
    if (entries.length === 0) return;
    for (const { body } of entries) await database.replay(JSON.parse(Buffer.from(body).toString()) as CommitEntry);
  }
}

export interface LeadOptions {
  readonly member: ClusterMember;
  /** The id of the journal. */
  readonly journalId: string;
  readonly config: Pick<Config, "cluster.mirror" | "cluster.name">;
  readonly logger: Logger;
}

/** Makes the database the database of the leader: at the end of the journal, with the first commit of the term. */
export async function leadDatabase(database: Database, options: LeadOptions): Promise<void> {
  const { member, journalId: id, config } = options;
  const { journal, leading } = member;
  if (leading === null) throw new AppError("unavailable", "Another instance leads now.");
  await joinJournal(database, journal, id);
  await runToEnd(database, journal);
  const followers = await member.openReplicas(database.position);
  database.journalBy({ followers, commitPoint: leading.commits });
  member.position = () => database.position;
  if (config["cluster.mirror"]) leading.commits.mirror = await openMirror(database, leading.commits, options);
  await database.transact(() => undefined);
}

/** The mirror of the leader, at the position of the database. The module is loaded only for a mirror. */
async function openMirror(
  database: Database,
  commits: JournalCommits,
  { member, journalId, config, logger }: LeadOptions,
): Promise<Mirror> {
  const { Mirror } = await import("../operate/mirror/index.ts");
  const mirror = new Mirror({
    journal: member.journal,
    cluster: config["cluster.name"],
    journalId,
    logger,
    term: () => commits.term,
    commit: () => database.transact(() => undefined),
  });
  await mirror.open(database.position, database.reader);
  return mirror;
}
