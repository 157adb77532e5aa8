/** Live queries for callers: the states of a result, the options, and the part of a client that watches queries. */
import type { QueryParts } from "@socle/protocol/query";
import type { ConnectionState } from "./connection.ts";
import type { SocleError } from "./error.ts";
import type { LiveQuery } from "./live-frames.ts";
import type { Observable } from "./observable.ts";

import type { Listener, SubscribeOptions } from "./realtime.ts";
import type { JoinOptions, Room } from "./room.ts";
import type { Answered, ClientOptions, Transport } from "./transport.ts";

/**
 * `loading`: no result came yet; `live`: the items are the present result; `offline`: the connection is lost, the items may be old;
 * `error`: the service has refused the query, or ended the query for good; with the code `offline`, the service cannot be reached, no result came
 * yet, and the query is tried again.
 */
export type LiveStatus = "loading" | "live" | "offline" | "error";

interface LiveProgress {
  readonly status: LiveStatus;
  /** The position in the log of the service up to which the result is right, as in the answers of writes; -1 before a result. */
  readonly position: number;
  /** Milliseconds between two runs of a query that costs much; absent for a query that is run at each change. */
  readonly every?: number;
  /** For the status `error`. */
  readonly error?: SocleError;
}

/** The state of a live query. */
export interface LiveState<Item = unknown> extends LiveProgress {
  readonly items: readonly Item[];
  /** Of a query `withTotal`. */
  readonly total?: number;
  /** Null without further items. */
  readonly nextCursor?: string | null;
}

/** The state of a live server query. */
export interface LiveValue<Value = unknown> extends LiveProgress {
  /** Absent before the first result. */
  readonly value?: Value;
}

export interface LiveOptions {
  /** Ends the query. */
  signal?: AbortSignal | undefined;
}

/** A query that can be watched: the call of a server query, or the query of a list, which has parts. */
export interface Watched {
  asked(): LiveQuery;
}

export interface WatchedList extends Watched {
  readonly collection: string;
  readonly parts: QueryParts;
}

/** A change of a record as live queries show the change before the answer. */
export interface OptimisticWrite {
  readonly collection: string;
  /** Null for a new record. */
  readonly id: string | null;
  /** The values of a create or an update; null for a delete. */
  readonly values: object | null;
}

/** The part of a client that watches queries. */
export interface Live {
  readonly connection: Observable<ConnectionState>;
  subscribe(channel: string, listener: Listener, options: SubscribeOptions): () => void;
  watch(
    query: Watched | WatchedList,
    listener: (state: LiveState & LiveValue) => void,
    options?: LiveOptions,
  ): () => void;
  /** Makes this browser a member of a room. */
  room(options: JoinOptions & { room: string; key: string }): Room;
  /** Shows a change in the live queries, and sends the change. Answers the value of the answer. */
  write(change: OptimisticWrite, send: () => Promise<Answered<unknown>>): Promise<unknown>;
  close(): void;
}

/** Makes the part of a client that watches queries: `live` of `@socle/client/live`. */
export type LiveFeature = (transport: Transport, options: Omit<ClientOptions, "baseUrl">) => Live;
