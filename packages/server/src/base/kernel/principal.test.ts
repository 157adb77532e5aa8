/** Principals: whose share, cause and chain a caller has. */
import { expect, test } from "bun:test";
import {
  type Acting,
  actingFor,
  actorOf,
  chainOf,
  depthOf,
  hookFor,
  identityOf,
  isAdmin,
  isNobody,
  shareOf,
} from "./index.ts";

const code = actingFor("usr_caller", 2, ["functions/posts/a.ts:onCreate"]);

test("code under the rules of a user takes the share and the chain of the code, and has the user as cause", () => {
  const acting: Acting = { userId: "usr_other", role: "authenticated", code };
  expect([shareOf(acting), depthOf(acting), chainOf(acting)]).toEqual(["usr_caller", 2, code.chain]);
  expect([actorOf(acting), identityOf(acting), isNobody(acting), isAdmin(acting)]).toEqual([
    "usr_other",
    "usr_other",
    false,
    false,
  ]);
  const hook = hookFor(acting, "functions/posts/b.ts:beforeCreate");
  expect([hook.actor, hook.depth, hook.chain.length, hook.isHook]).toEqual(["usr_other", 3, 2, true]);
});

test("code under the rules of nobody has no cause and no identity, and keeps the share and the chain of the code", () => {
  const nobody: Acting = { userId: null, role: "public", code };
  expect([shareOf(nobody), depthOf(nobody), actorOf(nobody), identityOf(nobody)]).toEqual([
    "usr_caller",
    2,
    null,
    null,
  ]);
  expect([isNobody(nobody), isNobody(null), isNobody(code), isAdmin(nobody)]).toEqual([true, true, false, false]);
});
