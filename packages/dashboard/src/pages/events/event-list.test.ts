/** Tests of the list of events: no event twice, no event that a filter excludes, and the start of the older events. */
import { expect, test } from "bun:test";
import type { EventEntry } from "@socle/protocol";
import { collectionOf, isOfType, isWanted, maxEvents, merged, olderThan, subjectOf, timeOfId } from "./event-list.ts";

function event(n: number, more: Partial<EventEntry> = {}): EventEntry {
  const at = 1_800_000_000_000 + Math.floor(n / 2);
  return {
    id: `evt_${at.toString(16).padStart(12, "0")}${n.toString(16).padStart(13, "0")}`,
    type: "posts.updated",
    timestamp: new Date(at).toISOString(),
    source: "collections",
    payload: { id: `rec_${n}` },
    actor: null,
    seq: n,
    ...more,
  };
}

test("lists join newest first, each event once, and are bounded", () => {
  const joined = merged([event(3), event(1)], [event(2), event(3), event(4)]);
  expect(joined.map(({ payload }) => payload["id"])).toEqual(["rec_4", "rec_3", "rec_2", "rec_1"]);
  const many = merged(
    [],
    Array.from({ length: maxEvents + 10 }, (_, n) => event(n)),
  );
  expect(many).toHaveLength(maxEvents);
  expect(many.at(-1)?.payload["id"]).toBe("rec_10");
});

test("older events begin at the time of the oldest, without known events", () => {
  expect(olderThan([])).toBeNull();
  expect(olderThan([event(5), event(4), event(3)])).toEqual({ to: event(3).timestamp, offset: 1 });
  expect(olderThan([event(5), event(4)])).toEqual({ to: event(4).timestamp, offset: 2 });
});

test.each([
  ["posts.updated", undefined, true],
  ["posts.updated", "posts.*", true],
  ["posts.updated", "auth.login, posts.updated", true],
  ["posts.updated", "posts", false],
  ["postscript.created", "posts.*", false],
])("%s for %s: %p", (type, wanted, is) => {
  expect(isOfType(type, wanted)).toBe(is);
});

test("a new event passes every filter", () => {
  const one = event(4, { actor: "usr_1" });
  expect(isWanted(one, {})).toBe(true);
  expect(isWanted(one, { actor: "usr_2" })).toBe(false);
  expect(isWanted(one, { from: one.timestamp, to: one.timestamp, actor: "usr_1", type: "posts.*" })).toBe(true);
  expect(isWanted(one, { about: "usr_1" })).toBe(false);
  const login = event(4, { source: "auth", type: "auth.login", payload: { userId: "usr_1" } });
  expect(isWanted(login, { about: "usr_1" })).toBe(true);
  expect(isWanted(one, { to: event(1).timestamp })).toBe(false);
  expect(isWanted(one, { from: event(6).timestamp })).toBe(false);
});

test("an id contains its time; an event names its subject", () => {
  expect(timeOfId(event(4).id)).toBe(event(4).timestamp);
  expect(timeOfId("evt_zz")).toBeNull();
  expect(collectionOf(event(1))).toBe("posts");
  expect(collectionOf(event(1, { source: "auth", type: "auth.login" }))).toBeNull();
  expect(subjectOf(event(1))).toBe("rec_1");
  expect(subjectOf(event(1, { payload: { userId: "usr_1", target: "posts" } }))).toBe("posts");
  expect(subjectOf(event(1, { payload: { n: 1 } }))).toBe("");
});
