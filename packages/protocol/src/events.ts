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

export const CAUSE_KINDS = ["request", "function", "job", "import", "migration", "undo"] as const;

/** The cause of a change of a record. */
export interface ChangeCause {
  kind: (typeof CAUSE_KINDS)[number];
  /** The `X-Request-Id` of the request, or the id of the run, of the import or of the undo. */
  id: string;
  /** The user's code that made the change, as `path:handler`. */
  name?: string;
}
