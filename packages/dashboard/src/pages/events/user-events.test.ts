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

test("an admin's change of a user belongs to that user", () => {
  expect(aboutUser(updated)).toBe("usr_bob");
  expect(aboutUser({ type: "auth.login", source: "auth", payload: { userId: "usr_bob" } })).toBe("usr_bob");
  expect(aboutUser({ type: "auth.failed", source: "auth", payload: { email: "bob@example.com" } })).toBeNull();
  expect(aboutUser({ type: "admin.job.run", source: "admin", payload: { target: "cleanup" } })).toBeNull();
});

test("a change is a single line, with only the changed parts", () => {
  expect(changeOf(updated)).toBe("role: admin → authenticated");
  expect(changeOf({ type: "posts.updated", payload: { title: "x" } })).toBe("");
  expect(
    changeOf({ type: "admin.collection.updated", payload: { before: { fields: [] }, after: { fields: [1] } } }),
  ).toBe("");
  expect(changeOf({ type: "admin.user.updated", payload: { before: null, after: null } })).toBe("");
});
