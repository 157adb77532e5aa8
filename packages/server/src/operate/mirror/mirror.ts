/**
 * Mirror: the records of all collections as typed tables in PostgreSQL, for tools that read SQL. The leader changes the tables in the statement
 * that appends a commit to the journal, so that the tables are always the state of a position.
 *
 * 1. The events of a commit name the changed records; the records are read from the open transaction.
 * 2. A collection that is new to the mirror, or has another definition, is put together anew: each commit carries a page of records into a table
 *    of another name, which takes the name of the collection with the last page. So a page is never older than the commit.
 * 3. A failure of the mirror does not stop the commit: the mirror stops, and begins anew after a pause.
 */
import { USERS } from "@socle/protocol";
import { messageOf, nextTurn } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { definitionsChanged } from "../../data/collections/index.ts";
import { recordsChanged } from "../../data/records/index.ts";
import type { Note, Reader, UndecidedCommit } from "../../store/database/index.ts";
import { newestEvent, recordsAfter } from "../../store/events/index.ts";
import type { Beside, Journal } from "../../store/journal/index.ts";
import { Changes } from "./sql/changes.ts";
import {
  beginning,
  buildingName,
  callOf,
  type MirrorPhase,
  type MirrorState,
  preparation,
  readState,
  readTables,
  schemaOf,
  stop,
} from "./sql/schema.ts";
import { hasTables, type MirroredTable, mirroredTables, pageRecords } from "./sql/tables.ts";

export type { MirrorState };

/** The most characters of the changed records of a commit; beyond, the tables are put together anew, in pages. */
const maxChanges = 8 * 1024 ** 2;
/** The most characters of a page, and of a record more. */
const maxPage = 256 * 1024;
/** The pause before a stopped mirror begins anew; doubled with each stop in a row. */
const pauseMs = 1_000;
const maxPauseMs = 60_000;

interface MirrorOptions {
  readonly journal: Journal;
  /** The name of the cluster. */
  readonly cluster: string;
  /** The id of the journal. */
  readonly journalId: string;
  readonly logger: Logger;
  readonly term: () => number;
  /** Makes a commit without changes, which carries a page. */
  readonly commit: () => Promise<unknown>;
}

/** A table in the mirror; `builtTo` is the `_seq` up to which the table has the records, null for a whole table. */
interface Kept {
  readonly shape: string;
  readonly builtTo: number | null;
}

/** The contents of the mirror after a commit. */
interface Progress {
  readonly kept: Map<string, Kept>;
  /** Null until the definitions are read from a commit. */
  tables: ReadonlyMap<string, MirroredTable> | null;
  /** The newest event; null for a mirror that has nothing yet. */
  seq: number | null;
}

interface Row {
  readonly seq: number;
  readonly id: string;
  readonly row: string;
}

export class Mirror {
  readonly #options: MirrorOptions;
  readonly #schema: string;
  #progress: Progress = { kept: new Map(), tables: null, seq: null };
  /** The progress once the commit under way has happened. */
  #next: Progress | null = null;
  #position: number | null = null;
  #phase: MirrorPhase = "building";
  #pause = pauseMs;
  readonly #closing = new AbortController();
  #wake = Promise.withResolvers<void>();
  #running: Promise<void> | null = null;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#schema = schemaOf(options.cluster);
  }

  get phase(): MirrorPhase {
    return this.#phase;
  }

  /** Goes on with the tables if they are at a position of the journal; otherwise begins anew. @param state the database at the position. */
  async open(position: number, state: Reader): Promise<void> {
    try {
      const { journal, journalId } = this.#options;
      await journal.ask(preparation(this.#schema));
      const found = await readState(journal, this.#schema);
      const isOwn = found?.journal === journalId && found.position === position && found.state !== "stopped";
      if (isOwn) await this.#resume(position, state);
      else await this.#begin();
    } catch (thrown) {
      this.#stop(messageOf(thrown));
    }
    this.#running = this.#run();
  }

  /** The changes for the append of a commit; null while the mirror has stopped. */
  async changesOf(position: number, commit: UndecidedCommit): Promise<Beside | null> {
    this.#next = null;
    if (this.#phase === "stopped") return null;
    try {
      const { kept, tables, seq } = this.#progress;
      const next: Progress = { kept: new Map(kept), tables, seq };
      const changes = await this.#collect(commit, next);
      this.#next = next;
      const failed = (reason: string): void => this.#stop(`position ${position}: ${reason}`);
      return { call: callOf(this.#schema), values: [phaseOf(next), changes], failed };
    } catch (thrown) {
      this.#stop(`position ${position}: ${messageOf(thrown)}`);
      return null;
    }
  }

  /** A commit has happened, with the changes of the last `changesOf` unless the changes have failed. */
  appended(position: number): void {
    if (this.#next === null) return;
    this.#progress = this.#next;
    this.#next = null;
    this.#position = position;
    const phase = phaseOf(this.#progress);
    if (phase === "whole" && this.#phase === "building") {
      this.#options.logger.info(`The mirror ${this.#schema} is complete at position ${position}`);
      this.#pause = pauseMs;
    }
    this.#enter(phase);
  }

  /** Changes nothing any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake.resolve();
    await this.#running;
  }

  /** Puts tables together, and begins anew after a stop, in the background. */
  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const before = this.#progress;
      if (this.#phase === "whole") await this.#wake.promise;
      else if (this.#phase === "building") {
        const commit = this.#options.commit().catch((thrown) => this.#waits(thrown));
        await Promise.race([commit, this.#wake.promise]);
        // The database has no tables yet, or no commit can happen.
        if (this.#progress === before || before.tables === null) await this.#sleep(pauseMs / 4);
      } else {
        await this.#sleep(this.#pause);
        this.#pause = Math.min(this.#pause * 2, maxPauseMs);
        if (!signal.aborted) await this.#begin().catch((thrown) => this.#stop(messageOf(thrown)));
      }
    }
  }

  #waits(thrown: unknown): void {
    this.#options.logger.debug("The mirror waits", { reason: messageOf(thrown) });
  }

  /** A pause that ends with `close`. */
  async #sleep(ms: number): Promise<void> {
    await Promise.race([Bun.sleep(ms), this.#wake.promise]);
  }

  #enter(phase: MirrorPhase): void {
    if (this.#phase === phase) return;
    this.#phase = phase;
    if (this.#closing.signal.aborted) return;
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  #stop(reason: string): void {
    const { journal, logger } = this.#options;
    this.#next = null;
    const pause = `the next try is in ${Math.round(this.#pause / 1_000)} s`;
    logger.error(`The mirror ${this.#schema} has stopped, and writes go on; ${pause}: ${reason}`);
    this.#enter("stopped");
    journal.ask(stop(this.#schema), [reason, this.#position]).catch((thrown) => this.#waits(thrown));
  }

  async #resume(position: number, state: Reader): Promise<void> {
    const rows = await readTables(this.#options.journal, this.#schema);
    const kept = rows.map(({ collection, shape, builtTo }): [string, Kept] => [collection, { shape, builtTo }]);
    this.#progress = {
      kept: new Map(kept),
      tables: null,
      seq: hasTables(state) ? (newestEvent(state)?.seq ?? 0) : null,
    };
    this.#position = position;
  }

  async #begin(): Promise<void> {
    const { journal, cluster, journalId, term } = this.#options;
    await journal.ask(preparation(this.#schema));
    await journal.ask(beginning(this.#schema, { cluster, term: term(), journal: journalId }));
    this.#progress = { kept: new Map(), tables: null, seq: null };
    this.#position = null;
    this.#enter("building");
  }

  /** The changes of a commit as text; `next` becomes the contents of the mirror afterwards. */
  async #collect({ notes, state }: UndecidedCommit, next: Progress): Promise<string> {
    const changes = new Changes(this.#schema);
    const changed = notes.filter(({ kind }) => kind === definitionsChanged.kind);
    if (next.tables === null || changed.length > 0)
      this.#define(changes, next, { state, rewritten: rewrittenIn(changed) });
    if (next.tables !== null) {
      const told = toldRecords(state, next.seq, notes);
      next.seq = newestEvent(state)?.seq ?? 0;
      await this.#change(changes, next, { told, state });
      this.#addPage(changes, next, state);
    }
    return changes.toText();
  }

  /** Drops the tables of other definitions, and begins the tables that are missing. */
  #define(
    changes: Changes,
    next: Progress,
    { state, rewritten }: { state: Reader; rewritten: ReadonlySet<string> },
  ): void {
    next.tables = hasTables(state) ? mirroredTables(state) : null;
    if (next.tables === null) return;
    for (const [collection, { shape }] of next.kept) {
      if (next.tables.get(collection)?.shape === shape && !rewritten.has(collection)) continue;
      changes.drop(collection);
      next.kept.delete(collection);
    }
    for (const [collection, table] of next.tables)
      if (!next.kept.has(collection)) beginTable(changes, next, { collection, table });
  }

  /** Writes the changed records; or begins the tables anew, when the records are too large for a statement. */
  async #change(
    changes: Changes,
    next: Progress,
    { told, state }: { told: ReadonlyMap<string, readonly string[]>; state: Reader },
  ): Promise<void> {
    const written = new Changes(this.#schema);
    for (const [collection, ids] of told) {
      const table = next.tables?.get(collection);
      if (table === undefined) continue;
      const name = next.kept.get(collection)?.builtTo === null ? collection : buildingName(collection);
      for (let i = 0; i < ids.length && written.length <= maxChanges; i += pageRecords) {
        if (i > 0) await nextTurn();
        const page = ids.slice(i, i + pageRecords);
        const rows = state.all<Row>(table.byIds, JSON.stringify(page));
        const present = new Set(rows.map(({ id }) => id));
        written.upsert(name, table, rowsOf(rows));
        written.delete(
          name,
          page.filter((id) => !present.has(id)),
        );
      }
    }
    if (written.length <= maxChanges) return changes.add(written);
    for (const collection of told.keys()) {
      const table = next.tables?.get(collection);
      if (table !== undefined) beginTable(changes, next, { collection, table });
    }
  }

  /** Adds the next records to the tables that are put together. */
  #addPage(changes: Changes, next: Progress, state: Reader): void {
    let length = 0;
    for (const [collection, { shape, builtTo }] of next.kept) {
      const table = next.tables?.get(collection);
      if (builtTo === null || table === undefined) continue;
      const isFull = ({ row }: Row): boolean => {
        length += row.length;
        return length > maxPage;
      };
      const rows = state.some<Row>({ sql: table.after, values: [builtTo] }, isFull);
      changes.upsert(buildingName(collection), table, rowsOf(rows));
      const last = rows.length < pageRecords && length <= maxPage ? null : (rows.at(-1)?.seq ?? null);
      if (last === null) changes.swap(collection, table);
      else changes.keep(collection, shape, last);
      next.kept.set(collection, { shape, builtTo: last });
      if (last !== null) return;
    }
  }
}

function phaseOf({ kept, tables }: Progress): MirrorPhase {
  return tables !== null && [...kept.values()].every(({ builtTo }) => builtTo === null) ? "whole" : "building";
}

/** The collections with records that have other values in the same columns. */
function rewrittenIn(notes: readonly Note[]): Set<string> {
  // The kind of a note determines the type of the data.
  return new Set(notes.flatMap(({ data }) => (data as { rewritten?: readonly string[] }).rewritten ?? []));
}

function rowsOf(rows: readonly Row[]): string[] {
  return rows.map(({ row }) => row);
}

function beginTable(
  changes: Changes,
  next: Progress,
  { collection, table }: { collection: string; table: MirroredTable },
): void {
  changes.build(collection, table);
  next.kept.set(collection, { shape: table.shape, builtTo: 0 });
}

/** The ids of the records that a commit has changed, by collection. A mirror without records reads all of them later. */
function toldRecords(state: Reader, seq: number | null, notes: readonly Note[]): Map<string, readonly string[]> {
  const told = new Map<string, Set<string>>();
  if (seq === null) return new Map();
  const add = (collection: string, id: string | null): void => {
    if (id !== null) told.getOrInsertComputed(collection, () => new Set()).add(id);
  };
  for (const { collection, id } of recordsAfter(state, seq)) add(collection, id);
  for (const { kind, data } of notes) {
    if (kind !== recordsChanged.kind) continue;
    // The kind of a note determines the type of the data. Without a definition of users, only notes tell of changed accounts.
    const { collection, owners } = data as { collection: string; owners: readonly (string | null)[] };
    if (collection === USERS) for (const id of owners) add(USERS, id);
  }
  return new Map([...told].map(([collection, ids]) => [collection, [...ids]]));
}

/** The state of the mirror of a cluster; null without a mirror. @throws JournalAway. */
export async function mirrorStateOf(journal: Journal, cluster: string): Promise<MirrorState | null> {
  const found = await readState(journal, schemaOf(cluster));
  if (found === null) return null;
  const { journal: _, ...state } = found;
  return state;
}
