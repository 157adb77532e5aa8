/**
 * The manifest of a backup: its last entry, which lists the other entries. The manifest is JSON, written and read line
 * by line, because a service may have many files: the first line has everything but the entries, then each entry has a
 * line.
 */
import { isObject } from "../../base/kernel/index.ts";

/** The layout that this build writes, and the newest layout that this build reads. */
export const formatVersion = 1;

export const databaseEntry = "socle.db";
export const manifestEntry = "manifest.json";
const filePattern = /^files\/(fil_[A-Za-z0-9_-]{1,100})$/;

export interface ManifestHead {
  /** The version of the layout: `formatVersion`. */
  readonly format: number;
  /** The version of the program. */
  readonly socle: string;
  /** The moment of the state. ISO 8601, UTC. */
  readonly createdAt: string;
  /** The version of each module's tables. */
  readonly schema: { readonly [module: string]: number };
  /** The last event in the log: a client may resume from it. */
  readonly event: string | null;
  readonly counts: { readonly records: number; readonly users: number; readonly files: number };
  /** Ids of files whose bytes were missing or incomplete when the backup was made. */
  readonly missing: readonly string[];
}

export interface ManifestEntry {
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

export function fileEntry(id: string): string {
  return `files/${id}`;
}

/** The id of a file by the name of its entry; null for an entry that is no file. */
export function idOfEntry(name: string): string | null {
  return filePattern.exec(name)?.[1] ?? null;
}

export function entryLine({ name, size, sha256 }: ManifestEntry): string {
  return JSON.stringify({ name, size, sha256 });
}

export function firstLine(head: ManifestHead): string {
  return `${JSON.stringify(head).slice(0, -1)},"entries":[\n`;
}

export const lastLine = "]}\n";

const end = lastLine.trim();

/** Reads a manifest line by line, and keeps only the head and a checksum over the lines of the entries. */
export class ManifestReader {
  readonly #entries = new Bun.CryptoHasher("sha256");
  #head: ManifestHead | null = null;
  #isComplete = false;

  /** @throws Error for a line that no manifest has. */
  add(line: string): void {
    if (this.#isComplete) throw new Error("there is something after its end");
    if (this.#head === null) this.#head = parseHead(line);
    else if (line === end) this.#isComplete = true;
    else this.#entries.update(`${line.replace(/,$/, "")}\n`);
  }

  /** The head, and the checksum over the lines of the entries. @throws Error when its end is missing. */
  finish(): { head: ManifestHead; entries: string } {
    if (this.#head === null || !this.#isComplete) throw new Error("its end is missing");
    return { head: this.#head, entries: this.#entries.digest("hex") };
  }
}

function parseHead(line: string): ManifestHead {
  const value: unknown = JSON.parse(line + end);
  if (!isObject(value) || typeof value["format"] !== "number") throw new Error("it has no format");
  const { format, socle, createdAt, schema, event, counts, missing } = value;
  const isGood =
    typeof socle === "string" &&
    typeof createdAt === "string" &&
    isNumbers(schema) &&
    (event === null || typeof event === "string") &&
    isNumbers(counts) &&
    Array.isArray(missing) &&
    missing.every((id) => typeof id === "string");
  // A newer layout may have other members; its number is enough to refuse the backup.
  if (!isGood && format <= formatVersion) throw new Error("its first line is not complete");
  if (!isGood) return { ...emptyHead, format, socle: String(socle) };
  const { records = 0, users = 0, files = 0 } = counts;
  return { format, socle, createdAt, schema, event, counts: { records, users, files }, missing };
}

const emptyHead: ManifestHead = {
  format: 0,
  socle: "",
  createdAt: "",
  schema: {},
  event: null,
  counts: { records: 0, users: 0, files: 0 },
  missing: [],
};

function isNumbers(value: unknown): value is { [name: string]: number } {
  return isObject(value) && Object.values(value).every((number) => typeof number === "number");
}
