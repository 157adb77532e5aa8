/**
 * Vectors: lists by `nearest` beside a model that compares all vectors, while records come, change and go; with vectors in memory and
 * without; whether a list uses the vectors in memory. Rules, refusals, definitions, the trash, undo, transfer.
 */
import { expect, spyOn, test } from "bun:test";
import { openApi, type TestApi } from "../../../test/kit.ts";
import { LiveClient } from "../../../test/live-client.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { openServer, until } from "../../../test/sockets.ts";
import { encodeVector } from "../../base/kernel/index.ts";

interface Item {
  readonly id: string;
  readonly n: number;
  readonly embedding: number[] | null;
}
interface Page {
  readonly items: Item[];
  readonly nextCursor: string | null;
  readonly total?: number;
}

const dimensions = 7;
const vector = { name: "embedding", type: "vector", dimensions };
const n = { name: "n", type: "integer" };

/** The distance for a comparison, of the numbers with 32 bits: the model. */
function distanceOf(a: readonly number[], b: readonly number[], metric: "cosine" | "l2"): number {
  const [x, y] = [a.map(Math.fround), b.map(Math.fround)];
  const dot = (p: readonly number[], q: readonly number[]): number =>
    p.reduce((sum, each, i) => sum + each * (q[i] ?? 0), 0);
  if (metric === "cosine") return 1 - dot(x, y) / (Math.sqrt(dot(x, x)) * Math.sqrt(dot(y, y)));
  return x.reduce((sum, each, i) => sum + (each - (y[i] ?? 0)) ** 2, 0);
}

async function query(api: Pick<TestApi, "request">, collection: string, body: object, token: string): Promise<Page> {
  const answer = await api.request<Page>("POST", `/api/${collection}/query`, { body, token });
  expect([body, answer.status, answer.body]).toEqual([body, 200, answer.body]);
  return answer.body;
}

async function importInto(api: Pick<TestApi, "request">, collection: string, items: readonly object[], token: string) {
  const body = items.map((item) => JSON.stringify(item)).join("\n");
  const headers = { "Content-Type": "application/x-ndjson" };
  const answer = await api.request("POST", `/api/${collection}/import`, { body, headers, token });
  expect([answer.status, answer.body["imported"]]).toEqual([200, items.length as never]);
}

for (const [metric, memory] of [
  ["cosine", "1MiB"],
  ["l2", "1MiB"],
  ["cosine", "0"],
] as const)
  test(`lists by nearest equal the model (${metric}, ${memory} of memory) while records come, change and go`, async () => {
    const random = randomNumbers(randomSeed(`nearest ${metric} ${memory}`));
    const below = (most: number): number => Math.floor(random() * most);
    const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
    // Few values, so that many distances are equal.
    const numbers = (): number[] => {
      const made = Array.from({ length: dimensions }, () => (random() < 0.5 ? below(3) - 1 : random() * 2 - 1));
      return made.some((each) => each !== 0) ? made : [1, ...made.slice(1)];
    };
    const fields = [n, { ...vector, metric }];
    const permissions = { read: "n != 5", create: "public", update: "public", delete: "public" };
    const settings = { SERVICE_LIMITS_VECTOR_MEMORY: memory };
    const api = await openApi({ collections: [{ name: "notes", fields, permissions, trash: "30d" }], settings });
    const { accessToken: token } = await api.register("ann@example.com");
    const admin = await api.admin();
    // The records in the order of creation.
    let stored = Array.from({ length: 1_500 }, (_, i): Item => {
      const id = `rec_${String(i).padStart(8, "0")}-0000-4000-8000-000000000000`;
      return { id, n: below(100), embedding: random() < 0.1 ? null : numbers() };
    });
    await importInto(api, "notes", stored, admin);
    const trashed: Item[] = [];
    const change = async (): Promise<void> => {
      const item = pick(stored);
      const path = `/api/notes/${item.id}`;
      const replace = (next: Partial<Item>): void => {
        stored = stored.map((each) => (each.id === item.id ? { ...each, ...next } : each));
      };
      const turn = random();
      if (turn < 0.3) {
        const embedding = random() < 0.2 ? null : numbers();
        expect((await api.request("PUT", path, { body: { embedding }, token: admin })).status).toBe(200);
        replace({ embedding });
      } else if (turn < 0.6) {
        const body = { n: below(100), embedding: random() < 0.2 ? null : numbers() };
        const { status, body: made } = await api.request("POST", "/api/notes", { body, token: admin });
        expect(status).toBe(201);
        stored.push({ id: String(made["id"]), ...body });
      } else if (turn < 0.9) {
        // The last record: the next takes over the hidden number.
        const gone = random() < 0.5 ? (stored.at(-1) as Item) : item;
        expect((await api.request("DELETE", `/api/notes/${gone.id}`, { token: admin })).status).toBe(204);
        stored = stored.filter(({ id }) => id !== gone.id);
        trashed.push(gone);
      } else if (trashed.length > 0) {
        const back = trashed.pop() as Item;
        expect((await api.request("POST", `/api/notes/${back.id}/restore`, { token: admin })).status).toBe(200);
        // A restored record may stand at another place in the order of creation.
        stored.push(back);
      }
    };
    let few = 0;
    for (let round = 0; round < 40; round++) {
      for (let i = below(6); i > 0; i--) await change();
      const wanted = random() < 0.3 ? (pick(stored).embedding ?? numbers()) : numbers();
      const [filter, holds] = pick<[string, (item: Item) => boolean]>([
        ["", () => true],
        ["n < 50", (item) => item.n < 50],
        ["n = 7", (item) => item.n === 7],
        ["n = 1000", () => false],
      ]);
      const matching = stored.filter((item) => item.n !== 5 && item.embedding !== null && holds(item));
      const distances = new Map(
        matching.map(({ id, embedding }) => [id, distanceOf(embedding ?? [], wanted, metric)] as const),
      );
      const sort = `nearest(embedding, ${JSON.stringify(wanted)})`;
      const limit = 100 + below(600);
      const found: Item[] = [];
      const parameters = { sort, limit, ...(filter !== "" && { filter }) };
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page: Page = await query(api, "notes", { ...parameters, ...(cursor !== "" && { cursor }) }, token);
        found.push(...page.items);
        cursor = page.nextCursor;
        expect(page.items.length).toBeLessThanOrEqual(limit);
      }
      const ids = found.map(({ id }) => id);
      expect([parameters, ids.toSorted()]).toEqual([parameters, matching.map(({ id }) => id).toSorted()]);
      for (const [i, id] of ids.entries())
        expect((distances.get(id) ?? 0) >= (distances.get(ids[i - 1] ?? "") ?? Number.NEGATIVE_INFINITY)).toBe(true);
      // The pages are those of the whole list, and the stored numbers are the answered numbers.
      const whole = await query(api, "notes", { ...parameters, limit: 1_000, count: "exact" }, token);
      expect([whole.total, whole.items.map(({ id }) => id)]).toEqual([matching.length, ids.slice(0, 1_000)]);
      for (const { id, embedding } of found.slice(0, 10))
        expect(embedding?.map(Math.fround)).toEqual(stored.find((each) => each.id === id)?.embedding?.map(Math.fround));
      const offset = below(20);
      const part = await query(api, "notes", { ...parameters, limit: 5, offset }, token);
      expect(part.items.map(({ id }) => id)).toEqual(ids.slice(offset, offset + 5));
      if (ids.length < 50) few += 1;
    }
    expect(few).toBeGreaterThan(3);
    expect(api.log.filter((line) => /FATAL|ERROR/.test(line))).toEqual([]);
  });

test("a field that the caller may not read sorts no list, and a relation leads to no vector that the caller may not read", async () => {
  const secret = { ...vector, permissions: { read: "admin" } };
  const api = await openApi({
    collections: [
      { name: "notes", fields: [n, secret] },
      { name: "closed", fields: [vector], permissions: { read: "admin" } },
      {
        name: "links",
        fields: [
          n,
          { name: "to", type: "relation", collection: "notes" },
          { name: "into", type: "relation", collection: "closed" },
        ],
      },
    ],
  });
  const admin = await api.admin();
  const { accessToken: ann } = await api.register("ann@example.com");
  const embedding = [1, 2, 3, 4, 5, 6, 7];
  const { body: note } = await api.request("POST", "/api/notes", { body: { n: 1, embedding }, token: admin });
  await api.request("POST", "/api/links", { body: { n: 1, to: note["id"] }, token: admin });
  const wanted = JSON.stringify(embedding);
  const ask = async (collection: string, sort: string, token: string): Promise<[number, unknown]> => {
    const { status, body } = await api.request("POST", `/api/${collection}/query`, { body: { sort }, token });
    return [
      status,
      body["items"] === undefined
        ? body["error"]?.["code"]
        : (body["items"] as unknown as Item[]).map((item) => item.n),
    ];
  };
  for (const [collection, path] of [
    ["notes", "embedding"],
    ["links", "to.embedding"],
    ["links", "into.embedding"],
  ] as const)
    for (const sort of [`nearest(${path}, ${wanted})`, `-nearest(${path}, ${wanted})`]) {
      const [status] = await ask(collection, sort, ann);
      expect([collection, sort, status]).toEqual([
        collection,
        sort,
        collection === "notes" || path === "to.embedding" ? 400 : 403,
      ]);
      expect([collection, sort, (await ask(collection, sort, admin))[0]]).toEqual([collection, sort, 200]);
    }
  expect(await ask("links", `nearest(to.embedding, ${wanted})`, admin)).toEqual([200, [1]]);
});

test("bad vectors and bad orders are refused, and change nothing", async () => {
  const api = await openApi({
    collections: [
      { name: "notes", fields: [n, vector] },
      { name: "flat", fields: [{ ...vector, dimensions: 2, metric: "l2" }] },
    ],
  });
  const token = await api.admin();
  const good = [1, 0, 0, 0, 0, 0, 0];
  const make = async (body: string, collection = "notes"): Promise<[number, unknown]> => {
    const headers = { "Content-Type": "application/json" };
    const answer = await api.request("POST", `/api/${collection}`, { body, headers, token });
    return [
      answer.status,
      answer.body["error"]?.["details"]?.[0 as never]?.["message"] ?? answer.body["error"]?.["message"],
    ];
  };
  const bad: [string, string][] = [
    ["[1,2]", "must be an array of 7 numbers, not of 2"],
    ["[1,2,3,4,5,6,7,8]", "must be an array of 7 numbers, not of 8"],
    ["[]", "must be an array of 7 numbers, not of 0"],
    ['"[1,0,0,0,0,0,0]"', 'must be an array of 7 numbers, not "[1,0,0,0,0,0,0]"'],
    ['{"0":1}', 'must be an array of 7 numbers, not {"0":1}'],
    ["5", "must be an array of 7 numbers, not 5"],
    ['[1,"2",0,0,0,0,0]', 'must be an array of 7 numbers, each finite: item 1 is "2"'],
    ["[1,null,0,0,0,0,0]", "must be an array of 7 numbers, each finite: item 1 is null"],
    ["[0,0,0,0,0,0,0]", 'must not be zeros alone: "metric": "cosine" compares directions, and zeros have none'],
    ["[1e-20,0,0,0,0,0,0]", "must have a length of at least 1e-15 (the root of the sum of the squares)"],
    ["[1e16,0,0,0,0,0,0]", "must have a length of at most 1000000000000000 (the root of the sum of the squares)"],
  ];
  for (const [value, message] of bad)
    expect([value, ...(await make(`{"embedding":${value}}`))]).toEqual([value, 400, `embedding ${message}`]);
  expect((await make('{"embedding":[1e999,0,0,0,0,0,0]}'))[0]).toBe(400);
  expect((await make('{"embedding":[NaN,0,0,0,0,0,0]}'))[0]).toBe(400);
  expect((await make('{"embedding":[0,0]}', "flat"))[0]).toBe(201);
  expect(await make(JSON.stringify({ n: 1, embedding: good }))).toEqual([201, undefined]);
  expect(await make('{"n":2,"embedding":null}')).toEqual([201, undefined]);
  const { body } = await api.request<Page>("GET", "/api/notes", { token });
  expect(body.items.map((item) => [item.n, item.embedding])).toEqual([
    [2, null],
    [1, good],
  ]);
  const refusals: [object, string][] = [
    [{ sort: "embedding" }, '"sort": "embedding" is a vector; sort by nearest(embedding, [numbers]).'],
    [
      { sort: "nearest(embedding, [1, 2])" },
      '"sort": the vector of nearest(embedding, …) must be an array of 7 numbers, not of 2.',
    ],
    [
      { sort: `nearest(embedding, [${Array(7).fill(0)}])` },
      '"sort": the vector of nearest(embedding, …) must not be zeros alone: "metric": "cosine" compares directions, and zeros have none.',
    ],
    [{ sort: "nearest(n, [1])" }, '"sort": nearest(…) takes a field of type vector, and "n" is none.'],
    [{ sort: "nearest(gone, [1])" }, '"sort": "notes" has no field "gone"'],
    [
      { sort: "nearest(embedding)" },
      '"sort": "nearest(embedding)" must be nearest(field, [numbers]), as in nearest(embedding, [0.1, 0.2]).',
    ],
    [{ sort: "nearest(embedding, [1,])" }, '"sort": "nearest(embedding, [1,])" must be nearest(field, [numbers])'],
    [{ sort: "nearest(embedding, [[1]])" }, '"sort": "nearest(embedding, [[1]])" must be nearest(field, [numbers])'],
    [
      { filter: `nearest(embedding, [${good}]) < 1` },
      '"filter": at position 1: nearest(field, [numbers]) can only sort a list.',
    ],
    [{ filter: "embedding = 5" }, "cannot be compared with"],
    [{ filter: "embedding > null" }, ": > needs two values"],
    [{ filter: "embedding = embedding" }, "cannot be compared with"],
    [{ group: "embedding" }, '"group": "embedding" is a vector, which has no groups and no sums.'],
    [{ aggregate: "sum(embedding)" }, '"aggregate": "embedding" is a vector, which has no groups and no sums.'],
  ];
  for (const [parameters, message] of refusals) {
    const answer = await api.request("POST", "/api/notes/query", { body: parameters, token });
    expect([parameters, answer.status, answer.body["error"]?.["message"]]).toEqual([
      parameters,
      400,
      expect.stringContaining(message),
    ]);
  }
  const empty = await query(api, "notes", { filter: "embedding = null", fields: "n" }, token);
  expect(empty.items.map((item) => item.n)).toEqual([2]);
});

test("vectors stay beside definitions, the trash, undo, an export and a restart, and lists follow at once", async () => {
  const fields = [n, vector];
  const api = await openApi({ collections: [{ name: "notes", fields, trash: "30d" }] });
  const token = await api.admin();
  const at = (i: number): number[] =>
    Array.from({ length: dimensions }, (_, j) => (j === i % dimensions ? 1 : 0.0001 * (i + 1)));
  await importInto(
    api,
    "notes",
    Array.from({ length: 1_500 }, (_, i) => ({ n: i, embedding: at(i) })),
    token,
  );
  const put = async (body: object): Promise<[number, unknown]> => {
    const answer = await api.request("PUT", "/api/admin/collections/notes", { body, token });
    return [answer.status, answer.body["error"]?.["message"]];
  };
  const nearest = async (name = "embedding", count = 3): Promise<number[]> => {
    const sort = `nearest(${name}, ${JSON.stringify(at(3))})`;
    return (await query(api, "notes", { sort, limit: count, fields: "n" }, token)).items.map((item) => item.n);
  };
  const first = await nearest();
  const { body: found } = await api.request<Page>("GET", `/api/notes?filter=n=${first[0]}`, { token });
  const id = found.items[0]?.id ?? "";
  const removed = await api.request("DELETE", `/api/notes/${id}`, { token });
  expect(await nearest("embedding", 2)).toEqual(first.slice(1));
  const undo = { request: removed.headers.get("X-Request-Id") };
  api.service.undos.start(new AbortController().signal);
  const begun = await api.request<{ id: string }>("POST", "/api/admin/undo", { body: undo, token });
  await until(() => api.service.undos.state(begun.body.id).status === "completed");
  expect(new Set(await nearest())).toEqual(new Set(first));
  // The field goes, other values come, the former values return.
  expect(await put({ fields: [n] })).toEqual([200, undefined]);
  expect(await put({ fields: [n, { ...vector, renamedFrom: null }] })).toEqual([200, undefined]);
  expect(await nearest()).toEqual([]);
  const dropped = (await api.request("GET", "/api/admin/dropped", { token })).body["items"] as unknown as {
    id: string;
  }[];
  const restored = await api.request("POST", `/api/admin/dropped/${dropped[0]?.id}/restore`, { token });
  expect([restored.status, restored.body["restored"]]).toEqual([200, 1_500 as never]);
  expect(new Set(await nearest())).toEqual(new Set(first));
  expect(await put({ fields: [n, { ...vector, name: "place", renamedFrom: "embedding" }] })).toEqual([200, undefined]);
  expect(new Set(await nearest("place"))).toEqual(new Set(first));
  const renamed = { ...vector, name: "place" };
  expect(await put({ fields: [n, { ...renamed, dimensions: 8 }] })).toEqual([
    400,
    expect.stringContaining('field "place": its dimensions cannot change from 7 to 8; add a field with another name'),
  ]);
  expect(await put({ fields: [n, { ...renamed, type: "json" }] })).toEqual([400, expect.stringContaining("place")]);
  for (const index of [["place"], { fields: ["place"], unique: true }])
    expect(await put({ fields: [n, renamed], indexes: [index] })).toEqual([
      400,
      expect.stringContaining('field "place" is vector, which cannot be indexed'),
    ]);
  expect(await put({ fields: [n, { ...renamed, unique: true }] })).toEqual([
    400,
    expect.stringContaining('"unique" means nothing on type vector'),
  ]);
  expect(await put({ fields: [n, { ...renamed, metric: "l2" }] })).toEqual([200, undefined]);
  expect((await nearest("place"))[0]).toBe(3);
  // An export, as JSON and as cells, comes back with equal numbers.
  for (const [type, end] of [
    ["application/x-ndjson", "ndjson"],
    ["text/csv", "csv"],
  ] as const) {
    const exported = await api.answer("GET", `/api/notes/export?format=${end}`, { token });
    const text = await exported.text();
    const name = `copy${end}`;
    expect(
      (await api.request("POST", "/api/admin/collections", { body: { name, fields: [n, renamed] }, token })).status,
    ).toBe(201);
    const imported = await api.request("POST", `/api/${name}/import`, {
      body: text,
      headers: { "Content-Type": type },
      token,
    });
    expect([end, imported.body["imported"]]).toEqual([end, 1_500 as never]);
    const sort = `nearest(place, ${JSON.stringify(at(3))}),n`;
    const [one, other] = [
      await query(api, "notes", { sort, limit: 50 }, token),
      await query(api, name, { sort, limit: 50 }, token),
    ];
    expect(other.items.map(({ n: number, ...rest }) => [number, rest["place" as never]])).toEqual(
      one.items.map(({ n: number, ...rest }) => [number, rest["place" as never]]),
    );
  }
  expect(api.log.filter((line) => /FATAL|ERROR/.test(line))).toEqual([]);
});

test("fields that exchange their names exchange their vectors", async () => {
  const [one, other] = [
    { ...vector, name: "one" },
    { ...vector, name: "other" },
  ];
  const api = await openApi({ collections: [{ name: "notes", fields: [n, one, other] }] });
  const token = await api.admin();
  const at = (i: number): number[] => Array.from({ length: dimensions }, (_, j) => (j === 0 ? 1 : 0.001 * i));
  const notes = Array.from({ length: 1_500 }, (_, i) => ({ n: i, one: at(i), other: at(1_499 - i) }));
  await importInto(api, "notes", notes, token);
  const nearest = async (name: string): Promise<number | undefined> => {
    const sort = `nearest(${name}, ${JSON.stringify(at(0))})`;
    return (await query(api, "notes", { sort, limit: 1 }, token)).items[0]?.n;
  };
  // The second request finds the vectors in memory.
  for (let i = 0; i < 2; i++) expect([await nearest("one"), await nearest("other")]).toEqual([0, 1_499]);
  const fields = [n, { ...one, renamedFrom: "other" }, { ...other, renamedFrom: "one" }];
  const changed = await api.request("PUT", "/api/admin/collections/notes", { body: { fields }, token });
  expect(changed.status).toBe(200);
  for (let i = 0; i < 2; i++) expect([await nearest("one"), await nearest("other")]).toEqual([1_499, 0]);
});

test("a list reads the vectors in memory: a vector that changes past the log is not seen, and without memory is seen", async () => {
  const at = (i: number): number[] => Array.from({ length: dimensions }, (_, j) => (j === 0 ? 1 : 0.001 * (i + 1)));
  const notes = Array.from({ length: 1_500 }, (_, i) => ({ n: i, embedding: at(i) }));
  const sort = `nearest(embedding, ${JSON.stringify(at(-1))})`;
  for (const [memory, found] of [
    ["1MiB", 0],
    ["0", 1_499],
  ] as const) {
    const settings = { SERVICE_LIMITS_VECTOR_MEMORY: memory };
    const api = await openApi({ collections: [{ name: "notes", fields: [n, vector] }], settings });
    const token = await api.admin();
    await importInto(api, "notes", notes, token);
    const { database } = api.service;
    const tasks = spyOn(database, "memoryTask");
    const first = async (limit: number) => (await query(api, "notes", { sort, limit }, token)).items[0]?.n;
    expect([memory, await first(1)]).toEqual([memory, 0]);
    const sql = "UPDATE notes SET embedding = ? WHERE n = 1499";
    await database.transact((tx) => tx.run(sql, encodeVector(at(-1))));
    // Another limit, because the answer of a list is kept until the next event.
    expect([memory, await first(2)]).toEqual([memory, found]);
    // A single thread, so that the bound is that of the process.
    expect(tasks).toHaveBeenCalledTimes(memory === "0" ? 0 : 2);
  }
});

test("nearest sorts no live query", async () => {
  const server = await openServer({ collections: [{ name: "notes", fields: [n, vector] }] });
  const sort = "nearest(embedding, [1, 0, 0, 0, 0, 0, 0])";
  const live = new LiveClient(server, { collection: "notes", limit: 10, sort });
  await live.connect(undefined);
  expect([live.error, live.frames]).toEqual([expect.stringContaining("nearest(…) sorts no live query"), 0]);
});
