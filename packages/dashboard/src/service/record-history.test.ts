/** Tests of the history of a record. */
import { expect, test } from "bun:test";
import type { EventEntry } from "@socle/protocol";
import { historyOf } from "./record-history.ts";

let minute = 0;

function event(kind: string, payload: EventEntry["payload"], partial = false): EventEntry {
  minute += 1;
  const timestamp = new Date(minute * 60_000).toISOString();
  const entry: EventEntry = {
    id: `evt_${minute}`,
    type: `posts.${kind}`,
    timestamp,
    source: "collections",
    payload,
    actor: null,
    seq: minute,
  };
  return partial ? { ...entry, partial: true } : entry;
}

test("each update lists its changes, newest first", () => {
  const events = [
    event("created", { id: "rec_1", updatedAt: "1", title: "a", views: null }),
    event("updated", { id: "rec_1", updatedAt: "2", title: "b", views: null }),
    event("updated", { id: "rec_1", updatedAt: "3", views: 7 }, true),
    event("deleted", { id: "rec_1" }),
  ].reverse();
  expect(historyOf(events).map(({ kind, changes }) => [kind, changes])).toEqual([
    ["deleted", []],
    ["updated", [{ field: "views", kind: "changed", before: null, after: 7 }]],
    ["updated", [{ field: "title", kind: "changed", before: "a", after: "b" }]],
    ["created", [{ field: "title", kind: "added", before: undefined, after: "a" }]],
  ]);
});

test("without the event before, an update cannot list its changes", () => {
  const events = [
    event("updated", { id: "rec_1", title: "b" }),
    event("updated", { id: "rec_1", title: "c" }),
  ].reverse();
  expect(historyOf(events).map(({ changes, isComplete }) => [changes, isComplete])).toEqual([
    [[{ field: "title", kind: "changed", before: "b", after: "c" }], true],
    [[], false],
  ]);
});

test("a partial event alone has the new values, and does not make up the former values", () => {
  const [newer, older] = historyOf(
    [
      event("updated", { id: "rec_1", title: "b" }, true),
      event("updated", { id: "rec_1", title: "b", views: 1 }),
    ].reverse(),
  );
  expect(older?.changes).toEqual([{ field: "title", kind: "changed", before: undefined, after: "b" }]);
  expect(newer?.isComplete).toBe(false);
});

test("no events, no history", () => expect(historyOf([])).toEqual([]));
