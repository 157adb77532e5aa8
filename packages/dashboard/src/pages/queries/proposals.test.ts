import { expect, test } from "bun:test";
import { parametersOf, proposalsOf } from "./proposals.ts";

test("the proposed indexes of the log, and none from a reason", () => {
  expect(
    proposalsOf('add ["name"] to "indexes" of "authors"; add ["status", "views"] to "indexes" of "posts"'),
  ).toEqual([
    { collection: "authors", fields: ["name"] },
    { collection: "posts", fields: ["status", "views"] },
  ]);
  expect(proposalsOf('none: ["status"] exists')).toEqual([]);
  expect(proposalsOf('["views"] is there; it helps with "sort" by views')).toEqual([]);
  expect(proposalsOf(null)).toEqual([]);
});

test("the parameters of a list are those of the entry, and no other fields", () => {
  const fields = {
    collection: "posts",
    ms: 120,
    filter: "views > 3",
    limit: 20,
    plan: "SCAN posts",
    page: "a later one",
  };
  const timestamp = "2026-03-01T09:00:00.000Z";
  expect(parametersOf({ timestamp, level: "WARN", message: "A query was slow", source: "q", fields })).toEqual({
    filter: "views > 3",
    limit: "20",
  });
});
