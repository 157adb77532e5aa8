/** The parts with which a process answers requests, in each role: the leader (`app.ts`), a reader process and a replica of a cluster. */
import type { Config } from "../base/config/index.ts";
import { EventLoopLag, type Logger, RequestMeter } from "../base/logging/index.ts";
import type { ServingParts, WritePositions } from "../edge/http/index.ts";
import { Realtime, type RealtimeOptions } from "../live/realtime/index.ts";
import type { RoomFile } from "../live/rooms/index.ts";
import type { Front } from "./http-parts.ts";
import type { Service } from "./service.ts";

export interface PartsOptions {
  readonly service: Service;
  readonly config: Config;
  readonly logger: Logger;
  readonly version: string;
  readonly front: Pick<Front, "files" | "dashboard">;
  /** The server queries. */
  readonly named: RealtimeOptions["named"];
  readonly rooms: readonly RoomFile[];
  readonly beforeSocket?: RealtimeOptions["beforeSocket"];
  /** Aborted when the role begins to stop. */
  readonly stopping: AbortSignal;
}

export interface RoleParts extends ServingParts {
  readonly lag: EventLoopLag;
}

/** Builds the parts. The HTTP server starts realtime. */
export function openParts(options: PartsOptions): RoleParts {
  const { service, config, logger, version, front, named, rooms, beforeSocket, stopping } = options;
  const { auth, collections, database, events, limits, lists, queries, records, storage } = service;
  const realtime = new Realtime({
    auth,
    beforeSocket,
    collections,
    config,
    database,
    events,
    limits,
    lists,
    logger: logger.for("realtime"),
    named,
    records,
    storage,
  });
  realtime.rooms.load(rooms);
  return {
    auth,
    config,
    dashboard: front.dashboard,
    files: front.files,
    lag: new EventLoopLag(stopping),
    limits,
    logger: logger.for("http"),
    meter: new RequestMeter(),
    queries,
    realtime,
    records,
    requests: events.requests,
    storage,
    version,
  };
}

/** The listeners of writes beside the sockets of this process. */
interface OtherViewers {
  /** Whether answers to reads tell the position, too. */
  readonly isForReads: boolean;
  readonly areThere: () => boolean;
  /** A write was answered. @param caller a user id or an address. */
  readonly wrote: (caller: string, seq: number) => void;
}

/** The positions of writes, for the sockets of this process and for others. */
export function positionsOf(realtime: Realtime, others: OtherViewers): WritePositions {
  return {
    get seq() {
      return realtime.seq;
    },
    get hasViewers() {
      return realtime.hasViewers || others.areThere();
    },
    isForReads: others.isForReads,
    wrote(caller) {
      realtime.wrote(caller);
      others.wrote(caller, realtime.seq);
    },
  };
}
