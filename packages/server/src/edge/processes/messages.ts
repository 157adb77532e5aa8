/** Messages between the leader and a reader process: the names, the arguments and the answers, as plain data. */

import type { ConfiguredKeys, PlainConfig } from "../../base/config/index.ts";
import type { Bearer } from "../../base/kernel/index.ts";
import type { LogEntry, LogLevel } from "../../base/logging/index.ts";
import type { EndpointAccess } from "../../code/endpoints/index.ts";
import type { VersionState } from "../../data/records/index.ts";
import type { SocketPart, SocketQuery } from "../../live/realtime/index.ts";
import type { RoomFile, RoomNews } from "../../live/rooms/index.ts";
import type { ProcessNumbers } from "../../operate/admin/index.ts";
import type { LoggedRequest } from "../../store/events/index.ts";
import type { PassedOperation, WrittenRecord } from "../http/index.ts";

/** All that a reader process starts with. */
export interface ReaderStart {
  /** The number of the process, from 1 on; the leader is 0. */
  readonly number: number;
  readonly config: PlainConfig;
  /** The live keys without the settings, which the database has. */
  readonly live: ConfiguredKeys;
  readonly version: string;
  readonly port: number;
  /** The paths of the leader's routes. */
  readonly paths: readonly string[];
  /** The key that signs access tokens. */
  readonly jwtSecret: string;
  /** The last commit. The state below is of this commit. */
  readonly position: number;
  readonly versions: VersionState;
  readonly queries: QueryNames;
  /** The definitions of rooms, which the leader has read. */
  readonly rooms: readonly RoomFile[];
}

/** The server queries by name: the access, or null for a file that does not load; and the queries with values that differ between callers. */
export interface QueryNames {
  readonly access: readonly (readonly [name: string, access: EndpointAccess | null])[];
  readonly personal: readonly string[];
}

/** A value of a server query, as `LiveValueRun`. */
export interface QueryRun {
  readonly value: string;
  readonly ms: number;
  readonly onTime: boolean;
  readonly collections: readonly (readonly [name: string, part: "any" | "own"])[];
  readonly personal: readonly string[];
}

/** The messages that the leader answers. */
export interface ForLeader {
  /** The process has the state of its first snapshot: from now on no write is answered before the process has the write. Answers the last commit. */
  followed(argument: null): number;
  /** The process listens. */
  serving(argument: null): void;
  /** Events are sent from now on, or no longer. Answers the seq of the newest event on disk. */
  hear(isOn: boolean): number;
  /** Runs a server query. */
  run(
    argument: { name: string; args: { readonly [name: string]: unknown }; caller: Bearer | null },
    signal: AbortSignal,
  ): Promise<QueryRun>;
  /** Runs the operation of a request. */
  write(operation: PassedOperation): Promise<WrittenRecord | null>;
  /** An API key or an access token was used; see `Uses`. */
  used(id: string): void;
  /** A request was answered; see `RequestLog`. */
  answered(request: LoggedRequest): void;
  /** A request was answered here, for the collector of spans; see `RequestLog`. */
  watched(request: LoggedRequest): void;
  log(entry: LogEntry): void;
  /** News of the members and messages of rooms; null before the first news: the process is ready for the leader's news. */
  rooms(news: RoomNews | null): void;
}

/** The messages that a reader process answers. */
export interface ForReader {
  start(argument: ReaderStart): void;
  /** The user's code was loaded. */
  queries(argument: QueryNames): void;
  /** A write was answered; see `Realtime.wrote`. */
  wrote(caller: string): void;
  rooms(news: RoomNews): void;
  /** Takes the present state anew. */
  renew(argument: null): void;
  /** As `PausableReads`. */
  drain(argument: null): Promise<void>;
  resume(argument: null): void;
  cutOff(message: string): void;
  logLevel(level: LogLevel): void;
  numbers(argument: null): ProcessNumbers;
  sockets(query: SocketQuery): SocketPart;
  /** Loads the certificate again, and takes the definitions of rooms. */
  reload(rooms: readonly RoomFile[]): Promise<void>;
  /** Refuses new requests, and finishes the running requests within a time. */
  refuse(graceMs: number): Promise<void>;
  /** See `HttpServer.giveUp`. */
  giveUp(argument: null): void;
  /** Closes the connections, and ends the process. */
  stop(argument: null): void;
}
