/** Tests of the places in code that errors name. */
import { describe, expect, test } from "bun:test";
import { partsOf, splitPlace } from "./code-places.ts";

const places = (text: string): string[] =>
  partsOf(text)
    .filter(({ isPlace }) => isPlace)
    .map(({ value }) => value);

describe("places in code", () => {
  test("a stack has a place in each line, and the parts are the whole text", () => {
    const stack =
      "No mail server\n    at deliver (functions/posts/_mail.ts:2:13)\n    at onCreate (functions/posts/notify.ts:8:38)";
    expect(places(stack)).toEqual(["functions/posts/_mail.ts:2:13", "functions/posts/notify.ts:8:38"]);
    expect(
      partsOf(stack)
        .map(({ value }) => value)
        .join(""),
    ).toBe(stack);
  });

  test("a place may have no column, and packages have names of their own", () => {
    expect(places("jobs/clean-up.ts:12")).toEqual(["jobs/clean-up.ts:12"]);
    expect(places("at x (node_modules/@scope/pkg/dist/index.mjs:1:2)")).toEqual([
      "node_modules/@scope/pkg/dist/index.mjs:1:2",
    ]);
  });

  test("neither addresses, times, nor files without a line are places", () => {
    expect(places("smtp://mail.example:25 at 09:30:12")).toEqual([]);
    expect(places("localhost:8080 refused, see notify.ts")).toEqual([]);
    expect(partsOf("")).toEqual([]);
  });
});

test("the place of an error stands by itself", () => {
  expect(splitPlace("No mail server (functions/posts/notify.ts:2:11)")).toEqual({
    message: "No mail server",
    place: "functions/posts/notify.ts:2:11",
  });
  expect(splitPlace("took longer than 30 s (limit)")).toEqual({
    message: "took longer than 30 s (limit)",
    place: null,
  });
  expect(splitPlace("")).toEqual({ message: "", place: null });
});
