/**
 * Tests of the shares of callers in conflicting work: while many writes of one caller conflict and wait for their turns, the writes
 * of another caller are answered, and all counts are exact.
 */
import { describe, expect, test } from "bun:test";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";
import { all, openShop } from "../../../test/shop.ts";

const counting = (most: number): string => `
  const { total } = await db.collection("orders").list({ filter: 'item = "' + record.item + '"', count: "exact", limit: 1 });
  if (total >= ${most}) throw new Refusal("sold out");`;
const hook = (most: number): string => `export const beforeCreate = async ({ record, db }) => {${counting(most)}};`;

/** Writes of the first caller, all at once. */
const crowd = 30;
/** In the order of arrival, the other write would be the last. A busy machine delays the other write, too: not by nearly all turns of the crowd. */
const fewTurns = crowd / 10;

interface Caller {
  readonly token?: string;
  readonly headers?: Record<string, string>;
}

/** Two users, or two addresses without a user. */
async function callersOf(api: TestScripts, kind: "users" | "addresses"): Promise<[Caller, Caller]> {
  if (kind === "addresses") return [{ headers: { "x-test-address": "a" } }, { headers: { "x-test-address": "b" } }];
  const [ann, bob] = [await api.register("ann@example.com"), await api.register("bob@example.com")];
  return [{ token: ann.accessToken }, { token: bob.accessToken }];
}

/** Runs the crowd's writes; after the first answer, the other write. Answers the statuses, and how many of the crowd wait at the end of the other write. */
async function beside(
  write: (n: number) => Promise<number>,
  other: () => Promise<number>,
): Promise<{ statuses: number[]; status: number; waiting: number }> {
  let answered = 0;
  const first = Promise.withResolvers<void>();
  const writes = Array.from({ length: crowd }, async (_, n) => {
    const status = await write(n);
    answered += 1;
    first.resolve();
    return status;
  });
  await first.promise;
  const status = await other();
  const waiting = crowd - answered;
  return { statuses: await Promise.all(writes), status, waiting };
}

function statusesOf(created: number): number[] {
  return [...Array<number>(created).fill(201), ...Array<number>(crowd - created).fill(400)];
}

async function itemsOf(api: TestScripts): Promise<[string, string]> {
  const make = async (title: string) =>
    (await api.request("POST", "/api/items", { body: { title, stock: 1_000 } })).body["id"];
  return [String(await make("crowded")), String(await make("calm"))];
}

describe("while the counting hooks of a caller conflict, another caller's write", () => {
  test.each(["users", "addresses"] as const)("gets its response, of two %s", async (kind) => {
    const api = await openShop("export const POST = () => Response.json(1);", {
      "functions/orders/count.ts": hook(20),
    });
    const [crowded, calm] = await itemsOf(api);
    const [ann, bob] = await callersOf(api, kind);
    const create = async (caller: Caller, body: object) =>
      (await api.request("POST", "/api/orders", { ...caller, body })).status;
    const { statuses, status, waiting } = await beside(
      (n) => create(ann, { item: crowded, buyer: `a${n}` }),
      () => create(bob, { item: calm, buyer: "b" }),
    );
    expect(status).toBe(201);
    expect(waiting).toBeGreaterThan(fewTurns);
    // Exact, and nobody is refused for a conflict.
    expect(statuses.sort()).toEqual(statusesOf(20));
  });

  test.each(["users", "addresses"] as const)(
    "gets its response soon, also when both %s count the same",
    async (kind) => {
      const api = await openShop("export const POST = () => Response.json(1);", {
        "functions/orders/count.ts": hook(20),
      });
      const [crowded] = await itemsOf(api);
      const [ann, bob] = await callersOf(api, kind);
      const create = async (caller: Caller, buyer: string) =>
        (await api.request("POST", "/api/orders", { ...caller, body: { item: crowded, buyer } })).status;
      const { statuses, status, waiting } = await beside(
        (n) => create(ann, `a${n}`),
        () => create(bob, "b"),
      );
      expect(status).toBe(201);
      expect(waiting).toBeGreaterThan(fewTurns);
      expect(statuses.sort()).toEqual(statusesOf(19));
      expect(await all(api, "orders")).toHaveLength(20);
    },
  );

  test("gets its response soon, also batches of two addresses that count the same", async () => {
    const api = await openShop("export const POST = () => Response.json(1);", {
      "functions/orders/count.ts": hook(20),
    });
    const [crowded] = await itemsOf(api);
    const [ann, bob] = await callersOf(api, "addresses");
    const create = async (caller: Caller, order: object) => {
      const body = { operations: [{ method: "create", collection: "orders", body: order }] };
      return (await api.request("POST", "/api/batch", { ...caller, body })).status;
    };
    const { statuses, status, waiting } = await beside(
      (n) => create(ann, { item: crowded, buyer: `a${n}` }),
      () => create(bob, { item: crowded, buyer: "b" }),
    );
    expect(status).toBe(200);
    expect(waiting).toBeGreaterThan(fewTurns);
    expect(statuses.filter((each) => each === 200)).toHaveLength(19);
    expect(statuses.filter((each) => each === 400)).toHaveLength(crowd - 19);
  });

  test("gets its response, also a registration", async () => {
    const files = {
      "functions/users/count.ts": `export const beforeRegister = async ({ db }) => {
        const { total } = await db.collection("users").list({ count: "exact", limit: 1 });
        if (total >= 20) throw new Refusal("No place is left.");
      };`,
    };
    const api = await openScripts({
      collections: [{ name: "users", fields: [{ name: "nick", type: "string" }] }],
      files,
    });
    const register = async (name: string, address: string) => {
      const body = { email: `${name}@example.com`, password: "correct horse" };
      const headers = { "x-test-address": address };
      return (await api.request("POST", "/api/auth/register", { body, headers })).status;
    };
    const { statuses, status, waiting } = await beside(
      (n) => register(`a${n}`, "a"),
      () => register("b", "b"),
    );
    expect(status).toBe(201);
    expect(waiting).toBeGreaterThan(fewTurns);
    expect(statuses.sort()).toEqual(statusesOf(19));
    expect(api.service.auth.users.search({ limit: 1, offset: 0 }).total).toBe(20);
  });
});

describe("while the writes of a caller conflict, another caller's transaction", () => {
  const take = `export const POST = async (request, { db }) => {
      const { id, lists } = await request.json();
      await db.transaction(async (tx) => {
        const { stock } = await tx.collection("items").get(id);
        if (lists) await tx.collection("orders").list({ limit: 100 });
        await tx.collection("items").update(id, { stock: stock - 1 });
      });
      return Response.json({});
    };`;

  test.each([
    ["users", true],
    ["addresses", true],
    ["users", false],
  ] as const)(
    "gets its response, of two %s; the transaction lists the collection of the conflicts: %p",
    async (kind, lists) => {
      const api = await openShop(take, {
        "functions/orders/count.ts": hook(20),
        "functions/items/seen.ts": "export const beforeUpdate = () => {};",
      });
      const [crowded, calm] = await itemsOf(api);
      const [ann, bob] = await callersOf(api, kind);
      const create = async (n: number) =>
        (await api.request("POST", "/api/orders", { ...ann, body: { item: crowded, buyer: `a${n}` } })).status;
      const run = async (caller: Caller, id: string) =>
        (await api.request("POST", "/api/function/run", { ...caller, body: { id, lists } })).status;
      // The processes of the endpoint and of the hooks run from now on.
      expect(await run(bob, calm)).toBe(200);
      const { statuses, status, waiting } = await beside(create, () => run(bob, calm));
      expect(status).toBe(200);
      expect(waiting).toBeGreaterThan(fewTurns);
      expect(statuses.sort()).toEqual(statusesOf(20));
      expect((await all(api, "items")).map(({ stock }) => stock)).toEqual([998, 1_000]);
    },
  );

  test("takes turns with conflicting transactions: each counts down once", async () => {
    const api = await openShop(take);
    const [crowded] = await itemsOf(api);
    const [ann, bob] = await callersOf(api, "users");
    const run = async (caller: Caller) =>
      (await api.request("POST", "/api/function/run", { ...caller, body: { id: crowded, lists: true } })).status;
    const { statuses, status, waiting } = await beside(
      () => run(ann),
      () => run(bob),
    );
    expect(status).toBe(200);
    expect(waiting).toBeGreaterThan(fewTurns);
    expect(statuses).toEqual(Array(crowd).fill(200));
    expect((await all(api, "items")).map(({ stock }) => stock)).toEqual([1_000, 999 - crowd]);
  });
});
