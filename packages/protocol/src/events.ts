/** Event: the shape in the event log and in realtime. */

export const EVENT_SOURCES = ["collections", "auth", "storage", "functions", "jobs", "admin"] as const;
export type EventSource = (typeof EVENT_SOURCES)[number];

/** An event of the event log (spec, "Event"). */
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
