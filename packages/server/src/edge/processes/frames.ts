/** Frames between the leader and a reader process: the kinds, and the JSON of the heads. */
import type { ToldCommit } from "../../store/database/index.ts";
import type { LiveEvent } from "../../store/events/index.ts";

/** The kinds of frames. A frame with an id belongs to the exchange of frames that the first frame with the id began. */
export const kinds = {
  /** Reader: a request that the leader is to answer; `RequestHead`, and the body if the body is small and has come. */
  request: 1,
  /** Leader: the answer to a request; `AnswerHead`, and the body unless the body comes in pieces. */
  answer: 2,
  /** A piece of the body of a request or an answer. */
  piece: 3,
  /** The body is complete. */
  end: 4,
  /** The sender gives the exchange up: the client has gone, or the body has broken off. */
  abort: 5,
  /** The receiver of a body has taken bytes; the head is their number. */
  taken: 6,
  /** Leader: the connection of a request stays open until the answer. */
  keepOpen: 7,
  /** Leader: a commit, at the moment of the commit; `CommitHead`. */
  commit: 8,
  /** Reader: reads and state have a position; the head is the position. */
  has: 9,
  /** Leader: events are on disk; `LiveEvent[]`. */
  events: 10,
  /** A `ChannelMessage`. */
  channel: 11,
} as const;

export type CommitHead = ToldCommit;
export type EventsHead = readonly LiveEvent[];

/** The body of a request or of an answer: absent, within the frame, or in pieces. */
type BodyForm = "whole" | "pieces";

/** A request: the place of the route in the table, method, URL, headers, the key of the client's address, and the form of the body. */
export type RequestHead = readonly [
  index: number,
  params: Record<string, string>,
  method: string,
  url: string,
  headers: Record<string, string>,
  address: string,
  body: BodyForm,
];

export type AnswerHead = readonly [
  status: number,
  headers: readonly (readonly [name: string, value: string])[] | Record<string, string>,
  body: BodyForm,
];
