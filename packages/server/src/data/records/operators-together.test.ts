/**
 * Operators of many writers at once, in batches, of hooks and of user code, in events, and against a model: each operator starts
 * from the record as the write finds the record.
 */
import { describe, expect, test } from "bun:test";
import type { ErrorBody } from "@socle/protocol";
import { type Answer, lastSeq } from "../../../test/kit.ts";
import { isLong } from "../../../test/long.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { openScripts } from "../../../test/scripts.ts";
import { openServer, until } from "../../../test/sockets.ts";

const safe = Number.MAX_SAFE_INTEGER;
const collections = [
  { name: "labels", fields: [{ name: "name", type: "string", required: true }] },
  {
    name: "items",
    fields: [
      { name: "stock", type: "integer", min: 0 },
      { name: "rating", type: "float", max: 100 },
      { name: "tags", type: "string", multiple: true, min: 1, max: 4 },
      { name: "labels", type: "relation", collection: "labels", multiple: true },
      { name: "note", type: "string" },
    ],
  },
];
const api = await openServer({ collections });
const { request, service } = api;

interface Item {
  id: string;
  stock: number | null;
  rating: number | null;
  tags: string[];
  labels: string[];
}
const make = async (body: object): Promise<string> => (await request<Item>("POST", "/api/items", { body })).body.id;
const put = (id: string, body: object): Promise<Answer> => request("PUT", `/api/items/${id}`, { body });
const read = async (id: string): Promise<Item> => (await request<Item>("GET", `/api/items/${id}`)).body;
const batch = (operations: object[]): Promise<Answer> => request("POST", "/api/batch", { body: { operations } });
const update = (id: unknown, body: object): object => ({ method: "update", collection: "items", id, body });

/** A request through a socket of its own. */
async function send(method: string, path: string, body: object): Promise<{ status: number } & Partial<ErrorBody>> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${api.url}/api/${path}`, { method, headers, body: JSON.stringify(body) });
  return { status: response.status, ...((await response.json()) as Partial<ErrorBody>) };
}

describe("many writers at once", () => {
  test("50 buyers of 10 seats: 10 buy, 40 are refused by min; again and again", async () => {
    const socket = await api.connect();
    await socket.subscribe("items.updated");
    for (let round = 0; round < (isLong ? 100 : 30); round += 1) {
      const id = await make({ stock: 10 });
      const before = socket.frames.length;
      const body = { stock: { $increment: -1 } };
      const buyers = Array.from({ length: 50 }, (_, i) =>
        // Every tenth buys in a batch.
        i % 10 === 0 ? send("POST", "batch", { operations: [update(id, body)] }) : send("PUT", `items/${id}`, body),
      );
      const answers = await Promise.all(buyers);
      const sold = answers.filter(({ status }) => status === 200);
      const refused = answers.filter(({ status }) => status !== 200);
      const rules = new Set(
        refused.map(({ status, error }) => `${status} ${error?.code} ${error?.details?.[0]?.rule}`),
      );
      expect([sold.length, [...rules]]).toEqual([10, ["400 validation_error min"]]);
      expect((await read(id)).stock).toBe(0);
      // Each of the ten has a value and an event of its own.
      await socket.events();
      const told = socket.frames
        .slice(before)
        .flatMap((frame) => (frame.type === "event" ? [frame.event.payload] : []));
      expect(told.map(({ stock }) => stock)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    }
  });

  test("each keeps the items of the others", async () => {
    const id = await make({ tags: ["start"] });
    const answers = await Promise.all(["a", "b", "c"].map((tag) => put(id, { tags: { $add: [tag] } })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await read(id)).tags.sort()).toEqual(["a", "b", "c", "start"]);
  });
});

test("an event has the resulting values, the former values, and the basis of the same update with plain values", async () => {
  const [id, twin] = [await make({ stock: 5, tags: ["a"] }), await make({ stock: 5, tags: ["a"] })];
  const socket = await api.connect();
  await socket.subscribe("items.*", undefined, { filter: "stock = 4" });
  const seq = await lastSeq(service);
  await put(id, { stock: { $increment: -1 }, tags: { $add: ["b"] } });
  await put(twin, { stock: 4, tags: ["a", "b"] });
  const [operators, plain] = await service.events.read(seq, 10);
  const times = { id: "", updatedAt: "", createdAt: "" };
  const comparable = (event: typeof plain): object => ({
    ...event,
    ...{ id: "", seq: 0, at: 0, timestamp: "" },
    payload: { ...event?.payload, ...times },
    basis: { ...event?.basis, fields: { ...event?.basis?.fields, ...times } },
  });
  expect(operators?.payload).toMatchObject({ id, stock: 4, tags: ["a", "b"] });
  expect(operators?.basis?.fields).toMatchObject({ stock: 5, tags: ["a"] });
  expect(comparable(operators)).toEqual(comparable(plain));
  const told = () => socket.frames.flatMap((frame) => (frame.type === "event" ? [frame.event.payload["id"]] : []));
  await until(() => told().length >= 2);
  expect(told()).toEqual([id, twin]);
});

describe("a batch", () => {
  test("sees the operations before, and $add takes references", async () => {
    const id = await make({ stock: 2, tags: ["a"] });
    const { status, body } = await batch([
      { method: "create", collection: "labels", body: { name: "one" } },
      { method: "create", collection: "labels", body: { name: "two" } },
      update(id, { labels: { $add: [{ $ref: 1 }, { $ref: 0 }] }, stock: { $increment: -1 } }),
      update(id, { labels: { $remove: [{ $ref: 1 }] }, stock: { $increment: -1 } }),
      { method: "create", collection: "items", body: { stock: 7 } },
      update({ $ref: 4 }, { stock: { $increment: 1 }, rating: { $increment: 0.5 } }),
    ]);
    const results = [0, 1, 2, 3, 4, 5].map((i) => body["results"]?.[i]?.["body"]);
    const [one, two] = results.map((each) => each?.["id"]);
    expect(status).toBe(200);
    expect(results.slice(2)).toMatchObject([
      { labels: [two, one], stock: 1 },
      { labels: [one], stock: 0 },
      { stock: 7 },
      { stock: 8, rating: 0.5 },
    ] as never);
    expect(await read(id)).toMatchObject({ labels: [one], stock: 0 } as never);
  });

  test("is taken back whole, and names each refused operation; a lost reference is no problem of its own", async () => {
    const id = await make({ stock: 1 });
    const seq = await lastSeq(service);
    const { status, body } = await batch([
      { method: "create", collection: "labels", body: {} },
      update(id, { stock: { $increment: -1 } }),
      update(id, { stock: { $increment: -1 }, labels: { $add: [{ $ref: 0 }] } }),
      update(id, { stock: { $add: [1] } }),
      { method: "create", collection: "items", body: { rating: { $increment: 1 } } },
    ]);
    expect(status).toBe(400);
    expect(body["error"]?.["details"]).toMatchObject([
      { operation: 0, field: "name", rule: "required" },
      { operation: 2, field: "stock", rule: "min" },
      { operation: 3, field: "stock", rule: "type", message: 'stock has no operator "$add"; allowed: $increment' },
      { operation: 4, field: "rating", rule: "type" },
    ] as never);
    expect([(await read(id)).stock, await lastSeq(service)]).toEqual([1, seq]);
  });
});

describe("user code", () => {
  test("a hook sees the resulting value, may replace the value, and is called again when the record changes meanwhile", async () => {
    const scripts = await openScripts({
      collections,
      files: {
        "functions/items/a.ts": `
          let asked = 0;
          export const beforeUpdate = async ({ record, previous }) => {
            asked += 1;
            console.log("asked about", previous.stock, record.stock, JSON.stringify(record.tags));
            if (record.stock === 7) throw new Refusal("not 7", { field: "stock" });
            if (record.note === "double") return { stock: record.stock * 2 };
            if (record.note === "operator") return { stock: { $increment: 1 } };
            // The first two writes are both before the hook.
            while (asked < 2) await Bun.sleep(1);
          };`,
      },
    });
    const { body } = await scripts.request("POST", "/api/items", { body: { stock: 10, tags: ["a"] } });
    const path = `/api/items/${body["id"]}`;
    const send = (values: object) => scripts.request("PUT", path, { body: values });
    const asked = () => scripts.log.flatMap((line) => /asked about (.*?)(?: file|$)/.exec(line)?.[1]?.trim() ?? []);
    const both = await Promise.all([
      send({ stock: { $increment: -1 } }),
      send({ stock: { $increment: -1 }, tags: { $add: ["b"] } }),
    ]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect((await scripts.request("GET", path)).body).toMatchObject({ stock: 8, tags: ["a", "b"] } as never);
    // The later of the two writes was asked again, about the record that the first has left.
    expect(asked()).toHaveLength(3);
    expect(asked()[2]).toStartWith("9 8 ");
    const refused = await send({ stock: { $increment: -1 } });
    expect([refused.status, refused.body["error"]?.["details"]]).toMatchObject([
      400,
      [{ field: "stock", rule: "refused" }],
    ] as never);
    expect((await send({ stock: { $increment: 1 }, note: "double" })).body["stock"]).toBe(18 as never);
    const times = asked().length;
    expect((await send({ stock: { $increment: 0 } })).status).toBe(200);
    expect(asked()).toHaveLength(times);
    const operator = await send({ stock: { $increment: 1 }, note: "operator" });
    expect(operator.body["error"]?.["details"]?.[0]?.["message"]).toEndWith(
      "; operators are for the body of an update" as never,
    );
    expect((await scripts.request("GET", path)).body["stock"]).toBe(18 as never);
  });

  test("db.update and db.batch take operators; the rules of the fields hold", async () => {
    const scripts = await openScripts({
      collections,
      files: {
        "endpoints/buy.ts": `
          export const access = "public";
          export const POST = async (request, { db }) => {
            const { id, by } = await request.json();
            const codeOf = (error) => [error.code, error.details[0].rule].join();
            const change = { stock: { $increment: -by }, tags: { $add: ["sold"] } };
            const one = await db.collection("items").update(id, change).then(({ stock }) => stock, codeOf);
            const [, two] = await db.batch([
              { method: "create", collection: "labels", body: { name: "l" } },
              { method: "update", collection: "items", id, body: { stock: { $increment: -by }, labels: { $add: [{ $ref: 0 }] } } },
            ]).catch((error) => [null, codeOf(error)]);
            return Response.json([one, two.stock ?? two, two.labels?.length]);
          };`,
      },
    });
    const { body } = await scripts.request("POST", "/api/items", { body: { stock: 3, tags: ["a"] } });
    const buy = async (by: number): Promise<unknown> => {
      const options = { body: { id: body["id"], by } };
      return JSON.parse(new TextDecoder().decode((await scripts.request("POST", "/api/function/buy", options)).bytes));
    };
    expect(await buy(1)).toEqual([2, 1, 1]);
    expect(await buy(1)).toEqual([0, "validation_error,min", null]);
  });
});

/** The outcome of an update by the model: the record after, or null for a refusal. */
function modelled(item: Item, change: Change): Item | null {
  const stock = change.stock === undefined ? item.stock : (item.stock ?? 0) + change.stock;
  const rating = change.rating === undefined ? item.rating : (item.rating ?? 0) + change.rating;
  const { $add = [], $remove = [] } = change.tags ?? {};
  const tags = item.tags.filter((tag) => !$remove.includes(tag));
  for (const tag of $add) if (!tags.includes(tag)) tags.push(tag);
  const isStock = change.stock === undefined || stock === item.stock || (stock !== null && stock >= 0 && stock <= safe);
  const isRating = rating === null || (rating <= 100 && Number.isFinite(rating));
  const hasTwice = new Set($add).size < $add.length || new Set($remove).size < $remove.length;
  const isRefused = hasTwice || tags.length > 4 || $remove.length > 4 || $add.some((tag) => $remove.includes(tag));
  return isStock && isRating && !isRefused ? { ...item, stock, rating, tags } : null;
}

interface Change {
  stock?: number;
  rating?: number;
  tags?: { $add?: string[]; $remove?: string[] };
}

test("random operators equal the model, also many in a batch", async () => {
  const next = randomNumbers(randomSeed("operators"));
  const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)] as T;
  const words = (): string[] =>
    Array.from({ length: Math.floor(next() * 3) }, () => pick(["a", "b", "c", "d", "e", "f"]));
  const change = (): Change => ({
    ...(next() < 0.5 && { stock: pick([1, 2, -1, -2, -3, 0, safe, -safe]) }),
    ...(next() < 0.5 && { rating: pick([0.1, -0.3, 1e16, -1e16, 40, -1e308, 0]) }),
    ...(next() < 0.6 && { tags: { ...(next() < 0.7 && { $add: words() }), $remove: words() } }),
  });
  const bodyOf = ({ stock, rating, tags }: Change): object => ({
    ...(stock !== undefined && { stock: { $increment: stock } }),
    ...(rating !== undefined && { rating: { $increment: rating } }),
    ...(tags !== undefined && { tags }),
  });
  const id = await make({});
  let item = await read(id);
  let refused = 0;
  for (let step = 0; step < 600; step += 1) {
    const changes = Array.from({ length: next() < 0.3 ? 3 : 1 }, change);
    const expected = changes.reduce<Item | null>((before, each) => before && modelled(before, each), item);
    const bodies = changes.map(bodyOf);
    const isSingle = bodies.length === 1;
    const { status } = isSingle ? await put(id, bodies[0] ?? {}) : await batch(bodies.map((body) => update(id, body)));
    const { stock, rating, tags } = await read(id);
    const wanted = expected ?? item;
    const outcome = { step, bodies, status, stock, rating, tags };
    expect(outcome).toEqual({
      ...outcome,
      status: expected === null ? 400 : 200,
      ...{ stock: wanted.stock, rating: wanted.rating, tags: wanted.tags },
    });
    item = wanted;
    refused += expected === null ? 1 : 0;
  }
  expect(refused).toBeWithin(30, 570);
});
