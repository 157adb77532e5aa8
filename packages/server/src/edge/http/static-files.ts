/** Static files of a folder: found by their paths, never outside of the folder, and compressed if that helps. */
import { realpathSync, type Stats, statSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { AppError, messageOf, SetupError } from "../../base/kernel/index.ts";
import { typeOfName } from "../../files/storage/index.ts";
import { accepts, type Coding, CompressedFiles, isCompressible } from "./encodings.ts";
import type { Exchange } from "./exchange.ts";
import { answerFile, contentType } from "./file-answer.ts";

function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`));
}

/** The real path behind links, also of a path whose last parts do not exist yet. */
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

/** First parts of paths that the API and the dashboard reserve. */
const reserved = ["api", "_"];

/** The parts of a path as names of files; null for a part that cannot be a name, or is hidden. */
export function namesOf(pathname: string): string[] | null {
  const names: string[] = [];
  for (const part of pathname.split("/").filter((each) => each !== "")) {
    let name: string;
    try {
      name = decodeURIComponent(part);
    } catch {
      // Not valid percent-encoding: the part names nothing.
      return null;
    }
    const isHidden = name.startsWith(".") && name !== ".well-known";
    if (isHidden || /[/\\\0]/.test(name)) return null;
    names.push(name);
  }
  return names;
}

/** Whether a browser asks for a page, as from its address bar. */
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

/** A file, or the folder whose path lacks its slash. */
type Found = FoundFile | "folder";

/** The bytes of an answer: the bytes of a file, plain or in a content coding. */
interface Representation {
  readonly body: Blob;
  readonly size: number;
  /** Differs between the codings of a file. */
  readonly etag: string;
  readonly modifiedAt: number;
  readonly coding: Coding | null;
}

/** Codings made beforehand, best first: the file `app.js.br` is `app.js` in brotli. */
const prepared: readonly { readonly coding: Coding; readonly ending: string }[] = [
  { coding: "br", ending: ".br" },
  { coding: "gzip", ending: ".gz" },
];

/** Files up to so many bytes are held in memory for their answer. */
const readAtOnce = 256 * 1024;

function gone(): never {
  throw new AppError("not_found", "There is nothing at this path.");
}

interface StaticFilesOptions {
  /** The configuration key that names the folder. */
  key: "public" | "dashboard.path";
  folder: string;
  /** Paths of files and folders that no visitor may read. */
  secrets: readonly string[];
  /** Whether paths without a file are pages of the single-page app `index.html`. */
  hasFallback?: boolean;
}

/** A folder of static files. */
export class StaticFiles {
  readonly #folder: string;
  readonly #hasFallback: boolean;
  /** Names that are not served, because the whole of the service is served beside the folder. */
  readonly #reserved: readonly string[];
  readonly #compressedFiles = new CompressedFiles();

  /** @throws SetupError when `folder` is no folder, or holds a secret. */
  constructor({ key, folder, secrets, hasFallback = false }: StaticFilesOptions) {
    const stats = statsOf(key, folder);
    if (stats === undefined) throw new SetupError(`${key} ${folder}: there is no such folder`);
    if (!stats.isDirectory()) throw new SetupError(`${key} ${folder}: is a file; it must be a folder`);
    this.#folder = realpathSync(folder);
    this.#hasFallback = hasFallback;
    this.#reserved = key === "public" ? reserved : [];
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

  /** Whether a path leads to a file; `/` is `index.html`. */
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
   * page is a GET from a browser's address bar (HTML is accepted) of a path whose last part has no ending.
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
    if (found === null) return gone();
    if (found === "folder") {
      const name = pathname.split("/").at(-1) ?? "";
      const query = /\?[^#]*/.exec(exchange.request.url)?.[0] ?? "";
      // Relative: a proxy may have put something before the path.
      return exchange.respond(308, null, { Location: `./${name}/${query}` });
    }
    const mimeType = typeOfName(found.path);
    const isVariable = isCompressible(mimeType);
    const chosen = (isVariable ? await this.#compressed(exchange.request, found) : null) ?? (await asItIs(found));
    const { body, size, etag, modifiedAt, coding } = chosen;
    return answerFile(exchange, {
      size,
      etag,
      modifiedAt,
      headers: {
        "Content-Type": contentType(mimeType),
        "Cache-Control": "no-cache",
        ...(isVariable && { Vary: "Accept-Encoding" }),
        // Parts are parts of the plain file: a request for a part is not answered compressed.
        ...(coding !== null && { "Content-Encoding": coding, "Accept-Ranges": "none" }),
        ...headers,
      },
      read: async (range) => (range === null ? body : body.slice(range.start, range.end)),
    });
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
    const body = new Blob([bytes]);
    return { body, size: body.size, etag: tagFor(etagOf(file), "gzip"), modifiedAt, coding: "gzip" };
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
  const body = isLarge ? file : new Blob([await file.bytes().catch(gone)]);
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
