/** `useRoom`: a membership of a room for the life of a component. */
import type { MessageListener, RoomClient, RoomTypes } from "@socle/client";
import { isPage, type RoomStore, type RoomView, roomStore, type Skipped } from "@socle/client/store";
import { type MaybeRefOrGetter, onScopeDispose, type ShallowRef, shallowRef, toValue, watch } from "vue";

/**
 * Joins a room, another room when the name or the key changes, and leaves with the component:
 * `const { room, setState } = useRoom(() => socle.room("board", props.id), { state: { cursor: null } })`, then `room.value.members`.
 */
export function useRoom<T extends RoomTypes>(
  room: MaybeRefOrGetter<RoomClient<T> | Skipped>,
  { state }: { readonly state?: T["state"] } = {},
): { readonly room: Readonly<ShallowRef<RoomView<T>>> } & Pick<RoomStore<T>, "setState" | "send" | "on"> {
  /** One for each call of `on`: a function may listen to several events. */
  const listeners = new Set<(store: RoomStore<T>) => void>();
  let store = roomStore(toValue(room), state);
  const view = shallowRef(store.get());
  let stop = (): void => undefined;
  const follow = (): void => {
    stop();
    // A server, which renders a page, joins nothing.
    if (!isPage()) return;
    stop = store.subscribe((next) => {
      view.value = next;
    });
    view.value = store.get();
  };
  follow();
  watch(
    () => {
      const { name, key } = toValue(room) || {};
      return `${name} ${key}`;
    },
    () => {
      store = roomStore(toValue(room), state);
      for (const add of listeners) add(store);
      follow();
    },
  );
  onScopeDispose(() => stop());
  return {
    room: view,
    setState: (next) => store.setState(next),
    send: (event, payload) => store.send(event, payload),
    on(event, listener: MessageListener<T>) {
      let end = (): void => undefined;
      const add = (to: RoomStore<T>): void => {
        end();
        end = to.on(event, listener);
      };
      listeners.add(add);
      add(store);
      return () => {
        listeners.delete(add);
        end();
      };
    },
  };
}
