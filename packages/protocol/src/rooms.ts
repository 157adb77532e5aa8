/** Rooms protocol: the definition of a room, and the frames about members, states and messages. */
import type { Rule } from "./collections.ts";

/** Characters of a room's key. */
export const MAX_ROOM_KEY = 200;

/** A file of `rooms/`: the keys, the callers that may join and send, and the names of state fields and events. */
export interface RoomDefinition {
  readonly name: string;
  /** Each key is the id of a record of the collection, or any string. */
  readonly key: "string" | { readonly collection: string };
  readonly join: Rule;
  readonly send: Rule;
  /** The fields that a member's state may have. */
  readonly presence: readonly string[];
  /** The events that a member may send. */
  readonly events: readonly string[];
}

/** The state of a member: the fields that the definition lists, with any JSON values. */
export interface RoomState {
  readonly [field: string]: unknown;
}

export interface RoomMember {
  /** Another id after each join. */
  readonly id: string;
  /** Null for a member without a token. */
  readonly userId: string | null;
  readonly state: RoomState;
}

/** A room of a name, for a key. */
interface RoomName {
  readonly room: string;
  readonly key: string;
}

/** A frame of a client about a room. */
export type RoomFrame = RoomName &
  (
    | { readonly action: "join"; readonly state: RoomState | null }
    | { readonly action: "state"; readonly state: RoomState }
    | { readonly action: "send"; readonly event: string; readonly payload: unknown }
    | { readonly action: "leave" }
  );

/** A frame of the service about a room. */
export type RoomServerFrame =
  /** The socket is a member, with this id. The members contain the new member. */
  | ({ type: "joined"; id: string; members: readonly RoomMember[] } & RoomName)
  | ({ type: "left" } & RoomName)
  /** `left` has ids. A list without members is absent. */
  | ({
      type: "presence";
      came?: readonly RoomMember[];
      changed?: readonly RoomMember[];
      left?: readonly string[];
    } & RoomName)
  /** `from` is the id of a member. */
  | ({ type: "message"; event: string; payload: unknown; from: string } & RoomName);
