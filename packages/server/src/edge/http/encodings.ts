/** Content codings of static files (RFC 9110, 8.4): the codings that a client accepts, and compressed files in memory. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Admission, BoundedMap } from "../../base/kernel/index.ts";

export type Coding = "br" | "gzip";

/** Files of fewer bytes are not compressed: the answer would hardly be smaller. */
const leastSize = 1_024;
/** Files of more bytes are not compressed: a coding of such a file is to be made beforehand. */
const mostSize = 8 * 1_024 ** 2;
/** Bytes of compressed files that are kept. */
const cacheSize = 16 * 1_024 ** 2;
/** Types that are text, or as good as: their bytes repeat themselves. */
const compressible =
  /^(text\/.+|image\/svg\+xml|image\/bmp|font\/(ttf|otf)|application\/(wasm|(.+\+)?(json|xml)|(x-)?javascript|manifest\+json))$/;

const compress = promisify(gzip);

/** Whether `Accept-Encoding` allows a coding (RFC 9110, 12.5.3). */
export function accepts(header: string | null, coding: Coding): boolean {
  let isAccepted = false;
  for (const item of (header ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    const isAny = name === "*";
    if (name !== coding && !(name === "x-gzip" && coding === "gzip") && !isAny) continue;
    const isWanted = !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    // The coding's own name outweighs the asterisk.
    if (!isAny) return isWanted;
    isAccepted = isWanted;
  }
  return isAccepted;
}

/** Whether a file may be answered compressed, so that its answers depend on `Accept-Encoding`. */
export function isCompressible(mimeType: string): boolean {
  return compressible.test(mimeType);
}

/** A file on disk. */
interface Source {
  readonly path: string;
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

interface Entry {
  readonly source: Source;
  /** Null for a file that does not get smaller, or is gone. */
  readonly compressed: Promise<Uint8Array | null>;
  /** Of the compressed bytes, once there are any. */
  readonly size: number;
}

/** Files compressed with gzip: each once, singly, off the event loop. Past the bound the longest unused go. */
export class CompressedFiles {
  // A file that does not get smaller is remembered, too.
  readonly #entries = new BoundedMap<string, Entry>(cacheSize, (path, { size }) => size + path.length);
  readonly #admission = new Admission({ width: 1 });

  /** The compressed bytes of a file; null for a file that is answered uncompressed. */
  get(source: Source): Promise<Uint8Array | null> {
    const { path, size, modifiedAt } = source;
    if (size < leastSize || size > mostSize) return Promise.resolve(null);
    const known = this.#entries.use(path);
    if (known?.source.size === size && known.source.modifiedAt === modifiedAt) return known.compressed;
    return this.#begin(source).compressed;
  }

  #begin(source: Source): Entry {
    const work = async (): Promise<Uint8Array | null> => {
      const bytes = await Bun.file(source.path).bytes();
      // Replaced since the last look.
      if (bytes.byteLength !== source.size) return null;
      const compressed = await compress(bytes);
      return compressed.byteLength < bytes.byteLength ? compressed : null;
    };
    const entry: Entry = {
      source,
      size: 0,
      // A file that is gone cannot be compressed; the answer finds out by itself.
      compressed: this.#admission.run(work).catch(() => null),
    };
    this.#entries.set(source.path, entry);
    void entry.compressed.then((bytes) => {
      if (this.#entries.get(source.path) === entry)
        this.#entries.set(source.path, { ...entry, size: bytes?.byteLength ?? 0 });
    });
    return entry;
  }
}
