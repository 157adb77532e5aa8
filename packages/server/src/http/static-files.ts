import { realpathSync, statSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { AppError, messageOf, SetupError } from "../kernel/index.ts";
import { typeOfName } from "../storage/index.ts";
import type { Exchange } from "./exchange.ts";
import { answerFile, contentType } from "./file-answer.ts";

function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`));
}

/** Where a path really leads, also when its last parts are not there yet. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPathOf(parent), basename(path));
  }
}

/** What the API and the dashboard keep for themselves. */
const reserved = ["api", "_"];

/** The parts of a path as names of files; null when one of them cannot be, is hidden, or is another's. */
function namesOf(pathname: string): string[] | null {
  const names: string[] = [];
  for (const part of pathname.split("/").filter((each) => each !== "")) {
    let name: string;
    try {
      name = decodeURIComponent(part);
    } catch {
      // Not valid percent-encoding: it names nothing.
      return null;
    }
    const isHidden = name.startsWith(".") && name !== ".well-known";
    if (isHidden || /[/\\\0]/.test(name)) return null;
    names.push(name);
  }
  if (reserved.includes(names[0] ?? "")) return null;
  return names;
}

/** A file that a path stands for, or the folder whose path lacks its slash. */
type Found = { path: string; size: number; modifiedAt: number } | "folder";

/** Bytes up to which a file is held in memory while it is answered. */
const readAtOnce = 256 * 1024;

function gone(): never {
  throw new AppError("not_found", "There is nothing at this path.");
}

/** A folder of static files, served as they are (configuration key `public`). */
export class StaticFiles {
  readonly #folder: string;

  /** @throws SetupError when it is no folder, or holds one of the `secrets`. */
  constructor(folder: string, secrets: readonly string[]) {
    let isFolder: boolean;
    try {
      isFolder = statSync(folder).isDirectory();
    } catch (thrown) {
      throw new SetupError(`public ${folder}: is no folder that can be read: ${messageOf(thrown)}`);
    }
    if (!isFolder) throw new SetupError(`public ${folder}: is a file; it must be a folder`);
    this.#folder = realpathSync(folder);
    for (const secret of secrets)
      if (contains(this.#folder, realPathOf(secret)))
        throw new SetupError(
          `public ${folder}: everybody could read ${secret}, which it is or holds; use a folder of its own, such as ./public`,
        );
  }

  /** What is at a path, if anything. A link that leads out of the folder leads nowhere. */
  async find(pathname: string): Promise<Found | null> {
    const names = namesOf(pathname);
    if (names === null) return null;
    const isFolderPath = pathname.endsWith("/");
    const path = join(this.#folder, ...names, ...(isFolderPath ? ["index.html"] : []));
    try {
      const real = await realpath(path);
      if (!contains(this.#folder, real)) return null;
      const found = await stat(real);
      if (found.isDirectory() && isFolderPath) return null;
      if (found.isDirectory()) return (await this.find(`${pathname}/`)) === null ? null : "folder";
      return found.isFile() ? { path: real, size: found.size, modifiedAt: found.mtimeMs } : null;
    } catch {
      // Nothing there, or nothing that may be read: to a visitor that is the same.
      return null;
    }
  }

  async answer(exchange: Exchange, pathname: string): Promise<Response> {
    const found = await this.find(pathname);
    if (found === null) return gone();
    if (found === "folder") {
      const name = pathname.split("/").at(-1) ?? "";
      const query = /\?[^#]*/.exec(exchange.request.url)?.[0] ?? "";
      // Relative: a proxy may have put something before the path.
      return exchange.respond(308, null, { Location: `./${name}/${query}` });
    }
    const { path, modifiedAt } = found;
    const file = Bun.file(path);
    // A small file is read at once: whoever replaces it meanwhile does not cut it short.
    const body = found.size > readAtOnce ? file : new Blob([await file.bytes().catch(gone)]);
    const size = found.size > readAtOnce ? found.size : body.size;
    return answerFile(exchange, {
      size,
      etag: `"${size.toString(36)}-${Math.round(modifiedAt * 1_000).toString(36)}"`,
      modifiedAt,
      headers: { "Content-Type": contentType(typeOfName(path)), "Cache-Control": "no-cache" },
      read: async (range) => (range === null ? body : body.slice(range.start, range.end)),
    });
  }
}
