import { expect, test } from "bun:test";
import { citationsOf, problemsOf, promisesOf } from "./check-promises.ts";

test("promises are bold ids of a page, citations a line of a test", () => {
  expect(promisesOf("1. **W1** An acknowledged write is on disk.\n| **E2** | **bold** |")).toEqual(["W1", "E2"]);
  expect(citationsOf("/** A test. */\n// Promises: W1, E2.\n// W3 is no citation.\n")).toEqual(["W1", "E2"]);
});

test("a promise without a test, an unknown promise and a repeated id are problems", () => {
  expect(problemsOf(["W1", "E2"], { "a.test.ts": ["W1"], "b.test.ts": ["E2", "W1"] })).toEqual([]);
  expect(problemsOf(["W1", "E2", "E2"], { "a.test.ts": ["W1", "W9"] })).toEqual([
    "E2 is the id of two promises",
    "no test cites the promise E2",
    "a.test.ts cites an unknown promise: W9",
  ]);
});
