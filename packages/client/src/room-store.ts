/** Room store: a membership for a component of a framework. The membership lasts as long as somebody is subscribed. */
import type { SocleError } from "./error.ts";
import { Observed } from "./observable.ts";
import type { AnyRoom, Member, MessageListener, Room, RoomClient, RoomStatus, RoomTypes } from "./room.ts";
import type { Skipped } from "./store.ts";

/** The state of a membership. `idle`: there is no room. */
export interface RoomView<T extends RoomTypes = AnyRoom> {
  readonly status: RoomStatus | "idle";
  /** All members, this member included. */
  readonly members: readonly Member<T>[];
  /** This member; undefined before the first answer. */
  readonly me: Member<T> | undefined;
  /** Why the membership is over, or the last refusal. */
  readonly error: SocleError | undefined;
}

export interface RoomStore<T extends RoomTypes = AnyRoom> {
  readonly get: () => RoomView<T>;
  /** Calls back at each change. Answers the function that ends the subscription, and with the last, the membership. */
  readonly subscribe: (listener: (view: RoomView<T>) => void) => () => void;
  /** See `Room.setState`. */
  readonly setState: (state: T["state"]) => void;
  /** See `Room.send`. */
  readonly send: (event: T["event"], payload?: unknown) => boolean;
  /** See `Room.on`; also before the membership, and for the next. */
  readonly on: (event: T["event"], listener: MessageListener<T>) => () => void;
}

const nothing: RoomView<never> = { status: "idle", members: [], me: undefined, error: undefined };

/** @param given null for no room. @param state of the member, until `setState`. */
export function roomStore<T extends RoomTypes>(given: RoomClient<T> | Skipped, state?: T["state"]): RoomStore<T> {
  const room = given || null;
  const view = new Observed<RoomView<T>>(room === null ? nothing : { ...nothing, status: "joining" });
  const listeners = new Map<object, (joined: Room<T>) => void>();
  let latest = state;
  let joined: Room<T> | null = null;
  let subscriptions = 0;
  const look = (): void => {
    if (joined === null) return;
    const { error, id, status, members } = joined;
    const all = members.get();
    view.set({ status: status.get(), members: all, me: all.find((member) => member.id === id), error });
  };
  const leave = (): void => {
    // A component that comes back at once goes on.
    if (subscriptions > 0 || joined === null) return;
    const left = joined;
    joined = null;
    left.leave();
  };
  return {
    get: () => view.get(),
    subscribe(listener) {
      subscriptions += 1;
      const stop = view.subscribe(listener);
      if (joined === null && room !== null) {
        joined = room.join({ state: latest, onError: look });
        joined.members.subscribe(look);
        joined.status.subscribe(look);
        for (const add of listeners.values()) add(joined);
        look();
      }
      return () => {
        stop();
        subscriptions -= 1;
        setTimeout(leave);
      };
    },
    setState(next) {
      latest = next;
      joined?.setState(next);
    },
    send: (event, payload) => joined?.send(event, payload) ?? false,
    on(event, listener) {
      const key = {};
      let stop = (): void => undefined;
      const add = (to: Room<T>): void => {
        stop = to.on(event, listener);
      };
      listeners.set(key, add);
      if (joined !== null) add(joined);
      return () => {
        listeners.delete(key);
        stop();
      };
    },
  };
}
