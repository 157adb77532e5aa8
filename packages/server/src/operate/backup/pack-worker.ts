/**
 * The thread that packs a backup: copies the held database file with the log, checks the copy, and writes the copy and
 * the files, or the copy alone, into an archive. The thread has a separate event loop, so that hashing, compressing and encrypting hold
 * up no request.
 */
import { appendFileSync, closeSync, openSync, readSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { ownerChannel } from "../../base/channel/index.ts";
import { isObject, messageOf, Secret } from "../../base/kernel/index.ts";
import { eachFile, type StorageDriver } from "../../files/storage/index.ts";
import { DatabaseFile, type HeldState, mergeLog } from "../../store/database/index.ts";
import { eventId } from "../../store/events/index.ts";
import {
  type AddEntry,
  databaseEntry,
  type Encryption,
  type FilesPlace,
  fileEntry,
  firstLine,
  formatOf,
  lastLine,
  type ManifestHead,
  manifestEntry,
  PacedFile,
  writeArchive,
} from "./archive.ts";
import { type DataPaths, driverOf } from "./data-paths.ts";

export interface PackRequest {
  /** The descriptors are not closed here. */
  readonly state: Pick<HeldState, "database" | "log">;
  /** Bytes of all files, about: for the progress alone. */
  readonly filesSize: number;
  /** Without the secret key of the store, which stands beside `files` as text: a `Secret` cannot be sent to a thread. */
  readonly files: DataPaths["files"];
  readonly secretKey: string | undefined;
  readonly filesPlace: FilesPlace;
  /** The folder of the backup, for the copy. */
  readonly folder: string;
  /** The file that is written. */
  readonly output: string;
  readonly encryption: Encryption | null;
  readonly version: string;
  /** Milliseconds since 1970: the moment of the state. */
  readonly createdAt: number;
  /** The first number is not 0 once the backup is given up. */
  readonly stop: Int32Array;
}

/** The messages that the owner of the thread takes. */
export interface ForBackup {
  /** The database is copied: the file may change again. */
  copied(argument: null): void;
  progress(bytes: { readonly done: number; readonly total: number }): void;
}

const pieceBytes = 256 * 1_024;
/** With more missing files, the storage is missing: a backup without the storage would be worthless. */
const maxMissing = 1_000;
const tellEveryMs = 100;
const shrinkBytes = 16 * 1_024 ** 2;
const shrinkPauseMs = 10;

class Packing {
  readonly #request: PackRequest;
  readonly #copy: string;
  readonly #lines: string;
  readonly #total: number;
  #done = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  readonly #missing: string[] = [];

  constructor(request: PackRequest) {
    this.#request = request;
    this.#copy = join(request.folder, "copy.db");
    this.#lines = join(request.folder, "entries");
    const { database, log } = request.state;
    this.#total = 2 * database.size + (log?.size ?? 0) + request.filesSize;
  }

  /** Answers the missing files. */
  async run(): Promise<readonly string[]> {
    const { database, log } = this.#request.state;
    await this.#copyOf(database, this.#copy);
    if (log !== null) await this.#copyOf(log, `${this.#copy}-wal`);
    owner.tell("copied", null);
    if (log !== null) mergeLog(this.#copy, log.pages);
    const copy = new DatabaseFile(this.#copy);
    try {
      const [problem] = copy.check("quick");
      if (problem !== undefined) throw new Error(`the database is damaged (${problem}); see socle verify`);
      await this.#pack(copy);
      return this.#missing;
    } finally {
      copy.close();
      await this.#shrinkCopy();
    }
  }

  /** A large file that is removed at once holds up the flushes of others. */
  async #shrinkCopy(): Promise<void> {
    for (let left = statSync(this.#copy).size; left > 0; left -= shrinkBytes) {
      truncateSync(this.#copy, Math.max(0, left - shrinkBytes));
      await Bun.sleep(shrinkPauseMs);
    }
  }

  async #copyOf({ file, size }: HeldState["database"], path: string): Promise<void> {
    const copy = new PacedFile(path);
    try {
      for (const piece of this.#pieces(file, size)) await copy.write(piece);
    } finally {
      copy.close(false);
    }
  }

  async #pack(copy: DatabaseFile): Promise<void> {
    const { output, encryption, version } = this.#request;
    const createdAt = new Date(this.#request.createdAt);
    await writeArchive(output, { encryption, createdAt }, async (add) => {
      writeFileSync(this.#lines, await this.#addFile(add, { name: databaseEntry, path: this.#copy }));
      const { filesPlace: place } = this.#request;
      if (place === "in the archive") await this.#packFiles(add, copy);
      const head = { format: formatOf(place), files: place, socle: version, createdAt: createdAt.toISOString() };
      const state = {
        schema: schemaOf(copy),
        event: lastEventOf(copy),
        counts: countsOf(copy),
        missing: this.#missing,
      };
      const [first, last] = [firstLine({ ...head, ...state }), `\n${lastLine}`];
      await this.#addFile(add, { name: manifestEntry, path: this.#lines, head: first, tail: last });
    });
  }

  async #packFiles(add: AddEntry, copy: DatabaseFile): Promise<void> {
    const { files, secretKey } = this.#request;
    const secretAccessKey = secretKey === undefined ? undefined : new Secret(secretKey);
    const driver = driverOf({ files: { ...files, s3: { ...files.s3, secretAccessKey } } });
    for (const file of eachFile(copy)) await this.#packFile(add, driver, file);
  }

  async #packFile(add: AddEntry, driver: StorageDriver, { id, size }: { id: string; size: number }): Promise<void> {
    this.#assertWanted();
    const body = await driver.read(id, null);
    // A file has 10 MiB at most, so the whole file is read before the entry begins.
    const bytes = body === null ? null : await new Response(body).bytes();
    if (bytes?.byteLength === size) {
      // The lines go to a file, because a service may have many files.
      appendFileSync(this.#lines, `,\n${await add(fileEntry(id), size, [bytes])}`);
    } else {
      this.#missing.push(id);
      if (this.#missing.length > maxMissing)
        throw new Error(`the bytes of more than ${maxMissing} files are missing; is the storage mounted?`);
    }
    this.#advance(size);
  }

  /**
   * Adds an entry of two texts and a file's bytes between. Descriptors belong to the process, and outlive a thread: the
   * descriptor is closed, whatever happens.
   */
  async #addFile(
    add: AddEntry,
    { name, path, head = "", tail = "" }: { name: string; path: string; head?: string; tail?: string },
  ): Promise<string> {
    const [first, last] = [Buffer.from(head), Buffer.from(tail)];
    const file = openSync(path, "r");
    try {
      const { size } = statSync(path);
      const bytes = this.#pieces(file, size);
      const pieces = (function* (): Iterable<Uint8Array> {
        yield first;
        yield* bytes;
        yield last;
      })();
      return await add(name, first.length + size + last.length, pieces);
    } finally {
      closeSync(file);
    }
  }

  /** The first `size` bytes of a file, or all bytes of a shorter file. */
  *#pieces(file: number, size: number): Iterable<Uint8Array> {
    for (let at = 0; at < size; ) {
      this.#assertWanted();
      const piece = new Uint8Array(Math.min(pieceBytes, size - at));
      const length = readSync(file, piece, 0, piece.byteLength, at);
      if (length === 0) return;
      yield piece.subarray(0, length);
      at += length;
      this.#advance(length);
    }
  }

  #assertWanted(): void {
    if (Atomics.load(this.#request.stop, 0) !== 0) throw new Error("it was given up");
  }

  #advance(bytes: number): void {
    this.#done += bytes;
    if (performance.now() - this.#toldAt < tellEveryMs) return;
    this.#toldAt = performance.now();
    owner.tell("progress", { done: Math.min(this.#done, this.#total), total: this.#total });
  }
}

function schemaOf(copy: DatabaseFile): ManifestHead["schema"] {
  const rows = copy.all<{ module: string; version: number }>("SELECT module, version FROM _schema");
  return Object.fromEntries(rows.map(({ module, version }) => [module, version]));
}

function lastEventOf(copy: DatabaseFile): string | null {
  const row = copy.get<{ seq: number; at: number }>("SELECT seq, at FROM _events ORDER BY seq DESC LIMIT 1");
  return row === null ? null : eventId(row.at, row.seq);
}

function countsOf(copy: DatabaseFile): ManifestHead["counts"] {
  const numberOf = (table: string): number => copy.get<{ n: number }>(`SELECT count(*) AS n FROM "${table}"`)?.n ?? 0;
  const tables = copy.all<{ name: string }>("SELECT name FROM _collections").map(({ name }) => name);
  const records = tables.reduce((sum, table) => sum + numberOf(table), 0);
  return { records, users: numberOf("_users"), files: numberOf("_files") };
}

/** A message of one line; a full disk is named in words. */
function lineOf(thrown: unknown): string {
  const code = isObject(thrown) && thrown["code"] === "ENOSPC" ? "the disk is full: " : "";
  return `${code}${messageOf(thrown)}`.replace(/\s*\n\s*/g, " ");
}

// On Linux the priority is that of the thread alone: requests go first.
if (process.platform === "linux") setPriority(0, 15);

const handlers = {
  /** Answers the ids of files with bytes that were missing or incomplete. @throws Error with one line. */
  async pack(request: PackRequest): Promise<readonly string[]> {
    try {
      return await new Packing(request).run();
    } catch (thrown) {
      throw new Error(lineOf(thrown));
    }
  },
};
export type PackHandlers = typeof handlers;

const owner = ownerChannel<ForBackup, PackHandlers>(handlers);
