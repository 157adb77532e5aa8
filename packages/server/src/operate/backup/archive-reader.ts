/**
 * Reading the file of a backup, entry by entry, in bounded memory. An entry that differs from the manifest is refused.
 */
import { createTarDecoder, type ParsedTarEntry } from "modern-tar";
import { messageOf } from "../../base/kernel/index.ts";
import { type Bytes, decrypt, type Identity, isEncrypted } from "./encryption.ts";
import {
  databaseEntry,
  entryLine,
  idOfEntry,
  type ManifestHead,
  manifestEntry,
  Refusal,
  readManifest,
} from "./manifest.ts";

const zstdStart = [0x28, 0xb5, 0x2f, 0xfd];

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
  const { name, source, schemas, onProgress } = archive;
  const start = await source.slice(0, 64).bytes();
  const encrypted = isEncrypted(start);
  if (!encrypted && !zstdStart.every((byte, i) => start[i] === byte))
    throw new Error(`${name}: is not a backup of Socle`);
  const raw = counted(source.stream(), onProgress);
  // Whether the key is right is known before the first entry.
  const bytes = encrypted ? await opened(raw, archive) : raw;
  try {
    return await readEntries(bytes, schemas, onEntry);
  } catch (thrown) {
    if (thrown instanceof Refusal) throw new Error(`${name}: ${thrown.message}`);
    throw new Error(`${name}: is damaged or cut off, and was not used: ${messageOf(thrown)}`);
  }
}

async function opened(raw: Bytes, { name, identity }: ArchiveSource): Promise<Bytes> {
  const key = await identity();
  try {
    return await decrypt(raw, key);
  } catch (thrown) {
    throw new Error(`${name}: cannot be opened: ${messageOf(thrown)}`);
  }
}

function counted(bytes: Bytes, onProgress: ((done: number) => void) | undefined): Bytes {
  let done = 0;
  return bytes.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(piece, controller) {
        done += piece.byteLength;
        onProgress?.(done);
        controller.enqueue(piece);
      },
    }),
  );
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
    const id = idOfEntry(header.name);
    if (isFirst !== (header.name === databaseEntry) || (id === null && !isFirst))
      throw new Refusal("is not a backup of Socle: it has other entries");
    isFirst = false;
    const hasher = new Bun.CryptoHasher("sha256");
    await onEntry({ id, size: header.size }, hashed(body, hasher));
    seen.update(`${entryLine({ name: header.name, size: header.size, sha256: hasher.digest("hex") })}\n`);
  }
  if (manifest === null) throw new Error("its manifest is missing");
  if (seen.digest("hex") !== manifest.entries) throw new Error("its entries are not those of its manifest");
  return manifest.head;
}

async function* hashed(body: ReadableStream<Uint8Array>, hasher: Bun.CryptoHasher): AsyncIterable<Uint8Array> {
  for await (const piece of body) {
    hasher.update(piece);
    yield piece;
  }
}
