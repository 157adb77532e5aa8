/** The cost of live server queries: a caller with heavy queries is run less often, and the queries of others go on. */
import { expect, test } from "bun:test";
import { openScripts } from "../../../test/scripts.ts";
import { listen, until } from "../../../test/sockets.ts";

const args = '{ "~standard": { version: 1, vendor: "own", validate: (value) => ({ value }) } }';
const opened = await openScripts({
  collections: [{ name: "notes", fields: [{ name: "n", type: "integer" }] }],
  settings: { SERVICE_LIMITS_FILTER_TIME: "20ms", SERVICE_LIMITS_LIVE_RECORDS: "10800" },
  files: {
    "queries/heavy.ts": `export default query({ access: "public", args: ${args} }, async ({ db }) => {
      const notes = await db.collection("notes").list();
      for (const end = performance.now() + 400; performance.now() < end; );
      return notes.length;
    });`,
    "queries/quick.ts": `export default query({ access: "public", args: ${args} }, () => 0);`,
    "queries/count.ts":
      'export default query({ access: "public" }, async ({ db }) => (await db.collection("notes").list({ aggregate: "count" }))[0].count);',
  },
});
const { request } = opened;
const { connect } = listen(opened);
const admin = await opened.admin();
const [busy, calm, slow, large] = await Promise.all(
  ["busy", "calm", "slow", "large"].map((name) => opened.register(`${name}@example.com`)),
);
const heavyQueries = 8;
const changes = 10;

test("a caller with heavy queries waits, and another caller receives each change", async () => {
  const start = performance.now();
  const heavy = await connect(busy?.accessToken);
  const heavyResults = () => heavy.frames.filter(({ type }) => type === "result").length;
  for (let i = 0; i < heavyQueries; i += 1)
    heavy.send({ action: "subscribe", id: `h${i}`, query: { name: "heavy", args: { i } } });
  const light = await connect(calm?.accessToken);
  light.send({ action: "subscribe", id: "count", query: { name: "count" } });
  const shown = () => light.frames.flatMap((frame) => (frame.type === "result" ? [frame.value] : [])).at(-1);
  await until(() => shown() === 0);
  for (let i = 1; i <= changes; i += 1) {
    expect((await request("POST", "/api/notes", { token: admin, body: { n: i } })).status).toBe(201);
    await until(() => shown() === i);
  }
  // Without waits, the processes make five values a second. After the values that are made at once, a caller waits ten seconds.
  const seconds = (performance.now() - start) / 1_000;
  expect(heavyResults()).toBeGreaterThan(0);
  expect(heavyResults()).toBeLessThan(6 + seconds / 2);
  expect([heavy, light].flatMap(({ frames }) => frames).filter(({ type }) => type === "error")).toEqual([]);
  heavy.socket.close();
  light.socket.close();
});

test("a heavy query reports how often the query runs", async () => {
  const socket = await connect(slow?.accessToken);
  socket.send({ action: "subscribe", id: "q", query: { name: "heavy" } });
  await until(() => socket.frames.some(({ type }) => type === "result"));
  await request("POST", "/api/notes", { token: admin, body: { n: 0 } });
  await until(() => socket.frames.filter(({ type }) => type === "result").length === 2);
  const every = socket.frames.flatMap((frame) => (frame.type === "result" ? [frame.every] : []));
  expect(every[0]).toBeUndefined();
  // 20 times the 100 ms that the run computes, at least.
  expect(every[1]).toBeGreaterThanOrEqual(2_000);
  socket.socket.close();
});

test("long arguments count for the records of the caller's live queries", async () => {
  const socket = await connect(large?.accessToken);
  const answers = () => socket.frames.filter(({ type }) => type === "subscribed" || type === "error");
  for (let i = 0; i < 10; i += 1)
    socket.send({ action: "subscribe", id: `l${i}`, query: { name: "quick", args: { i, text: "x".repeat(7_000) } } });
  await until(() => answers().length === 10);
  // An eighth of 10,800 records: each query takes 110 for its characters, and 34 for the window and the viewer.
  const refused = answers().flatMap((frame) => (frame.type === "error" ? [frame.code] : []));
  expect(refused).toEqual(["query_limit"]);
  socket.socket.close();
});
