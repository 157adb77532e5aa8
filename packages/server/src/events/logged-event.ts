/** Event as the log keeps it: its row, and its parts that not every reader may see. */
import type { Event, EventSource, StoredRecord } from "@socle/protocol";
import { toTimestamp } from "../kernel/index.ts";
import { eventId } from "./event-id.ts";

/** An event as its row holds it. */
export interface EventRow {
  readonly seq: number;
  /** Milliseconds since 1970, never less than that of an earlier event: ids are made of it. */
  readonly at: number;
  /** The event's time where the clock was set back before it, and `at` is that of an earlier event; else null. */
  readonly time: number | null;
  readonly type: string;
  readonly source: EventSource;
  readonly actor: string | null;
  readonly owner: string | null;
  /** JSON. */
  readonly payload: string;
  /** 1 where the payload holds only the changed fields of a large record. */
  readonly partial: 0 | 1;
  /**
   * JSON of `EventBasis`; null for a creation, for an event without a record, and for events from before it was kept.
   */
  readonly basis?: string | null;
}

/** A row that is written: it says what it knows of the record before. */
export type WrittenRow = EventRow & Required<Pick<EventRow, "basis">>;

/**
 * The record as it was before an event, as far as the event changed it, or the read rule of its collection asks about
 * it.
 */
export interface EventBasis {
  readonly fields: { readonly [name: string]: unknown };
  readonly owner: string | null;
  /** The fields that were changed and whose former values are too long for the log. */
  readonly omitted?: readonly string[];
}

/** An event of the log without its payload: enough to decide its audience. */
export type EventHead = Pick<LoggedEvent, "seq" | "type" | "owner" | "timestamp">;

/** An event of the log, with its private parts. Costly parts are made on demand. */
export class LoggedEvent implements Event {
  /** Its position in the log, rising in commit order. */
  readonly seq: number;
  readonly type: string;
  readonly source: EventSource;
  /** The id of the user who caused it, or null. */
  readonly actor: string | null;
  /**
   * The owner of the record after the change, or before its deletion; null for none, and for an event without a record.
   */
  readonly owner: string | null;
  /** Whether the payload holds only the record's id and the changed fields. */
  readonly isPartial: boolean;
  /** The record before the event, where the event is told as it happens; else null. */
  readonly previous: StoredRecord | null;
  readonly #at: number;
  readonly #time: number | null;
  readonly #payload: string;
  readonly #basis: string | null;

  constructor(row: EventRow, previous: StoredRecord | null = null) {
    this.previous = previous;
    this.#basis = row.basis ?? null;
    this.seq = row.seq;
    this.type = row.type;
    this.source = row.source;
    this.actor = row.actor;
    this.owner = row.owner;
    this.isPartial = row.partial === 1;
    this.#at = row.at;
    // Rows that were copied into a delivery by an earlier version have none.
    this.#time = row.time ?? null;
    this.#payload = row.payload;
  }

  get id(): string {
    return eventId(this.#at, this.seq);
  }

  get timestamp(): string {
    return toTimestamp(this.#time ?? this.#at);
  }

  /** The record before the event, as far as it was kept; null where it was not. */
  get basis(): EventBasis | null {
    // The text was written from an `EventBasis`.
    return this.#basis === null ? null : (JSON.parse(this.#basis) as EventBasis);
  }

  get payload(): Event["payload"] {
    // The text was written from an object.
    return JSON.parse(this.#payload) as Event["payload"];
  }

  /** The id of the record or user that it is about; null where it is about none. */
  get subject(): string | null {
    return /^\{"(?:id|userId)":"([^"]*)"/.exec(this.#payload)?.[1] ?? null;
  }

  /** The event as its row holds it. */
  toRow(): EventRow {
    const { seq, type, source, actor, owner } = this;
    const partial = this.isPartial ? 1 : 0;
    return { seq, at: this.#at, time: this.#time, type, source, actor, owner, payload: this.#payload, partial };
  }

  /**
   * The event as it goes over the wire, with its payload or another one, which is JSON, and its type or another one.
   * Types and sources need no escaping.
   */
  toText(payload: string = this.#payload, type: string = this.type): string {
    return `{"id":"${this.id}","type":"${type}","timestamp":"${this.timestamp}","source":"${this.source}","payload":${payload}}`;
  }
}
