/** The npm packages that are compiled into the executable: all of package-lock.json but those for development. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../packages/server/src/kernel/index.ts";
import { root } from "./run.ts";

export interface Dependency {
  /** Its folder, relative to the project's: `node_modules/jose`. */
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

/** The packages of the lock file that are compiled into the executable, in the order of their names. */
export function dependencies(): Dependency[] {
  const lock: unknown = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const packages = isObject(lock) && isObject(lock["packages"]) ? lock["packages"] : {};
  const found: Dependency[] = [];
  for (const [path, entry] of Object.entries(packages)) {
    const name = path.split("node_modules/").at(-1) ?? "";
    if (!path.includes("node_modules/") || !isObject(entry) || entry["dev"] === true || entry["link"] === true)
      continue;
    const manifest = join(root, path, "package.json");
    if (!existsSync(manifest)) continue;
    found.push({
      path,
      name,
      version: String(entry["version"]),
      licence: licenceOf(JSON.parse(readFileSync(manifest, "utf8"))),
    });
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}
