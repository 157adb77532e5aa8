/** The table of source excerpts: the lines around the place of the last error of a run, as the file was when loaded. */
import type { SourceExcerpt } from "@socle/protocol";
import type { Database, Transactor } from "../../store/database/index.ts";

/** Runs whose excerpt is kept: those that have failed last. An excerpt has a few lines of a bounded length. */
const maxSources = 1_000;

export const sourceTable =
  "CREATE TABLE _run_sources (id INTEGER PRIMARY KEY, runId TEXT NOT NULL UNIQUE, source TEXT NOT NULL) STRICT";

export class SourceTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Keeps the excerpt of a failed attempt in the place of an earlier excerpt of the run. An error without a place has none. */
  record(tx: Transactor, runId: string, source: SourceExcerpt | undefined): void {
    tx.run("DELETE FROM _run_sources WHERE runId = ?", runId);
    if (source === undefined) return;
    tx.run("INSERT INTO _run_sources (runId, source) VALUES (?, ?)", runId, JSON.stringify(source));
    tx.run(`DELETE FROM _run_sources WHERE id <= (SELECT max(id) FROM _run_sources) - ${maxSources}`);
  }

  find(runId: string): SourceExcerpt | null {
    const sql = "SELECT source FROM _run_sources WHERE runId = ?";
    const row = this.#database.reader.get<{ source: string }>(sql, runId);
    // The service has written the text.
    return row === null ? null : (JSON.parse(row.source) as SourceExcerpt);
  }
}
