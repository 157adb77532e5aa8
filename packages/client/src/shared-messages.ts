/** The messages between a tab and the worker that the tabs of a browser share. */
import type { Event } from "@socle/protocol";
import type { ConnectionState } from "./connection.ts";
import type { LiveQuery } from "./live-frames.ts";
import type { LiveNews } from "./live-queries.ts";
import type { RoomAction, RoomJoin, RoomNews } from "./rooms.ts";

/** Changes with the messages. A worker of another version is not used. */
export const sharedVersion = "2";

/** From a tab. Numbers name the subscriptions of the tab. */
export type TabMessage =
  /** The first message, and again after another sign-in: tabs with the same address and session share a socket. */
  | { type: "hello"; baseUrl: string; session: string; lock: string }
  | { type: "channel"; n: number; channel: string; filter: string | undefined }
  | { type: "query"; n: number; query: LiveQuery }
  | { type: "room"; n: number; frame: RoomJoin }
  | { type: "roomAction"; n: number; action: RoomAction }
  | { type: "stop"; n: number }
  /** Somebody looks at the tab, or the network is there again. */
  | { type: "wake" }
  /** The answer to `ask`. */
  | { type: "bearer"; bearer: string | null };

/** From the worker. */
export type WorkerMessage =
  | { type: "welcome" }
  | { type: "state"; state: ConnectionState }
  | { type: "event"; n: number; event: Event }
  | { type: "live"; n: number }
  | { type: "refused"; n: number; message: string }
  | { type: "news"; n: number; news: LiveNews }
  | { type: "roomNews"; n: number; news: RoomNews }
  /** Asks for the token; `used` was refused, and must be renewed first. */
  | { type: "ask"; used: string | null };

/** The part of `MessagePort` that is used; the types of server runtimes have other events. */
export interface Port<Sent, Received> {
  onmessage: ((event: { readonly data: Received }) => void) | null;
  postMessage(message: Sent): void;
}

/** The part of `navigator.locks` that is used: the worker hears that a tab is gone when the lock of the tab is free. */
export interface Locks {
  request(name: string, work: () => Promise<unknown>): Promise<unknown>;
}
