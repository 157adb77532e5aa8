/** Tests of the types of events that a filter takes. */
import { expect, test } from "bun:test";
import { isKnownType, typesOf } from "./event-types.ts";

test.each(["posts.created", "gone.*", "*", "admin.user.*", "admin.u*", "auth.failed", "function.failed"])(
  "%s is a type",
  (type) => expect(isKnownType(type)).toBe(true),
);

test.each(["role", "posts", "", "posts.changed", "x*", "admin.role", ".created"])("%p is no type", (type) =>
  expect(isKnownType(type)).toBe(false),
);

test("each collection has its types", () => {
  expect(typesOf(["posts"]).slice(0, 4)).toEqual(["posts.*", "posts.created", "posts.updated", "posts.deleted"]);
});
