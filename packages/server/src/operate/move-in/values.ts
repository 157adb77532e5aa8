/** Values of another service as values that Socle takes: JSON, texts, relations, files and times. */
import { existsSync, statSync } from "node:fs";
import { basename, normalize, resolve, sep } from "node:path";
import { type CollectionDefinition, type FieldDefinition, type JsonValue, MAX_FILE_SIZE } from "@socle/protocol";
import { SetupError } from "../../base/kernel/index.ts";
import type { Choices, MovedFile, NoteInField, NoteOddity } from "./source.ts";

const maxLevels = 100;

/** The levels of arrays and objects of a text of JSON. */
function levelsOf(text: string): number {
  let [level, most] = [0, 0];
  for (const [bracket] of text.replace(/"(?:[^"\\]|\\.)*"/g, "").matchAll(/[[{\]}]/g)) {
    level += bracket === "[" || bracket === "{" ? 1 : -1;
    most = Math.max(most, level);
  }
  return most;
}

/** @param mapped a text inside of the JSON as Socle takes the text. @throws SyntaxError. */
export function jsonOf(text: string, note: NoteInField, mapped: (text: string) => string): JsonValue {
  if (levelsOf(text) > maxLevels) {
    note("JSON of more than 100 levels, which becomes a text");
    return text;
  }
  const revive = (_: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value === "string") return mapped(value);
    const isOdd =
      typeof value === "number" && !(Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value));
    if (!isOdd || (context?.source ?? "").length < 16) return value;
    note("a number in JSON that no double holds, which becomes a text");
    return context?.source ?? String(value);
  };
  return JSON.parse(text, revive);
}

/** A field or column with a new name. */
interface Placed {
  readonly to: string;
}

interface ValueReader<P extends Placed> {
  readonly definition: CollectionDefinition;
  readonly note: NoteOddity;
  /** @throws SyntaxError for a value of another form. */
  read(placed: P, at: { readonly field: FieldDefinition; readonly note: NoteInField }): JsonValue;
  /** The old place of a value, for the error. */
  place(placed: P): string;
}

/** The values of a row, without the values of fields that the definition lacks. @throws SetupError for a value of another form. */
export function valuesOf<P extends Placed>(
  places: readonly P[],
  { definition, note, read, place }: ValueReader<P>,
): Record<string, JsonValue> {
  const values: Record<string, JsonValue> = {};
  for (const placed of places) {
    const field = definition.fields.find(({ name }) => name === placed.to);
    if (field === undefined) continue;
    try {
      values[field.name] = read(placed, { field, note: (oddity) => note(oddity, field.name) });
    } catch (thrown) {
      if (!(thrown instanceof SyntaxError)) throw thrown;
      throw new SetupError(`${place(placed)}: ${thrown.message}`);
    }
  }
  return values;
}

export function textOf(text: string, note: NoteInField): string {
  if (text.includes("\0")) note("a text with U+0000, which becomes U+FFFD");
  return text.replaceAll("\0", "\ufffd");
}

/** The id of a target that the source does not have; null if the field is cleared. */
export function danglingId(
  id: string,
  { dangling }: Choices,
  { field, note }: { field: FieldDefinition; note: NoteInField },
): string | null {
  note("an id of no record");
  return dangling === "clear" && field.required !== true ? null : id;
}

/** The file of a bucket in a folder of buckets; null for a path without a file, and for a path with other steps than names. */
export function storedFile(
  folder: string,
  bucket: string,
  path: string,
): Pick<MovedFile, "path" | "filename" | "size"> | null {
  const place = [resolve(folder), bucket, ...path.split("/")].join(sep);
  if (normalize(place) !== place || basename(bucket) !== bucket || !existsSync(place)) return null;
  const found = statSync(place);
  return found.isFile() ? { path: place, filename: basename(place), size: found.size } : null;
}

/** The file itself if the file can be moved; null for another file. */
export function movableFile<F extends { readonly size: number }>(file: F | null, note: NoteInField = () => undefined) {
  if (file !== null && file.size <= MAX_FILE_SIZE) return file;
  note(file === null ? "a file that is missing" : "a file above 10 MiB");
  return null;
}

/** The times of a record, not after now: a time that is missing is the other time, or `otherwise`. */
export function timesOf(
  given: { readonly created: string | null; readonly updated: string | null },
  { now, otherwise }: { now: string; otherwise: string },
): { createdAt: string; updatedAt: string } {
  const past = (time: string | null): string | null => (time !== null && time > now ? now : time);
  const updated = past(given.updated);
  const createdAt = past(given.created) ?? updated ?? otherwise;
  return { createdAt, updatedAt: updated === null || updated < createdAt ? createdAt : updated };
}

/** A part of an address as text. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A text that is no address leads to no file.
    return text;
  }
}
