/** Frames of live queries, as the client reads the frames, and positions in the log. */
import type { ErrorDetail, GroupQuery, LiveChange, LiveResult, LiveValue, RecordQuery } from "@socle/protocol";

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

/** The frame that asks for a query. `since` is the position up to which the window is right, after a break. */
export interface LiveSubscribe {
  readonly action: "subscribe";
  readonly id: string;
  readonly query: LiveQuery;
  readonly since?: number | undefined;
}

/** The whole result of a query. */
export type LiveWhole = LiveResult | LiveValue;

/** The service has told everything up to this position. */
export interface LivePosition {
  readonly type: "position";
  readonly seq: number;
}

/** The end of a live query. `code` is a code of realtime or of HTTP. */
interface LiveError {
  readonly type: "error";
  readonly id: string;
  readonly code: string;
  readonly message: string;
  readonly details?: ErrorDetail[];
}

export type LiveFrame = LiveWhole | LiveChange | LivePosition | LiveError;
