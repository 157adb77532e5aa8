/** Frames of live queries, beside the frames of channels, and positions in the log. */
import type { GroupQuery, RecordQuery } from "@socle/protocol";

/** Answers of writes carry the position of the write; requests carry the highest position that the client has seen. */
export const POSITION_HEADER = "Socle-Position";

/** A query of a live subscription: the parameters of `GET /api/{collection}`. */
interface LiveListQuery extends RecordQuery, GroupQuery {
  collection: string;
}

/** A call of a server query: as `GET /api/query/{name}?args=`. */
export interface LiveServerQuery {
  readonly name: string;
  readonly args?: unknown;
}

export type LiveQuery = LiveListQuery | LiveServerQuery;

/** The frame that asks for a live query. `since` is the `seq` of the last frame, after a break. */
export interface LiveSubscribe {
  action: "subscribe";
  id: string;
  query: LiveQuery;
  since?: number;
}

export interface LiveUnsubscribe {
  action: "unsubscribe";
  id: string;
}

/** The parts of a page beside the items, and the position at which the service ran the query. */
interface LivePage {
  id: string;
  seq: number;
  total?: number;
  nextCursor?: string | null;
  /** Milliseconds: the service runs the query less often, because the query costs much. */
  every?: number;
}

/** The whole result of a query: `items` of a list or of groups, `value` of a server query. */
export type LiveResult = LivePage & { type: "result" } & ({ items: readonly LiveItem[] } | { value: unknown });

/** The ids of the whole window, and the records that are new or changed in the window. */
export type LiveChange = LivePage & { type: "change"; order: readonly string[]; items: readonly LiveItem[] };

/** A record with the selected fields, or a group. */
export interface LiveItem {
  readonly [field: string]: unknown;
}

/** The service has told everything up to this position. */
export interface LivePosition {
  type: "position";
  seq: number;
}

/** The end of a live query, or of a channel. `code` is a code of realtime or of HTTP. */
export interface LiveError {
  type: "error";
  id: string;
  code: string;
  message: string;
}
