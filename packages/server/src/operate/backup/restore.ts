/**
 * Restoring a backup: everything is unpacked beside the target and compared. Then the old data are moved aside and the
 * new data are moved in, by recorded moves that are finished after any crash.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { AppError, freeBytes, isObject, messageOf, SetupError } from "../../base/kernel/index.ts";
import { eachFile, isBucket, type StorageDriver } from "../../files/storage/index.ts";
import { DatabaseFile, DatabaseLock, leaveJournal, makeFolder } from "../../store/database/index.ts";
import { type ArchiveSource, type ManifestHead, PacedFile, Refusal, readArchive } from "./archive.ts";
import {
  type DataPaths,
  driverOf,
  fileWorkFolder,
  finishMoves,
  type Move,
  putRight,
  recordMoves,
  restoreFolder,
  snapshotFolder,
} from "./data-paths.ts";

/** The first files of a database that are looked for in the storage, when the archive has no files. */
const filesToLookFor = 5;

interface Restored {
  readonly head: ManifestHead;
  /** The places of the old data; empty without old data. */
  readonly aside: readonly string[];
  /** A line on the files that the archive does not have; null for an archive with the files. */
  readonly filesLine: string | null;
}

/**
 * Restores a backup, or a snapshot of a cluster: the database then belongs to a single service.
 * @param options.force also replaces existing data: the old data are moved aside. Files that the archive does not have
 * stay in the storage.
 * @param options.advance changes the unpacked database of an archive without files, and may put files; answers whether these are the files.
 * @throws SetupError while a service runs on the data, or for existing data; Error with one line for a backup that is
 * not whole, and for too little room. The target is unchanged then.
 */
export async function restoreBackup(
  source: ArchiveSource,
  {
    paths,
    force,
    advance,
  }: { paths: DataPaths; force: boolean; advance?: (database: string, files: StorageDriver) => Promise<boolean> },
): Promise<Restored> {
  const { database, files } = paths;
  return await alone(paths, async () => {
    const taken = force ? [] : takenBy(paths);
    if (taken.includes(database)) refuseTaken(taken);
    const folder = restoreFolder(database);
    const work = fileWorkFolder(paths);
    makeFolder(work, 0o700);
    const unpacked = driverOf({ files: { ...files, address: work, workFolder: work } });
    await unpacked.open();
    const head = await unpack(source, { folder, files: unpacked, depth: "quick" });
    const path = join(folder, "socle.db");
    const hasFiles = head.files === "in the archive" || (await advance?.(path, unpacked)) === true;
    // The end of the archive says whether the archive has files. Without files, the files of the storage stay.
    if (hasFiles && taken.length > 0) refuseTaken(taken);
    leaveJournal(path);
    if (hasFiles && isBucket(files.address)) {
      const target = driverOf(paths);
      await target.open();
      await putAll(path, unpacked, target);
    }
    const filesLine = hasFiles ? null : await lineOnFiles(path, paths);
    const moves = movesOf(paths, hasFiles ? work : null);
    makeMoves(paths, moves.all);
    rmSync(work, { recursive: true, force: true });
    return { head, aside: moves.aside, filesLine };
  });
}

/**
 * Replaces the database by the database of an archive, and removes the old database. The files stay as they are.
 * @throws SetupError while a service runs on the data; Error with one line for an archive that is not whole. The old
 * database is unchanged then.
 */
export async function replaceDatabase(source: ArchiveSource, paths: DataPaths): Promise<void> {
  const { database } = paths;
  await alone(paths, async () => {
    await unpack(source, { folder: restoreFolder(database), files: null, depth: "quick" });
    const folder = snapshotFolder(database);
    makeMoves(paths, databaseMoves(database, join(folder, "old")).all);
    rmSync(folder, { recursive: true, force: true });
  });
}

/** Moves the database aside, to be kept. Answers the folder. @throws SetupError while a service runs on the data. */
export async function setAside(paths: DataPaths): Promise<string> {
  const { database } = paths;
  const folder = join(dirname(database), asideName("before-rejoin"));
  await alone(paths, async () => {
    makeFolder(restoreFolder(database), 0o700);
    makeMoves(paths, databaseMoves(database, folder).old);
  });
  return folder;
}

function asideName(start: string): string {
  return `${start}-${new Date().toISOString().replaceAll(":", "-").replace(".", "-")}`;
}

/** Works on the data with the lock held. The remains of interrupted work are put right before, and the remains of a failure after. */
async function alone<T>(paths: DataPaths, work: () => Promise<T>): Promise<T> {
  const lock = new DatabaseLock(paths.database);
  try {
    putRight(paths);
    return await work();
  } catch (thrown) {
    putRight(paths);
    throw thrown;
  } finally {
    lock.close();
  }
}

function makeMoves(paths: DataPaths, moves: readonly Move[]): void {
  recordMoves(paths, moves);
  finishMoves(paths);
  rmSync(`${paths.database}-shm`, { force: true });
}

function refuseTaken(taken: readonly string[]): never {
  throw new SetupError(
    `${taken.join(" and ")}: ${taken.length > 1 ? "hold" : "holds"} data already; with --force, the data are moved aside, and stay`,
  );
}

/** Says where the files of a database must be, and whether the first files are in the storage. */
async function lineOnFiles(path: string, paths: DataPaths): Promise<string> {
  const { address } = paths.files;
  const line = `The files were not in the backup, and must be in storage (${address})`;
  const database = new DatabaseFile(path);
  try {
    const driver = driverOf(paths);
    let left = filesToLookFor;
    for (const { id, size } of eachFile(database)) {
      if (left === 0) break;
      left -= 1;
      if ((await driver.size(id)) === size) continue;
      return `${line}, which ${isBucket(address) ? "" : "is a folder, and "}lacks ${id}: set storage to the bucket of the files`;
    }
    return line;
  } catch (thrown) {
    // The database is whole without the storage, and a service starts without the storage, too.
    return `${line}, which could not be read: ${messageOf(thrown)}`;
  } finally {
    database.close();
  }
}

/** The names in a folder of files. The service's own work (`.work`) is neither restored nor moved. */
function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith(".")) : [];
}

/** The data that a restore would replace. */
function takenBy({ database, files }: DataPaths): string[] {
  const isTaken = [database, `${database}-wal`].some((path) => statSync(path, { throwIfNoEntry: false })?.size);
  const taken = isTaken ? [database] : [];
  const folders = isBucket(files.address) ? [] : namesIn(files.address);
  const hasFiles = folders.some((name) => {
    const path = join(files.address, name);
    return !statSync(path).isDirectory() || readdirSync(path).length > 0;
  });
  return hasFiles ? [...taken, files.address] : taken;
}

/** The moves of the old database to a folder, and of the new database in. */
function databaseMoves(database: string, aside: string): { old: Move[]; databaseIn: Move; all: Move[] } {
  const old: Move[] = [database, `${database}-wal`]
    .filter((path) => existsSync(path))
    .map((path) => [path, join(aside, path.slice(dirname(path).length + 1))]);
  const databaseIn: Move = [join(restoreFolder(database), "socle.db"), database];
  return { old, databaseIn, all: [...old, databaseIn] };
}

/**
 * Old data aside, new data in. The database comes last, so that nothing starts with half of the data.
 * @param work the folder of the new files; null if the files of the storage stay.
 */
function movesOf(paths: DataPaths, work: string | null): { all: Move[]; aside: string[] } {
  const { database, files } = paths;
  const name = asideName("before-restore");
  const asideDatabase = join(dirname(database), name);
  const { old, databaseIn, all } = databaseMoves(database, asideDatabase);
  const moved = old.length > 0 ? [asideDatabase] : [];
  if (isBucket(files.address) || work === null) return { all, aside: moved };
  const asideFiles = asideOf(files.address, asideDatabase, name);
  const oldFiles = namesIn(files.address).map((each): Move => [join(files.address, each), join(asideFiles, each)]);
  const newFiles = namesIn(work).map((each): Move => [join(work, each), join(files.address, each)]);
  const isInside = asideFiles.startsWith(asideDatabase) && moved.length > 0;
  const aside = [...moved, ...(oldFiles.length > 0 && !isInside ? [asideFiles] : [])];
  return { all: [...old, ...oldFiles, ...newFiles, databaseIn], aside };
}

/** Beside the old database if the folder of files is on the same disk, otherwise within the folder of files. */
function asideOf(address: string, asideDatabase: string, name: string): string {
  if (!existsSync(address)) return join(asideDatabase, "storage");
  const probe = join(address, `.${name}`);
  const target = join(dirname(asideDatabase), `.${name}`);
  try {
    writeFileSync(probe, "");
    renameSync(probe, target);
    return join(asideDatabase, "storage");
  } catch (thrown) {
    if (!isObject(thrown) || thrown["code"] !== "EXDEV") throw thrown;
    return probe;
  } finally {
    rmSync(probe, { force: true });
    rmSync(target, { force: true });
  }
}

async function write(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  let isWhole = false;
  const file = new PacedFile(path);
  try {
    for await (const piece of pieces) await file.write(piece);
    isWhole = true;
  } catch (thrown) {
    // A disk that refuses a write is no fault of the backup.
    if (isObject(thrown) && typeof thrown["syscall"] === "string")
      throw new Refusal(`cannot be unpacked: ${messageOf(thrown)}`);
    throw thrown;
  } finally {
    file.close(isWhole);
  }
}

/** @throws Refusal unless a disk has room for so many bytes. A small archive may declare many bytes. */
async function assertRoom(size: number, folder: string): Promise<void> {
  const free = await freeBytes(folder);
  if (size > free) throw new Refusal(`needs ${size} bytes, and the disk of ${folder} has ${free} bytes free`);
}

/**
 * Unpacks a backup, and compares everything with the manifest and with the database. The files of the archive come
 * after the database, so each file is looked up in the database.
 * @param folder is made, and gets the database as `socle.db`.
 * @param files takes the files over; null only checks the files.
 * @throws Error with one line.
 */
export async function unpack(
  source: ArchiveSource,
  { folder, files, depth }: { folder: string; files: StorageDriver | null; depth: "quick" | "full" },
): Promise<ManifestHead> {
  const path = join(folder, "socle.db");
  makeFolder(folder, 0o700);
  const opened: DatabaseFile[] = [];
  let found = 0;
  try {
    const head = await readArchive(source, async (entry, pieces) => {
      if (entry.id === null) {
        await assertRoom(entry.size, folder);
        await write(path, pieces);
        const database = new DatabaseFile(path);
        opened.push(database);
        return;
      }
      const [database] = opened;
      const row = database?.get<{ size: number }>("SELECT size FROM _files WHERE id = ?", entry.id);
      if (row?.size !== entry.size) throw new Error(`the file ${entry.id} is not that of its database`);
      const listed = "SELECT sum(size) AS size FROM _files";
      if (found === 0 && files !== null)
        await assertRoom(database?.get<{ size: number }>(listed)?.size ?? 0, files.workFolder);
      found += 1;
      if (files === null) {
        for await (const _ of pieces);
        return;
      }
      const upload = join(files.workFolder, "upload");
      await write(upload, pieces);
      await files.put(entry.id, upload);
    });
    const [unpacked] = opened;
    const [problem] = unpacked?.check(depth) ?? ["it is missing"];
    const listed = unpacked?.get<{ n: number }>("SELECT count(*) AS n FROM _files")?.n ?? 0;
    if (problem !== undefined) throw new Error(`${source.name}: its database is damaged: ${problem}`);
    const expected = head.files === "in the archive" ? listed - head.missing.length : 0;
    if (found !== expected)
      throw new Error(`${source.name}: is damaged: it has ${found} files, and ${expected} belong to its database`);
    return head;
  } finally {
    for (const database of opened) database.close();
    for (const ending of ["-wal", "-shm"]) rmSync(path + ending, { force: true });
  }
}

/** Puts the files of an unpacked backup into a store in which nothing can be moved. */
async function putAll(database: string, source: StorageDriver, target: StorageDriver): Promise<void> {
  const listed = new DatabaseFile(database);
  try {
    for (const { id } of eachFile(listed)) {
      const body = await source.read(id, null);
      if (body === null) continue;
      const upload = join(source.workFolder, "upload");
      await Bun.write(upload, await new Response(body).bytes());
      await target.put(id, upload);
    }
  } catch (thrown) {
    throw new AppError("unavailable", `The files could not be put into the store: ${messageOf(thrown)}`);
  } finally {
    listed.close();
  }
}
