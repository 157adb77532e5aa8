/** The files of the user's code: the scripts among the files, the content, and the outcome of the last load. */
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { collectionNamed, HANDLER_KINDS, mayName } from "./handler-kinds.ts";
import type { CodeFile, ScriptError } from "./protocol.ts";

const scriptFolders = ["functions", "jobs", "endpoints", "queries", "migrations"] as const;
export type ScriptFolder = (typeof scriptFolders)[number];
/** Folders with code of the user: scripts, and `lib` with shared code. */
export const codeFolders = [...scriptFolders, "lib"] as const;

/** The module of a function, a job (spec, "Startup rules" 3), an endpoint or a server query. */
export interface ScriptFile {
  readonly folder: ScriptFolder;
  /** Relative to the project, with forward slashes. */
  readonly path: string;
  /** For a function: the collection of the folder, which handlers without a collection of their own are for; null without a folder. */
  readonly collection: string | null;
}

/** Tests are of `socle test`; the service neither loads tests nor follows changes of tests. */
function isTest(path: string): boolean {
  return /\.(?:test|spec)\.[cm]?[jt]sx?$/.test(path);
}

/** The result of a look at a path; null for a path that leads nowhere, in a circle of links, or to something not readable. */
function look<T>(at: () => T): T | null {
  try {
    return at();
  } catch {
    return null;
  }
}

/** A file of code is a script, or a stray, which looks like a script and has no effect; null for shared code and tests. */
function placeOf(path: string): ScriptFile | "stray" | null {
  const [folder = "", ...names] = path.split("/");
  const isShared = names.some((name) => name.startsWith("_"));
  // The service reads no other form of a middleware, and endpoints would do without.
  if (folder === "endpoints" && /\/_middleware\.[cm]?[jt]sx?$/.test(path) && !path.endsWith("/_middleware.ts"))
    return "stray";
  if (isShared || isTest(path) || path.endsWith(".d.ts") || !/\.[cm]?[jt]sx?$/.test(path)) return null;
  const isModule = path.endsWith(".ts");
  if (folder === "endpoints") return isModule ? { folder, path, collection: null } : "stray";
  if ((folder === "jobs" && names.length === 1) || folder === "queries" || folder === "migrations")
    return isModule && names.length === 1 ? { folder, path, collection: null } : "stray";
  if (folder !== "functions") return null;
  const collection = names.length === 1 ? null : collectionNamed(names[0] ?? "");
  if (isModule) return { folder, path, collection };
  return names.length > 2 ? null : "stray";
}

/** The function file of a path, which need not be there; null for any other file. */
export function functionScript(path: string): ScriptFile | null {
  const place = placeOf(path);
  return place === "stray" || place?.folder !== "functions" ? null : place;
}

/** A file deeper than `functions/<collection>/` is a script if the file may have a handler, and else shared code. */
function isDeepCode({ path, real }: FoundFile): boolean {
  if (!path.startsWith("functions/") || path.split("/").length < 4) return false;
  const text = real === null ? null : look(() => readFileSync(real, "utf8"));
  return ![path, text ?? ""].some(
    (each) => /\btrigger\b/.test(each) || HANDLER_KINDS.some((kind) => mayName(each, kind)),
  );
}

/**
 * The scripts of a project: `functions/<collection>/<file>.ts` and deeper, `functions/<file>.ts`, `jobs/<file>.ts`, `endpoints/…/<file>.ts`, `queries/<file>.ts` and
 * `migrations/<file>.ts`, by path; and the strays, files that look like scripts and have no effect.
 */
export function findScripts(root: string): { scripts: ScriptFile[]; strays: string[] } {
  const scripts: ScriptFile[] = [];
  const strays: string[] = [];
  for (const file of filesIn(root)) {
    const place = placeOf(file.path);
    if (place === "stray") strays.push(file.path);
    else if (place !== null && !isDeepCode(file)) scripts.push(place);
  }
  return { scripts, strays };
}

/** Files of the user's code, for the watch. */
const codePattern = /\.(?:[cm]?[jt]sx?|json|txt|md|html|sql)$/;
/** TypeScript modules. Other imported files are read from the disk. */
const modulePattern = /\.m?tsx?$/;

/** A file in the folders of code. */
interface FoundFile {
  /** Relative to the project. */
  readonly path: string;
  /** The absolute path without links; null for a link that leads nowhere. */
  readonly real: string | null;
}

/** The tests of a project, by path: in the folders of code, and below. */
export function listTests(root: string): string[] {
  return filesIn(root)
    .map(({ path }) => path)
    .filter(isTest);
}

/** Every file in the folders of code, shared code and tests included. */
function filesIn(root: string): FoundFile[] {
  return codeFolders.flatMap((path) => {
    const real = look(() => realpathSync(join(root, path)));
    return real === null ? [] : filesBelow({ path, real, above: [real] });
  });
}

/** Links to folders are followed, except links back to a folder of `above`, the real paths of the folders above. */
function filesBelow(folder: { path: string; real: string; above: readonly string[] }): FoundFile[] {
  const entries = look(() => readdirSync(folder.real, { withFileTypes: true })) ?? [];
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    if (entry.name === "node_modules" || entry.name.startsWith(".")) return [];
    const path = `${folder.path}/${entry.name}`;
    const place = join(folder.real, entry.name);
    const isLink = entry.isSymbolicLink();
    const real = isLink ? look(() => realpathSync(place)) : place;
    const isFolder = isLink ? look(() => statSync(place))?.isDirectory() === true : entry.isDirectory();
    if (real === null || !isFolder) return [{ path, real }];
    const isCircle = folder.above.some((each) => each === real || each.startsWith(real + sep));
    return isCircle ? [] : filesBelow({ path, real, above: [...folder.above, real] });
  });
}

/** Files of the project that decide how the code runs: the environment, the aliases of imports, the installed packages. */
const settingsFiles = [".env", "tsconfig.json", "package.json", "bun.lock", "package-lock.json"] as const;

/** The places, times and sizes of all files of the user's code: the text differs when the code or a link has changed. */
export function fingerprint(root: string): string {
  return placesOf(root, (path) => codePattern.test(path));
}

function placesOf(root: string, isIncluded: (path: string) => boolean): string {
  const parts: string[] = [root];
  for (const { path, real } of filesIn(root)) {
    if (!isIncluded(path) || isTest(path)) continue;
    const stats = real === null ? null : look(() => statSync(real));
    parts.push(`${path}:${real}:${stats?.mtimeMs}:${stats?.size}`);
  }
  for (const name of settingsFiles) {
    const stats = look(() => statSync(join(root, name)));
    if (stats !== null) parts.push(`${name}:${stats.mtimeMs}:${stats.size}`);
  }
  return parts.join("\n");
}

/** A text that differs when the content of a file differs. @throws Error for a file that cannot be read. */
export function fingerprintOfFile(root: string, path: string): string {
  return new Bun.CryptoHasher("sha256").update(readFileSync(join(root, path))).digest("hex");
}

/** The files of the user's code at the time of a load. */
export interface CodeState {
  readonly code: readonly CodeFile[];
  /** The fingerprint of the files that are not in `code`. */
  readonly others: string;
}

export function codeState(root: string): CodeState {
  // First: a change after this look differs from the state at the next look.
  const others = placesOf(root, (path) => codePattern.test(path) && !modulePattern.test(path));
  return { code: readCode(root), others };
}

/** The modules with new content; null when anything else has changed, or no content: a saved file is to be loaded again. */
export function changedModules(before: CodeState, after: CodeState): CodeFile[] | null {
  if (after.others !== before.others || after.code.length !== before.code.length) return null;
  const changed: CodeFile[] = [];
  for (const [i, file] of after.code.entries()) {
    const old = before.code[i];
    if (old?.path !== file.path || old.real !== file.real) return null;
    if (old.content !== file.content) changed.push(file);
  }
  return changed.length === 0 ? null : changed;
}

/** The modules with the present content. */
export function readCode(root: string): CodeFile[] {
  return filesIn(root).flatMap(({ path, real }) => {
    if (!modulePattern.test(path) || isTest(path)) return [];
    const content = real === null ? null : look(() => readFileSync(real, "utf8"));
    if (real !== null && content !== null) return [{ path, real, content }];
    // Deleted meanwhile, or not readable: the importing module gets the error. Nothing imports a middleware.
    return isMiddleware(path) ? [{ path, real: join(root, path), content: unreadable }] : [];
  });
}

/** A module in the place of a file that cannot be read. */
const unreadable = 'throw new Error("the file cannot be read");';

function isMiddleware(path: string): boolean {
  return path.startsWith("endpoints/") && path.endsWith("/_middleware.ts");
}

/** The paths that the middlewares of an endpoint have, if there are any, the outermost first. */
export function middlewarePaths(path: string): string[] {
  const folders = path.startsWith("endpoints/") ? path.split("/").slice(0, -1) : [];
  return folders.map((_, i) => `${folders.slice(0, i + 1).join("/")}/_middleware.ts`);
}

/** The middlewares of these endpoints, by path. */
export function middlewaresOf(root: string, endpoints: readonly string[]): string[] {
  const around = new Set(endpoints.flatMap(middlewarePaths));
  return filesIn(root).flatMap(({ path }) => (around.has(path) ? [path] : []));
}

/** The outcome of the last load of a file. */
export interface FileState {
  readonly file: ScriptFile;
  /** When the version was loaded that runs, in milliseconds since 1970; null when no version was ever loaded. */
  readonly loadedAt: number | null;
  /** Why the newest version does not load, and since when; null when the newest version loads. */
  readonly problem: (ScriptError & { readonly since: number }) | null;
}

export class FileStates {
  #states = new Map<string, FileState>();

  /** The states of the files, sorted by path. */
  list(): FileState[] {
    return [...this.#states.values()];
  }

  /** The given files are all files from now on. */
  keep(files: readonly ScriptFile[]): void {
    const before = this.#states;
    this.#states = new Map();
    for (const file of files)
      this.#states.set(file.path, { loadedAt: null, problem: null, ...before.get(file.path), file });
  }

  loaded(file: ScriptFile): void {
    this.#states.set(file.path, { file, loadedAt: Date.now(), problem: null });
  }

  failed(file: ScriptFile, { message, stack }: ScriptError): void {
    const before = this.#states.get(file.path);
    // The same error again is the same problem: the problem is as old as the first error.
    const since = before?.problem?.message === message ? before.problem.since : Date.now();
    const problem = { message, since, ...(stack !== undefined && { stack }) };
    this.#states.set(file.path, { file, loadedAt: before?.loadedAt ?? null, problem });
  }
}
