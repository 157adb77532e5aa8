/**
 * Places and distances: filters and sorts beside a model, which computes distances with vectors in space; the same collection with and
 * without an index, and through a relation. Rules, live queries, migrations and refusals.
 */
import { expect, test } from "bun:test";
import type { RuleEffects } from "@socle/protocol";
import { openApi, type TestApi } from "../../../test/kit.ts";
import { LiveClient } from "../../../test/live-client.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { openServer, until } from "../../../test/sockets.ts";

interface Place {
  readonly lat: number;
  readonly lon: number;
}
interface Item {
  readonly id: string;
  readonly n: number;
  readonly place: Place | null;
}
interface Page {
  readonly items: Item[];
  readonly nextCursor: string | null;
}

const fields = [
  { name: "n", type: "integer" },
  { name: "place", type: "geo" },
];
const collections = [
  { name: "plain", fields },
  { name: "indexed", fields, indexes: [["place"], ["n", "place"]] },
  { name: "visits", fields: [{ name: "shop", type: "relation", collection: "indexed" }] },
];
const radius = 6_371_008.8;

function vectorOf({ lat, lon }: Place): [number, number, number] {
  const [a, b] = [(lat * Math.PI) / 180, (lon * Math.PI) / 180];
  return [Math.cos(a) * Math.cos(b), Math.cos(a) * Math.sin(b), Math.sin(a)];
}

/** The metres between two places: by the angle between the vectors from the centre of the Earth. */
function modelDistance(from: Place, to: Place): number {
  const [a, b] = [vectorOf(from), vectorOf(to)];
  const cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  return radius * Math.atan2(Math.hypot(...cross), a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
}

/** Metres by which the two ways to compute a distance may differ: between opposite places, the haversine formula is exact to decimetres. */
const tolerance = 1;

async function importInto(api: Pick<TestApi, "request">, collection: string, items: readonly object[], token: string) {
  const body = items.map((item) => JSON.stringify(item)).join("\n");
  const headers = { "Content-Type": "application/x-ndjson" };
  const answer = await api.request("POST", `/api/${collection}/import`, { body, headers, token });
  expect([answer.status, answer.body["imported"]]).toEqual([200, items.length as never]);
}

test("lists by distance equal the model, whatever the places, with and without an index, in pages", async () => {
  const random = randomNumbers(randomSeed("distance"));
  const below = (most: number): number => Math.floor(random() * most);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  const lat = (): number => pick([90, -90, 89.999, 0, 52.5, 52.5 + random() * 0.1, random() * 180 - 90]);
  const lon = (): number =>
    pick([180, -180, 179.9 + random() * 0.1, random() * 0.1 - 180, 0, 13.4, random() * 360 - 180]);
  const point = (): Place => ({ lat: lat(), lon: lon() });
  const api = await openApi({ collections });
  const token = await api.admin();
  const get = async (path: string, parameters: Record<string, string>): Promise<Page> => {
    const { status, body } = await api.request<Page>("GET", `${path}?${new URLSearchParams(parameters)}`, { token });
    expect([path, parameters, status, body]).toEqual([path, parameters, 200, body]);
    return body;
  };
  const stored = Array.from({ length: 400 }, (_, n): Item => {
    const id = `rec_${String(n).padStart(8, "0")}-0000-4000-8000-000000000000`;
    return { id, n: n % 3, place: random() < 0.1 ? null : point() };
  });
  for (const name of ["plain", "indexed"]) await importInto(api, name, stored, token);
  await importInto(
    api,
    "visits",
    stored.map(({ id }) => ({ shop: id })),
    token,
  );
  const ids = (items: readonly Item[]): string[] => items.map(({ id }) => id);
  let found = 0;
  for (let round = 0; round < 120; round++) {
    const at = random() < 0.2 ? (pick(stored).place ?? point()) : point();
    const metres = pick([0, 500, 5_000, 200_000, 3e6, 12e6, 20_100_000]) * (0.5 + random());
    const distance = `distance(place, ${at.lat}, ${at.lon})`;
    const [operator, bound] = [pick(["<", "<=", ">", ">="]), pick([`${metres}`, `${metres / 1_000}km`])];
    const isNear = operator.startsWith("<");
    const more = pick(["", " && n = 1", " && n > 0"]);
    const written =
      random() < 0.5
        ? `${distance} ${operator} ${bound}${more}`
        : `!(${distance} ${isNear ? ">=" : "<="} ${bound})${more}`;
    const holds = ({ n }: Item): boolean => more === "" || (more === " && n = 1" ? n === 1 : n > 0);
    const isNegated = written.startsWith("!");
    const filter = written;
    const { items } = await get("/api/plain", { filter });
    expect([filter, ids((await get("/api/indexed", { filter })).items)]).toEqual([filter, ids(items)]);
    const foundIds = new Set(ids(items));
    for (const item of stored) {
      // A place that is missing is at no distance, so the opposite of a comparison holds.
      const gap = item.place === null ? null : (modelDistance(item.place, at) - metres) * (isNear ? 1 : -1);
      if (gap !== null && Math.abs(gap) < tolerance) continue;
      const isWanted = holds(item) && (gap === null ? isNegated : gap < 0);
      expect([filter, item, foundIds.has(item.id)]).toEqual([filter, item, isWanted]);
    }
    if (items.length > 0 && items.length < stored.length) found += 1;
    const shops = filter.replaceAll("place", "shop.place").replaceAll(/\bn\b/g, "shop.n");
    const visits = await get("/api/visits", { filter: shops, fields: "shop" });
    expect([shops, new Set(visits.items.map((visit) => (visit as unknown as { shop: string }).shop))]).toEqual([
      shops,
      foundIds,
    ]);

    // Sorted, in pages of random sizes: no record is lost, no record comes twice, and the distances rise or fall.
    const isDescending = random() < 0.5;
    const sort = `${isDescending ? "-" : ""}distance(place,${at.lat},${at.lon})${pick(["", ",n", ",-n"])}`;
    const name = pick(["plain", "indexed"]);
    const sorted: Item[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: Page = await get(`/api/${name}`, { sort, filter, limit: String(20 + below(200)), cursor });
      sorted.push(...page.items);
      cursor = page.nextCursor;
    }
    expect([sort, ids(sorted).toSorted()]).toEqual([sort, ids(items).toSorted()]);
    const distances = sorted.map(({ place }) => (place === null ? 1e9 : modelDistance(place, at)));
    for (const [i, each] of distances.entries()) {
      const step = i === 0 ? 0 : each - (distances[i - 1] ?? 0);
      expect([sort, i, (isDescending ? -step : step) > -tolerance]).toEqual([sort, i, true]);
    }
    const whole = await get("/api/plain", { sort, filter });
    expect(ids(sorted)).toEqual(ids(whole.items));
  }
  expect(found).toBeGreaterThan(40);
  expect(api.log.filter((line) => /FATAL|ERROR/.test(line))).toEqual([]);
});

test("SQLite finds the places within a distance by the index, also at the antimeridian and for the records of a relation", async () => {
  const api = await openApi({ collections, settings: { SERVICE_LOG_SLOW_QUERY: "0" } });
  const token = await api.admin();
  const planOf = async (path: string, filter: string): Promise<string> => {
    await api.request("GET", `${path}?${new URLSearchParams({ filter, limit: "5" })}`, { token });
    return String(api.entries("A query was slow").at(-1)?.fields?.["plan"]);
  };
  for (const filter of [
    "distance(place, 52.5, 13.4) < 5km",
    "5km >= distance(place, 0, 180)",
    "distance(place, 90, 0) < 100",
  ])
    expect([filter, await planOf("/api/indexed", filter)]).toEqual([
      filter,
      expect.stringMatching(/^SEARCH indexed USING INDEX indexed.*_lat_place.*\(_lat_place>\? AND _lat_place<\?\)/),
    ]);
  expect(await planOf("/api/indexed", "n = 1 && distance(place, 52.5, 13.4) < 5km")).toContain("(n=? AND _lat_place>?");
  expect(await planOf("/api/visits", "distance(shop.place, 52.5, 13.4) < 5km")).toContain("_lat_place>?");
  expect(await planOf("/api/indexed", "distance(place, 52.5, 13.4) > 5km")).not.toContain("_lat_place>?");
  // Without an index, the log names the index that is missing.
  await planOf("/api/plain", "distance(place, 52.5, 13.4) < 5km");
  expect(api.entries("A query was slow").at(-1)?.fields?.["index"]).toBe('add ["place"] to "indexes" of "plain"');
});

test("a rule by distance and live queries by distance follow the places that come near and the places that leave", async () => {
  const near = "distance(place, 52.52, 13.405) < 10km";
  const server = await openServer({
    collections: [
      { name: "plain", fields, permissions: { read: "public" } },
      { name: "local", fields, indexes: [["place"]], permissions: { read: near, create: near, update: near } },
    ],
  });
  const token = await server.admin();
  const anyone = (await server.register("ann@example.com")).accessToken;
  const create = async (collection: string, place: Place | null, by = token) => {
    const { status, body } = await server.request<Item>("POST", `/api/${collection}`, {
      body: { n: 1, place },
      token: by,
    });
    return status === 201 ? body.id : status;
  };
  const [mitte, potsdam] = [
    { lat: 52.521, lon: 13.411 },
    { lat: 52.39, lon: 13.06 },
  ];
  const windows = [
    new LiveClient(server, { collection: "plain", limit: 10, filter: near }, "filter"),
    new LiveClient(server, { collection: "plain", limit: 10, sort: "distance(place, 52.52, 13.405)" }, "sort"),
  ];
  for (const window of windows) await window.connect(undefined);
  const far = await create("plain", potsdam);
  await create("plain", null);
  const here = await create("plain", mitte);
  const shown = (): unknown[] => {
    for (const window of windows) window.follow();
    return windows.map(({ items }) => items.map(({ place }) => place));
  };
  const is = (wanted: unknown): Promise<void> => until(() => JSON.stringify(shown()) === JSON.stringify(wanted));
  await is([[mitte], [mitte, potsdam, null]]);
  await server.request("PUT", `/api/plain/${here}`, { body: { place: { lat: -33, lon: 151 } }, token });
  await is([[], [potsdam, { lat: -33, lon: 151 }, null]]);
  await server.request("PUT", `/api/plain/${far}`, { body: { place: mitte }, token });
  await is([[mitte], [mitte, { lat: -33, lon: 151 }, null]]);

  // A filtered channel decides each change in memory.
  const socket = await server.connect(undefined);
  socket.send({ action: "subscribe", channel: "plain.*", filter: near });
  await until(() => socket.frames.length === 1);
  await create("plain", potsdam);
  const last = await create("plain", mitte);
  await until(() => socket.frames.length === 2);
  expect(socket.frames.at(-1)).toMatchObject({ event: { payload: { id: last, place: mitte } } });

  // By the rule, only near places may be made, seen and changed; an admin may do all.
  const [hidden, open] = [await create("local", potsdam), await create("local", mitte)];
  expect(await create("local", potsdam, anyone)).toBe(403);
  expect(await create("local", null, anyone)).toBe(403);
  expect(await create("local", mitte, anyone)).toStartWith("rec_");
  const list = await server.request<Page>("GET", "/api/local", { token: anyone });
  expect(list.body.items.map(({ place }) => place)).toEqual([mitte, mitte]);
  expect((await server.request("GET", `/api/local/${hidden}`, { token: anyone })).status).toBe(404);
  const put = async (id: unknown, place: Place): Promise<number> =>
    (await server.request("PUT", `/api/local/${id}`, { body: { place }, token: anyone })).status;
  expect(await put(hidden, mitte)).toBe(404);
  expect(await put(open, { lat: 52.5, lon: 13.4 })).toBe(200);
});

test("a value that is no place is refused with the field, the value and the allowed form; nothing is written", async () => {
  const api = await openApi({ collections });
  const token = await api.admin();
  const form = 'place must be an object such as { "lat": 52.52, "lon": 13.405 }';
  const refused: [unknown, string][] = [
    [{ lat: 91, lon: 0 }, 'place must have a latitude "lat", a number from -90 to 90, not 91'],
    [{ lat: 0, lon: -180.5 }, 'place must have a longitude "lon", a number from -180 to 180, not -180.5'],
    [{ lat: "1", lon: 0 }, 'place must have a latitude "lat", a number from -90 to 90, not "1"'],
    // JSON has no NaN: programs write null.
    [{ lat: Number.NaN, lon: 0 }, 'place must have a latitude "lat", a number from -90 to 90, not null'],
    [{ lat: 1 }, 'place must have a longitude "lon", a number from -180 to 180, not nothing'],
    [{ lat: 1, lon: 2, alt: 3 }, `${form}, without the member "alt"`],
    [{ $increment: 1 }, `${form}, without the member "$increment"`],
    [[1, 2], `${form}, not [1,2]`],
    ["52.52,13.405", `${form}, not "52.52,13.405"`],
    [5, `${form}, not 5`],
  ];
  const made = await api.request("POST", "/api/plain", { body: { place: { lat: 1, lon: 2 } }, token });
  for (const [place, message] of refused)
    for (const [method, path] of [
      ["POST", "/api/plain"],
      ["PUT", `/api/plain/${made.body["id"]}`],
    ] as const) {
      const { status, body } = await api.request(method, path, { body: { place }, token });
      expect([place, status, body["error"]?.["details"]]).toEqual([
        place,
        400,
        [{ field: "place", rule: "type", message }] as never,
      ]);
    }
  const { body } = await api.request<Page>("GET", "/api/plain", { token });
  expect(body.items.map(({ place }) => place)).toEqual([{ lat: 1, lon: 2 }]);
  const refusals: [string, string][] = [
    ["sort=place", '"sort": "place" is a place; sort by distance(place, lat, lon).'],
    ["sort=distance(n,1,2)", '"sort": distance(…) takes a field of type geo, not a number.'],
    [
      "sort=distance(place,1)",
      '"sort": expected "," and a longitude from -180 to 180, as in distance(field, lat, lon), found ")".',
    ],
    [
      "sort=n,(distance(place,1,2),n",
      '"sort": "(distance(place,1,2),n" is no path: "(distance(place,1,2),n" is no name.',
    ],
    ["sort=n),n", '"sort": "n)" is no path: "n)" is no name.'],
    [`sort=${",".repeat(5_000)}`, '"sort": at most 5 fields are allowed.'],
    ["sort=distance(place,1,2),distance(place,1,2)", '"sort": "distance(place,1,2)" is there twice.'],
    ["group=place", '"group": "place" is a place, which has no groups and no sums.'],
    ["aggregate=min(place)", '"aggregate": "place" is a place, which has no groups and no sums.'],
  ];
  for (const [search, message] of refusals) {
    const answer = await api.request("GET", `/api/plain?${search}`, { token });
    expect([search, answer.status, answer.body["error"]?.["message"]]).toEqual([search, 400, message as never]);
  }
});

test("a place in definitions: defaults, indexes, migrations with names and without, and the refused attributes", async () => {
  const api = await openApi({ collections });
  const token = await api.admin();
  const put = async (definition: object): Promise<[number, unknown]> => {
    const { status, body } = await api.request("PUT", "/api/admin/collections/plain", { body: definition, token });
    return [status, body["error"]?.["message"]];
  };
  const list = async (filter: string): Promise<unknown> => {
    const { body } = await api.request<Page>("GET", `/api/plain?${new URLSearchParams({ filter })}`, { token });
    return body.items?.map(({ n }) => n) ?? body;
  };
  await api.request("POST", "/api/plain", { body: { n: 1, place: { lat: 1, lon: 2 } }, token });
  await api.request("POST", "/api/plain", { body: { n: 2, place: { lat: 50, lon: 2 } }, token });
  const [n, place] = fields;
  expect(await put({ fields, indexes: [["place"]] })).toEqual([200, undefined]);
  expect(await list("distance(place, 1, 2) < 5km")).toEqual([1]);
  const home = { name: "home", type: "geo", required: true, default: { lat: 1, lon: 2 } };
  const spot = { ...place, name: "spot", renamedFrom: "place" };
  expect(await put({ fields: [n, spot, { ...home, renamedFrom: null }], indexes: [["spot"], ["home", "n"]] })).toEqual([
    200,
    undefined,
  ]);
  expect(await list("distance(spot, 1, 2) < 5km")).toEqual([1]);
  expect(await list("distance(home, 1, 2) < 5km")).toEqual([2, 1]);
  // The two fields swap names; then a field goes, with its indexes.
  const swapped = [n, { ...place, name: "home", renamedFrom: "spot" }, { ...home, name: "spot", renamedFrom: "home" }];
  expect(await put({ fields: swapped, indexes: [["spot"], ["home"]] })).toEqual([200, undefined]);
  expect(await list("distance(home, 1, 2) < 5km")).toEqual([1]);
  expect(await list("distance(spot, 1, 2) < 5km")).toEqual([2, 1]);
  expect(await put({ fields: [n, { name: "home", type: "geo" }], indexes: [["home"]] })).toEqual([200, undefined]);
  expect(await list("distance(home, 1, 2) < 5km")).toEqual([1]);
  const index = { fields: ["home"], unique: true };
  const refusals: [object, string][] = [
    [
      { unique: true },
      '"unique" means nothing on type geo; it is for string, text, integer, float, boolean, datetime, relation and file',
    ],
    [{ multiple: true }, '"multiple" means nothing on type geo; it is for string, relation or file'],
    [
      { default: { lat: 91, lon: 0 } },
      '"default" breaks a rule of its own field: it must have a latitude "lat", a number from -90 to 90, not 91',
    ],
  ];
  for (const [more, problem] of refusals)
    expect(await put({ fields: [n, { name: "home", type: "geo", ...more }] })).toEqual([
      400,
      expect.stringContaining(`field "home": ${problem}`),
    ]);
  expect(await put({ fields: [n, { name: "home", type: "geo" }], indexes: [index] })).toEqual([
    400,
    expect.stringContaining('index 1: field "home" is geo, which is in no unique index'),
  ]);
  expect(await put({ fields: [n, { name: "home", type: "json" }] })).toEqual([400, expect.stringContaining("home")]);
  expect(await list("distance(home, 1, 2) < 5km")).toEqual([1]);
});

test("a rule by distance holds in the trash, in histories, in trials and in trials of definitions, and follows a rename", async () => {
  const near = "distance(place, 52.52, 13.405) < 10km";
  const [mitte, potsdam] = [
    { lat: 52.521, lon: 13.411 },
    { lat: 52.39, lon: 13.06 },
  ];
  const permissions = { read: near, create: "authenticated", update: near, delete: near };
  const local = { name: "local", fields, permissions, trash: "30d", history: { read: near } };
  const api = await openApi({ collections: [local] });
  const token = await api.admin();
  const { accessToken: ann, user } = await api.register("ann@example.com");
  const send = (method: string, path: string, body?: object, by = ann) =>
    api.request(method, path, { token: by, ...(body !== undefined && { body }) });
  const create = async (n: number, place: Place | null): Promise<string> =>
    String((await send("POST", "/api/local", { n, place }, token)).body["id"]);
  const [here, there, gone, goneThere] = [
    await create(1, mitte),
    await create(2, potsdam),
    await create(3, mitte),
    await create(4, potsdam),
  ];
  // The history has the changes of the time in which the place was near.
  await send("PUT", `/api/local/${there}`, { place: mitte }, token);
  await send("PUT", `/api/local/${there}`, { n: 5 }, token);
  const changes = (await send("GET", `/api/local/${there}/history`)).body["items"] as unknown as { type: string }[];
  expect(changes.map(({ type }) => type)).toEqual(["updated"]);
  for (const id of [gone, goneThere])
    expect((await send("DELETE", `/api/local/${id}`, undefined, token)).status).toBe(204);
  const trash = await send("GET", "/api/local?trash=only");
  expect((trash.body["items"] as unknown as Item[]).map(({ n }) => n)).toEqual([3]);
  expect((await send("POST", `/api/local/${goneThere}/restore`)).status).toBe(404);
  expect((await send("POST", `/api/local/${gone}/restore`)).body["place"]).toEqual(mitte as never);

  const attempt = (body: object) => send("POST", "/api/admin/collections/local/try", body, token);
  expect(
    (await attempt({ as: user.id, operation: "update", id: here, body: { place: potsdam } })).body["allowed"],
  ).toBe(false as never);
  expect((await attempt({ as: user.id, operation: "update", id: here, body: { n: 7 } })).body["allowed"]).toBe(
    true as never,
  );
  const wider = { ...local, permissions: { ...permissions, read: near.replace("10km", "1000km") } };
  await send("PUT", `/api/local/${there}`, { place: potsdam }, token);
  const { callers } = (await attempt({ definition: wider })).body as unknown as RuleEffects;
  const { operations = [] } = callers.find(({ as }) => as?.id === user.id) ?? {};
  expect(operations.find(({ operation }) => operation === "read")).toMatchObject({ before: 2, after: 3 });

  const spot = { name: "spot", type: "geo", renamedFrom: "place" };
  const renamed = await send("PUT", "/api/admin/collections/local", { fields: [fields[0], spot] }, token);
  expect(renamed.body["permissions"]?.["read"]).toBe("distance(spot, 52.52, 13.405) < 10km" as never);
  const list = await send("GET", "/api/local");
  expect((list.body["items"] as unknown as Item[]).map(({ n }) => n)).toEqual([3, 1]);
});
