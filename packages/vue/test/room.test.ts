/** `useRoom` of Vue, without a page: what a component hears of a room, and of the next room. */
import { afterAll, expect, test } from "bun:test";
import type { Member, RoomClient } from "@socle/client";
import { effectScope, nextTick, ref } from "vue";
import { useRoom } from "../src/index.ts";

// Rooms are joined in pages alone.
Object.assign(globalThis, { window: globalThis });
afterAll(() => {
  Reflect.deleteProperty(globalThis, "window");
});

type Listener = (payload: unknown, from: Member | undefined) => void;

/** A room that the test speaks for. */
function fakeRoom(key: string) {
  const listeners = new Set<readonly [event: string, listener: Listener]>();
  const still = <T>(value: T) => ({ get: () => value, subscribe: () => () => undefined });
  const joined = {
    id: "me",
    error: undefined,
    members: still([]),
    status: still("joined"),
    setState: () => undefined,
    send: () => true,
    leave: () => undefined,
    on(event: string, listener: Listener) {
      const added = [event, listener] as const;
      listeners.add(added);
      return () => void listeners.delete(added);
    },
  };
  return {
    client: { name: "lobby", key, source: {}, join: () => joined } as unknown as RoomClient,
    say(event: string): void {
      for (const [each, listener] of [...listeners]) if (each === event) listener(`${event} in ${key}`, undefined);
    },
  };
}

test("a function that listens to several events hears each, also in the next room, until its own end", async () => {
  const [one, two] = [fakeRoom("one"), fakeRoom("two")];
  const current = ref("one");
  const heard: unknown[] = [];
  const scope = effectScope();
  const ends = scope.run(() => {
    const { on } = useRoom(() => (current.value === "one" ? one.client : two.client));
    const hear = (payload: unknown): void => void heard.push(payload);
    return [on("hi", hear), on("bye", hear), on("bye", hear)] as const;
  });
  const sayAll = (): unknown[] => {
    heard.length = 0;
    for (const room of [one, two]) for (const event of ["hi", "bye"]) room.say(event);
    return [...heard];
  };
  expect(sayAll()).toEqual(["hi in one", "bye in one", "bye in one"]);
  current.value = "two";
  await nextTick();
  expect(sayAll()).toEqual(["hi in two", "bye in two", "bye in two"]);
  ends?.[1]();
  expect(sayAll()).toEqual(["hi in two", "bye in two"]);
  current.value = "one";
  await nextTick();
  expect(sayAll()).toEqual(["hi in one", "bye in one"]);
  scope.stop();
});
