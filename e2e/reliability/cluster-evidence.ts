/** Evidence of the cluster suite: the events, the records and the runs in the database of an instance, read from the file. */
import type { Database } from "bun:sqlite";
import type { Event } from "@socle/protocol";
import { eventId } from "../../packages/server/src/store/events/event-table.ts";
import { openFile } from "../cluster-content.ts";

/** An event of the log: `n` is the change that made the event, `part` the part of the record, `text` the kept part of the payload. */
export interface HeardEvent {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  readonly n: number;
  readonly part: unknown;
  readonly text: string;
}

/** The part of an event that tells which change the event is of. */
export function partOf({ n, serial, value }: Event["payload"]): string {
  return `${n}/${serial ?? value}`;
}

interface Item {
  readonly n: number;
  readonly serial: number;
}

interface Tally {
  readonly id: string;
  readonly value: number;
}

/** A record that a call of the handler has made. `at` is a time in milliseconds since 1970. */
export interface Run {
  readonly n: number;
  readonly run: string;
  readonly host: string;
  readonly call: number;
  readonly at: number;
}

export interface Evidence {
  readonly events: readonly HeardEvent[];
  readonly items: readonly Item[];
  readonly tallies: readonly Tally[];
  readonly runs: readonly Run[];
  /** Runs of the queue that wait, and runs that have failed for good. */
  readonly waiting: number;
  readonly failed: number;
}

interface Row {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly owner: string | null;
  readonly payload: string;
}

function eventOf({ seq, at, type, owner, payload }: Row): HeardEvent {
  const { n, part, ...rest } = JSON.parse(payload) as { n: number; part?: unknown };
  return { seq, id: eventId(at, seq), type, owner, n, part, text: partOf({ n, ...rest }) };
}

function runsIn(database: Database): Run[] {
  return database
    .query<Omit<Run, "at"> & { createdAt: string }, []>("SELECT n, run, host, call, createdAt FROM runs ORDER BY _seq")
    .all()
    .map(({ createdAt, ...run }) => ({ ...run, at: Date.parse(createdAt) }));
}

function count(database: Database, condition: string): number {
  const sql = `SELECT count(*) AS n FROM _job_queue WHERE payload IS NOT NULL AND ${condition}`;
  return database.query<{ n: number }, []>(sql).get()?.n ?? 0;
}

/** The runs of the queue that are not over, in the database of an instance. */
export function waitingAt(place: { folder: string }): number {
  using database = openFile(place);
  return count(database, "failedAt IS NULL");
}

/** All evidence of a moment. */
export function evidenceOf(place: { folder: string }): Evidence {
  using database = openFile(place);
  database.run("BEGIN");
  const types = "'items.created', 'tallies.updated'";
  const events = database
    .query<Row, []>(`SELECT seq, at, type, owner, payload FROM _events WHERE type IN (${types}) ORDER BY seq`)
    .all()
    .map(eventOf);
  const evidence = {
    events,
    items: database.query<Item, []>("SELECT n, serial FROM items ORDER BY _seq").all(),
    tallies: database.query<Tally, []>("SELECT id, value FROM tallies").all(),
    runs: runsIn(database),
    waiting: count(database, "failedAt IS NULL"),
    failed: count(database, "failedAt IS NOT NULL"),
  };
  database.run("ROLLBACK");
  return evidence;
}
