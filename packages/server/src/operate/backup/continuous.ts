/**
 * ContinuousBackup: copies each commit of the service to a place outside of the machine. The commits that are on disk wait in memory, and
 * leave as segments; writes never wait for the place. Snapshots, which `SnapshotKeeper` makes, are the beginning of a restore, and close the gaps: the
 * commits of a gap are in no segment, because the commits waited for longer than memory allows, or the process was killed before they left.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { fileStored, type Storage, type StorageDriver } from "../../files/storage/index.ts";
import { type CommitCopies, type Database, type KeptCommit, notesOf } from "../../store/database/index.ts";
import {
  beginning,
  type ChainPlace,
  type History,
  hasPlace,
  newRole,
  type SnapshotRow,
} from "../../store/journal/index.ts";
import type { Encryption } from "./archive.ts";
import type { BackupPlace } from "./backup-place.ts";
import { FileCopies } from "./file-copies.ts";
import { endOf, isGap, packSegment, type SegmentHead, segmentName } from "./segment.ts";
import type { Snapshots } from "./snapshots.ts";
import { WaitingCommits, type Zlib } from "./waiting-commits.ts";

/** The bytes of the entries that wait at most. Beyond, the entries are dropped, and a snapshot closes the gap. */
const maxWaiting = 64 * 1024 ** 2;
/** About the bytes of a segment. */
const segmentBytes = 4 * 1024 ** 2;
/** The time that a segment may take. */
const sendMs = 5_000;
/** The longest look whether another service adds segments. */
const longestLookMs = 10_000;
/** Segments that are removed at a time. */
const atATime = 8;

export interface ContinuousOptions {
  readonly place: BackupPlace;
  readonly snapshots: Snapshots;
  readonly everyMs: number;
  readonly keepMs: () => number;
  readonly encryption: Encryption | null;
  /** The driver of a local storage, whose files are copied; null for a bucket, which has the files. */
  readonly local: StorageDriver | null;
  /** In a cluster: the commits of the journal behind a place, up to a position; null if the journal does not have the commits any more. */
  readonly missing: ((after: ChainPlace, position: number) => Promise<readonly KeptCommit[] | null>) | null;
  readonly logger: Logger;
}

export interface ContinuousState {
  /** The age of the oldest acknowledged write that has not left; 0 if all have left. */
  readonly behindMs: number;
  /** The age from which on the backup is late: twice `backup.every`, and a while for a segment. */
  readonly allowedMs: number;
  /** Why nothing leaves, in a line; null while the place takes the segments. */
  readonly problem: string | null;
  /** Whether the backup has ended until a restart, because the place belongs to another service. */
  readonly isOver: boolean;
  readonly segments: number;
}

/** A segment that may be in the place already: a second try sends the same bytes. */
interface Sending {
  readonly head: SegmentHead;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The moment of the oldest commit. */
  readonly at: number;
}

interface Opened {
  /** The moment of the beginning. */
  readonly at: number;
  readonly database: Database;
  readonly chain: string;
  readonly waiting: WaitingCommits;
  readonly zlib: Zlib;
  /** The history of the database before the first commit of this run: the place had segments of these commits then. */
  readonly history: History;
}

export class ContinuousBackup implements CommitCopies {
  readonly role = newRole();
  readonly #options: ContinuousOptions;
  readonly #stopping = new AbortController();
  #opened: Opened | null = null;
  #copies: FileCopies | null = null;
  #running: Promise<void> = Promise.resolve();
  /** Whether the database has no place in the chain: the database was restored, or changed without copies. */
  #isRestored = false;
  #appended = 0;
  /** The place before the first waiting commit. */
  #before: ChainPlace = beginning;
  /** The newest segment of the place; undefined while unknown, and null without segments. */
  #end: SegmentHead | null | undefined;
  #sending: Sending | null = null;
  /** The moment of the oldest commit in a gap that no snapshot has closed. */
  #lostAt: number | null = null;
  #problem: string | null = null;
  #isOver = false;
  #segments = 0;

  constructor(options: ContinuousOptions) {
    this.#options = options;
  }

  /** Begins to take the commits. To be called before the first transaction of the service. */
  async open(database: Database): Promise<void> {
    const zlib = await import("node:zlib");
    const { chain, place } = await database.copyTo(this);
    this.#opened = {
      at: Date.now(),
      database,
      chain,
      history: database.history,
      waiting: new WaitingCommits(zlib),
      zlib,
    };
    this.#before = place;
    this.#isRestored = place.id === null;
  }

  /** Takes the storage of the files that the commits name. */
  use(storage: Storage): void {
    const { local, place, keepMs, logger } = this.#options;
    this.#copies = new FileCopies(storage, { place: place.files, local, keepMs, logger });
  }

  /** Begins to send. */
  start(): void {
    this.#running = this.#run();
  }

  /** Sends what waits, for so many milliseconds at most, and ends. To be called when the database is closed. */
  async finish(ms: number): Promise<void> {
    if (this.#opened === null) return;
    this.#stopping.abort();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    const sent = this.#running.then(() => this.#sendAll());
    await Promise.race([sent.catch((thrown: unknown) => this.#fail(thrown)), late]);
    clearTimeout(timer);
    if (this.#behindSince !== null)
      this.#options.logger.warn("Commits have not left for the continuous backup; the next start makes a snapshot");
  }

  take(commit: KeptCommit): void {
    if (this.#isOver) return;
    const { entry, notes, ...place } = commit;
    const { waiting } = this.#open;
    if (entry === null) this.#drop(place);
    else this.#appended += waiting.add({ ...place, files: notesOf(notes, fileStored) }, entry);
    if (waiting.bytes > maxWaiting) this.#drop();
  }

  get state(): ContinuousState {
    const since = this.#behindSince;
    const behindMs = since === null ? 0 : Math.max(0, Date.now() - since);
    const allowedMs = 2 * this.#options.everyMs + sendMs;
    return { behindMs, allowedMs, problem: this.#problem, isOver: this.#isOver, segments: this.#segments };
  }

  get #behindSince(): number | null {
    // The end of the segments is not known yet.
    if (this.#opened !== null && this.#end === undefined) return this.#opened.at;
    return this.#lostAt ?? this.#sending?.at ?? this.#opened?.waiting.first?.at ?? null;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { everyMs, place, logger } = this.#options;
    while (!signal.aborted && !this.#isOver) {
      try {
        await (this.#copies?.during(() => this.#sendAll()) ?? this.#sendAll());
        if (this.#problem !== null) logger.info(`The continuous backup goes on: ${place.address} takes segments`);
        this.#problem = null;
        await this.#copies?.sweep();
      } catch (thrown) {
        this.#fail(thrown);
      }
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    }
    if (this.#isOver) await this.#copies?.end();
  }

  #fail(thrown: unknown): void {
    const { logger } = this.#options;
    const problem = messageOf(thrown);
    if (thrown instanceof OtherWriter) {
      this.#isOver = true;
      this.#drop();
      logger.error(problem);
    } else if (problem !== this.#problem) logger.warn(`The continuous backup waits: ${problem}`);
    this.#problem = problem;
  }

  /** Sends a segment, and further segments while there is a backlog. */
  async #sendAll(): Promise<void> {
    if (this.#isOver) return;
    do {
      if (this.#end === undefined) this.#end = await this.#findEnd();
      this.#sending ??= await this.#nextSegment();
      if (this.#sending !== null) await this.#send(this.#sending);
      this.#sending = null;
    } while (this.#isBacklog);
  }

  /** Whether the next segment leaves at once: a whole segment waits, or the service stops and any commit waits. */
  get #isBacklog(): boolean {
    const { waiting } = this.#open;
    return waiting.bytes >= segmentBytes || (this.#stopping.signal.aborted && waiting.first !== null);
  }

  /**
   * Finds the newest segment, and whether this database may go on behind the segment: the database has the commits of the segment; or the
   * database belongs to the same chain and was restored, and no other service adds segments now.
   * @throws OtherWriter.
   */
  async #findEnd(): Promise<SegmentHead | null> {
    const { place, everyMs, missing } = this.#options;
    const { chain, history } = this.#open;
    const number = await place.last();
    await this.#tryStore();
    if (number === 0) {
      await this.#beginBehind(0);
      return null;
    }
    const end = await place.head(number);
    if (end.chain !== chain) throw new OtherWriter(place.address, "has the backup of another database");
    if (this.#isRestored) {
      await Bun.sleep(Math.min(2 * everyMs, longestLookMs));
      if ((await place.last()) !== number) throw new OtherWriter(place.address, "gets segments of another service");
      this.#lostAt ??= end.to;
      await this.#beginBehind(end.last);
    } else if (!hasPlace(history, endOf(end)))
      throw new OtherWriter(place.address, `has commits up to position ${end.last} that this database does not have`);
    this.#isRestored = false;
    await this.#findOpenGap(end);
    const { position } = this.#before;
    const commits = follows(this.#before, end) ? [] : await missing?.(endOf(end), position);
    if (commits == null) {
      // The commits that a kill has cut off came behind the newest segment.
      this.#lostAt ??= end.to;
      this.#drop();
    } else if (commits.length > 0) {
      const earlier = new WaitingCommits(this.#open.zlib);
      for (const { entry, ...commit } of commits) earlier.add({ ...commit, files: [] }, entry ?? "");
      this.#open.waiting.prepend(earlier);
      this.#before = endOf(end);
    }
    return end;
  }

  /** After a kill before the snapshot of a gap, the commits behind the gap are in segments that lead nowhere until the snapshot. */
  async #findOpenGap({ number, gap }: SegmentHead): Promise<void> {
    const { place } = this.#options;
    const [snapshot] = await this.snapshots();
    if (snapshot !== undefined && snapshot.position >= gap) return;
    const opened = await place.search(await place.first(), number, (head) => head.gap >= gap);
    const { from } = await place.head(opened);
    this.#lostAt = Math.min(this.#lostAt ?? from, from);
  }

  /** Goes on behind a position with a commit of this run: the positions of the segments never go back, and each segment has an id. */
  async #beginBehind(position: number): Promise<void> {
    await this.#open.database.skipTo(position);
    this.#drop();
  }

  /** Tells of a store that ignores the condition of a write: two services with one place would replace each other's segments. */
  async #tryStore(): Promise<void> {
    const { place, logger } = this.#options;
    const probe = new Uint8Array(0);
    if ((await place.segments.create("probe", probe)) && (await place.segments.create("probe", probe)))
      logger.warn(`${place.address}: the store ignores If-None-Match; make sure that no other service has this place`);
  }

  get #open(): Opened {
    if (this.#opened === null) throw new Error("The continuous backup has no database");
    return this.#opened;
  }

  /** All that waits becomes a part of a gap. @param last a later commit that belongs to the gap, too. */
  #drop(last: (ChainPlace & Pick<KeptCommit, "at">) | null = this.#open.waiting.last): void {
    this.#lostAt ??= this.#behindSince ?? last?.at ?? Date.now();
    this.#before = last ?? this.#before;
    this.#open.waiting.clear();
  }

  /** Packs the next segment: a gap, or commits that wait; null if nothing waits. The files of the commits are copied before. */
  async #nextSegment(): Promise<Sending | null> {
    const { chain, waiting, zlib } = this.#open;
    const { encryption } = this.#options;
    const end = this.#end ?? null;
    const isNext = end !== null && follows(this.#before, end);
    const frames = isNext ? waiting.some(segmentBytes) : [];
    const newest = frames.at(-1)?.last;
    if (isNext && newest === undefined) return null;
    const { position: last, id } = newest ?? this.#before;
    const oldest = frames[0]?.first;
    const at = oldest?.at ?? this.#lostAt ?? Date.now();
    // Moments never go back, so that a moment belongs to a single segment.
    const from = Math.max(at, end?.to ?? 0);
    const head: SegmentHead = {
      chain,
      number: (end?.number ?? 0) + 1,
      role: this.role,
      first: (end?.last ?? last) + 1,
      before: end?.id ?? null,
      last,
      id,
      from,
      to: Math.max(from, newest?.at ?? Date.now()),
      gap: isNext ? end.gap : last,
      size: frames.reduce((sum, { size }) => sum + size, end?.size ?? 0),
      isEncrypted: encryption !== null,
    };
    await this.#copies?.copy(frames.flatMap(({ files }) => files));
    const packed = frames.map(({ bytes }) => bytes);
    const bytes = await packSegment(head, packed, { zlib, encryption });
    // The commits may have been dropped meanwhile.
    if (waiting.first !== (oldest ?? waiting.first)) return null;
    waiting.remove(frames);
    if (newest !== undefined) this.#before = { position: last, id };
    return { head, bytes, at };
  }

  /** @throws OtherWriter when another service has written the number. */
  async #send({ head, bytes }: Sending): Promise<void> {
    const { place, logger } = this.#options;
    if (!(await place.segments.create(segmentName(head.number), bytes))) {
      const found = await place.head(head.number);
      const isOwn = found.role === head.role && found.last === head.last && found.id === head.id;
      if (!isOwn) {
        // Perhaps a segment of an earlier run of this service, which has arrived late: then the database has the commits.
        this.#sending = null;
        this.#drop();
        this.#end = undefined;
        if (found.role === head.role || !hasPlace(this.#open.history, endOf(found)))
          throw new OtherWriter(place.address, `has a segment ${head.number} of another service`);
        return;
      }
    }
    this.#end = head;
    this.#segments += 1;
    if (isGap(head) && head.number > 1)
      logger.warn(`The continuous backup has a gap up to position ${head.last}; a snapshot is made at once`);
  }

  get name(): string {
    return this.#open.chain;
  }

  /** The bytes of the entries that were taken. */
  get appended(): number {
    return this.#appended;
  }

  /** Whether a snapshot can be made: the newest segment is known, and what waits follows. */
  get isReady(): boolean {
    const newest = this.#sending?.head ?? this.#end;
    return !this.#isOver && this.#end != null && newest != null && follows(this.#before, newest);
  }

  /** Whether no snapshot has closed the newest gap; the chain begins with a gap. @param position of the newest snapshot. */
  isMissing(position: number): boolean {
    return this.isReady && position < this.#gap;
  }

  /** The last position of the newest gap, also of a gap that has not left yet. */
  get #gap(): number {
    const newest = this.#sending?.head ?? this.#end;
    return newest != null && follows(this.#before, newest) ? newest.gap : this.#before.position;
  }

  /** Copies the files that the place lacks: a snapshot names no file that the place does not have. */
  async prepare(): Promise<void> {
    await this.#copies?.compare(this.#open.database.reader);
  }

  snapshots(): Promise<readonly SnapshotRow[]> {
    return this.#options.snapshots.list(this.#open.chain);
  }

  async removeSnapshot(): Promise<void> {
    // The list of the snapshots is the list of the objects.
  }

  /** The snapshots of the moments that can be restored: the newest that is older than `backup.keep`, and the later snapshots. */
  kept(snapshots: readonly SnapshotRow[]): number {
    const until = Date.now() - this.#options.keepMs();
    const oldest = snapshots.findIndex(({ madeAt }) => madeAt <= until);
    return oldest < 0 ? snapshots.length : Math.max(2, oldest + 1);
  }

  async addSnapshot({ position }: SnapshotRow): Promise<void> {
    if (position >= this.#gap) this.#lostAt = null;
  }

  /** The bytes of the entries behind a position. */
  async sizeAfter(position: number): Promise<number> {
    const { place } = this.#options;
    const end = this.#end;
    if (end == null) return 0;
    const number = await place.search(await place.first(), end.number, ({ last }) => last >= position);
    return number > end.number ? 0 : end.size - (await place.head(number)).size;
  }

  /** Removes the segments up to a position; the newest segment stays. */
  async trim(position: number): Promise<void> {
    const { place } = this.#options;
    const end = this.#end;
    if (end == null) return;
    const first = await place.first();
    const until = Math.min(end.number, await place.search(first, end.number, ({ last }) => last > position));
    for (let i = first; i < until; i += atATime) {
      const numbers = Array.from({ length: Math.min(atATime, until - i) }, (_, n) => i + n);
      await Promise.all(numbers.map((number) => place.segments.remove(segmentName(number))));
    }
  }
}

/** How late a backup is, in a line; null for a backup that is in time. */
export function latenessOf({ behindMs, problem, isOver, allowedMs }: ContinuousState): string | null {
  if (isOver && problem !== null) return problem;
  if (behindMs <= allowedMs) return null;
  const age = `The oldest write that is not in the continuous backup is ${Math.round(behindMs / 1_000)} s old`;
  return problem === null ? age : `${age}: ${problem}`;
}

/** Whether commits behind a place follow a segment. */
function follows({ position, id }: ChainPlace, end: SegmentHead): boolean {
  return end.last === position && end.id === id;
}

/** The place belongs to another service. */
class OtherWriter extends Error {
  constructor(address: string, what: string) {
    super(
      `The continuous backup has stopped: ${address} ${what}. Nothing was overwritten. Give each service a place of its own (backup.continuous) and start again; or stop the other service and restore from the place (socle restore ${address} --force)`,
    );
  }
}
