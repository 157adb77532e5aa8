/** Transactions of user code: what they read, what they write, and what happens when others write meanwhile. */
import { describe, expect, test } from "bun:test";
import { eventsSince } from "../../../test/kit.ts";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";

const items = {
  name: "items",
  fields: [
    { name: "title", type: "string", max: 20 },
    { name: "stock", type: "integer", min: 0 },
  ],
};
const orders = {
  name: "orders",
  fields: [
    { name: "item", type: "relation", collection: "items" },
    { name: "buyer", type: "string", unique: true },
  ],
};

function open(endpoint: string, more: { readonly [path: string]: string } = {}): Promise<TestScripts> {
  return openScripts({
    collections: [items, orders],
    files: { "endpoints/run.ts": `export const access = "public";\n${endpoint}`, ...more },
  });
}

/** The JSON of an endpoint's answer. */
async function endpoint(api: TestScripts, path: string, more: { method: string; body?: object }): Promise<unknown> {
  const { method, ...options } = more;
  const { bytes } = await api.request(method, `/api/function/${path}`, options);
  return JSON.parse(new TextDecoder().decode(bytes));
}

interface Told {
  readonly value?: unknown;
  readonly error?: string;
  readonly code?: string | null;
  readonly calls: number;
}

async function post(api: TestScripts, body: object = {}): Promise<Told> {
  return (await endpoint(api, "run", { method: "POST", body })) as Told;
}

async function all(api: TestScripts, collection: string): Promise<Record<string, unknown>[]> {
  return (await api.request("GET", `/api/${collection}`)).body["items"] as unknown as Record<string, unknown>[];
}

/** An endpoint whose transaction is `body`, and which answers the value or the error of the transaction. */
function handler(body: string): string {
  return `export const POST = async (request, { db, jobs }) => {
    const given = await request.json();
    let calls = 0;
    try {
      const value = await db.transaction(async (tx) => { calls += 1; ${body} });
      return Response.json({ value: value ?? null, calls });
    } catch (error) {
      return Response.json({ error: error.message, code: error.code ?? null, calls });
    }
  };`;
}

describe("a transaction", () => {
  test("answers the value of its function, and makes all writes in one commit, with their events in order", async () => {
    const api = await open(
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
    const api = await open(
      handler(`
        await tx.collection("items").create({ title: "chair" });
        if (given.fails) throw new Error("no");
        await tx.collection("orders").create({ buyer: 5 });`),
    );
    expect(await post(api, { fails: true })).toEqual({ error: "no", code: null, calls: 1 });
    expect(await post(api)).toMatchObject({ code: "validation_error", calls: 1 });
    expect(await all(api, "items")).toEqual([]);
  });

  test("sees its own writes: records, lists, counts and groups, and others do not", async () => {
    const api = await open(
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
    const api = await open(
      handler(`
        await tx.collection("orders").create({ buyer: "a" });
        const byTime = await tx.collection("orders").list({ filter: "createdAt > @now - 1h" });
        const byPath = await tx.collection("orders").list({ filter: 'item = null || item.title = "x"' });
        return [byTime.length, byPath.length];`),
    );
    expect(await post(api)).toEqual({ value: [1, 1], calls: 1 });
  });

  test("stores values that look like references as they are", async () => {
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

  test("refuses what cannot be: too many writes, a query after a write, calls after its end, no function", async () => {
    const api = await open(
      handler(`
        if (given.kind === "writes") for (let n = 0; n < 1001; n += 1) await tx.collection("items").create({ title: "x" });
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
    expect((await post(api, { kind: "query" })).error).toContain("make the query before the first write");
    await post(api, { kind: "late" });
    expect(await endpoint(api, "late", { method: "GET" })).toContain("The transaction is over");
    expect(await endpoint(api, "none", { method: "GET" })).toContain("db.transaction needs a function");
    expect(await all(api, "items")).toEqual([]);
  });

  test("adds runs to queues, and none when it is taken back", async () => {
    const api = await open(
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
    ['await tx.query("SELECT stock FROM items")', [{ stock: 2 }]],
    // A refused read that would be answered now.
    [
      'await tx.query("SELECT json_extract(title, \'$.a\') AS a FROM items WHERE stock = 1").catch(() => "refused")',
      [],
    ],
  ])("%s is read again, and nothing of the first call is written", async (read, value) => {
    const api = await open(meddling(read, change));
    const { body } = await api.request("POST", "/api/items", { body: { title: "chair", stock: 1 } });
    expect(await post(api, { id: body["id"] })).toEqual({ value, calls: 2 });
    expect((await all(api, "orders")).map(({ buyer }) => buyer)).toEqual(["b2"]);
  });

  test.each([
    '(await tx.collection("items").get(given.id)).stock',
    '(await tx.collection("items").list({ filter: "stock = 1" })).length',
    '(await tx.query("SELECT count(*) AS n FROM items WHERE stock = 1"))[0].n',
  ])("%s that is answered alike after another change lets the first call stand", async (read) => {
    const api = await open(meddling(read, 'await db.collection("items").create({ title: "table", stock: 7 });'));
    const { body } = await api.request("POST", "/api/items", { body: { title: "chair", stock: 1 } });
    expect(await post(api, { id: body["id"] })).toEqual({ value: 1, calls: 1 });
  });

  test("all reads of a call are of one moment", async () => {
    const api = await open(
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
    const api = await open(
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

  test("an error that follows from an old read is not told", async () => {
    const api = await open(
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
    const api = await open(
      handler(`
        const { stock } = await tx.collection("items").get(given.id);
        await db.collection("items").update(given.id, { stock: stock + 1 });
        await tx.collection("orders").create({ buyer: "b" + calls });`),
    );
    const { body } = await api.request("POST", "/api/items", { body: { title: "chair", stock: 1 } });
    expect(await post(api, { id: body["id"] })).toMatchObject({ code: "conflict", calls: 20 });
    expect(await all(api, "orders")).toEqual([]);
  });

  test("50 buyers of 10 seats at once: exactly 10 have one", async () => {
    const api = await open(
      handler(`
        const { stock } = await tx.collection("items").get(given.id);
        if (stock === 0) throw new Refusal("sold out");
        await tx.collection("items").update(given.id, { stock: stock - 1 });
        await tx.collection("orders").create({ item: given.id, buyer: given.buyer });`),
    );
    const { body } = await api.request("POST", "/api/items", { body: { title: "seat", stock: 10 } });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => post(api, { id: body["id"], buyer: `b${n}` })),
    );
    expect(answers.filter((answer) => answer.error === undefined)).toHaveLength(10);
    expect(answers.filter((answer) => answer.error === "sold out")).toHaveLength(40);
    expect(await all(api, "orders")).toHaveLength(10);
    expect(await all(api, "items")).toMatchObject([{ stock: 0 }]);
  });
});

describe("the reads of a hook are looked at again:", () => {
  const counting = `export const beforeCreate = async ({ record, db }) => {
    const { total } = await db.collection("orders").list({ filter: 'item = "' + record.item + '"', count: "exact", limit: 1 });
    if (total >= 10) throw new Refusal("sold out");
  };`;

  test("50 buyers of 10 seats at once, each asked about by a hook that counts: exactly 10 have one", async () => {
    const api = await open("export const POST = () => Response.json(1);", { "functions/orders/count.ts": counting });
    const { body } = await api.request("POST", "/api/items", { body: { title: "seat" } });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        api.request("POST", "/api/orders", { body: { item: body["id"], buyer: `b${n}` } }),
      ),
    );
    expect(answers.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(10);
    expect(answers.map(({ status }) => status).filter((status) => status === 400)).toHaveLength(40);
    expect(await all(api, "orders")).toHaveLength(10);
  });

  test("50 decrements of one stock at once, each asked about by a hook: exactly 10 pass, and none ends in a conflict", async () => {
    const api = await open("export const POST = () => Response.json(1);", {
      "functions/items/see.ts": "export const beforeUpdate = ({ record }) => ({ title: 'left ' + record.stock });",
    });
    const { body } = await api.request("POST", "/api/items", { body: { title: "seat", stock: 10 } });
    const change = { body: { stock: { $increment: -1 } } };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => api.request("PUT", `/api/items/${body["id"]}`, change)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(40);
    expect(await all(api, "items")).toMatchObject([{ stock: 0, title: "left 0" }]);
  });

  test("also inside a transaction that has read the same", async () => {
    const api = await open(
      handler(`
        const seen = await tx.collection("orders").list({ filter: 'item = "' + given.id + '"' });
        await tx.collection("orders").create({ item: given.id, buyer: given.buyer });
        return seen.length;`),
      { "functions/orders/count.ts": counting },
    );
    const { body } = await api.request("POST", "/api/items", { body: { title: "seat" } });
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => post(api, { id: body["id"], buyer: `b${n}` })),
    );
    expect(answers.filter((answer) => answer.error === undefined)).toHaveLength(10);
    const values = answers.map((answer) => answer.value).filter((value) => value !== undefined);
    expect(values.sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("also reads in a transaction of the hook: 50 buyers of 10 seats", async () => {
    const api = await open("export const POST = () => Response.json(1);", {
      "functions/orders/count.ts": `export const beforeCreate = async ({ db }) => {
        const n = await db.transaction(async (tx) => (await tx.collection("orders").list({ limit: 20 })).length);
        if (n >= 10) throw new Refusal("sold out");
      };`,
    });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => api.request("POST", "/api/orders", { body: { buyer: `b${n}` } })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(await all(api, "orders")).toHaveLength(10);
  });

  test("but not the reads of a collection that the hook itself has changed", async () => {
    const api = await open("export const POST = () => Response.json(1);", {
      "functions/orders/number.ts": `export const beforeCreate = async ({ db }) => {
        const [item] = await db.collection("items").list({ limit: 1 });
        await db.collection("items").update(item.id, { stock: item.stock + 1 });
        console.log("numbered");
        return { buyer: "b" + (item.stock + 1) };
      };`,
    });
    await api.request("POST", "/api/items", { body: { title: "counter", stock: 0 } });
    for (let n = 0; n < 3; n += 1) expect((await api.request("POST", "/api/orders", { body: {} })).status).toBe(201);
    expect((await all(api, "orders")).map(({ buyer }) => buyer)).toEqual(["b3", "b2", "b1"]);
    expect(api.log.filter((line) => line.includes("numbered"))).toHaveLength(3);
  });

  test("a refusal by reads of different moments is not told", async () => {
    const api = await open("export const POST = () => Response.json(1);", {
      "functions/orders/sum.ts": `export const beforeCreate = async ({ db }) => {
        const [a, b] = await db.collection("items").list({ sort: "title" });
        const first = (await db.collection("items").get(a.id)).stock;
        await new Promise((resolve) => setTimeout(resolve, 2));
        const second = (await db.collection("items").get(b.id)).stock;
        if (first + second !== 10) throw new Refusal("sum " + (first + second));
      };`,
    });
    const create = (title: string, stock: number) => api.request("POST", "/api/items", { body: { title, stock } });
    const [a, b] = [(await create("a", 5)).body["id"], (await create("b", 5)).body["id"]];
    const move = (n: number) =>
      api.request("POST", "/api/batch", {
        body: {
          operations: [
            { method: "update", collection: "items", id: a, body: { stock: 5 - n } },
            { method: "update", collection: "items", id: b, body: { stock: 5 + n } },
          ],
        },
      });
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, (_, n) => move(n % 5)),
      ...Array.from({ length: 20 }, (_, n) => api.request("POST", "/api/orders", { body: { buyer: `b${n}` } })),
    ]);
    expect(answers.filter(({ status }) => status === 400)).toEqual([]);
  });

  test("a batch of 30 whose hooks each go on from the record before", async () => {
    const api = await open("export const POST = () => Response.json(1);", {
      "functions/items/number.ts":
        "export const beforeCreate = ({ earlier }) => ({ stock: (earlier.at(-1)?.stock ?? 0) + 1 });",
    });
    const operations = Array.from({ length: 30 }, () => ({ method: "create", collection: "items", body: {} }));
    expect((await api.request("POST", "/api/batch", { body: { operations } })).status).toBe(200);
    const stocks = (await all(api, "items")).map(({ stock }) => stock);
    expect(stocks).toEqual(Array.from({ length: 30 }, (_, n) => 30 - n));
  });

  test("in a batch, `earlier` has the records of the operations before, with the values of their hooks", async () => {
    const api = await open("export const POST = () => Response.json(1);", {
      "functions/orders/see.ts": `export const beforeCreate = ({ record, earlier }) => {
        const seen = earlier.map(({ buyer }) => buyer);
        console.log("seen", JSON.stringify([record.buyer, seen]));
        return { buyer: record.buyer.replace("?", "") + earlier.length };
      };`,
    });
    const create = (buyer: string): object => ({ method: "create", collection: "orders", body: { buyer } });
    const operations = [
      create("a"),
      create("b"),
      { method: "delete", collection: "orders", id: { $ref: 0 } },
      create("c"),
    ];
    const { status } = await api.request("POST", "/api/batch", { body: { operations } });
    expect(status).toBe(200);
    expect((await all(api, "orders")).map(({ buyer }) => buyer)).toEqual(["c1", "b1"]);
    const seen = api.log.flatMap((line) => line.split("seen ")[1] ?? []);
    expect(seen.filter((line) => line.startsWith('["c"')).at(-1)).toContain('["c",["b1"]]');
  });

  test("a hook of a batch that does not look at `earlier` is asked once for each record", async () => {
    const api = await open("export const POST = () => Response.json(1);", {
      "functions/orders/see.ts":
        'export const beforeCreate = ({ record }) => { console.log("asked"); return { buyer: record.buyer + "!" }; };',
    });
    const operations = Array.from({ length: 5 }, (_, n) => ({
      method: "create",
      collection: "orders",
      body: { buyer: `b${n}` },
    }));
    expect((await api.request("POST", "/api/batch", { body: { operations } })).status).toBe(200);
    expect(api.log.filter((line) => line.includes("asked"))).toHaveLength(5);
  });

  test("a hook that counts with `earlier`: of a batch of 12 and of single creates, exactly 10 in all", async () => {
    const api = await open("export const POST = () => Response.json(1);", {
      "functions/orders/count.ts": `export const beforeCreate = async ({ db, earlier }) => {
        const { total } = await db.collection("orders").list({ count: "exact", limit: 1 });
        if (total + earlier.length >= 10) throw new Refusal("sold out");
      };`,
    });
    const create = (n: number): object => ({ method: "create", collection: "orders", body: { buyer: `b${n}` } });
    const batch = (from: number, n: number) =>
      api.request("POST", "/api/batch", {
        body: { operations: Array.from({ length: n }, (_, i) => create(from + i)) },
      });
    expect((await batch(0, 12)).status).toBe(400);
    const answers = await Promise.all([batch(100, 4), batch(200, 4), batch(300, 4), batch(400, 4)]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
    expect(await all(api, "orders")).toHaveLength(8);
    expect((await batch(500, 2)).status).toBe(200);
    expect(await all(api, "orders")).toHaveLength(10);
  });
});
