/** Hooks that decide by what they read, and by the earlier records of a batch: exact, however many writes come at once. */
import { describe, expect, test } from "bun:test";
import { isLong } from "../../../test/long.ts";
import { openScripts } from "../../../test/scripts.ts";
import { all, handler, openShop, post } from "../../../test/shop.ts";

describe("the reads of a hook are checked again:", () => {
  const counting = `export const beforeCreate = async ({ record, db }) => {
    const { total } = await db.collection("orders").list({ filter: 'item = "' + record.item + '"', count: "exact", limit: 1 });
    if (total >= 10) throw new Refusal("sold out");
  };`;

  const rounds = isLong ? 20 : 2;

  test(`50 buyers of 10 seats at once, with a hook that counts: exactly 10 get a seat, ${rounds} times`, async () => {
    const api = await openShop("export const POST = () => Response.json(1);", {
      "functions/orders/count.ts": counting,
    });
    for (let round = 1; round <= rounds; round += 1) {
      const { body } = await api.request("POST", "/api/items", { body: { title: "seat" } });
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          api.request("POST", "/api/orders", { body: { item: body["id"], buyer: `b${round}-${n}` } }),
        ),
      );
      expect(answers.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(10);
      expect(answers.map(({ status }) => status).filter((status) => status === 400)).toHaveLength(40);
      expect(await all(api, "orders")).toHaveLength(10 * round);
    }
  });

  test("50 decrements of a stock at once, each with a hook: exactly 10 pass, and no decrement ends in a conflict", async () => {
    const api = await openShop("export const POST = () => Response.json(1);", {
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
    const api = await openShop(
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
    const api = await openShop("export const POST = () => Response.json(1);", {
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
    const api = await openShop("export const POST = () => Response.json(1);", {
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

  test("a refusal by reads of different moments is not sent", async () => {
    const api = await openShop("export const POST = () => Response.json(1);", {
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
    const api = await openShop("export const POST = () => Response.json(1);", {
      "functions/items/number.ts":
        "export const beforeCreate = ({ earlier }) => ({ stock: (earlier.at(-1)?.stock ?? 0) + 1 });",
    });
    const operations = Array.from({ length: 30 }, () => ({ method: "create", collection: "items", body: {} }));
    expect((await api.request("POST", "/api/batch", { body: { operations } })).status).toBe(200);
    const stocks = (await all(api, "items")).map(({ stock }) => stock);
    expect(stocks).toEqual(Array.from({ length: 30 }, (_, n) => 30 - n));
  });

  test("in a batch, `earlier` has the records of the operations before, with the values of their hooks", async () => {
    const api = await openShop("export const POST = () => Response.json(1);", {
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

  test("a write beside the transaction with the turn of the hook's reads does not wait for the turn", async () => {
    const api = await openShop(
      handler(`
        await tx.collection("orders").list();
        if (calls === 1) {
          // Others change what the transaction has read: the next call has the turn.
          await db.collection("orders").create({ buyer: "first" });
          await tx.collection("items").create({ title: "late" });
          return null;
        }
        const beside = db.collection("items").create({ title: "beside" }).then(({ title }) => title);
        const end = await Promise.race([beside, Bun.sleep(4_000).then(() => "waits")]);
        await tx.collection("items").create({ title: "inside" });
        return end;`),
      {
        "functions/items/count.ts": `export const beforeCreate = async ({ db }) => {
          if ((await db.collection("orders").list()).length > 5) throw new Refusal("too many");
        };`,
      },
    );
    expect(await post(api)).toEqual({ value: "beside", calls: 2 });
    expect((await all(api, "items")).map(({ title }) => title)).toEqual(["inside", "beside"]);
  });

  test("`earlier` is the same in each trial of a batch, also with a default of now", async () => {
    const api = await openScripts({
      collections: [{ name: "visits", fields: [{ name: "at", type: "datetime", default: "@now" }] }],
      files: {
        "functions/visits/see.ts": `export const beforeCreate = async ({ earlier }) => {
          await Bun.sleep(5);
          console.log("asked", Object.isFrozen(earlier.at(-1) ?? Object.freeze({})));
        };`,
      },
    });
    const operations = Array.from({ length: 3 }, () => ({ method: "create", collection: "visits", body: {} }));
    expect((await api.request("POST", "/api/batch", { body: { operations } })).status).toBe(200);
    expect(api.log.filter((line) => line.includes("asked true"))).toHaveLength(3);
  });

  test("a hook of a batch that does not read `earlier` is called once for each record", async () => {
    const api = await openShop("export const POST = () => Response.json(1);", {
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
    const api = await openShop("export const POST = () => Response.json(1);", {
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
