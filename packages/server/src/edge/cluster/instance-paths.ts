/** Paths of the questions between instances, and the forms of answers. */
import type { QueryNames } from "../processes/index.ts";

/** The beginning of the paths between instances. */
export const instancePrefix = "/_/cluster";
/** A replica's question for the newest position. */
export const questionPath = `${instancePrefix}/question`;
/** The leader's routes and server queries, for a replica that starts. */
export const introductionPath = `${instancePrefix}/introduction`;
/** A run of a server query for a live query of a replica. */
export const queryPath = `${instancePrefix}/query`;
/** The use of an API key or an access token at a replica. The name is that of an earlier version, which told uses of keys alone. */
export const usePath = `${instancePrefix}/key`;
/** Members and messages of rooms; see `room-links.ts`. */
export const roomsPath = `${instancePrefix}/rooms`;
/** The open sockets of a replica. */
export const socketsPath = `${instancePrefix}/sockets`;
/** A command to the leader; see `leader-commands.ts`. */
export const commandPath = `${instancePrefix}/command`;
/** Whether a replica may lead. */
export const candidatePath = `${instancePrefix}/candidate`;

/** All that a replica must know of the leader. */
export interface Introduction {
  /** The address of the files; absent in an earlier version. */
  readonly storage?: string;
  /** The paths of the leader's routes. */
  readonly paths: readonly string[];
  readonly queries: QueryNames;
}

/** The answer of an instance before a hand-over. */
export interface Candidate {
  readonly position: number;
  /** The fingerprint of the project folder. */
  readonly files: string | null;
  /** Why the instance may not lead; null for an instance that may. */
  readonly refusal: string | null;
}
