/** Fingerprint of a project folder: which definitions, migrations and code an instance of a cluster would lead with. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const folders = ["collections", "endpoints", "functions", "jobs", "migrations", "queries", "rooms"];
const wanted = /\.(?:json|[cm]?[jt]sx?)$/i;
/** Hidden files, and the packages of the user's code. */
const left = /(?:^|\/)(?:\.|node_modules(?:\/|$))/;
const characters = 12;

/** The same for equal files on any machine: the paths are relative, and line ends and a byte-order mark do not count. */
export function projectFingerprint(folder: string): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const part of folders) {
    const names = namesIn(join(folder, part)).filter((name) => wanted.test(name) && !left.test(name));
    for (const name of names.sort()) {
      const path = join(folder, part, name);
      if (!statSync(path).isFile()) continue;
      const text = readFileSync(path, "utf8")
        .replace(/^\uFEFF/, "")
        .replaceAll("\r\n", "\n");
      hash.update(JSON.stringify([part, name, text]));
    }
  }
  return hash.digest("hex").slice(0, characters);
}

function namesIn(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return (readdirSync(folder, { recursive: true }) as string[]).map((name) => name.replaceAll("\\", "/"));
}
