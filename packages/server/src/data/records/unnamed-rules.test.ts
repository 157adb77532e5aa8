/** Operations whose rule is not named: nobody changes a record by an omission that the caller may not read. */
import { describe, expect, test } from "bun:test";
import { OPERATIONS, type Permissions, type Rule, type RuleTrial } from "@socle/protocol";
import { openApi } from "../../../test/kit.ts";
import { isLong } from "../../../test/long.ts";

const rules: readonly (Rule | undefined)[] = [
  undefined,
  "public",
  "authenticated",
  "owner",
  "admin",
  "open = true",
  "by = @user.id",
];
const pairs = rules.flatMap((read) => rules.map((create) => ({ ...(read && { read }), ...(create && { create }) })));
const cases: readonly Permissions[] = [
  ...pairs,
  ...(isLong ? ["public", "authenticated", "open = true"] : ["authenticated"]).flatMap((update) =>
    pairs.map((pair) => ({ ...pair, update })),
  ),
];
const fields = [
  { name: "open", type: "boolean" },
  { name: "n", type: "integer" },
  { name: "by", type: "relation", collection: "users", owner: true },
];

const { request, register, admin } = await openApi({
  collections: cases.map((permissions, i) => ({ name: `c${i}`, fields, permissions })),
});
const root = await admin();
const [ann, bob] = [await register("ann@example.com"), await register("bob@example.com")];
const callers: { readonly [name: string]: { token?: string } } = {
  nobody: {},
  owner: { token: ann.accessToken },
  other: { token: bob.accessToken },
};

describe("an operation without a rule of its own", () => {
  test.each(cases.map((permissions, i) => [JSON.stringify(permissions), permissions, i] as const))(
    "%s",
    async (_, permissions, i) => {
      const path = `/api/c${i}`;
      const hasExpression = OPERATIONS.some((operation) => permissions[operation]?.includes("=") === true);
      for (const open of hasExpression ? [true, false] : [true])
        for (const [name, caller] of Object.entries(callers)) {
          const body = { open, n: 0, by: ann.user.id };
          const record = `${path}/${(await request("POST", path, { body, token: root })).body["id"]}`;
          const reads = (await request("GET", record, caller)).status === 200;
          const updates = (await request("PUT", record, { ...caller, body: { n: 1 } })).status === 200;
          const deletes = (await request("DELETE", record, caller)).status === 204;
          const told = { open, name, reads, updates, deletes };
          if (permissions.update === undefined && !reads) expect(told).toMatchObject({ updates: false });
          if (!reads) expect(told).toMatchObject({ deletes: false });
          // Every signed-in user changes a stranger's record by a rule that says so, and by no omission.
          const { read = "public", create = read, update = create } = permissions;
          if (name === "other" && !hasExpression && [update, read].includes("authenticated"))
            expect(told).toMatchObject({ deletes: false, ...(permissions.update === undefined && { updates: false }) });
          const words = [read, create, update];
          if (name === "owner" && reads && !words.includes("admin") && (!hasExpression || open))
            expect(told).toMatchObject({ updates: true, deletes: true });
        }
    },
  );
});

test("records of others are neither read nor changed if users read their own", async () => {
  const i = cases.findIndex(({ read, create, update }) => read === "owner" && create === "authenticated" && !update);
  const record = (await request("POST", `/api/c${i}`, { body: { n: 1 }, token: ann.accessToken })).body;
  const path = `/api/c${i}/${record["id"]}`;
  for (const [method, given] of [
    ["GET", {}],
    ["PUT", { body: { n: 2 } }],
    ["DELETE", {}],
  ] as const) {
    const answer = await request(method, path, { token: bob.accessToken, ...given });
    expect([method, answer.status, String(answer.body["error"]?.["code"])]).toEqual([method, 403, "forbidden"]);
    expect((await request(method, path, given)).status).toBe(401);
  }
  const operations = [{ method: "update", collection: `c${i}`, id: record["id"], body: { n: 3 } }];
  expect((await request("POST", "/api/batch", { token: bob.accessToken, body: { operations } })).status).toBe(403);
  expect((await request("GET", path, { token: ann.accessToken })).body).toEqual(record);
  expect((await request("PUT", path, { token: ann.accessToken, body: { n: 4 } })).body).toMatchObject({ n: 4 });
  expect((await request("DELETE", path, { token: ann.accessToken })).status).toBe(204);
});

test("an update by an unnamed rule leaves no record outside the records that the caller may read", async () => {
  const i = cases.findIndex(({ read, create, update }) => read === "open = true" && create === "public" && !update);
  const { id } = (await request("POST", `/api/c${i}`, { body: { open: true } })).body;
  expect((await request("PUT", `/api/c${i}/${id}`, { body: { open: false } })).status).toBe(403);
  expect((await request("GET", `/api/c${i}/${id}`)).body).toMatchObject({ open: true });
});

test("a trial shows each part of rules that must all hold", async () => {
  const i = cases.findIndex(
    ({ read, create, update }) => read === "open = true" && create === "authenticated" && !update,
  );
  const { id } = (await request("POST", `/api/c${i}`, { body: { open: false }, token: ann.accessToken })).body;
  const body = { as: bob.user.id, operation: "delete", id };
  const path = `/api/admin/collections/c${i}/try`;
  const { rules } = (await request<RuleTrial>("POST", path, { token: root, body })).body;
  const rule = "owner and (open = true)";
  expect(rules[0]).toMatchObject({ operation: "delete", rule, holds: false });
  const parts = rules[0]?.parts?.parts.map(({ start, end, holds }) => [rule.slice(start, end), holds]);
  expect(parts).toEqual([
    ["owner", false],
    ["open = true", false],
  ]);
});
