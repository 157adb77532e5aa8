/** Live queries against a server whose frames the test decides: windows, breaks, errors, and who is signed in. */
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import type { Event } from "@socle/protocol";
import { live, liveWithChannels } from "./entries/live.ts";
import { createClient, type LiveState, type LiveValue, type Socle } from "./index.ts";
import { liveStore } from "./store.ts";
import { LiveServer, States } from "./testing/live-server.ts";

let server: LiveServer;
let client: Socle;
beforeEach(() => {
  server = new LiveServer();
  client = createClient({ baseUrl: server.url, live });
});
afterEach(() => {
  client.close();
  server.stop();
});

const row = (id: string, more: object = {}) => ({ id, n: 1, ...more });
const idsOf = ({ items }: LiveState): unknown[] => items.map((item) => Reflect.get(Object(item), "id"));

/** Watches a query, and answers the first result. */
async function watched(
  items: object[],
  seq = 1,
  query: { live(listener: (state: LiveState) => void): () => void } = client.collection("tasks").where({ n: 1 }),
) {
  const states = new States<LiveState>();
  const from = server.asked.length;
  const stop = query.live(states.add);
  const { id } = await server.next(from);
  server.send({ type: "subscribed", id });
  server.send({ type: "result", id, seq, items });
  await states.until(({ status }) => status === "live");
  return { id, states, stop };
}

test("a query is sent with the parameters of HTTP, and the window follows the changes", async () => {
  const query = client
    .collection("tasks")
    .where({ n: 1 })
    .orderBy("-n")
    .select("n", { project: ["name"] })
    .limit(2)
    .withTotal();
  const raw = { id: "1", n: 1, expand: { project: { name: "p" } } };
  const { id, states } = await watched([raw, { id: "2", n: 1, expand: { project: null } }], 1, query);
  expect<unknown>(server.asked).toEqual([
    {
      action: "subscribe",
      id,
      query: {
        collection: "tasks",
        filter: "n = 1",
        sort: "-n",
        fields: "id,n,project.name",
        limit: 2,
        count: "exact",
      },
    },
  ]);
  expect(states.all[0]).toEqual({ items: [], status: "loading", position: -1 });
  const before = states.last.items;
  expect(before).toEqual([
    { id: "1", n: 1, project: { name: "p" } },
    { id: "2", n: 1, project: null },
  ]);
  const added = { id: "3", n: 1, expand: { project: { name: "q" } } };
  server.send({ type: "change", id, seq: 5, order: ["3", "1"], items: [added], total: 3, nextCursor: "c", every: 500 });
  await states.until((state) => state.total === 3);
  expect(idsOf(states.last)).toEqual(["3", "1"]);
  expect(states.last).toMatchObject({ nextCursor: "c", every: 500, status: "live" });
  // A record that did not change is the same object.
  expect(states.last.items[1]).toBe(before[0]);
  server.send({ type: "change", id, seq: 6, order: [], items: [], total: 0, nextCursor: null });
  await states.until((state) => state.total === 0);
  expect(states.last).toEqual({ items: [], status: "live", position: 6, total: 0, nextCursor: null });
});

test("equal queries share a subscription, which ends with the last listener", async () => {
  const first = await watched([row("1")]);
  const second = new States<LiveState>();
  const abort = new AbortController();
  client.collection("tasks").where({ n: 1 }).live(second.add, { signal: abort.signal });
  expect(idsOf(second.last)).toEqual(["1"]);
  first.stop();
  server.send({ type: "change", id: first.id, seq: 2, order: ["1", "2"], items: [row("2")] });
  await second.until((state) => state.items.length === 2);
  expect(first.states.last.items).toHaveLength(1);
  abort.abort();
  await server.until(() => server.sockets.size === 0);
  expect(server.asked.map(({ action }) => action)).toEqual(["subscribe", "unsubscribe"]);
  expect(client.connection.get()).toBe("idle");
});

test("after a break, the client asks for the changes since the last position, and reports the break meanwhile", async () => {
  const connection = new States<string>();
  client.connection.subscribe(connection.add);
  const { id, states } = await watched([row("1"), row("2")], 10);
  server.send({ type: "position", seq: 40 });
  server.send({ type: "change", id: "other", seq: 99, order: [], items: [] });
  server.send({ type: "position", seq: 41 });
  server.drop();
  await states.until(({ status }) => status === "offline");
  expect(idsOf(states.last)).toEqual(["1", "2"]);
  const again = await server.next(1);
  expect(again).toMatchObject({ action: "subscribe", since: 41 });
  expect(again.id).not.toBe(id);
  server.send({ type: "subscribed", id: again.id });
  // A late frame of the former request is for nobody.
  server.send({ type: "change", id, seq: 50, order: ["9"], items: [row("9")] });
  server.send({ type: "change", id: again.id, seq: 50, order: ["2", "3"], items: [row("3")] });
  await states.until((state) => state.status === "live" && state.items.length === 2);
  expect(idsOf(states.last)).toEqual(["2", "3"]);
  expect(connection.all).toEqual(["connecting", "open", "offline", "open"]);
});

test("a change that does not fit the window makes the client ask for the whole result", async () => {
  const { id, states } = await watched([row("1")], 10);
  server.send({ type: "change", id, seq: 11, order: ["1", "2"], items: [] });
  expect<unknown>(await server.next(1)).toEqual({ action: "unsubscribe", id });
  const { id: next, since } = await server.next(2);
  expect(since).toBeUndefined();
  server.send({ type: "result", id: next, seq: 12, items: [row("1"), row("2")] });
  await states.until((state) => state.items.length === 2);
});

test("an error ends the query for good", async () => {
  const { id, states } = await watched([row("1")]);
  const error = { code: "forbidden", message: "no" };
  const details = [{ field: "project", rule: "schema", message: "is no id" }];
  server.send({ type: "error", id, ...error, details, error });
  const { status, error: told } = await states.until((state) => state.status === "error");
  expect(told?.fields).toEqual({ project: "is no id" });
  expect([status, told?.code, told?.message, told?.is("forbidden")]).toEqual(["error", "forbidden", "no", true]);
  await server.until(() => server.sockets.size === 0);
  expect(server.asked).toHaveLength(1);
});

test("a refused query is asked anew for another user, and not after a break", async () => {
  const refused = await watched([row("1")]);
  const other = new States<LiveState>();
  const stop = client.collection("notes").live(other.add);
  const { id: notes } = await server.next(1);
  server.send({ type: "error", id: refused.id, code: "forbidden", message: "no" });
  await refused.states.until(({ status }) => status === "error");
  server.drop();
  const again = await server.next(2);
  expect([again.query?.["collection"], again.id === notes]).toEqual(["notes", false]);
  expect(refused.states.last).toMatchObject({ status: "error", error: { code: "forbidden" } });
  // Without a query that runs, the connection ends; a sign-in opens the connection again.
  stop();
  await server.until(() => server.sockets.size === 0);
  const from = server.asked.length;
  client.adoptTokens({ accessToken: "a.e30.c", refreshToken: "r" });
  expect(refused.states.last).toEqual({ items: [], status: "loading", position: -1 });
  const asked = await server.next(from);
  expect([asked.query?.["collection"], asked.since, server.tokens.at(-1)]).toEqual(["tasks", undefined, "a.e30.c"]);
  server.send({ type: "result", id: asked.id, seq: 1, items: [row("2")] });
  expect(idsOf(await refused.states.until(({ status }) => status === "live"))).toEqual(["2"]);
  refused.stop();
  await server.until(() => server.sockets.size === 0);
});

test("another sign-in empties the windows and asks anew", async () => {
  const { states } = await watched([row("1")], 10);
  const token = { accessToken: "a", refreshToken: "r" };
  client.adoptTokens(token);
  expect(states.last).toEqual({ items: [], status: "loading", position: -1 });
  const { id, since } = await server.next(1);
  expect([since, server.tokens]).toEqual([undefined, [null, "a"]]);
  server.send({ type: "result", id, seq: 1, items: [row("2")] });
  await states.until((state) => idsOf(state)[0] === "2");
  // Renewed tokens are of the same user.
  client.adoptTokens({ ...token, accessToken: "b" });
  expect(states.last.status).toBe("live");
});

test("a query at an address without the service is an error, and becomes live when the service answers", async () => {
  // A server of pages answers every path with the page.
  const page = () => new Response("<!doctype html>", { headers: { "content-type": "text/html" } });
  const pages = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: page });
  client.close();
  client = createClient({ baseUrl: pages.url.origin, live });
  const states = new States<LiveState>();
  client.collection("tasks").live(states.add);
  const late = new States<LiveState>();
  await states.until(({ status }) => status !== "loading");
  expect(states.last).toMatchObject({ status: "error", items: [] });
  expect([states.last.error?.code, states.last.error?.message]).toEqual([
    "offline",
    `The service cannot be reached at ${pages.url.origin}`,
  ]);
  // A query that begins between two attempts.
  client.collection("notes").live(late.add);
  expect(late.last).toMatchObject({ status: "error" });
  const store = liveStore(client.collection("tasks").where({ n: 2 }));
  expect(await store.ready()).toMatchObject({ status: "error" });
  // Further attempts tell nothing new.
  const told = states.all.length;
  const port = Number(pages.port);
  await pages.stop(true);
  server.stop();
  server = new LiveServer(port);
  await server.until(() => server.asked.some(({ query }) => query?.["collection"] === "notes"));
  expect(states.all.length).toBe(told);
  for (const { id } of server.asked) server.send({ type: "result", id, seq: 1, items: [row("1")] });
  await states.until(({ status }) => status === "live");
  expect(states.last).toEqual({ status: "live", position: 1, items: [row("1")] });
  await late.until(({ status }) => status === "live");
});

test("a handshake without an answer ends, and the query is an error", async () => {
  class Silent {
    readonly readyState = 0;
    addEventListener = (): void => undefined;
    send = (): void => undefined;
    close = (): void => undefined;
  }
  const later = globalThis.setTimeout;
  // The wait for the handshake is over at once.
  const hurried = spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms: number) =>
    later(run, ms === 10_000 ? 0 : ms)) as typeof setTimeout);
  try {
    client.close();
    client = createClient({ baseUrl: server.url, live, webSocket: Silent });
    const states = new States<LiveState>();
    client.collection("tasks").live(states.add);
    await states.until(({ status }) => status === "error");
    expect(states.last.error?.code).toBe("offline");
  } finally {
    hurried.mockRestore();
  }
});

test("groups arrive whole, and a server query has a value", async () => {
  const groups = client.collection("tasks").group("status").aggregate("count");
  const states = new States<LiveState>();
  groups.live(states.add);
  const { id, query } = await server.next(0);
  expect(query).toEqual({ collection: "tasks", group: "status", aggregate: "count" });
  server.send({ type: "result", id, seq: 1, items: [{ status: "a", count: 1 }] });
  server.send({ type: "result", id, seq: 2, items: [{ status: "a", count: 2 }] });
  await states.until(({ items }) => Reflect.get(Object(items[0]), "count") === 2);
  const values = new States<LiveValue>();
  client.queries["board"]?.({ project: "x" }).live(values.add);
  const asked = await server.next(1);
  expect(asked.query).toEqual({ name: "board", args: { project: "x" } });
  server.send({ type: "result", id: asked.id, seq: 3, value: { open: 4 } });
  await values.until(({ value }) => value !== undefined);
  expect(values.last).toMatchObject({ value: { open: 4 }, status: "live" });
});

/** Answers lists, with these positions in turn. Answers the positions that the requests have carried. */
function answerLists(answered: (string | null)[] = []): (string | null)[] {
  const carried: (string | null)[] = [];
  server.answer = ({ headers }) => {
    carried.push(headers.get("socle-position"));
    const position = answered.shift();
    return Response.json({ items: [], nextCursor: null }, { headers: position ? { "Socle-Position": position } : {} });
  };
  return carried;
}

test("requests have the highest position of a response", async () => {
  const carried = answerLists(["7", "5", null]);
  for (let i = 0; i < 4; i++) await client.collection("tasks").where({});
  expect(carried).toEqual([null, "7", "7", "7"]);
});

test("requests have the position of a live query, and of a received event", async () => {
  const carried = answerLists();
  client.close();
  client = createClient({ baseUrl: server.url, live: liveWithChannels });
  const { id, states } = await watched([row("1")], 20);
  await client.collection("tasks").where({});
  server.send({ type: "position", seq: 30 });
  await states.until(({ position }) => position === 30);
  await client.collection("tasks").where({});
  const heard: Event[] = [];
  client.subscribe("tasks.created", (event) => heard.push(event));
  await server.next(1);
  const event = (seq: number) => ({
    id: `evt_0197f3a1b2c4${seq.toString(16).padStart(13, "0")}`,
    type: "tasks.created",
  });
  server.send({ type: "event", event: event(0xab) });
  server.send({ type: "event", event: event(0xaa) });
  server.send({ type: "change", id, seq: 40, order: ["1"], items: [row("1")] });
  await states.until(({ position }) => position === 40);
  expect(heard.length).toBe(2);
  await client.collection("tasks").where({});
  expect(carried).toEqual(["20", "30", String(0xab)]);
});
