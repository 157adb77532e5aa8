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

/** A line of a manifest; the first has the ids of up to 1,000 missing files. */
const longestLine = 1024 ** 2;

/** A backup that is whole and cannot be used all the same, or a disk that does not take the backup. */
export class Refusal extends Error {}

/**
 * Reads a manifest. Answers its head, and a checksum over the lines of the entries.
 * @throws Refusal for a manifest of a newer version, Error for a manifest that is not whole.
 */
export async function readManifest(
  body: ReadableStream<Uint8Array>,
  known: ManifestHead["schema"],
): Promise<{ head: ManifestHead; entries: string }> {
  const entries = new Bun.CryptoHasher("sha256");
  let head: ManifestHead | null = null;
  let isComplete = false;
  for await (const line of linesOf(body)) {
    if (isComplete) throw new Error("there is something after its end");
    if (head === null) head = parseHead(line, known);
    else if (line === end) isComplete = true;
    else entries.update(`${line.replace(/,$/, "")}\n`);
  }
  if (head === null || !isComplete) throw new Error("its end is missing");
  return { head, entries: entries.digest("hex") };
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of body) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > longestLine) throw new Error("a line of its manifest is too long");
    yield* lines;
  }
}

function parseHead(line: string, known: ManifestHead["schema"]): ManifestHead {
  const value: unknown = JSON.parse(line + end);
  if (!isObject(value) || typeof value["format"] !== "number") throw new Error("it has no format");
  const { format, socle, createdAt, schema, event, counts, missing } = value;
  // A newer layout may have other members; its number is enough to refuse the backup.
  const isNewer =
    format > formatVersion ||
    (isNumbers(schema) && Object.entries(schema).some(([name, version]) => version > (known[name] ?? 0)));
  if (isNewer) throw new Refusal(`was made by a newer version (${socle}); restore it with that one, or a later one`);
  const isGood =
    typeof socle === "string" &&
    typeof createdAt === "string" &&
    isNumbers(schema) &&
    (event === null || typeof event === "string") &&
    isNumbers(counts) &&
    Array.isArray(missing) &&
    missing.every((id) => typeof id === "string");
  if (!isGood) throw new Error("its first line is not complete");
  const { records = 0, users = 0, files = 0 } = counts;
  return { format, socle, createdAt, schema, event, counts: { records, users, files }, missing };
}

function isNumbers(value: unknown): value is { [name: string]: number } {
  return isObject(value) && Object.values(value).every((number) => typeof number === "number");
}
