import { expect, test } from "bun:test";
import { citationsOf, missingInSuites, problemsOf, promisesOf, suitesOf } from "./check-promises.ts";

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

test("a promise of a suite is cited by a test of the suite", () => {
  const named = suitesOf(
    "| **W3** | A promise. | disks |\n| **R1** | A promise. | power cuts, kills |\n| **A1** | One. | `npm test` |",
  );
  expect(named).toEqual([
    ["W3", "disks"],
    ["R1", "power cuts"],
    ["R1", "kills"],
    ["A1", "`npm test`"],
  ]);
  const cited = {
    "e2e/reliability/disks.test.ts": ["W3"],
    "e2e/reliability/kills.test.ts": ["R1"],
    "e2e/disks.test.ts": ["R1", "A1"],
  };
  expect(missingInSuites(named, cited)).toEqual(["no test of the suite power cuts cites the promise R1"]);
});

test("an unknown suite is a problem", () => {
  expect(missingInSuites([["W3", "disk"]], {})).toEqual(["the promise W3 names an unknown suite: disk"]);
});
