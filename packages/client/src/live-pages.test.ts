/** Lists that grow page by page, against a server whose frames the test decides. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { live } from "./entries/live.ts";
import { createClient, type Socle } from "./index.ts";
import { livePagesStore, type PagesState } from "./live-pages.ts";
import { type ClientAsk, LiveServer, States } from "./testing/live-server.ts";

let server: LiveServer;
let client: Socle;
beforeEach(() => {
  server = new LiveServer();
  client = createClient({ baseUrl: server.url, live, retries: 0 });
});
afterEach(() => {
  client.close();
  server.stop();
});

const rows = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => ({ id: String(from + i), createdAt: "", updatedAt: "" }));
const posts = (n = 1) => client.collection("posts").where({ n });
const idsOf = ({ items }: Pick<PagesState<unknown>, "items">): unknown[] =>
  items.map((item) => Reflect.get(Object(item), "id"));

function follow(store: ReturnType<typeof livePagesStore>): {
  states: States<PagesState<unknown>>;
  stop: () => void;
} {
  const states = new States<PagesState<unknown>>();
  states.add(store.get());
  return { states, stop: store.subscribe(states.add) };
}

/** The next subscription, from the number of the frame on. */
async function nextAsk(from: number): Promise<ClientAsk> {
  await server.until(() => server.asked.slice(from).some(({ action }) => action === "subscribe"));
  return server.asked.slice(from).find(({ action }) => action === "subscribe") as ClientAsk;
}

/** Follows the pages of a list with 5 records, after the first page of 2. */
async function opened() {
  const { states, stop } = follow(livePagesStore(posts().limit(2)));
  const ask = await nextAsk(0);
  server.send({ type: "result", id: ask.id, seq: 1, items: rows(1, 2), nextCursor: "c2" });
  await states.until(({ status }) => status === "live");
  return { states, stop, ask };
}

test("without a query, there are no pages", async () => {
  const { states } = follow(livePagesStore(null));
  expect(states.last).toMatchObject({ status: "idle", items: [], hasNextPage: false, isFetchingNextPage: false });
  await states.last.fetchNextPage();
  expect([states.all.length, server.asked]).toEqual([1, []]);
});

test("each page makes the live window larger, until the end of the list; the items stay meanwhile", async () => {
  const { states, stop, ask } = await opened();
  expect(ask.query).toMatchObject({ collection: "posts", limit: 2 });
  expect(states.last).toMatchObject({ hasNextPage: true, isFetchingNextPage: false, nextCursor: "c2" });
  const first = states.last.items[0];
  let from = server.asked.length;
  let isThere = false;
  const arrival = states.last.fetchNextPage().then(() => {
    isThere = true;
  });
  expect(states.last).toMatchObject({ status: "live", isFetchingNextPage: true, items: rows(1, 2) });
  // A page is loaded once, however often the page is asked for.
  void states.last.fetchNextPage();
  const larger = await nextAsk(from);
  expect(larger.query).toMatchObject({ collection: "posts", limit: 4 });
  // The window that is shown stays live while the page is under way.
  server.send({ type: "change", id: ask.id, seq: 2, order: ["0", "1"], items: rows(0, 0), nextCursor: "c1" });
  await states.until((state) => idsOf(state)[0] === "0");
  expect(states.last.items[1]).toBe(first);
  // An older result of the larger window is not shown.
  server.send({ type: "result", id: larger.id, seq: 1, items: rows(1, 4), nextCursor: "c4" });
  server.send({ type: "change", id: ask.id, seq: 3, order: ["0", "1"], items: rows(0, 0), nextCursor: "c1" });
  await states.until(({ position }) => position === 3);
  expect([idsOf(states.last), isThere]).toEqual([["0", "1"], false]);
  server.send({
    type: "change",
    id: larger.id,
    seq: 3,
    order: ["0", "1", "2", "3"],
    items: rows(0, 0),
    nextCursor: "c3",
  });
  await arrival;
  expect(states.last).toMatchObject({ hasNextPage: true, isFetchingNextPage: false });
  expect(idsOf(states.last)).toEqual(["0", "1", "2", "3"]);
  await server.until(() => server.asked.some(({ action, id }) => action === "unsubscribe" && id === ask.id));

  from = server.asked.length;
  const end = states.last.fetchNextPage();
  const whole = await nextAsk(from);
  expect(whole.query).toMatchObject({ limit: 6 });
  server.send({ type: "result", id: whole.id, seq: 4, items: rows(0, 5), nextCursor: null });
  await end;
  expect(states.last).toMatchObject({ hasNextPage: false, nextCursor: null });
  await states.last.fetchNextPage();
  // A record that is created shifts the others: each record is there once.
  server.send({
    ...{ type: "change", id: whole.id, seq: 5, nextCursor: "c4" },
    ...{ order: ["-1", "0", "1", "2", "3", "4"], items: rows(-1, -1) },
  });
  await states.until(({ hasNextPage }) => hasNextPage);
  expect(idsOf(states.last)).toEqual(["-1", "0", "1", "2", "3", "4"]);
  expect(states.all.slice(1).every(({ items, status }) => items.length > 0 || status === "loading")).toBe(true);
  stop();
  expect(server.asked.filter(({ action }) => action === "subscribe")).toHaveLength(3);
});

test("without a limit a page has 50 items; a list has 1,000 items at most", async () => {
  const { states } = follow(livePagesStore(posts(), { initial: { items: rows(1, 980), nextCursor: "c" } }));
  const ask = await nextAsk(0);
  expect(ask.query).toMatchObject({ limit: 1_000 });
  expect(states.last).toMatchObject({ status: "initial", hasNextPage: false, nextCursor: "c" });
  const other = follow(livePagesStore(posts(2).limit(300)));
  const from = server.asked.length;
  let id = (await nextAsk(from)).id;
  for (const limit of [600, 900, 1_000]) {
    server.send({ type: "result", id, seq: 1, items: rows(1, 3), nextCursor: "c" });
    await other.states.until(({ hasNextPage, isFetchingNextPage }) => hasNextPage && !isFetchingNextPage);
    const before = server.asked.length;
    void other.states.last.fetchNextPage();
    const larger = await nextAsk(before);
    expect(larger.query).toMatchObject({ limit });
    id = larger.id;
  }
  server.send({ type: "result", id, seq: 1, items: rows(1, 3), nextCursor: "c" });
  await other.states.until(({ hasNextPage }) => !hasNextPage);
  expect(other.states.last).toMatchObject({ isFetchingNextPage: false, nextCursor: "c" });
});

test("a next page that fails leaves the list live, with the error; retry asks for the page again", async () => {
  const { states, ask } = await opened();
  let from = server.asked.length;
  const failing = states.last.fetchNextPage();
  let larger = await nextAsk(from);
  server.send({ type: "error", id: larger.id, code: "query_limit", message: "no room" });
  await failing;
  expect(states.last).toMatchObject({
    ...{ status: "live", isFetchingNextPage: false, hasNextPage: true },
    ...{ items: rows(1, 2), error: { code: "query_limit" } },
  });
  server.send({ type: "change", id: ask.id, seq: 2, order: ["2"], items: [], nextCursor: "c2" });
  await states.until((state) => state.items.length === 1);
  from = server.asked.length;
  states.last.retry();
  expect(states.last.error).toBeUndefined();
  larger = await nextAsk(from);
  expect(larger.query).toMatchObject({ limit: 4 });
  server.send({ type: "result", id: larger.id, seq: 2, items: rows(2, 4), nextCursor: null });
  await states.until(({ hasNextPage }) => !hasNextPage);
  expect(states.last.error).toBeUndefined();
});

test("a query that the service ends is an error, and retry asks for all pages that were there", async () => {
  const { states } = await opened();
  let from = server.asked.length;
  const page = states.last.fetchNextPage();
  const larger = await nextAsk(from);
  server.send({ type: "result", id: larger.id, seq: 1, items: rows(1, 4), nextCursor: "c" });
  await page;
  server.send({ type: "error", id: larger.id, code: "invalid_query", message: "no field n" });
  await states.until(({ status }) => status === "error");
  expect(states.last).toMatchObject({ error: { code: "invalid_query" }, isFetchingNextPage: false });
  from = server.asked.length;
  states.last.retry();
  expect(states.last.status).toBe("loading");
  const again = await nextAsk(from);
  expect(again.query).toMatchObject({ limit: 4 });
  server.send({ type: "result", id: again.id, seq: 1, items: rows(1, 4), nextCursor: "c" });
  expect(await states.until(({ status }) => status === "live")).toMatchObject({ items: rows(1, 4) });
});

test("another query begins with the first page; equal queries share the pages", async () => {
  const { states } = await opened();
  expect<unknown>(livePagesStore(posts().limit(2)).get()).toBe(states.last);
  const from = server.asked.length;
  const { states: others } = follow(livePagesStore(posts(2).limit(2)));
  const ask = await nextAsk(from);
  expect(ask.query).toMatchObject({ limit: 2, filter: "n = 2" });
  expect(others.last).toMatchObject({ status: "loading", items: [], hasNextPage: false });
});

test("the pages of a server are shown at once, and are followed by a window of the same size", async () => {
  const initial = { items: rows(1, 4), nextCursor: "c4" };
  const { states } = follow(livePagesStore(posts().limit(2), { initial }));
  expect(states.last).toMatchObject({ status: "initial", items: rows(1, 4), hasNextPage: true });
  const ask = await nextAsk(0);
  expect(ask.query).toMatchObject({ limit: 4 });
  // The next page may be asked for before the first result.
  const from = server.asked.length;
  const page = states.last.fetchNextPage();
  const larger = await nextAsk(from);
  expect(larger.query).toMatchObject({ limit: 6 });
  server.send({ type: "result", id: larger.id, seq: 1, items: rows(1, 5), nextCursor: null });
  await page;
  expect(states.last).toMatchObject({ status: "live", items: rows(1, 5), hasNextPage: false });
  expect(states.all.every(({ items }) => items.length >= 4)).toBe(true);
});

test("another user sees no item of the user before, and a page that was under way ends", async () => {
  const { states } = await opened();
  const page = states.last.fetchNextPage();
  server.answer = () => Response.json({ accessToken: "a.e30.c", refreshToken: "r", user: { id: "usr_1" } });
  await client.login({ email: "ada@example.com", password: "x" });
  await page;
  expect(states.last).toMatchObject({ status: "loading", items: [], isFetchingNextPage: false, hasNextPage: false });
});

test("a page that is asked for while the connection is lost comes with the connection", async () => {
  const { states } = await opened();
  server.drop();
  await states.until(({ status }) => status === "offline");
  const from = server.asked.length;
  const page = states.last.fetchNextPage();
  expect(states.last).toMatchObject({ status: "offline", items: rows(1, 2), isFetchingNextPage: true });
  await server.until(() => server.asked.slice(from).filter(({ action }) => action === "subscribe").length === 2);
  const larger = server.asked.slice(from).find(({ query }) => query?.["limit"] === 4);
  server.send({ type: "result", id: larger?.id, seq: 2, items: rows(1, 4), nextCursor: null });
  await page;
  expect(states.last).toMatchObject({ status: "live", items: rows(1, 4), hasNextPage: false });
});
