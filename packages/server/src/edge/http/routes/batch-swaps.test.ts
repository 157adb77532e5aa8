/** Batches in which records exchange unique values: allowed if all values are unique at the end. */
import { describe, expect, test } from "bun:test";
import { eventsSince, lastSeq, openApi } from "../../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../../test/random.ts";

const api = await openApi({
  collections: [
    {
      name: "items",
      fields: [
        { name: "slug", type: "string", unique: true, required: true },
        { name: "code", type: "string", unique: "nocase" },
        { name: "list", type: "string" },
        { name: "place", type: "integer" },
        { name: "size", type: "string", values: ["s", "m", "l"] },
      ],
      indexes: [{ fields: ["list", "place"], unique: true }],
    },
  ],
});
const { request, service } = api;
interface Answer {
  readonly results: { status: number; body: { [name: string]: unknown } | null }[];
  readonly error?: { code: string; details: object[] };
}
const batch = (...operations: object[]) => request<Answer>("POST", "/api/batch", { body: { operations } });
const update = (id: string, body: object) => ({ method: "update", collection: "items", id, body });
async function add(body: object): Promise<string> {
  const answer = await request<{ id: string }>("POST", "/api/items", { body });
  expect(answer.status).toBe(201);
  return answer.body.id;
}
const read = async (id: string): Promise<{ [name: string]: unknown }> =>
  (await request("GET", `/api/items/${id}`)).body;
const slugs = async (...ids: string[]): Promise<unknown[]> =>
  (await Promise.all(ids.map(read))).map(({ slug }) => slug);

describe("a batch", () => {
  test("exchanges the values of two records, with the events and answers of two updates", async () => {
    const [a, b] = [await add({ slug: "a", code: "Aa" }), await add({ slug: "b", code: "Bb" })];
    const seq = await lastSeq(service);
    const { status, body } = await batch(
      update(a, { slug: "b", code: "bB", size: "m" }),
      update(b, { slug: "a", code: "AA" }),
    );
    expect([status, body.results.map((each) => each.body?.["slug"])]).toEqual([200, ["b", "a"]]);
    expect([await read(a), await read(b)]).toEqual(body.results.map((each) => each.body) as never);
    const told = await eventsSince(service, seq);
    expect(told).toMatchObject([
      { type: "items.updated", payload: { id: a, slug: "b", code: "bB", size: "m" } },
      { type: "items.updated", payload: { id: b, slug: "a", code: "AA" } },
    ]);
    expect(told).toHaveLength(2);
    // The values are taken as before.
    expect((await batch({ method: "create", collection: "items", body: { slug: "a" } })).status).toBe(400);
    expect((await request("POST", "/api/items", { body: { slug: "x", code: "aA" } })).status).toBe(400);
  });

  test("rotates three, also long batches; takes the value of a deleted record, and the values of an index", async () => {
    const ids = [await add({ slug: "r1" }), await add({ slug: "r2" }), await add({ slug: "r3" })] as const;
    const [one, two, three] = ids;
    const rotation = [update(one, { slug: "r2" }), update(two, { slug: "r3" }), update(three, { slug: "r1" })];
    expect((await batch(...rotation)).status).toBe(200);
    expect(await slugs(...ids)).toEqual(["r2", "r3", "r1"]);
    const others = Array.from({ length: 30 }, (_, n) => ({
      method: "create",
      collection: "items",
      body: { slug: `n${n}` },
    }));
    expect((await batch(update(one, { slug: "r3" }), ...others, update(two, { slug: "r2" }))).status).toBe(200);
    expect(await slugs(...ids)).toEqual(["r3", "r2", "r1"]);
    expect(
      (await batch(update(one, { slug: "r1" }), { method: "delete", collection: "items", id: three })).status,
    ).toBe(200);
    expect(await slugs(one, two)).toEqual(["r1", "r2"]);

    const placed = [
      await add({ slug: "p1", list: "l", place: 1 }),
      await add({ slug: "p2", list: "l", place: 2 }),
    ] as const;
    expect((await batch(update(placed[0], { place: 2 }), update(placed[1], { place: 1 }))).status).toBe(200);
    expect([(await read(placed[0]))["place"], (await read(placed[1]))["place"]]).toEqual([2, 1]);
  });

  test("is refused with the operation, and changes nothing, if two records have a value at the end", async () => {
    const [a, b, c] = [await add({ slug: "k1" }), await add({ slug: "k2" }), await add({ slug: "k3" })];
    const before = await lastSeq(service);
    const single = await request("PUT", `/api/items/${a}`, { body: { slug: "k2" } });
    const refused = async (operation: number, ...operations: object[]): Promise<void> => {
      const { status, body } = await batch(...operations);
      const detail = { operation, field: "slug", rule: "unique", message: "slug is taken by another record" };
      expect([status, body.error?.code, body.error?.details[0]]).toEqual([
        single.status,
        String(single.body["error"]?.["code"]),
        detail,
      ]);
    };
    await refused(0, update(a, { slug: "k2" }));
    await refused(0, update(a, { slug: "k2" }), update(b, { size: "s" }));
    await refused(0, update(a, { slug: "k3" }), update(b, { slug: "k1" }));
    await refused(1, update(a, { slug: "k2" }), update(c, { slug: "k2" }), update(b, { slug: "k9" }));
    // A later operation about the record would see the former value.
    await refused(0, update(a, { slug: "k2" }), update(b, { slug: "k1" }), update(a, { size: "s" }));
    const upsert = { method: "upsert", collection: "items", by: "slug", body: { slug: "k1" } };
    await refused(0, update(a, { slug: "k2" }), update(b, { slug: "k8" }), upsert);
    expect([await slugs(a, b, c), await lastSeq(service)]).toEqual([["k1", "k2", "k3"], before]);
  });

  test("holds no value back for a new record that a later operation names by the update", async () => {
    const b = await add({ slug: "named b" });
    const seq = await lastSeq(service);
    const named = (operation: number) => ({ id: { $ref: operation } });
    const create = { method: "create", collection: "items", body: { slug: "named a" } };
    const first = [create, { ...update("", { slug: "named b" }), ...named(0) }];
    const last = update(b, { slug: "named d" });
    for (const later of [update("", { slug: "named c" }), { method: "delete", collection: "items" }])
      for (const operations of [
        [...first, { ...later, ...named(1) }, last],
        [...first, { ...update("", { size: "l" }), ...named(1) }, { ...later, ...named(2) }, last],
      ]) {
        const { status, body } = await batch(...operations);
        expect([status, body.error?.details[0]]).toMatchObject([400, { operation: 1, field: "slug", rule: "unique" }]);
      }
    expect([await slugs(b), await lastSeq(service)]).toEqual([["named b"], seq]);
  });

  test("gives random values to records exactly if the values are unique at the end", async () => {
    const random = randomNumbers(randomSeed("swaps"));
    const ids: string[] = [];
    for (let n = 0; n < 6; n++) ids.push(await add({ slug: `v${n}` }));
    for (let run = 0; run < 150; run++) {
      const order = ids.map((id) => ({ id, key: random() })).sort((x, y) => x.key - y.key);
      const some = order.slice(0, 2 + Math.floor(random() * 5)).map(({ id }) => id);
      const present = new Map(ids.map((id, i) => [id, i]));
      const now = await slugs(...ids);
      const wanted = new Map(ids.map((id) => [id, now[present.get(id) ?? 0]]));
      const values = some.map((id) => wanted.get(id)).sort(() => random() - 0.5);
      const isPermutation = random() < 0.6;
      for (const [i, id] of some.entries()) wanted.set(id, isPermutation ? values[i] : `v${Math.floor(random() * 8)}`);
      const { status } = await batch(...some.map((id) => update(id, { slug: wanted.get(id) })));
      const isUnique = new Set(wanted.values()).size === ids.length;
      // Rings and chains of former values are allowed; a refused batch changes nothing.
      expect([run, status]).toEqual([run, isUnique ? 200 : 400]);
      expect(await slugs(...ids)).toEqual(isUnique ? [...wanted.values()] : now);
    }
  });
});
