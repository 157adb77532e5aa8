/** Static files of a folder: found by path, never outside of the folder, and compressed once if that helps. */
import { realpathSync, type Stats, statSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { Admission, BoundedMap, messageOf, SetupError } from "../../base/kernel/index.ts";
import { typeOfName } from "../../files/storage/index.ts";
import type { Exchange } from "./exchange.ts";
import { accepts, answerSiteFile, type Coding, isCompressible, type Representation } from "./file-response.ts";
import { decodePart, nothingHere } from "./headers.ts";

function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`));
}

/** The real path behind links, also of a path with last parts that do not exist yet. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPathOf(parent), basename(path));
  }
}

/** @throws SetupError for a folder that cannot be read. */
function statsOf(key: string, folder: string): Stats | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false });
  } catch (thrown) {
    throw new SetupError(`${key} ${folder}: is no folder that can be read: ${messageOf(thrown)}`);
  }
}

/** The parts of a path as names of files; null for a part that cannot be a name, or is hidden. */
export function namesOf(pathname: string): string[] | null {
  const names: string[] = [];
  for (const part of pathname.split("/").filter((each) => each !== "")) {
    const name = decodePart(part);
    const isHidden = name?.startsWith(".") && name !== ".well-known";
    if (name === null || isHidden || /[/\\\0]/.test(name)) return null;
    names.push(name);
  }
  return names;
}

/** Whether a browser asks for a page, as from the address bar. */
export function asksForPage({ method, headers }: Request): boolean {
  return (method === "GET" || method === "HEAD") && /(^|[\s,])text\/html\s*(;|,|$)/i.test(headers.get("accept") ?? "");
}

/** A file that a path stands for. */
interface FoundFile {
  readonly path: string;
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/** A file, or the folder of a path without the slash. */
type Found = FoundFile | "folder";

/** Codings made beforehand, best first: the file `app.js.br` is `app.js` in brotli. */
const prepared: readonly { readonly coding: Coding; readonly ending: string }[] = [
  { coding: "br", ending: ".br" },
  { coding: "gzip", ending: ".gz" },
];

/** Files of fewer bytes are not compressed: the answer would hardly be smaller. */
const leastSize = 1_024;
/** Files of more bytes are not compressed: a coding of this file is to be made beforehand. */
const mostSize = 8 * 1_024 ** 2;
/** Bytes of compressed files that are kept. */
const cacheSize = 16 * 1_024 ** 2;

/** Files up to so many bytes are held in memory for the answer. */
const readAtOnce = 256 * 1024;

interface StaticFilesOptions {
  /** The configuration key that names the folder. */
  key: "public" | "dashboard.path";
  folder: string;
  /** Paths of files and folders that no visitor may read. */
  secrets: readonly string[];
  /** Whether paths without a file are pages of the single-page app `index.html`. */
  hasFallback?: boolean;
}

export class StaticFiles {
  readonly #folder: string;
  readonly #hasFallback: boolean;
  /** First parts of paths that belong to the API and the dashboard, which are served beside the folder. */
  readonly #reserved: readonly string[];
  readonly #compressedFiles = new CompressedFiles();

  /** @throws SetupError when `folder` is no folder, or holds a secret. */
  constructor({ key, folder, secrets, hasFallback = false }: StaticFilesOptions) {
    const stats = statsOf(key, folder);
    if (stats === undefined) throw new SetupError(`${key} ${folder}: there is no such folder`);
    if (!stats.isDirectory()) throw new SetupError(`${key} ${folder}: is a file; it must be a folder`);
    this.#folder = realpathSync(folder);
    this.#hasFallback = hasFallback;
    this.#reserved = key === "public" ? ["api", "_"] : [];
    for (const secret of secrets)
      if (contains(this.#folder, realPathOf(secret)))
        throw new SetupError(
          `${key} ${folder}: everybody could read ${secret}, which it is or holds; use a folder of its own, such as ./${key.split(".")[0]}`,
        );
  }

  /** The file at a path, if any. A link that leads out of the folder is no file. */
  async find(pathname: string): Promise<Found | null> {
    const names = this.#namesOf(pathname);
    if (names === null) return null;
    const isFolderPath = pathname.endsWith("/");
    const path = join(this.#folder, ...names, ...(isFolderPath ? ["index.html"] : []));
    const found = await this.#lookAt(path);
    if (found !== "folder") return found;
    return isFolderPath || (await this.find(`${pathname}/`)) === null ? null : "folder";
  }

  async has(pathname: string): Promise<boolean> {
    const found = await this.find(pathname);
    return found !== null && found !== "folder";
  }

  /** The parts of a path; null for a path of the API or the dashboard, too. */
  #namesOf(pathname: string): string[] | null {
    const names = namesOf(pathname);
    return names === null || this.#reserved.includes(names[0] ?? "") ? null : names;
  }

  /**
   * The answer for a path: the file, or `index.html` for a page of a single-page app, if that is configured. This
   * page is a GET from a browser's address bar (HTML is accepted) of a path without an ending in the last part.
   */
  async findFor(request: Request, pathname: string): Promise<Found | null> {
    const found = await this.find(pathname);
    if (found !== null || !this.#hasFallback || this.#namesOf(pathname) === null) return found;
    const isPage = asksForPage(request) && !pathname.slice(pathname.lastIndexOf("/") + 1).includes(".");
    return isPage ? this.find("/") : null;
  }

  /** @param headers on top of the file's own. */
  async answer(
    exchange: Exchange,
    pathname: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const found = await this.findFor(exchange.request, pathname);
    if (found === null) throw nothingHere();
    if (found === "folder") {
      const name = pathname.split("/").at(-1) ?? "";
      const query = /\?[^#]*/.exec(exchange.request.url)?.[0] ?? "";
      // Relative: a proxy may have put something before the path.
      return exchange.respond(308, null, { Location: `./${name}/${query}` });
    }
    const mimeType = typeOfName(found.path);
    const coded = isCompressible(mimeType) ? await this.#compressed(exchange.request, found) : null;
    return answerSiteFile(exchange, { ...(coded ?? (await asItIs(found))), mimeType }, headers);
  }

  /** A file in a coding that the client accepts: made beforehand, or now; null for a plain answer. */
  async #compressed({ headers }: Request, file: FoundFile): Promise<Representation | null> {
    if (headers.has("range")) return null;
    const accepted = headers.get("accept-encoding");
    for (const { coding, ending } of prepared) {
      if (!accepts(accepted, coding)) continue;
      const sibling = await this.#lookAt(`${file.path}${ending}`);
      if (sibling === null || sibling === "folder") continue;
      const representation = await asItIs(sibling);
      return { ...representation, etag: tagFor(representation.etag, coding), coding };
    }
    if (!accepts(accepted, "gzip")) return null;
    const bytes = await this.#compressedFiles.get(file);
    if (bytes === null) return null;
    const { modifiedAt } = file;
    const etag = tagFor(etagOf(file), "gzip");
    return { body: new Blob([bytes]), size: bytes.byteLength, etag, modifiedAt, coding: "gzip" };
  }

  /** The file or folder at a path. A link that leads out of the folder leads nowhere. */
  async #lookAt(path: string): Promise<Found | null> {
    try {
      const real = await realpath(path);
      if (!contains(this.#folder, real)) return null;
      const found = await stat(real);
      if (found.isDirectory()) return "folder";
      return found.isFile() ? { path: real, size: found.size, modifiedAt: found.mtimeMs } : null;
    } catch {
      // No file, or no readable file: to a visitor both are the same.
      return null;
    }
  }
}

/** A file that is being replaced keeps its size between the look and the answer, if the file is small. */
async function asItIs(found: FoundFile): Promise<Representation> {
  const { path, modifiedAt } = found;
  const file = Bun.file(path);
  const isLarge = found.size > readAtOnce;
  const body = isLarge ? file : new Blob([await file.bytes().catch(() => Promise.reject(nothingHere()))]);
  const size = isLarge ? found.size : body.size;
  return { body, size, etag: etagOf({ size, modifiedAt }), modifiedAt, coding: null };
}

function etagOf({ size, modifiedAt }: { size: number; modifiedAt: number }): string {
  return `"${size.toString(36)}-${Math.round(modifiedAt * 1_000).toString(36)}"`;
}

/** The tag of a file in a coding: other bytes than the file's own (RFC 9110, 8.8.3.3). */
function tagFor(etag: string, coding: Coding): string {
  return `${etag.slice(0, -1)}-${coding}"`;
}

interface Entry {
  readonly source: FoundFile;
  /** Null for a file that does not get smaller, or is gone. */
  readonly compressed: Promise<Uint8Array | null>;
  /** Of the compressed bytes, once there are any. */
  readonly size: number;
}

/** Files compressed with gzip: once, singly, off the event loop. Past the bound the longest unused go. */
export class CompressedFiles {
  // A file that does not get smaller is remembered, too.
  readonly #entries = new BoundedMap<string, Entry>(cacheSize, (path, { size }) => size + path.length);
  readonly #admission = new Admission({ width: 1 });

  /** The compressed bytes of a file; null for a file that is answered uncompressed. */
  get(source: FoundFile): Promise<Uint8Array | null> {
    const { path, size, modifiedAt } = source;
    if (size < leastSize || size > mostSize) return Promise.resolve(null);
    const known = this.#entries.use(path);
    if (known?.source.size === size && known.source.modifiedAt === modifiedAt) return known.compressed;
    // A file that is gone cannot be compressed; the answer finds out.
    const compressed = this.#admission.run(() => compressedBytes(source)).catch(() => null);
    const entry = { source, size: 0, compressed };
    this.#entries.set(path, entry);
    void compressed.then((bytes) => {
      if (this.#entries.get(path) === entry) this.#entries.set(path, { ...entry, size: bytes?.byteLength ?? 0 });
    });
    return compressed;
  }
}

async function compressedBytes({ path, size }: FoundFile): Promise<Uint8Array | null> {
  const bytes = await Bun.file(path).bytes();
  // Replaced since the last look.
  if (bytes.byteLength !== size) return null;
  // Loaded on demand: the module brings the streams of Node.
  const { gzip } = await import("node:zlib");
  const compressed = await new Promise<Uint8Array>((resolve, reject) =>
    gzip(bytes, (error, result) => (error === null ? resolve(result) : reject(error))),
  );
  return compressed.byteLength < bytes.byteLength ? compressed : null;
}
