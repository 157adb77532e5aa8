/** `useRoom`: a membership of a room for the life of a component. */
import type { RoomClient, RoomTypes } from "@socle/client";
import { type RoomStore, type RoomView, roomStore, type Skipped } from "@socle/client/store";
import { useMemo, useSyncExternalStore } from "react";

type UsedRoom<T extends RoomTypes> = RoomView<T> & Pick<RoomStore<T>, "setState" | "send" | "on">;

/**
 * Joins a room, and leaves the room with the component: `const { members, setState } = useRoom(socle.room("board", id), { state: { cursor: null } })`.
 * `setState`, `send` and `on` stay the same for a room. Null, undefined or false joins no room.
 */
export function useRoom<T extends RoomTypes>(
  room: RoomClient<T> | Skipped,
  { state }: { readonly state?: T["state"] } = {},
): UsedRoom<T> {
  const { source, name, key } = room || { source: null, name: null, key: null };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another object may stand for the same room, and the first state counts
  const store = useMemo(() => roomStore(room, state), [source, name, key]);
  const view = useSyncExternalStore(store.subscribe, store.get, store.get);
  const { setState, send, on } = store;
  return useMemo(() => ({ ...view, setState, send, on }), [view, setState, send, on]);
}
