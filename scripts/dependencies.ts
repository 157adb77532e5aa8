/** The npm packages that go into the executable, by package-lock.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { isObject } from "../packages/server/src/base/kernel/index.ts";
import { root } from "./run.ts";

/** The oldest version of Node that package.json allows, without the number of its patch: `20.19`. */
export const oldestNode = packageJson.engines.node.replace(">=", "");

export interface Dependency {
  /** The folder of the package, relative to the project's: `node_modules/jose`. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}

/** The licence that a package.json names, also in the form of old packages: a list of objects with a type. */
export function licenceOf(manifest: unknown): string {
  if (!isObject(manifest)) return "none";
  const { license, licenses } = manifest;
  if (typeof license === "string") return license;
  if (isObject(license)) return String(license["type"]);
  if (Array.isArray(licenses))
    return licenses.map((each) => (isObject(each) ? String(each["type"]) : String(each))).join(" OR ");
  return "none";
}

function lockedPackages(): Record<string, unknown> {
  const lock: unknown = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  return isObject(lock) && isObject(lock["packages"]) ? lock["packages"] : {};
}

/** The packages of package-lock.json that do not support a version of Node: `npm ci` would warn about each package. */
export function unsupported(nodeVersion: string, packages = lockedPackages()): string[] {
  return Object.entries(packages).flatMap(([path, entry]) => {
    const engines = isObject(entry) ? entry["engines"] : null;
    const range = isObject(engines) ? engines["node"] : null;
    const isFine = typeof range !== "string" || Bun.semver.satisfies(nodeVersion, range);
    return isFine ? [] : [`${path} needs Node ${range}, and package.json allows ${nodeVersion}`];
  });
}

/** The packages that workspaces import, and the packages that these packages import, in the order of the names. */
export function dependencies(workspaces: readonly ("server" | "dashboard")[]): Dependency[] {
  const packages = lockedPackages();
  const found = new Map<string, Dependency>();
  const follow = (importer: string): void => {
    const entry = packages[importer];
    const needed = isObject(entry) && isObject(entry["dependencies"]) ? Object.keys(entry["dependencies"]) : [];
    for (const name of needed) {
      const path = resolveIn(packages, importer, name);
      const target = packages[path];
      if (found.has(path) || !isObject(target)) continue;
      if (target["link"] !== true) found.set(path, read(path, name, String(target["version"])));
      follow(target["link"] === true ? String(target["resolved"]) : path);
    }
  };
  for (const workspace of workspaces) follow(`packages/${workspace}`);
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The folder of a package for an importer: in the nearest `node_modules` above the importer. */
function resolveIn(packages: Record<string, unknown>, importer: string, name: string): string {
  for (let folder = importer; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")))) {
    const path = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (path in packages || folder === "") return path;
  }
}

/** Packages of which the repository has a part as a copy, which goes into the executable: see scripts/copies.ts. */
const copied = ["@tabler/icons", "bun-types"];

/** The npm packages with a part in the executable, in the order of the names. */
export function partsOfExecutable(): Dependency[] {
  const packages = lockedPackages();
  const copies = copied.map((name) => {
    const path = resolveIn(packages, "", name);
    const entry = packages[path];
    return read(path, name, String(isObject(entry) ? entry["version"] : "none"));
  });
  return [...dependencies(["server", "dashboard"]), ...copies].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function read(path: string, name: string, version: string): Dependency {
  const manifest: unknown = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
  return { path, name, version, licence: licenceOf(manifest) };
}
