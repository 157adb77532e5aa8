/** An event of the log: its id, its row, and the parts that some readers must not see. */
import type { Event, EventSource, StoredRecord } from "@socle/protocol";
import { toTimestamp } from "../../base/kernel/index.ts";

const pattern = /^evt_([0-9a-f]{12})([0-9a-f]{13})$/;

export function eventId(at: number, seq: number): string {
  return `evt_${at.toString(16).padStart(12, "0")}${seq.toString(16).padStart(13, "0")}`;
}

/** Time and seq of an event; null if the text is not an event's id. */
export function parseEventId(id: string): { at: number; seq: number } | null {
  const [, at, seq] = pattern.exec(id) ?? [];
  if (at === undefined || seq === undefined) return null;
  return { at: Number.parseInt(at, 16), seq: Number.parseInt(seq, 16) };
}

/** An event, as stored in its row. */
export interface EventRow {
  readonly seq: number;
  /** Milliseconds since 1970; never less than the `at` of an earlier event. The event's id contains `at`. */
  readonly at: number;
  /** The event's own time, if the clock was set back and `at` repeats an earlier event's time; otherwise null. */
  readonly time: number | null;
  readonly type: string;
  readonly source: EventSource;
  readonly actor: string | null;
  readonly owner: string | null;
  readonly payload: string;
  /** 1 if the payload holds only the changed fields of a large record. */
  readonly partial: 0 | 1;
  /**
   * JSON of `EventBasis`; null for a creation, for an event without a record, and for events of versions without a basis.
   */
  readonly basis?: string | null;
}

/** A row to write: `basis` is required. */
export type WrittenRow = EventRow & Required<Pick<EventRow, "basis">>;

/**
 * The record before an event: the fields that the event changed or that the read rule of the collection uses.
 */
export interface EventBasis {
  readonly fields: { readonly [name: string]: unknown };
  readonly owner: string | null;
  /** The changed fields whose former values are too long for the log. */
  readonly omitted?: readonly string[];
}

/** An event of the log without its payload: enough to decide the event's audience. */
export type EventHead = Pick<LoggedEvent, "seq" | "type" | "owner" | "timestamp">;

/** An event of the log, with its private parts. Costly parts are computed on demand. */
export class LoggedEvent implements Event {
  /** The position in the log; rises in commit order. */
  readonly seq: number;
  readonly type: string;
  readonly source: EventSource;
  /** The id of the user who caused the event, or null. */
  readonly actor: string | null;
  /**
   * The owner of the record after the change, or before its deletion; null without an owner, and without a record.
   */
  readonly owner: string | null;
  /** Whether the payload holds only the record's id and the changed fields. */
  readonly isPartial: boolean;
  /** The record before the event, while the event is live; null for an event read from the log. */
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
    // Rows that an earlier version copied into a delivery have no time.
    this.#time = row.time ?? null;
    this.#payload = row.payload;
  }

  get id(): string {
    return eventId(this.#at, this.seq);
  }

  get timestamp(): string {
    return toTimestamp(this.#time ?? this.#at);
  }

  /** The kept part of the record before the event; null if no part was kept. */
  get basis(): EventBasis | null {
    // The text was written from an `EventBasis`.
    return this.#basis === null ? null : (JSON.parse(this.#basis) as EventBasis);
  }

  get payload(): Event["payload"] {
    // The text was written from an object.
    return JSON.parse(this.#payload) as Event["payload"];
  }

  /** The id of the event's record or user; null if the event has neither. */
  get subject(): string | null {
    return /^\{"(?:id|userId)":"([^"]*)"/.exec(this.#payload)?.[1] ?? null;
  }

  toRow(): EventRow {
    const { seq, type, source, actor, owner } = this;
    const partial = this.isPartial ? 1 : 0;
    return { seq, at: this.#at, time: this.#time, type, source, actor, owner, payload: this.#payload, partial };
  }

  /**
   * The event as sent over the wire. A caller may replace the payload (JSON) and the type.
   * Types and sources need no escaping.
   */
  toText(payload: string = this.#payload, type: string = this.type): string {
    return `{"id":"${this.id}","type":"${type}","timestamp":"${this.timestamp}","source":"${this.source}","payload":${payload}}`;
  }
}
