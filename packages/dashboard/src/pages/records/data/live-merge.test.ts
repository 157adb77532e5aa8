import { expect, test } from "bun:test";
import type { StoredRecord } from "@socle/protocol";
import { type Changes, collect, mergeChanges, type RowPage, withoutRows, withoutTargets } from "./live-merge.ts";
import { expanded, shownJson, shownText, toRow } from "./rows.ts";

const record = (id: string, more: object = {}): StoredRecord => ({
  id,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  ...more,
});
const later = "2026-01-02T00:00:00.000Z";
const pages: RowPage[] = [
  {
    start: 0,
    rows: [toRow(record("d")), toRow(record("c", { author: "x", expand: { author: { name: "X" } } }))],
    nextCursor: "1",
  },
  { start: 2, rows: [toRow(record("b")), toRow(record("a"))], nextCursor: null },
];
const changes = (...all: Parameters<typeof collect>[1][]): Changes => {
  const map: Changes = new Map();
  for (const change of all) collect(map, change);
  return map;
};
const ids = (all: readonly RowPage[]): string => all.map(({ rows }) => rows.map(({ id }) => id).join("")).join("|");

test("an update changes its row in place, and pages without changes stay the same objects", () => {
  const merged = mergeChanges(
    pages,
    changes({ type: "updated", record: record("a", { updatedAt: later, title: "new" }) }),
    9,
  );
  expect(merged.updated).toEqual(["a"]);
  expect(merged.pages[1]?.rows[1]?.record["title"]).toBe("new");
  expect(merged.pages[0]).toBe(pages[0] as RowPage);
  expect(merged.isStale).toBe(false);
});

test("an event that is older than the row changes nothing", () => {
  const merged = mergeChanges(pages, changes({ type: "updated", record: record("a", { title: "old" }) }), 9);
  expect(merged.updated).toEqual([]);
  expect(merged.pages[1]).toBe(pages[1] as RowPage);
});

test("an expanded relation stays as long as the relation points to the same record", () => {
  const same = mergeChanges(
    pages,
    changes({ type: "updated", record: record("c", { author: "x", updatedAt: later }) }),
    0,
  );
  expect(same.pages[0]?.rows[1]?.record["expand"]).toEqual({ author: { name: "X" } });
  const other = mergeChanges(
    pages,
    changes({ type: "updated", record: record("c", { author: "y", updatedAt: later }) }),
    0,
  );
  expect(other.pages[0]?.rows[1]?.record["expand"]).toEqual({});
});

test("new records enter at the top, the newest first, up to the bound", () => {
  const all = changes(...["e", "f", "g"].map((id) => ({ type: "created" as const, record: record(id) })));
  const merged = mergeChanges(pages, all, 2);
  expect(ids(merged.pages)).toBe("fedc|ba");
  expect(merged.pages[1]?.start).toBe(4);
  expect(merged.waiting).toBe(1);
  expect(mergeChanges(pages, all, 0).waiting).toBe(3);
  expect(ids(mergeChanges(pages, all, 0).pages)).toBe("dc|ba");
});

test("a known record does not enter twice", () => {
  const merged = mergeChanges(pages, changes({ type: "created", record: record("a") }), 9);
  expect(ids(merged.pages)).toBe("dc|ba");
  expect(merged.waiting).toBe(0);
});

test("later changes of a record replace earlier changes", () => {
  const created = changes(
    { type: "created", record: record("e") },
    { type: "updated", record: record("e", { title: "2" }) },
  );
  expect(mergeChanges(pages, created, 9).pages[0]?.rows[0]?.record["title"]).toBe("2");
  const left = changes({ type: "created", record: record("e") }, { type: "deleted", id: "e" });
  expect(ids(mergeChanges(pages, left, 9).pages)).toBe("dc|ba");
});

test("deleted rows are marked and stay until the end of the fading", () => {
  const merged = mergeChanges(pages, changes({ type: "deleted", id: "d" }), 9);
  expect(merged.gone).toEqual(["d"]);
  expect(ids(merged.pages)).toBe("dc|ba");
  const without = withoutRows(merged.pages, new Set(["d"]));
  expect(ids(without)).toBe("c|ba");
  expect(without[1]?.start).toBe(1);
});

test("changes of records that are not loaded make the list stale", () => {
  expect(mergeChanges(pages, changes({ type: "deleted", id: "zz" }), 9).isStale).toBe(true);
});

test("a long text is cut, and marked as cut", () => {
  const row = toRow(record("a", { body: "x".repeat(1_000_000), title: "short", meta: { a: "y".repeat(5_000) } }));
  expect([...row.cut]).toEqual(["body", "meta"]);
  expect(String(row.record["body"]).length).toBeLessThan(300);
  expect(row.record["title"]).toBe("short");
  expect(shownJson(row.record["meta"] ?? null, true).startsWith('{"a":"yyy')).toBe(true);
  expect(shownJson({ a: [1, 2] }, false)).toBe('{"a":[1,2]}');
});

test("the first items of a long list are stored", () => {
  const row = toRow(record("a", { tags: Array.from({ length: 200 }, (_, n) => `tag number ${n}`), few: ["x"] }));
  expect(row.record["tags"]).toEqual(Array.from({ length: 20 }, (_, n) => `tag number ${n}`));
  expect([...row.cut]).toEqual(["tags"]);
  expect(row.record["few"]).toEqual(["x"]);
  expect(shownJson(["a", "b"], true)).toBe('["a","b",…');
});

test("a cell shows a single line", () => {
  expect(shownText("a\nb\tc")).toBe("a ⏎ b c");
  expect(shownText("x".repeat(5_000)).length).toBe(240);
  // The cell cuts letters without room, and never cuts a surrogate pair in two.
  expect(shownText("x".repeat(100), 120)).toBe(`${"x".repeat(39)}…`);
  expect(shownText(`${"x".repeat(38)}😀😀`, 120)).not.toContain("😀");
  expect(shownText(`${"x".repeat(38)}😀😀`, 120).isWellFormed()).toBe(true);
  expect(shownText("x".repeat(40), 120)).toBe("x".repeat(40));
});

test("a deleted target leaves the relations to the target without a name, and other relations alone", () => {
  const record = (id: string, author: string): StoredRecord => ({
    id,
    author,
    createdAt: "1",
    updatedAt: "1",
    expand: { author: { name: author } },
  });
  const pages = [{ start: 0, rows: [toRow(record("a", "x")), toRow(record("b", "y"))], nextCursor: null }];
  const [page] = withoutTargets(pages, ["author"], new Set(["x"]));
  expect(page?.rows[0]?.record["expand"]).toEqual({ author: null });
  expect(page?.rows[1]).toBe(pages[0]?.rows[1]);
  expect(withoutTargets(pages, ["author"], new Set(["z"]))[0]).toBe(pages[0]);
});

test("a deleted target among several leaves the names of the others", () => {
  const names = [
    { id: "x", name: "X" },
    { id: "y", name: "Y" },
  ];
  const row = toRow({ id: "a", tags: ["x", "y"], createdAt: "1", updatedAt: "1", expand: { tags: names } });
  const [page] = withoutTargets([{ start: 0, rows: [row], nextCursor: null }], ["tags"], new Set(["x"]));
  const left = page?.rows[0]?.record ?? row.record;
  expect(expanded(left, "tags", "x")).toBeUndefined();
  expect(expanded(left, "tags", "y")).toEqual({ id: "y", name: "Y" });
});
