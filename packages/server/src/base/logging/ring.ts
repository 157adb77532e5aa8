/** Ring of the most recent log entries, in memory (spec, "Logging"). */
import type { LogEntry, LogSink } from "./entry.ts";

export class LogRing {
  readonly #entries: LogEntry[] = [];
  readonly #capacity: number;
  readonly #listeners = new Set<LogSink>();
  #next = 0;

  constructor(capacity = 2_000) {
    this.#capacity = capacity;
  }

  add(entry: LogEntry): void {
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % this.#capacity;
    for (const listener of this.#listeners) listener(entry);
  }

  /** Calls `listener` with every entry from now on. Answers how to stop that. */
  listen(listener: LogSink): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Oldest first. */
  entries(): LogEntry[] {
    if (this.#entries.length < this.#capacity) return [...this.#entries];
    return [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
  }
}
