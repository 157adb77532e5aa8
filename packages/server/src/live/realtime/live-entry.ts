/** Live entry: a live query with the state of its runs. */
import { identityOf } from "../../base/kernel/index.ts";
import type { LiveQuery, Viewer } from "./live-query.ts";
import type { LivePlan } from "./live-sources.ts";

/** A live query with the state of its runs. */
export interface LiveEntry {
  readonly key: string;
  readonly query: LiveQuery;
  /** The records that the window counts as; 0 for a window that is not counted. */
  readonly records: number;
  /** The keys of the data that the window depends on. */
  watched: readonly string[];
  /** `clean`: no commit since the last read may have changed the window. */
  state: "clean" | "due" | "running";
  /** Whether a commit may have changed the window during the run. */
  isStale: boolean;
  /** Each event up to this seq is told. */
  seq: number;
  readAt: number;
  timer: Timer | null;
  /** Ends the run under way when nobody waits for the window any more. */
  abort: AbortController | null;
  /** Failed runs since the last window. */
  failures: number;
}

export function entryOf(key: string, query: LiveQuery, records: number): LiveEntry {
  const start = { watched: [], isStale: false, seq: 0, readAt: 0, timer: null, abort: null, failures: 0 };
  return { key, query, records, state: records === 0 ? "clean" : "due", ...start };
}

export function isNamed({ query }: LiveEntry): boolean {
  return "name" in query.source;
}

/** The keys of the data that a plan depends on. */
export function keysOf({ collections }: LivePlan, listener: Viewer["listener"]): readonly string[] {
  const own = identityOf(listener) ?? "";
  return [...collections].map(([name, records]) => (records === "own" ? `${name} ${own}` : name));
}
