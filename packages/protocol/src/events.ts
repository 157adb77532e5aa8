/** Event, as the event log keeps it and realtime sends it. */

export const EVENT_SOURCES = ["collections", "auth", "storage", "functions", "jobs", "admin"] as const;
export type EventSource = (typeof EVENT_SOURCES)[number];

/** Something that happened, as the event log keeps it (spec, "Event"). */
export interface Event {
  /** `evt_…`; ids sort in the order in which the events were committed. */
  id: string;
  /** Also the name of the channel: `posts.created`, `auth.login`, … */
  type: string;
  /** ISO 8601, UTC, with milliseconds. */
  timestamp: string;
  source: EventSource;
  payload: { [key: string]: unknown };
}
