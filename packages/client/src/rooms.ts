/** Rooms over the connection: a membership for all joins of a room, which is asked for again after a break. */
import type { RoomFrame, RoomServerFrame, RoomState } from "@socle/protocol";
import type { Connection, ConnectionPart, ReceivedFrame } from "./connection.ts";
import { tell } from "./observable.ts";

type Named = Pick<RoomFrame, "room" | "key">;

/** News about a room: frames of the service, or `lost` after a break. */
export type RoomNews =
  | RoomServerFrame
  | (Named & { readonly type: "error"; readonly code: string; readonly message: string })
  | (Named & { readonly type: "lost" });
export type RoomListener = (news: RoomNews) => void;

export type RoomJoin = Extract<RoomFrame, { action: "join" }>;
/** A frame of a member, without the names of the room. */
export type RoomAction =
  | { readonly action: "state"; readonly state: RoomState }
  | { readonly action: "send"; readonly event: string; readonly payload: unknown };

/** The actions of a join. */
export interface RoomHandle {
  send(action: RoomAction): void;
  leave(): void;
}

/** A membership at the service, for all joins of the room. */
interface Wire extends Named {
  /** The id of the member; undefined without an answer of the service. */
  id?: string | undefined;
  /** Whether this browser has been a member: a bound of the service then ends no membership. */
  wasMember?: boolean;
  /** The states by join, the newest state last. */
  readonly states: Map<RoomListener, RoomState | null>;
}

/** Half as long to one and a half times as long. */
const rejoinAfterMs = 2_000;

export class Rooms implements ConnectionPart {
  readonly #connection: Connection;
  readonly #wires = new Map<string, Wire>();
  /** The rooms of leaves without an answer: up to the answer, frames are about the membership before. */
  readonly #leaving: string[] = [];

  constructor(connection: Connection) {
    this.#connection = connection;
    connection.add(this);
  }

  get isNeeded(): boolean {
    return this.#wires.size > 0;
  }

  /** Joins. The joins of a room in this browser are one member; the service answers each join with all members. */
  join({ room, key, state }: RoomJoin, listener: RoomListener): RoomHandle {
    const name = nameOf({ room, key });
    const wire: Wire = this.#wires.get(name) ?? { room, key, states: new Map() };
    const { states } = wire;
    states.set(listener, state);
    this.#wires.set(name, wire);
    this.#ask(wire);
    this.#connection.update();
    return {
      send: (action) => {
        // A join that has left has no state.
        if (!states.has(listener)) return;
        if (action.action === "state") {
          states.delete(listener);
          states.set(listener, action.state);
        }
        if (wire.id === undefined) return;
        const frame = { ...action, room, key };
        this.#connection.send(frame);
        // The other joins of this browser hear the message as other members do.
        if (frame.action === "send")
          for (const other of [...states.keys()])
            if (other !== listener) other({ ...frame, type: "message", from: wire.id });
      },
      leave: () => {
        if (!states.delete(listener) || this.#wires.get(name) !== wire) return;
        if (states.size > 0) {
          // The state of this join may have been the state of the member.
          const action = wire.id === undefined ? "join" : "state";
          this.#connection.send({ action, room, key, state: stateOf(wire) ?? {} });
          return;
        }
        this.#wires.delete(name);
        if (this.#connection.state.get() === "open") this.#leaving.push(name);
        this.#connection.send({ action: "leave", room, key });
        this.#connection.update();
      },
    };
  }

  close(): void {
    this.#wires.clear();
    this.#connection.update();
  }

  opened(): void {
    for (const wire of this.#wires.values()) this.#ask(wire);
  }

  lost(): void {
    this.#leaving.length = 0;
    for (const wire of this.#wires.values()) {
      wire.id = undefined;
      // A worker posts the news to tabs: no functions go along.
      tell(wire.states.keys(), { room: wire.room, key: wire.key, type: "lost" });
    }
  }

  heard(received: ReceivedFrame): void {
    // A frame of another part has no room.
    const frame = received as Exclude<RoomNews, { type: "lost" }>;
    const name = nameOf(frame);
    const leaving = this.#leaving.indexOf(name);
    if (leaving >= 0) {
      if (frame.type === "left") this.#leaving.splice(leaving, 1);
      return;
    }
    const wire = this.#wires.get(name);
    if (wire === undefined) return;
    if (frame.type === "joined") {
      wire.id = frame.id;
      wire.wasMember = true;
    }
    // A frame of the membership before this join.
    if (wire.id === undefined && frame.type !== "error") return;
    tell(wire.states.keys(), frame);
    if (frame.type !== "left" && wire.id !== undefined) return;
    if (frame.type === "error" && frame.code === "room_limit" && wire.wasMember) {
      // Many come back at once after a break: there is a place later.
      setTimeout(
        () => {
          if (this.#wires.get(name) === wire && wire.id === undefined) this.#ask(wire);
        },
        rejoinAfterMs * (0.5 + Math.random()),
      );
      return;
    }
    // The membership has ended, or the join was refused.
    this.#wires.delete(name);
    if (frame.type !== "left") tell(wire.states.keys(), { ...frame, type: "left" });
    this.#connection.update();
  }

  #ask(wire: Wire): void {
    const { room, key } = wire;
    this.#connection.send({ action: "join", room, key, state: stateOf(wire) });
  }
}

function nameOf({ room, key }: Named): string {
  return `${room} ${key}`;
}

/** The state of the join that has set a state last. */
function stateOf({ states }: Wire): RoomState | null {
  return [...states.values()].findLast((state) => state !== null) ?? null;
}
