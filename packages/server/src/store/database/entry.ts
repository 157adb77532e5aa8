/**
 * Entry of a commit: the statements that a commit ran, with the values, and the notes of the commit. A database of the same state
 * that runs the entry has the same state as the database that made the commit.
 */
import type { Value } from "./store.ts";

/** A note: the meaning of a commit for one part of the state. `data` is plain data. */
export interface Note {
  readonly kind: string;
  readonly data: unknown;
}

/** The site of a migration: the event loop, or a separate thread, so that requests go on. */
export type MigrationSite = "event-loop" | "thread";

/** A statement: the place of the text in the texts of the entry, the rows that changed (null if unknown), and the values. */
type EntryRun = readonly [text: number, changes: number | null, ...values: Value[]];

export interface CommitEntry {
  /** The site of a migration; null for any other commit. */
  readonly site: MigrationSite | null;
  readonly texts: readonly string[];
  readonly runs: readonly EntryRun[];
  readonly notes: readonly Note[];
}

/** Whether an entry changes the versions of tables: another version of Socle has begun to lead. */
export function changesVersions({ texts }: CommitEntry): boolean {
  return texts.some((text) => /\b_schema\b/.test(text));
}

/** The most characters of an entry. */
const maxCharacters = 64 * 1024 ** 2;

/** Collects the statements of the transactions of a commit, in order. */
export class StatementLog {
  readonly #places = new Map<string, number>();
  readonly #texts: string[] = [];
  readonly #runs: EntryRun[] = [];

  get length(): number {
    return this.#runs.length;
  }

  /** The statements, for `replayIn`. */
  get statements(): Pick<CommitEntry, "texts" | "runs"> {
    return { texts: this.#texts, runs: this.#runs };
  }

  /** Takes back all statements after the first `length`: their transaction was rolled back. */
  cut(length: number): void {
    this.#runs.length = length;
  }

  /** @param changes the rows that changed; null if the number is not known. */
  add(sql: string, values: readonly Value[], changes: number | null): void {
    let place = this.#places.get(sql);
    if (place === undefined) {
      place = this.#texts.push(sql) - 1;
      this.#places.set(sql, place);
    }
    this.#runs.push([place, changes, ...values]);
  }

  /** The JSON of the entry. @throws Error when the entry is too large. */
  toEntry(notes: readonly Note[], site: MigrationSite | null): string {
    const entry: CommitEntry = { site, texts: this.#texts, runs: this.#runs, notes };
    const json = JSON.stringify(entry);
    if (json.length > maxCharacters)
      throw new Error(
        `A transaction of ${json.length} characters is too large for the journal; at most ${maxCharacters}`,
      );
    return json;
  }
}

/** Whether a statement changes rows, so that the number of changed rows tells whether two databases agree. */
export function countsChanges(sql: string): boolean {
  return /^\s*(?:INSERT|UPDATE|DELETE|REPLACE|WITH)\b/i.test(sql);
}

/** Whether a statement that answers rows writes. */
export function returnsChanges(sql: string): boolean {
  return !sql.startsWith("SELECT ") && / RETURNING /i.test(sql);
}

/** A database that ran an entry has changed other rows than the entry says: the two databases differ. */
export class EntryMismatch extends Error {
  override readonly name = "EntryMismatch";
}
