/**
 * Restoring a moment of a continuous backup: (1) the moment becomes a segment and a position; (2) the newest snapshot before the position is
 * unpacked beside the target; (3) the commits behind the snapshot run on the unpacked database, compared with the chain; (4) the copies of the files are
 * brought; (5) the restore goes on like the restore of a backup.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { AppError, messageOf, SetupError, toTimestamp } from "../../base/kernel/index.ts";
import { Logger } from "../../base/logging/index.ts";
import { eachFile, isBucket, type StorageDriver } from "../../files/storage/index.ts";
import {
  type CommitEntry,
  Database,
  DatabaseFile,
  placeOf,
  runsEntries,
  versionsOf,
} from "../../store/database/index.ts";
import type { ChainPlace, SnapshotRow } from "../../store/journal/index.ts";
import type { Identity, ManifestHead } from "./archive.ts";
import type { BackupPlace } from "./backup-place.ts";
import type { DataPaths } from "./data-paths.ts";
import { placeAt } from "./place.ts";
import { restoreBackup } from "./restore.ts";
import { endOf, isGap, type SegmentCommit, type SegmentHead } from "./segment.ts";
import { snapshotsIn } from "./snapshots.ts";
import { sourceOf } from "./target.ts";

/** Segments that are read ahead, and files that are brought, at a time. */
const atATime = 8;

/** A moment: a position, or a time in milliseconds since 1970; null for the newest state. */
export type Moment = { readonly position: number } | { readonly at: number } | null;

/** The extent of a continuous backup. */
export interface BackupExtent {
  readonly chain: string | null;
  /** Newest first. */
  readonly snapshots: readonly SnapshotRow[];
  /** Heads of the oldest and the newest segment. */
  readonly first: SegmentHead;
  readonly last: SegmentHead;
  /** The gaps behind the oldest segment, the oldest first. The first gap is the beginning of the chain. */
  readonly gaps: readonly SegmentHead[];
}

/** @throws SetupError for a place without a continuous backup. */
export async function surveyOf(place: BackupPlace, paths: Pick<DataPaths, "files">): Promise<BackupExtent> {
  for (;;) {
    const number = await place.first();
    if (number === 0) throw new SetupError(`${place.address}: has no continuous backup`);
    try {
      return await surveyFrom(number, place, paths);
    } catch (thrown) {
      // A service that runs removes its oldest segments meanwhile.
      if ((await place.first()) === number) throw thrown;
    }
  }
}

async function surveyFrom(
  number: number,
  place: BackupPlace,
  { files }: Pick<DataPaths, "files">,
): Promise<BackupExtent> {
  const end = await place.last();
  const [first, last] = [await place.head(number), await place.head(end)];
  const snapshots = await snapshotsIn(placeAt(place.snapshotAddress, files.s3), last.chain);
  const gaps: SegmentHead[] = [];
  for (let gap = first.gap - 1, low = number; ; ) {
    low = await place.search(low, end, (head) => head.gap > gap);
    if (low > end) return { chain: last.chain, snapshots, first, last, gaps };
    const head = await place.head(low);
    ({ gap } = head);
    if (isGap(head)) gaps.push(head);
  }
}

/** The state that is restored: the last commit, and the number of the segment that has the commit. */
interface Target {
  readonly number: number;
  readonly position: number;
  readonly at: number;
  /** Whether a snapshot with later commits is better. */
  readonly isNewest: boolean;
}

interface RestoreOptions {
  readonly paths: DataPaths;
  /** See `restoreBackup`. */
  readonly force: boolean;
  readonly moment: Moment;
  /** The versions of the tables that this build knows. */
  readonly schemas: ManifestHead["schema"];
  readonly identity: () => Promise<Identity>;
  /** Called with the positions that were run, and the position of the end. */
  readonly onProgress: (done: number, total: number) => void;
}

interface RestoredMoment {
  readonly position: number;
  readonly at: number;
  /** The commits that ran behind the snapshot. */
  readonly commits: number;
  readonly snapshot: string;
  /** The places of the old data. */
  readonly aside: readonly string[];
  /** Ids of files of which the place has no copy. */
  readonly missing: readonly string[];
  readonly filesLine: string | null;
  /** A line on commits that are in a gap, and are not restored; null without such commits. */
  readonly lostLine: string | null;
}

/** @throws SetupError with the way on for a moment that cannot be restored; the errors of `restoreBackup`. */
export async function restoreMoment(place: BackupPlace, options: RestoreOptions): Promise<RestoredMoment> {
  const survey = await surveyOf(place, options.paths);
  let target = await targetOf(place, survey, options.moment);
  let lostLine: string | null = null;
  let candidates = await candidatesFor(place, survey, target);
  // The newest state is before the gaps that no snapshot has closed.
  while (candidates.length === 0 && options.moment === null) {
    const { gap } = await place.head(target.number);
    const number = await place.search(survey.first.number, survey.last.number, (head) => head.gap >= gap);
    if (number <= survey.first.number) break;
    const head = await place.head(number - 1);
    target = { number: number - 1, position: head.last, at: head.to, isNewest: false };
    lostLine = `The commits behind position ${head.last} are behind a gap that no snapshot has closed, and are not restored`;
    candidates = await candidatesFor(place, survey, target);
  }
  const failures: unknown[] = [];
  for (const snapshot of candidates)
    try {
      const restored = await restoreFrom(place, { ...options, snapshot, target });
      if (restored !== null) return { ...restored, snapshot: snapshot.name, lostLine };
    } catch (thrown) {
      // An older snapshot, with more segments, may lead to the state, too.
      if (thrown instanceof SetupError) throw thrown;
      failures.push(thrown);
    }
  if (failures.length > 0) throw failures[0];
  const next = survey.snapshots.findLast(({ position }) => position > target.position);
  const way =
    next === undefined ? momentsOf(survey) : `the next moment that can be restored is position ${next.position}`;
  throw new SetupError(`${place.address}: no snapshot leads to position ${target.position}; ${way}`);
}

/** A line on the moments of a backup. */
export function momentsOf({ snapshots, last }: BackupExtent): string {
  const oldest = snapshots.at(-1);
  const newestAt = Math.max(last.to, snapshots[0]?.madeAt ?? 0);
  if (oldest === undefined) return "there is no snapshot yet";
  return `the moments are from ${toTimestamp(oldest.madeAt)} (position ${oldest.position}) to ${toTimestamp(newestAt)} (position ${last.last})`;
}

/** @throws SetupError for a moment outside of the backup, or in a gap. */
async function targetOf(place: BackupPlace, survey: BackupExtent, moment: Moment): Promise<Target> {
  const { first, last, snapshots } = survey;
  if (moment === null) return { number: last.number, position: last.last, at: last.to, isNewest: true };
  const isPosition = "position" in moment;
  const name = isPosition ? `position ${moment.position}` : toTimestamp(moment.at);
  const refuse = (what: string): never => {
    throw new SetupError(`--at ${name}: ${what}; ${momentsOf(survey)}`);
  };
  const newestAt = Math.max(last.to, snapshots[0]?.madeAt ?? 0);
  if (isPosition ? moment.position > last.last : moment.at > newestAt)
    refuse("is after the last commit of the backup; leave --at out for the newest state");
  const number = isPosition
    ? await place.search(first.number, last.number, (head) => head.last >= moment.position)
    : (await place.search(first.number, last.number, (head) => head.from > moment.at)) - 1;
  if (number < first.number) refuse("is before the first moment of the backup");
  const head = await place.head(number);
  if (isGap(head)) {
    const isBehind = isPosition ? moment.position === head.last : moment.at >= head.to;
    if (!isBehind && number === 1) refuse("is before the first moment of the backup");
    if (!isBehind)
      refuse(`is in a gap; the nearest positions are ${head.first - 1} and ${head.last}, see socle backup list`);
    return { number, position: head.last, at: head.to, isNewest: false };
  }
  const { commits } = await place.read(number);
  const found = commits.findLast((each) => (isPosition ? each.position <= moment.position : each.at <= moment.at));
  return found === undefined
    ? refuse("is before the first moment of the backup")
    : { number, position: found.position, at: found.at, isNewest: false };
}

/** The snapshots that may lead to a state, the newest first: between a snapshot and the state is no gap. */
async function candidatesFor(place: BackupPlace, { snapshots }: BackupExtent, target: Target): Promise<SnapshotRow[]> {
  const { number, position, isNewest } = target;
  const { gap } = await place.head(number);
  return snapshots.filter((each) => each.position >= gap && (isNewest || each.position <= position));
}

/** Null for a snapshot that has later commits than the target. */
async function restoreFrom(
  place: BackupPlace,
  options: RestoreOptions & { snapshot: SnapshotRow; target: Target },
): Promise<Pick<RestoredMoment, "position" | "at" | "commits" | "aside" | "missing" | "filesLine"> | null> {
  const { snapshot, target, paths, schemas, identity } = options;
  const file = `${place.snapshotAddress}/${snapshot.name}`;
  const { source } = await sourceOf(file, paths);
  let state = { position: target.position, at: target.at, commits: 0 };
  let missing: string[] = [];
  try {
    const { aside, filesLine } = await restoreBackup(
      { name: file, source, schemas, identity },
      {
        ...options,
        async advance(path, files) {
          state = await runCommits(place, path, options);
          // Without any copy, the files are in a bucket.
          if ((await place.files.next("")) === null) return false;
          missing = await bringFiles(place, path, files);
          return true;
        },
      },
    );
    return { ...state, aside, missing, filesLine };
  } catch (thrown) {
    if (thrown instanceof SnapshotIsLater) return null;
    throw thrown;
  }
}

class SnapshotIsLater extends Error {}

/** Runs the commits behind the snapshot up to the target, in the unpacked database. */
async function runCommits(
  place: BackupPlace,
  path: string,
  { target, snapshot, onProgress, schemas }: Parameters<typeof restoreFrom>[1],
): Promise<{ position: number; at: number; commits: number }> {
  const file = new DatabaseFile(path);
  const begin: ChainPlace = placeOf(file);
  file.close();
  if (begin.position > target.position) {
    if (!target.isNewest) throw new SnapshotIsLater();
    return { position: begin.position, at: snapshot.madeAt, commits: 0 };
  }
  const failures: unknown[] = [];
  const logger = new Logger({ level: "ERROR", sinks: [] });
  const database = new Database({
    path,
    logger,
    onFatal: (error) => failures.push(error),
    sync: async () => undefined,
  });
  let state = { position: begin.position, at: snapshot.madeAt, commits: 0 };
  try {
    database.journalBy(runsEntries);
    for await (const { position, id, at, entry } of commitsBehind(place, begin, target.number)) {
      if (position > target.position) break;
      await database.replay(JSON.parse(entry) as CommitEntry, id);
      state = { position, at, commits: state.commits + 1 };
      onProgress(position - begin.position, target.position - begin.position);
    }
    const newer = [...versionsOf(database.reader)].find(([module, version]) => version > (schemas[module] ?? 0));
    if (newer !== undefined) throw new Error("a newer version of Socle wrote the commits; restore with that version");
    return state;
  } catch (thrown) {
    const cause = thrown instanceof AppError ? (thrown.cause ?? failures[0] ?? thrown) : thrown;
    const way = `For the state before, restore with --at ${state.position}; socle backup list has the snapshots behind.`;
    throw new Error(`${messageOf(cause)}. ${way}`);
  } finally {
    await database.close();
  }
}

/** The commits behind a place, in order, compared with the chain. @throws Error for a segment that is missing, damaged, or of another chain. */
async function* commitsBehind(place: BackupPlace, begin: ChainPlace, until: number): AsyncIterable<SegmentCommit> {
  const first = await place.search(await place.first(), until, ({ last }) => last > begin.position);
  let before = begin;
  for await (const { head, commits } of readAhead(place, first, until)) {
    const skipped = commits.findLast(({ position }) => position <= begin.position);
    const follows = skipped === undefined ? { position: head.first - 1, id: head.before } : skipped;
    if (follows.position !== before.position || follows.id !== before.id)
      throw new Error(
        `${place.segments.address}: the segment ${head.number} does not follow position ${before.position}`,
      );
    yield* commits.filter(({ position }) => position > begin.position);
    before = endOf(head);
  }
}

/** Reads segments in order, some ahead. */
export async function* readAhead(
  place: BackupPlace,
  first: number,
  last: number,
): AsyncIterable<Awaited<ReturnType<BackupPlace["read"]>>> {
  const reading: ReturnType<BackupPlace["read"]>[] = [];
  for (let next = first; next <= last || reading.length > 0; ) {
    for (; next <= last && reading.length < atATime; next++) {
      const segment = place.read(next);
      // A failure is thrown in its turn.
      segment.catch(() => undefined);
      reading.push(segment);
    }
    const segment = await reading.shift();
    if (segment !== undefined) yield segment;
  }
}

/** Brings the copies of the files of a database. Answers the ids of the files without a copy. @throws Error for a copy of another size. */
async function bringFiles(place: BackupPlace, path: string, files: StorageDriver): Promise<string[]> {
  const database = new DatabaseFile(path);
  const missing: string[] = [];
  const bring = async ({ id, size }: { id: string; size: number }): Promise<void> => {
    if ((await place.files.find(id)) === null) {
      missing.push(id);
      return;
    }
    const bytes = await place.files.bytes(id);
    if (bytes.byteLength !== size)
      throw new Error(`${place.files.address}/${id}: has ${bytes.byteLength} bytes in place of ${size}`);
    const upload = join(files.workFolder, id);
    await Bun.write(upload, bytes);
    await files.put(id, upload);
  };
  try {
    let next: Promise<void>[] = [];
    for (const file of eachFile(database)) {
      next.push(bring(file));
      if (next.length < atATime) continue;
      await Promise.all(next);
      next = [];
    }
    await Promise.all(next);
    return missing;
  } finally {
    database.close();
  }
}

/** Whether a path or address is a place of a continuous backup, rather than a file. */
export async function isBackupPlace(file: string, { files }: Pick<DataPaths, "files">): Promise<boolean> {
  if (!isBucket(file)) return existsSync(join(file, "segments")) || existsSync(join(file, "snapshots"));
  return !/\.tar\.zst(?:\.age)?$/.test(file) && (await placeAt(`${file}/segments`, files.s3).next("segment-")) !== null;
}
