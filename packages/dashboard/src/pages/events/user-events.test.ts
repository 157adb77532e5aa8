/** Tests of the text of events about accounts. */
import { expect, test } from "bun:test";
import { aboutUser, changeOf } from "./user-events.ts";

const updated = {
  type: "admin.user.updated",
  source: "admin",
  payload: {
    userId: "usr_admin",
    target: "usr_bob",
    before: { email: "bob@example.com", role: "admin" },
    after: { email: "bob@example.com", role: "authenticated" },
  },
} as const;

test("what an admin does to a user is about that user", () => {
  expect(aboutUser(updated)).toBe("usr_bob");
  expect(aboutUser({ type: "auth.login", source: "auth", payload: { userId: "usr_bob" } })).toBe("usr_bob");
  expect(aboutUser({ type: "auth.failed", source: "auth", payload: { email: "bob@example.com" } })).toBeNull();
  expect(aboutUser({ type: "admin.job.run", source: "admin", payload: { target: "cleanup" } })).toBeNull();
});

test("a change is told in one line, and only what has changed", () => {
  expect(changeOf(updated)).toBe("role: admin → authenticated");
  expect(changeOf({ type: "posts.updated", payload: { title: "x" } })).toBe("");
  expect(
    changeOf({ type: "admin.collection.updated", payload: { before: { fields: [] }, after: { fields: [1] } } }),
  ).toBe("");
  expect(changeOf({ type: "admin.user.updated", payload: { before: null, after: null } })).toBe("");
});
