import type { Event, EventSource } from "@socle/protocol";
import type { Database, ModuleSchema, Reader, Transactor } from "../database/index.ts";
import { type Awaitable, type Clock, type Principal, toTimestamp } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { eventId } from "./event-id.ts";

export const eventSchema: ModuleSchema = {
  module: "events",
  steps: [
    `CREATE TABLE _events (
      seq INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      type TEXT NOT NULL,
      source TEXT NOT NULL,
      actor TEXT,
      owner TEXT,
      payload TEXT NOT NULL
    ) STRICT`,
    // Where the log stood when its newest events were trimmed: places are never given twice.
    "CREATE TABLE _event_position (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL, at INTEGER NOT NULL) STRICT",
  ],
};

/** What a module tells of something that happened. */
export interface NewEvent {
  type: string;
  source: EventSource;
  /** As it will be read: an object. It is serialised at once. */
  payload: object;
  /** Who caused it. */
  principal: Principal;
  /** Who owns the record it is about; realtime and functions need it to know who may hear it. */
  owner?: string | null;
}

/** An event of the log, with what is not for everybody. */
export interface LoggedEvent extends Event {
  /** Its place in the log, rising in commit order. */
  readonly seq: number;
  /** The id of the user who caused it, or null. */
  readonly actor: string | null;
  readonly owner: string | null;
}

export type EventListener = (event: LoggedEvent) => void;

interface EventRow {
  seq: number;
  at: number;
  type: string;
  source: EventSource;
  actor: string | null;
  owner: string | null;
  payload: string;
}

const insert = "INSERT INTO _events (seq, at, type, source, actor, owner, payload) VALUES (?, ?, ?, ?, ?, ?, ?)";
const columns = "seq, at, type, source, actor, owner, payload";

function toEvent(row: EventRow): LoggedEvent {
  return {
    id: eventId(row.at, row.seq),
    type: row.type,
    timestamp: toTimestamp(row.at),
    source: row.source,
    payload: JSON.parse(row.payload),
    seq: row.seq,
    actor: row.actor,
    owner: row.owner,
  };
}

/**
 * The log of everything that happened. An event is written in the transaction of its change, and told to listeners once
 * both are on disk, in commit order.
 */
export class EventLog {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listeners = new Set<EventListener>();
  #lastSeq = 0;

  constructor(options: { database: Database; clock: Clock; logger: Logger }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /** Continues where the log stands. To be called once, before the first event. */
  async start(): Promise<void> {
    const { reader } = this.#database;
    const position = await reader.get<{ seq: number; at: number }>("SELECT seq, at FROM _event_position");
    const last = await reader.get<{ seq: number; at: number }>("SELECT seq, at FROM _events ORDER BY seq DESC LIMIT 1");
    this.#lastSeq = Math.max(position?.seq ?? 0, last?.seq ?? 0);
    this.#clock.atLeast(Math.max(position?.at ?? 0, last?.at ?? 0));
  }

  /** Writes an event in the transaction of its change. `at` is the time of the change. */
  append(tx: Transactor, event: NewEvent, at: number = this.#clock.now()): Awaitable<unknown> {
    // A place whose transaction is taken back stays empty; the order of the others is what counts.
    this.#lastSeq += 1;
    const seq = this.#lastSeq;
    const actor = event.principal?.userId ?? null;
    const owner = event.owner ?? null;
    const payload = JSON.stringify(event.payload);
    if (this.#listeners.size > 0) {
      const row = { seq, at, type: event.type, source: event.source, actor, owner, payload };
      tx.afterFlush(() => this.#dispatch(toEvent(row)));
    }
    return tx.run(insert, seq, at, event.type, event.source, actor, owner, payload);
  }

  /** Calls `listener` with every event from now on. Answers how to stop that. */
  listen(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** At most `limit` events after place `seq`, oldest first. */
  async read(seq: number, limit: number, reader: Reader = this.#database.reader): Promise<LoggedEvent[]> {
    const rows = await reader.all<EventRow>(
      `SELECT ${columns} FROM _events WHERE seq > ? ORDER BY seq LIMIT ?`,
      seq,
      limit,
    );
    return rows.map(toEvent);
  }

  #dispatch(event: LoggedEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#logger.error("A listener of the event log failed", { event: event.id, type: event.type, error });
      }
    }
  }
}
