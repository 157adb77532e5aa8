/**
 * Order of lists, beside a model: collections whose `createdAt` runs backwards (an import kept times, the clock was set back) and
 * collections that are chronological, with and without indexes, answer the same records in the same order.
 */
import { expect, setSystemTime, test } from "bun:test";
import { openApi, type TestApi } from "../../../test/kit.ts";
import { LiveClient } from "../../../test/live-client.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { openServer, until } from "../../../test/sockets.ts";
import { recordTableOf } from "../records/index.ts";

const fields = [
  { name: "k", type: "integer" },
  { name: "word", type: "string" },
  { name: "folder", type: "relation", collection: "folders" },
];
const indexes = [["k"], ["k", "createdAt"], ["word"], ["createdAt", "k"]];
const collections = [
  { name: "folders", fields: [{ name: "name", type: "string" }], permissions: { read: "public" } },
  { name: "plain", fields, permissions: { read: "public" } },
  { name: "indexed", fields, indexes, permissions: { read: "public" } },
  { name: "own", fields, permissions: { read: "owner", create: "authenticated" } },
];
const names = ["plain", "indexed"] as const;

interface Item {
  readonly id: string;
  readonly createdAt: string;
  readonly k: number | null;
  readonly word: string | null;
  readonly folder: string | null;
}
interface Page {
  readonly items: Item[];
  readonly nextCursor: string | null;
}

const idOf = (n: number): string => `rec_${String((n * 7919) % 100_000).padStart(8, "0")}-0000-4000-8000-000000000000`;
const minute = (n: number): string => new Date(Date.UTC(2020, 0, 1, 0, n)).toISOString();

/** The order of a sort: nulls first, ties by the stored order in the direction of the last key. */
function inOrder(stored: readonly Item[], sort: string): Item[] {
  const keys = sort
    .split(",")
    .map((key) => [key.replace("-", "") as keyof Item, key.startsWith("-") ? -1 : 1] as const);
  const last = keys.at(-1)?.[1] ?? 1;
  const places = new Map(stored.map((item, place) => [item, place]));
  return stored.toSorted((a, b) => {
    for (const [key, sign] of keys) {
      const [left, right] = [a[key], b[key]];
      if (left === right) continue;
      if (left === null || right === null) return left === null ? -sign : sign;
      return left < right ? -sign : sign;
    }
    return last * ((places.get(a) ?? 0) - (places.get(b) ?? 0));
  });
}

async function importInto(api: Pick<TestApi, "request">, collection: string, items: readonly object[], token: string) {
  const body = items.map((item) => JSON.stringify(item)).join("\n");
  const headers = { "Content-Type": "application/x-ndjson" };
  const answer = await api.request("POST", `/api/${collection}/import`, { body, headers, token });
  expect([answer.status, answer.body["imported"]]).toEqual([200, items.length as never]);
}

/** Each filter with the records that pass; the second filter of a pair runs on a reader thread, because each text is looked into. */
const filters: readonly (readonly [string, (item: Item) => boolean])[] = [
  ["", () => true],
  ['(word = null || word ~ "")', () => true],
  ["k = 1", ({ k }) => k === 1],
  ['k = 1 && (word = null || word ~ "")', ({ k }) => k === 1],
  ["k > 0", ({ k }) => k !== null && k > 0],
  ['word != "b"', ({ word }) => word !== "b"],
  ["k in (0, 2)", ({ k }) => k === 0 || k === 2],
];
const sorts = [
  "",
  "createdAt",
  "-createdAt",
  "k",
  "-k",
  "k,createdAt",
  "k,-createdAt",
  "-k,-createdAt",
  "word,createdAt,k",
];

test("random lists, pages and groups equal the model, whatever the indexes, on the event loop and on threads", async () => {
  const random = randomNumbers(randomSeed("order"));
  const below = (most: number): number => Math.floor(random() * most);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  const api = await openApi({ collections });
  const token = await api.admin();
  const folders = [idOf(1), idOf(2)];
  await importInto(
    api,
    "folders",
    folders.map((id) => ({ id })),
    token,
  );
  const get = async <T>(path: string): Promise<T> => {
    const { status, body } = await api.request("GET", path, { token });
    expect([path, status, body]).toEqual([path, 200, body]);
    return body as T;
  };
  const stored: Item[] = [];
  let made = 10;
  let time = 0;
  const itemAt = (createdAt: string): Item => ({
    id: idOf(made++),
    createdAt,
    k: pick([null, 0, 1, 2]),
    word: pick([null, "a", "b", "c"]),
    folder: pick([null, ...folders]),
  });

  /** Reads a list in pages of random sizes; records are deleted between the pages, also the record at which the cursor stands. */
  const pages = async (name: string, filter: string, sort: string, removed: Item[] = []): Promise<Item[]> => {
    const found: Item[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const search = new URLSearchParams({ limit: String(1 + below(7)), filter, sort, cursor });
      const page: Page = await get(`/api/${name}?${search}`);
      found.push(...page.items);
      cursor = page.nextCursor;
      const last = page.items.at(-1);
      if (removed.length >= 2 || cursor === null || last === undefined || random() < 0.7) continue;
      removed.push(last);
      for (const each of names)
        expect((await api.request("DELETE", `/api/${each}/${last.id}`, { token })).status).toBe(204);
    }
    return found;
  };
  const look = async (): Promise<void> => {
    const [filter, passes] = pick(filters);
    const sort = pick(sorts);
    const wanted = inOrder(stored, sort === "" ? "-createdAt" : sort).filter(passes);
    const about = `filter=${filter} sort=${sort}`;
    for (const name of names) {
      const search = new URLSearchParams({ filter, sort, limit: "500" });
      const { items }: Page = await get(`/api/${name}?${search}`);
      expect([name, about, items.map(({ id }) => id)]).toEqual([name, about, wanted.map(({ id }) => id)]);
    }
    const removed: Item[] = [];
    const name = pick(names);
    const found = await pages(name, filter, sort, removed);
    expect([name, about, found.map(({ id }) => id)]).toEqual([name, about, wanted.map(({ id }) => id)]);
    for (const each of removed)
      stored.splice(
        stored.findIndex(({ id }) => id === each.id),
        1,
      );
  };

  for (let round = 0; round < 12; round++) {
    // In the first rounds times rise, with ties: the collections are chronological.
    const isBackwards = round >= 4;
    const items = Array.from({ length: 1 + below(12) }, () => {
      time += below(3);
      return itemAt(minute(isBackwards && random() < 0.5 ? below(time + 1) : time));
    });
    for (const name of names) await importInto(api, name, items, token);
    stored.push(...items);
    for (const name of names) {
      const isChronological = stored.every(({ createdAt }, i) => createdAt >= (stored[i - 1]?.createdAt ?? ""));
      if (!isChronological) expect(api.service.collections.named(name).isChronological).toBe(false);
      if (!isBackwards) expect(api.service.collections.named(name).isChronological).toBe(true);
      const { items: whole }: Page = await get(`/api/${name}`);
      expect(whole.map(({ id }) => id)).toEqual(inOrder(stored, "-createdAt").map(({ id }) => id));
      const groups = await get<{ items: { k: number | null; count: number }[] }>(
        `/api/${name}?group=k&aggregate=count`,
      );
      const counted = Object.fromEntries(groups.items.map(({ k, count }) => [String(k), count]));
      const wanted = Map.groupBy(stored, ({ k }) => String(k)).entries();
      expect(counted).toEqual(Object.fromEntries(wanted.map(([k, all]) => [k, all.length])));
      const { items: parents } = await get<{ items: { id: string; expand: Record<string, Item[]> }[] }>(
        `/api/folders?expand=${name}(folder)`,
      );
      for (const { id, expand } of parents) {
        const wanted = inOrder(stored, "-createdAt").filter(({ folder }) => folder === id);
        expect(expand[`${name}(folder)`]?.map((item) => item.id)).toEqual(wanted.map((item) => item.id));
      }
    }
    for (let n = 0; n < 6; n++) await look();
  }
  expect(api.log.filter((line) => /FATAL|ERROR/.test(line))).toEqual([]);
});

test("live windows, reads of functions, files of exports and copies follow createdAt", async () => {
  const server = await openServer({ collections });
  const token = await server.admin();
  const itemOf = (n: number, k: number): object => ({ id: idOf(n), createdAt: minute(k), k });
  const inOrderOf = async (search = ""): Promise<unknown> =>
    (await server.request<Page>("GET", `/api/plain${search}`, { token })).body.items.map(({ k }) => k);
  await importInto(server, "plain", [itemOf(1, 10), itemOf(2, 20), itemOf(3, 30)], token);
  const windows = ["", "-createdAt", "createdAt"].map(
    (sort, i) => new LiveClient(server, { collection: "plain", limit: 3, ...(sort !== "" && { sort }) }, `live${i}`),
  );
  for (const window of windows) await window.connect(token);
  const shown = (): unknown[] => {
    for (const window of windows) window.follow();
    return windows.map(({ items }) => items.map(({ k }) => k));
  };
  expect(shown()).toEqual([
    [30, 20, 10],
    [30, 20, 10],
    [10, 20, 30],
  ]);
  await importInto(server, "plain", [itemOf(4, 5), itemOf(5, 25)], token);
  await until(
    () =>
      JSON.stringify(shown()) ===
      JSON.stringify([
        [30, 25, 20],
        [30, 25, 20],
        [5, 10, 20],
      ]),
  );
  const wanted = [30, 25, 20, 10, 5];
  expect(await inOrderOf()).toEqual(wanted);
  expect(await inOrderOf("?limit=2&offset=1")).toEqual([25, 20]);
  // A list in an open transaction.
  const table = recordTableOf(server.service.collections.named("plain"));
  const own = await server.service.database.transact((tx) => tx.all<Item>(table.firstPage(false, 10)));
  expect(own.map(({ k }) => k)).toEqual(wanted);
  // An export has the stored order, which a copy keeps.
  const file = await server.request("GET", "/api/plain/export?format=ndjson", { token });
  const rows = new TextDecoder().decode(file.bytes).trim().split("\n");
  expect(rows.map((row) => JSON.parse(row).k)).toEqual([10, 20, 30, 5, 25]);
  await importInto(
    server,
    "indexed",
    rows.map((row) => JSON.parse(row)),
    token,
  );
  const copied = await server.request<Page>("GET", "/api/indexed", { token });
  expect(copied.body.items.map(({ k }) => k)).toEqual(wanted);
});

test("a clock that is set back makes a collection follow createdAt, with an index, over a restart and an upgrade", async () => {
  const api = await openApi({ collections });
  const admin = await api.admin();
  const { accessToken: token, user } = await api.register("ann@example.com");
  const create = async (to: Pick<TestApi, "request">, k: number): Promise<void> => {
    expect((await to.request("POST", "/api/own", { body: { k }, token })).status).toBe(201);
  };
  const list = async (from: Pick<TestApi, "request">, search = ""): Promise<unknown> => {
    const { body } = await from.request<Page>("GET", `/api/own${search}`, { token });
    return body.items.map(({ k }) => k);
  };
  for (const k of [1, 2, 3, 4]) await create(api, k);
  const page = (await api.request<Page>("GET", "/api/own?limit=2", { token })).body;
  const cursor = encodeURIComponent(page.nextCursor ?? "");
  const other = (await api.request<Page>("GET", "/api/own?limit=2&sort=k", { token })).body.nextCursor ?? "";
  expect(page.items.map(({ k }) => k)).toEqual([4, 3]);
  const { collections: known, database, records } = api.service;
  expect(known.named("own").isChronological).toBe(true);

  setSystemTime(new Date(Date.now() - 60_000));
  await create(api, 5);
  setSystemTime();
  await create(api, 6);
  expect(known.named("own").isChronological).toBe(false);
  expect(known.named("plain").isChronological).toBe(true);
  const wanted = [6, 4, 3, 2, 1, 5];
  for (const search of ["", "?sort=-createdAt", "?limit=10", "?filter=k>0"])
    expect(await list(api, search)).toEqual(wanted);
  expect(await list(api, "?sort=createdAt")).toEqual(wanted.toReversed());
  // Cursors of before go on in the order of now.
  expect(await list(api, `?limit=10&cursor=${cursor}`)).toEqual([2, 1, 5]);
  expect(await list(api, `?limit=10&sort=k&cursor=${encodeURIComponent(other)}`)).toEqual([3, 4, 5, 6]);

  const indexesNow = (): string[] =>
    database.reader
      .all<{ sql: string }>(
        "SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'own' AND sql IS NOT NULL",
      )
      .map(({ sql }) => sql.replace(/^.*\(/, "("));
  await until(() => indexesNow().includes('("createdAt")'));
  expect(indexesNow()).toContain('("_owner", "createdAt")');
  expect(indexesNow()).not.toContain('("_owner")');
  // A migration keeps the knowledge, and the indexes.
  const definition = {
    name: "own",
    fields: [...fields, { name: "more", type: "text" }],
    permissions: collections[3]?.permissions,
  };
  const put = await api.request("PUT", "/api/admin/collections/own", { body: definition, token: admin });
  expect(put.status).toBe(200);
  expect(indexesNow()).toContain('("createdAt")');
  expect(await list(api)).toEqual(wanted);
  expect(records.newest(database.reader, "own")).not.toBeNull();

  // A database of an earlier version knows of no order, and has no index.
  await database.transact((tx) => tx.run("UPDATE _collections SET isChronological = NULL"));
  for (const { name } of database.reader.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql LIKE '%createdAt%'",
  ))
    await database.transact((tx) => tx.run(`DROP INDEX "${name}"`));
  const folder = api.config.folder;
  await api.close();
  const second = await openApi({ folder });
  expect(second.service.collections.named("own").isChronological).toBe(false);
  expect(second.service.collections.named("plain").isChronological).toBe(true);
  expect(await list(second)).toEqual(wanted);
  await create(second, 7);
  expect(await list(second)).toEqual([7, ...wanted]);
  expect(user.id).toMatch(/^usr_/);
  expect(second.log.filter((line) => /FATAL|ERROR/.test(line))).toEqual([]);
});

test("a clock that is set back between two starts makes a collection follow createdAt with the first record after the start", async () => {
  const api = await openApi({ collections });
  const { accessToken: token } = await api.register("ann@example.com");
  const body = { k: 1 };
  expect((await api.request("POST", "/api/own", { body, token })).status).toBe(201);
  const { folder } = api.config;
  await api.close();
  const second = await openApi({ folder });
  setSystemTime(new Date(Date.now() - 60_000));
  expect((await second.request("POST", "/api/own", { body, token })).status).toBe(201);
  setSystemTime();
  expect(second.service.collections.named("own").isChronological).toBe(false);
});
