/** Transactions of user code: what they read, what they write, and what happens when others write meanwhile. */
import { describe, expect, test } from "bun:test";
import { eventsSince } from "../../../test/kit.ts";
import { isLong } from "../../../test/long.ts";
import { openScripts } from "../../../test/scripts.ts";
import { all, endpoint, handler, items, openShop, post } from "../../../test/shop.ts";

describe("a transaction", () => {
  test("returns the value of its function, and makes all writes in a commit, with their events in order", async () => {
    const api = await openShop(
      handler(`
        const item = await tx.collection("items").create({ title: "chair", stock: 3 });
        await tx.collection("orders").create({ item: item.id, buyer: "a" });
        await tx.collection("items").update(item.id, { stock: 2 });
        return item.id;`),
    );
    const body = await post(api);
    const [item] = await all(api, "items");
    expect(body).toEqual({ value: item?.["id"], calls: 1 });
    expect(item).toMatchObject({ title: "chair", stock: 2 });
    expect(await all(api, "orders")).toMatchObject([{ item: item?.["id"], buyer: "a" }]);
    const types = (await eventsSince(api.service)).map(({ type }) => type);
    expect(types.filter((type) => /^(items|orders)\./.test(type))).toEqual([
      "items.created",
      "orders.created",
      "items.updated",
    ]);
  });

  test("takes all back when its function throws, or a write is refused", async () => {
    const api = await openShop(
      handler(`
        await tx.collection("items").create({ title: "chair" });
        if (given.fails) throw new Error("no");
        await tx.collection("orders").create({ buyer: 5 });`),
    );
    expect(await post(api, { fails: true })).toEqual({ error: "no", code: null, calls: 1 });
    expect(await post(api)).toMatchObject({ code: "validation_error", calls: 1 });
    expect(await all(api, "items")).toEqual([]);
  });

  test("reports a refused write that a read after the write has met, and not a mistake of the code", async () => {
    const api = await openScripts({
      collections: [items],
      files: {
        "endpoints/run.ts": `export const access = "public";
          export const POST = async (request, { db }) => {
            const { stock } = await request.json();
            await db.transaction(async (tx) => {
              const { id } = await tx.collection("items").create({ title: "chair", stock });
              await tx.collection("items").get(id);
              await tx.query("SELECT 1");
            });
          };`,
      },
    });
    const call = (stock: number) => api.request("POST", "/api/function/run", { body: { stock } });
    const refused = await call(-1);
    expect(refused.status).toBe(400);
    expect(refused.body["error"]).toMatchObject({ code: "validation_error" });
    expect((await call(1)).status).toBe(500);
    expect(api.log.some((line) => line.includes("make the query before the first write"))).toBeTrue();
  });

  test("sees its own writes: records, lists, counts and groups, and others do not", async () => {
    const api = await openShop(
      handler(`
        const items = tx.collection("items");
        const { id } = await items.create({ title: "a", stock: 1 });
        const before = await items.get(id);
        await items.update(id, { stock: 5 });
        const list = await items.list({ filter: "stock = 5", count: "exact" });
        const outside = await db.collection("items").get(id);
        const grouped = await items.list({ group: "stock", aggregate: "count" });
        const whole = await items.list();
        await items.delete(id);
        return [before.stock, list.length, list.total, outside, grouped, whole.length, await items.get(id)];`),
    );
    expect((await post(api)).value).toEqual([1, 1, 1, null, [{ stock: 5, count: 1 }], 1, null]);
    expect(await all(api, "items")).toEqual([]);
  });

  test("sees its own writes also by a list without a version: through a relation to users, and by the time", async () => {
    const api = await openShop(
      handler(`
        await tx.collection("orders").create({ buyer: "a" });
        const byTime = await tx.collection("orders").list({ filter: "createdAt > @now - 1h" });
        const byPath = await tx.collection("orders").list({ filter: 'item = null || item.title = "x"' });
        return [byTime.length, byPath.length];`),
    );
    expect(await post(api)).toEqual({ value: [1, 1], calls: 1 });
  });

  test("stores values that look like references unchanged", async () => {
    const api = await openScripts({
      collections: [{ name: "notes", fields: [{ name: "data", type: "json" }] }],
      files: {
        "endpoints/run.ts": `export const access = "public";
          export const POST = async (request, { db }) => {
            await db.transaction(async (tx) => {
              await tx.collection("notes").create({ data: 1 });
              await tx.collection("notes").create({ data: { $ref: 0 } });
              await tx.collection("notes").create({ data: [{ $ref: 99 }] });
            });
            return Response.json({});
          };`,
      },
    });
    await post(api);
    expect((await all(api, "notes")).map(({ data }) => data)).toEqual([[{ $ref: 99 }], { $ref: 0 }, 1]);
  });

  test("refuses misuse: too many writes, a query after a write, calls after its end, no function", async () => {
    const api = await openShop(
      handler(`
        if (given.kind === "writes") for (let n = 0; n < 1001; n += 1) await tx.collection("items").create({ title: "x" });
        if (given.kind === "in all") {
          for (let n = 0; n < 600; n += 1) await tx.collection("items").create({ title: "x" });
          for (let n = 0; n < 401; n += 1) await tx.jobs.enqueue("none");
        }
        if (given.kind === "reads") for (let n = 0; n < 1001; n += 1) await tx.collection("items").get("x");
        if (given.kind === "query") {
          await tx.collection("items").create({ title: "x" });
          await tx.query("SELECT 1");
        }
        if (given.kind === "late") globalThis.kept = tx;`),
      {
        "endpoints/late.ts": `export const access = "public"; export const GET = async () => {
          try { await globalThis.kept.collection("items").get("x"); } catch (error) { return Response.json(error.message); } };`,
        "endpoints/none.ts": `export const access = "public"; export const GET = async (_, { db }) => {
          try { await db.transaction([]); } catch (error) { return Response.json(error.message); } };`,
      },
    );
    expect((await post(api, { kind: "writes" })).error).toContain("at most 1000 writes");
    expect((await post(api, { kind: "in all" })).error).toContain("at most 1000 writes");
    expect((await post(api, { kind: "reads" })).error).toContain("More than 1000 reads");
    expect((await post(api, { kind: "query" })).error).toContain("make the query before the first write");
    await post(api, { kind: "late" });
    expect(await endpoint(api, "late", { method: "GET" })).toContain("The transaction is over");
    expect(await endpoint(api, "none", { method: "GET" })).toContain("db.transaction needs a function");
    expect(await all(api, "items")).toEqual([]);
  });

  test("adds runs to queues, and no run when the transaction is taken back", async () => {
    const api = await openShop(
      handler(`
        await tx.collection("items").create({ title: given.title });
        await tx.jobs.enqueue("note", { title: given.title });`),
      {
        "jobs/note.ts": `export const queue = {}; export default async ({ payload, db }) => {
          await db.collection("orders").create({ buyer: payload.title }); };`,
      },
    );
    expect((await post(api, { title: "a title that is far too long" })).code).toBe("validation_error");
    expect(await post(api, { title: "a" })).toEqual({ value: null, calls: 1 });
    await api.scripts.settled();
    expect((await all(api, "orders")).map(({ buyer }) => buyer)).toEqual(["a"]);
  });
});

describe("when others write meanwhile,", () => {
  /** A transaction that reads with `read`, while the first call changes a record outside of the transaction. */
  const meddling = (read: string, meddle: string): string =>
    handler(`
      const seen = ${read};
      if (calls === 1) { ${meddle} }
      await tx.collection("orders").create({ buyer: "b" + calls });
      return seen;`);
  const change = 'await db.collection("items").update(given.id, { stock: 2 });';

  test.each<[read: string, value: unknown]>([
    ['(await tx.collection("items").get(given.id)).stock', 2],
    ['(await tx.collection("items").list()).map(({ stock }) => stock)', [2]],
    ['(await tx.collection("items").list({ filter: "stock = 2" })).length', 1],
    ['(await tx.collection("items").list({ filter: "title ~ \\"ch\\" && stock > 1" })).length', 1],
    ['(await tx.collection("items").list({ filter: "stock = 2", count: "exact", limit: 1 })).total', 1],
    ['await tx.collection("items").list({ group: "stock", aggregate: "count" })', [{ stock: 2, count: 1 }]],
    ['(await tx.collection("items").list({ search: "chair", filter: "stock = 2" })).length', 1],
    ['await tx.query("SELECT stock FROM items")', [{ stock: 2 }]],
    // A refused read that would be answered now.
    [
      'await tx.query("SELECT json_extract(title, \'$.a\') AS a FROM items WHERE stock = 1").catch(() => "refused")',
      [],
    ],
  ])("%s is read again, and nothing of the first call is written", async (read, value) => {
    const api = await openShop(meddling(read, change));
    const { body } = await api.request("POST", "/api/items", { body: { title: "chair", stock: 1 } });
    expect(await post(api, { id: body["id"] })).toEqual({ value, calls: 2 });
    expect((await all(api, "orders")).map(({ buyer }) => buyer)).toEqual(["b2"]);
  });

  test.each([
    '(await tx.collection("items").get(given.id)).stock',
    '(await tx.collection("items").list({ filter: "stock = 1" })).length',
    '(await tx.query("SELECT count(*) AS n FROM items WHERE stock = 1"))[0].n',
  ])("%s with an equal result after another change lets the first call stand", async (read) => {
    const api = await openShop(meddling(read, 'await db.collection("items").create({ title: "table", stock: 7 });'));
    const { body } = await api.request("POST", "/api/items", { body: { title: "chair", stock: 1 } });
    expect(await post(api, { id: body["id"] })).toEqual({ value: 1, calls: 1 });
  });

  test("all reads of a call are of the same moment", async () => {
    const api = await openShop(
      handler(`
        const items = tx.collection("items");
        const [a] = await items.list({ filter: 'title = "a"' });
        if (calls === 1) await db.batch([
          { method: "update", collection: "items", id: given.a, body: { stock: 4 } },
          { method: "update", collection: "items", id: given.b, body: { stock: 6 } },
        ]);
        const b = await items.get(given.b);
        (globalThis.sums ??= []).push(a.stock + b.stock);
        return globalThis.sums;`),
    );
    const create = async (title: string): Promise<unknown> =>
      (await api.request("POST", "/api/items", { body: { title, stock: 5 } })).body["id"];
    const [a, b] = [await create("a"), await create("b")];
    expect(await post(api, { a, b })).toEqual({ value: [10], calls: 2 });
  });

  test("also reads that are made at the same time, each waited for with a change between", async () => {
    const api = await openShop(
      handler(`
        const items = tx.collection("items");
        const [first] = await Promise.all([
          items.get(given.a),
          calls === 1 && db.batch([
            { method: "update", collection: "items", id: given.a, body: { stock: 4 } },
            { method: "update", collection: "items", id: given.b, body: { stock: 6 } },
          ]),
        ]);
        const [second, list] = await Promise.all([items.get(given.b), items.list({ sort: "title" })]);
        (globalThis.pairs ??= []).push([first.stock + second.stock, list[0].stock + list[1].stock]);
        return globalThis.pairs;`),
    );
    const create = async (title: string): Promise<unknown> =>
      (await api.request("POST", "/api/items", { body: { title, stock: 5 } })).body["id"];
    const [a, b] = [await create("a"), await create("b")];
    const { value } = await post(api, { a, b });
    for (const pair of value as number[][]) expect(pair).toEqual([10, 10]);
  });

  test("an error that follows from an old read is not reported", async () => {
    const api = await openShop(
      handler(`
        const { stock } = await tx.collection("items").get(given.id);
        if (calls === 1) { ${change} }
        if (stock === 1) throw new Refusal("sold out");
        return stock;`),
    );
    const { body } = await api.request("POST", "/api/items", { body: { title: "chair", stock: 1 } });
    expect(await post(api, { id: body["id"] })).toEqual({ value: 2, calls: 2 });
  });

  test("a transaction whose reads are changed every time fails with conflict after 20 calls", async () => {
    const api = await openShop(
      handler(`
        const { stock } = await tx.collection("items").get(given.id);
        await db.collection("items").update(given.id, { stock: stock + 1 });
        await tx.collection("orders").create({ buyer: "b" + calls });`),
    );
    const { body } = await api.request("POST", "/api/items", { body: { title: "chair", stock: 1 } });
    expect(await post(api, { id: body["id"] })).toMatchObject({ code: "conflict", calls: 20 });
    expect(await all(api, "orders")).toEqual([]);
  });

  const rounds = isLong ? 20 : 2;

  test(`50 buyers of 10 seats at once: exactly 10 get a seat, ${rounds} times`, async () => {
    const api = await openShop(
      handler(`
        const { stock } = await tx.collection("items").get(given.id);
        if (stock === 0) throw new Refusal("sold out");
        await tx.collection("items").update(given.id, { stock: stock - 1 });
        await tx.collection("orders").create({ item: given.id, buyer: given.buyer });`),
    );
    for (let round = 1; round <= rounds; round += 1) {
      const { body } = await api.request("POST", "/api/items", { body: { title: "seat", stock: 10 } });
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => post(api, { id: body["id"], buyer: `b${round}-${n}` })),
      );
      expect(answers.filter((answer) => answer.error === undefined)).toHaveLength(10);
      expect(answers.filter((answer) => answer.error === "sold out")).toHaveLength(40);
      expect(await all(api, "orders")).toHaveLength(10 * round);
      expect((await all(api, "items"))[0]).toMatchObject({ stock: 0 });
    }
  });
});
