/** `room`: a store by the contract of Svelte for a membership of a room. */
import type { RoomClient, RoomTypes } from "@socle/client";
import { isPage, type RoomStore, type RoomView, roomStore, type Skipped } from "@socle/client/store";
import type { Readable } from "svelte/store";

/**
 * Joins a room while the store has subscribers: `const board = room(socle.room("board", id), { state: { cursor: null } })`, then
 * `$board.members` and `board.setState({ cursor })`.
 */
export function room<T extends RoomTypes>(
  of: RoomClient<T> | Skipped,
  { state }: { readonly state?: T["state"] } = {},
): Readable<RoomView<T>> & Pick<RoomStore<T>, "setState" | "send" | "on"> {
  const { get, subscribe, setState, send, on } = roomStore(of, state);
  return {
    setState,
    send,
    on,
    subscribe(listener) {
      // A server, which renders a page, joins nothing.
      const stop = isPage() ? subscribe(listener) : () => undefined;
      listener(get());
      return stop;
    },
  };
}
