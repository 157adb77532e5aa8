/** An unpacked backup: the database and the files of an archive in folders of their own, compared with each other. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { AppError, freeBytes, isObject, messageOf } from "../../base/kernel/index.ts";
import { eachFile, type StorageDriver } from "../../files/storage/index.ts";
import { DatabaseFile, makeFolder } from "../../store/database/index.ts";
import { type ArchiveSource, readArchive } from "./archive-reader.ts";
import { PacedFile } from "./archive-writer.ts";
import { type ManifestHead, Refusal } from "./manifest.ts";

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

async function drain(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of pieces);
}

/** @throws Refusal unless a disk has room for so many bytes. A small archive may declare many bytes. */
async function assertRoom(size: number, folder: string): Promise<void> {
  const free = await freeBytes(folder);
  if (size > free) throw new Refusal(`needs ${size} bytes, and the disk of ${folder} has ${free} bytes free`);
}

/**
 * Unpacks a backup, and compares everything with its manifest and with its database. The files of the archive come
 * after its database, so each file is looked up in the database.
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
        const listed = database.get<{ size: number | null }>("SELECT sum(size) AS size FROM _files")?.size ?? 0;
        if (files !== null) await assertRoom(listed, files.workFolder);
        return;
      }
      const row = opened[0]?.get<{ size: number }>("SELECT size FROM _files WHERE id = ?", entry.id);
      if (row?.size !== entry.size) throw new Error(`the file ${entry.id} is not that of its database`);
      found += 1;
      if (files === null) return drain(pieces);
      const upload = join(files.workFolder, "upload");
      await write(upload, pieces);
      await files.put(entry.id, upload);
    });
    const [unpacked] = opened;
    const [problem] = unpacked?.check(depth) ?? ["it is missing"];
    const listed = unpacked?.get<{ n: number }>("SELECT count(*) AS n FROM _files")?.n ?? 0;
    if (problem !== undefined) throw new Error(`${source.name}: its database is damaged: ${problem}`);
    if (listed !== found + head.missing.length)
      throw new Error(`${source.name}: is damaged: it has ${found} files, and its database has ${listed}`);
    return head;
  } finally {
    for (const database of opened) database.close();
    for (const ending of ["-wal", "-shm"]) rmSync(path + ending, { force: true });
  }
}

/** Puts the files of an unpacked backup into a store in which nothing can be moved. */
export async function putAll(database: string, source: StorageDriver, target: StorageDriver): Promise<void> {
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
