/**
 * The file of a backup: entries of a tar, compressed with zstd, encrypted if asked for in the age format
 * (age-encryption.org/v1), written and read in bounded memory.
 * The last entry is the manifest, which lists the other entries. The manifest is JSON, written and read line by line,
 * because a service may have many files: the first line has everything but the entries, then each entry has a line.
 */
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { createTarDecoder, createTarPacker, type ParsedTarEntry } from "modern-tar";
import packageJson from "../../../package.json" with { type: "json" };
import { isObject, messageOf, SetupError } from "../../base/kernel/index.ts";

export type Encryption = { readonly passphrase: string } | { readonly recipient: string };

/** A passphrase goes before the recipient of the configuration; null without either. */
export function encryptionFor(recipient: string | undefined, passphrase: string | null): Encryption | null {
  if (passphrase !== null) return { passphrase };
  return recipient === undefined ? null : { recipient };
}

/** Bytes that no other thread shares: the runtime's streams take no others. */
type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

/** Whether a text is the public key of an age identity. */
export async function isRecipient(text: string): Promise<boolean> {
  const { Encrypter } = await import("age-encryption");
  try {
    new Encrypter().addRecipient(text);
    return true;
  } catch {
    return false;
  }
}

/** Encrypts bytes in the age format. */
export async function encrypt(bytes: Bytes, encryption: Encryption): Promise<ReadableStream<Uint8Array>> {
  const { Encrypter } = await import("age-encryption");
  const encrypter = new Encrypter();
  if ("passphrase" in encryption) encrypter.setPassphrase(encryption.passphrase);
  else encrypter.addRecipient(encryption.recipient);
  return encrypter.encrypt(bytes);
}

/** How an encrypted backup is opened: a passphrase, or the identity that belongs to the recipient. */
export type Identity = { readonly passphrase: string } | { readonly identity: string };

/** @throws Error for a wrong passphrase or identity. */
export async function decrypt(bytes: Bytes, identity: Identity): Promise<Bytes> {
  const { Decrypter } = await import("age-encryption");
  const decrypter = new Decrypter();
  if ("passphrase" in identity) decrypter.addPassphrase(identity.passphrase);
  else decrypter.addIdentity(identity.identity);
  try {
    return (await decrypter.decrypt(bytes)).pipeThrough(
      new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
        transform: (piece, controller) => controller.enqueue(new Uint8Array(piece)),
      }),
    );
  } catch (thrown) {
    const which = "passphrase" in identity ? "passphrase" : "identity";
    throw new Error(`the ${which} does not open it (${messageOf(thrown)})`);
  }
}

/** The identity in a key file, as `age-keygen` writes the file. @throws SetupError for a file without an identity. */
export function backupIdentity(text: string, file: string): string {
  const line = text.split(/\r?\n/).find((each) => each.startsWith("AGE-SECRET-KEY-"));
  if (line === undefined)
    throw new SetupError(`${file}: holds no identity; a line of the file must begin with AGE-SECRET-KEY-`);
  return line.trim();
}

/** The place of the bytes of the files: entries of the archive, or the storage alone, beside an archive of the database alone. */
export type FilesPlace = "in the archive" | "in the storage";

/** The layout of an archive. Versions that know layout 1 alone refuse an archive without files, which has layout 2. */
export function formatOf(files: FilesPlace): number {
  return files === "in the archive" ? 1 : 2;
}

/** The newest layout that this build reads. */
const newestFormat = 2;

export const databaseEntry = "socle.db";
export const manifestEntry = "manifest.json";
const filePattern = /^files\/(fil_[A-Za-z0-9_-]{1,100})$/;

export interface ManifestHead {
  /** The version of the layout: `formatOf(files)`. */
  readonly format: number;
  readonly files: FilesPlace;
  /** The version of the program. */
  readonly socle: string;
  /** The moment of the state. ISO 8601, UTC. */
  readonly createdAt: string;
  /** The version of each module's tables. */
  readonly schema: { readonly [module: string]: number };
  /** The last event in the log: a client may resume from this event. */
  readonly event: string | null;
  readonly counts: { readonly records: number; readonly users: number; readonly files: number };
  /** Ids of files with bytes that were missing or incomplete when the backup was made. Empty if the files are in the storage. */
  readonly missing: readonly string[];
}

export function fileEntry(id: string): string {
  return `files/${id}`;
}

function entryLine(name: string, size: number, hasher: Bun.CryptoHasher): string {
  return JSON.stringify({ name, size, sha256: hasher.digest("hex") });
}

export function firstLine(head: ManifestHead): string {
  return `${JSON.stringify(head).slice(0, -1)},"entries":[\n`;
}

export const lastLine = "]}\n";

const end = lastLine.trim();

/** A line of a manifest; the first has the ids of up to 1,000 missing files. */
const longestLine = 1024 ** 2;

/** Bytes between two flushes, so that no flush of the log waits behind much. */
const flushBytes = 1024 ** 2;

/** So much is compressed at a time, as a separate frame (RFC 8878, 3.1). */
const frameBytes = 1024 ** 2;

/**
 * Compresses on this thread, which has a lower priority than requests. The runtime's own stream compresses on threads
 * without that priority.
 */
async function compressor(): Promise<TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>> {
  // Loaded on demand: the module brings the streams of Node, which a service that makes no backup does not need.
  const { constants, zstdCompressSync } = await import("node:zlib");
  // Each frame ends with a checksum of the content, so that no flipped bit changes what is read.
  const params = { [constants.ZSTD_c_checksumFlag]: 1 };
  let waiting: Uint8Array[] = [];
  let length = 0;
  const compress = (controller: TransformStreamDefaultController<Uint8Array<ArrayBuffer>>): void => {
    controller.enqueue(new Uint8Array(zstdCompressSync(Buffer.concat(waiting), { params })));
    waiting = [];
    length = 0;
  };
  return new TransformStream({
    transform(piece, controller) {
      waiting.push(piece);
      length += piece.byteLength;
      if (length >= frameBytes) compress(controller);
    },
    flush: (controller) => (length > 0 ? compress(controller) : undefined),
  });
}

/** Writes to a disk that others need as well: after each flush the writer rests as long as the flush took. */
export class PacedFile {
  readonly #file: number;
  #unflushed = 0;
  #isClosed = false;

  constructor(path: string) {
    this.#file = openSync(path, "w", 0o600);
  }

  async write(bytes: Uint8Array): Promise<void> {
    const start = performance.now();
    for (let at = 0; at < bytes.byteLength; ) at += writeSync(this.#file, bytes, at);
    this.#unflushed += bytes.byteLength;
    if (this.#unflushed < flushBytes) return;
    this.#unflushed = 0;
    fdatasyncSync(this.#file);
    await Bun.sleep(performance.now() - start);
  }

  /** @param isWhole whether the file must survive a power cut. */
  close(isWhole: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      if (isWhole) fsyncSync(this.#file);
    } finally {
      closeSync(this.#file);
    }
  }
}

/**
 * Adds an entry of exactly `size` bytes to an archive. Answers the entry's line of the manifest.
 * @throws Error when the pieces have more or fewer bytes, or the file cannot be written.
 */
export type AddEntry = (
  name: string,
  size: number,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
) => Promise<string>;

/**
 * Writes an archive of the entries that `fill` adds. Resolves once the archive would survive a power cut.
 * After a failure, the unfinished file stays for the caller to remove.
 */
export async function writeArchive(
  path: string,
  { encryption, createdAt }: { encryption: Encryption | null; createdAt: Date },
  fill: (add: AddEntry) => Promise<void>,
): Promise<void> {
  const file = new PacedFile(path);
  const { readable, controller } = createTarPacker();
  const add: AddEntry = async (name, size, pieces) => {
    const writer = controller.add({ name, size, type: "file", mode: 0o600, mtime: createdAt }).getWriter();
    const hasher = new Bun.CryptoHasher("sha256");
    let length = 0;
    for await (const piece of pieces) {
      hasher.update(piece);
      length += piece.byteLength;
      await writer.ready;
      await writer.write(piece);
    }
    if (length !== size) throw new Error(`${name} has ${length} bytes in place of ${size}`);
    await writer.close();
    return entryLine(name, size, hasher);
  };
  // An error of `fill` goes through the stream to the loop below; an error of the file goes back to `fill`.
  const filled = fill(add)
    .then(() => controller.finalize())
    .catch((thrown) => controller.error(thrown));
  try {
    const compressed = readable.pipeThrough(await compressor());
    const bytes = encryption === null ? compressed : await encrypt(compressed, encryption);
    for await (const piece of bytes) await file.write(piece);
    file.close(true);
  } catch (thrown) {
    controller.error(thrown);
    await filled;
    throw thrown;
  } finally {
    file.close(false);
  }
}

/** A backup that is whole and cannot be used all the same, or a disk that does not take the backup. */
export class Refusal extends Error {}

/**
 * Reads a manifest. Answers the head, and a checksum over the lines of the entries.
 * @throws Refusal for a manifest of a newer version, Error for a manifest that is not whole.
 */
async function readManifest(
  body: ReadableStream<Uint8Array>,
  known: ManifestHead["schema"],
): Promise<{ head: ManifestHead; entries: string }> {
  const entries = new Bun.CryptoHasher("sha256");
  let head: ManifestHead | null = null;
  let isComplete = false;
  for await (const line of linesOf(body)) {
    if (isComplete) throw new Error("the archive goes on behind its end");
    if (head === null) head = parseHead(line, known);
    else if (line === end) isComplete = true;
    else entries.update(`${line.replace(/,$/, "")}\n`);
  }
  if (head === null || !isComplete) throw new Error("its end is missing");
  return { head, entries: entries.digest("hex") };
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of body) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > longestLine) throw new Error("a line of its manifest is too long");
    yield* lines;
  }
}

function parseHead(line: string, known: ManifestHead["schema"]): ManifestHead {
  const value: unknown = JSON.parse(line + end);
  if (!isObject(value) || typeof value["format"] !== "number") throw new Error("the archive has no format");
  const { format, files: place = "in the archive", socle, createdAt, schema, event, counts, missing } = value;
  // A newer layout may have other members; the number is enough to refuse the backup.
  const isNewer =
    format > newestFormat ||
    (isNumbers(schema) && Object.entries(schema).some(([name, version]) => version > (known[name] ?? 0)));
  if (isNewer)
    throw new Refusal(
      `was made by a newer version (${socle}) than this version (${packageJson.version}); restore the backup with that version, or a later version`,
    );
  const isGood =
    isFilesPlace(place) &&
    typeof socle === "string" &&
    typeof createdAt === "string" &&
    isNumbers(schema) &&
    (event === null || typeof event === "string") &&
    isNumbers(counts) &&
    Array.isArray(missing) &&
    missing.every((id) => typeof id === "string");
  if (!isGood) throw new Error("its first line is not complete");
  const { records = 0, users = 0, files = 0 } = counts;
  return { format, files: place, socle, createdAt, schema, event, counts: { records, users, files }, missing };
}

function isFilesPlace(value: unknown): value is FilesPlace {
  return value === "in the archive" || value === "in the storage";
}

function isNumbers(value: unknown): value is { [name: string]: number } {
  return isObject(value) && Object.values(value).every((number) => typeof number === "number");
}

const ageStart = Buffer.from("age-encryption.org/v1\n");
const zstdStart = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Takes an entry's bytes: of the database (`id` is null) or of a file. */
type EntrySink = (entry: { id: string | null; size: number }, pieces: AsyncIterable<Uint8Array>) => Promise<void>;

export interface ArchiveSource {
  /** As messages name the backup. */
  name: string;
  /** The file of the backup. */
  source: Blob;
  /** Asked for when the backup is encrypted. */
  identity: () => Promise<Identity>;
  /** The versions of the tables that this build knows. */
  schemas: ManifestHead["schema"];
  /** Called with the bytes of the file that were read so far. */
  onProgress?: (done: number) => void;
}

/**
 * Reads all of a backup. The bytes that `onEntry` was given may not be used before this resolves.
 * @throws Error with one line: damaged, cut off, not a backup, made by a newer version, a wrong passphrase.
 */
export async function readArchive(archive: ArchiveSource, onEntry: EntrySink): Promise<ManifestHead> {
  const { name, source, schemas, identity, onProgress } = archive;
  const unopened = (thrown: unknown): never => {
    throw new Error(`${name}: cannot be opened: ${messageOf(thrown)}`);
  };
  const start = await source.slice(0, 64).bytes();
  const startsWith = (expected: Buffer): boolean => expected.every((byte, i) => start[i] === byte);
  const isEncrypted = startsWith(ageStart);
  if (!isEncrypted && !startsWith(zstdStart)) throw new Error(`${name}: is not a backup of Socle`);
  let done = 0;
  const raw = source.stream().pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(piece, controller) {
        done += piece.byteLength;
        onProgress?.(done);
        controller.enqueue(piece);
      },
    }),
  );
  // Whether the key is right is known before the first entry.
  const bytes = isEncrypted ? await decrypt(raw, await identity()).catch(unopened) : raw;
  try {
    return await readEntries(bytes, schemas, onEntry);
  } catch (thrown) {
    if (thrown instanceof Refusal) throw new Error(`${name}: ${thrown.message}`);
    throw new Error(`${name}: is damaged or cut off, and was not used: ${messageOf(thrown)}`);
  }
}

async function readEntries(bytes: Bytes, schemas: ManifestHead["schema"], onEntry: EntrySink): Promise<ManifestHead> {
  const seen = new Bun.CryptoHasher("sha256");
  let manifest: { head: ManifestHead; entries: string } | null = null;
  let isFirst = true;
  const entries: ReadableStream<ParsedTarEntry> = bytes
    .pipeThrough(new DecompressionStream("zstd"))
    .pipeThrough(createTarDecoder({ strict: true }));
  for await (const { header, body } of entries) {
    if (manifest !== null) throw new Error("an entry follows the manifest");
    if (header.name === manifestEntry) {
      manifest = await readManifest(body, schemas);
      continue;
    }
    const id = filePattern.exec(header.name)?.[1] ?? null;
    if (isFirst !== (header.name === databaseEntry) || (id === null && !isFirst))
      throw new Refusal("is not a backup of Socle: it has other entries");
    isFirst = false;
    const hasher = new Bun.CryptoHasher("sha256");
    await onEntry({ id, size: header.size }, hashed(body, hasher));
    seen.update(`${entryLine(header.name, header.size, hasher)}\n`);
  }
  if (manifest === null) throw new Error("its manifest is missing");
  if (seen.digest("hex") !== manifest.entries) throw new Error("the entries are not the entries of the manifest");
  return manifest.head;
}

async function* hashed(body: ReadableStream<Uint8Array>, hasher: Bun.CryptoHasher): AsyncIterable<Uint8Array> {
  for await (const piece of body) {
    hasher.update(piece);
    yield piece;
  }
}
