/** The database of an instance of a cluster: whether the file belongs to the journal, and the way to the end of the journal. */
import type { Config } from "../base/config/index.ts";
import { AppError, SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import type { ClusterMember, JournalCommits } from "../edge/cluster/index.ts";
import type { Mirror } from "../operate/mirror/index.ts";
import { type CommitEntry, type Database, runsEntries } from "../store/database/index.ts";
import { ChainBroken, commonPosition, type History, type Journal, JournalGap } from "../store/journal/index.ts";

/** About how many bytes of entries are read at a time. */
const readBytes = 4 * 1024 ** 2;

/**
 * Joins a database to the journal: an empty database begins at the start of the journal. From then on the database runs entries alone.
 * @param id the id of the journal.
 * @throws JournalGap for an empty database when the cluster has snapshots: a snapshot is the way into the journal.
 * @throws SetupError for the database of a single service; ChainBroken for a database with commits that the journal does not have.
 */
export async function joinJournal(database: Database, journal: Journal, id: string): Promise<void> {
  const place = await database.placeInJournal();
  if (place.journal === null) {
    const hasSnapshots = (await journal.snapshots()).length > 0;
    if (!isEmpty(database)) throw notInJournal(database.path, !hasSnapshots && (await journal.extent()).last === 0);
    if (hasSnapshots) throw new JournalGap("the database is new");
  } else if (place.journal !== id) throw new ChainBroken("does not belong to the journal of cluster.name");
  const entry = await journal.check(place);
  if (place.journal === null || entry !== place.id) await database.joinJournal(id, entry);
  database.journalBy(runsEntries);
}

/** A database and the journal, as far as both have the same history. */
export interface Branch {
  /** The last position of the database, of the journal, and of both; null when no common position is known. */
  readonly own: number;
  readonly journal: number;
  readonly common: number | null;
}

export async function compared(history: History, journal: Pick<Journal, "history">): Promise<Branch> {
  const other = await journal.history();
  return { own: history.end.position, journal: other.end.position, common: commonPosition(history, other) };
}

export function branchText({ own, journal, common }: Branch): string {
  const last = common === null ? "no common position is known" : `the last common position is ${common}`;
  return `the database has the position ${own}, the journal the position ${journal}, and ${last}`;
}

/** A line about a database that does not follow the journal: the finding, the last common position, and the ways on. */
export async function brokenLine(
  { path, history }: { path: string; history: History },
  journal: Journal,
  broken: ChainBroken,
): Promise<string> {
  const branch = await compared(history, journal).catch(() => null);
  const found = branch === null ? `the database has the position ${history.end.position}` : branchText(branch);
  const init =
    branch?.journal === 0 ? "; after an interrupted `socle cluster init`, run `socle cluster init` again" : "";
  return `database ${path}: ${broken.message}: ${found}. Restore PostgreSQL to its last state and start again; or follow the journal (stop this instance, socle cluster rejoin sets the database aside, start again); or make this state the state of the journal (stop all instances, socle cluster adopt)${init}`;
}

/** The refusal of the database of a single service. */
export function notInJournal(path: string, isNew: boolean): SetupError {
  const advice = isNew
    ? "the journal is new: put the database into the journal with `socle cluster init`, or move the database away"
    : "move the database away; the instance then begins with a snapshot of the cluster";
  return new SetupError(`database ${path}: does not belong to the journal of cluster.name; ${advice}`);
}

/** Whether a database has nothing but the place in a journal. */
function isEmpty(database: Database): boolean {
  return database.tableVersions().size <= 1;
}

/** Runs the entries that the journal has now. @throws JournalAway, JournalGap, ChainBroken, EntryMismatch. */
export async function runToEnd(database: Database, journal: Journal): Promise<void> {
  for (;;) {
    const entries = await journal.read(database.place, readBytes);
    if (entries.length === 0) return;
    for (const { body, id } of entries)
      await database.replay(JSON.parse(Buffer.from(body).toString()) as CommitEntry, id);
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
  member.place = () => database.place;
  if (config["cluster.mirror"]) leading.commits.mirror = await openMirror(database, leading.commits, options);
  await database.upkeep(() => undefined);
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
    commit: () => database.upkeep(() => undefined),
  });
  await mirror.open(database.position, database.reader);
  return mirror;
}
