/** The stores of the bindings against a server whose frames the test decides: no query, first answers of a server, errors, requests and changes. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { live } from "./entries/live.ts";
import { createClient, type LiveState, type LiveValue, type Socle, SocleError } from "./index.ts";
import {
  liveStore,
  mutation,
  type RequestState,
  requestStore,
  type SessionState,
  type Shown,
  sessionStore,
  startOf,
} from "./store.ts";
import { LiveServer, States } from "./testing/live-server.ts";

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

const row = (id: string) => ({ id, createdAt: "", updatedAt: "" });
const tasks = (n = 1) => client.collection("tasks").where({ n });

/** Follows a store as a binding does. Answers all states from the first on. */
function follow<State>(store: { get(): State; subscribe(listener: (state: State) => void): () => void }): {
  states: States<State>;
  stop: () => void;
} {
  const states = new States<State>();
  states.add(store.get());
  return { states, stop: store.subscribe(states.add) };
}

test("without a query, nothing is asked, and the status is idle", async () => {
  for (const none of [null, undefined, false] as const) {
    const { states, stop } = follow(liveStore<LiveState>(none));
    expect(states.last).toMatchObject({ status: "idle", items: [] });
    expect(liveStore<LiveState>(none).get()).toBe(states.last);
    stop();
    expect(requestStore<object>(none).get()).toEqual({ status: "idle" });
  }
  follow(liveStore(tasks()));
  await server.next(0);
  expect(server.asked).toHaveLength(1);
});

test.each<[string, object]>([
  ["the items", [row("1")]],
  ["the page", { items: [row("1")], nextCursor: "c", total: 3 }],
])("the store begins with %s that a server has read, until the first result", async (_form, initial) => {
  const { states } = follow(liveStore(tasks(), { initial: initial as { items: ReturnType<typeof row>[] } }));
  const page = "items" in initial ? { nextCursor: "c", total: 3 } : {};
  expect(states.last).toEqual({
    status: "initial",
    position: -1,
    items: [row("1")],
    ...page,
    retry: expect.any(Function),
  });
  const { id } = await server.next(0);
  server.send({ type: "result", id, seq: 4, items: [row("1"), row("2")] });
  await states.until(({ status }) => status === "live");
  expect(states.last).toMatchObject({ position: 4, items: [row("1"), row("2")] });
  // The items of the server were never gone.
  expect(states.all.map(({ status, items }) => [status, items.length])).toEqual([
    ["initial", 1],
    ["live", 2],
  ]);
});

test("a server query begins with the value that a server has read; also null, 0 and false", async () => {
  const board = client.queries["board"];
  for (const value of [{ open: 1 }, null, 0, false] as unknown[]) {
    const query = board?.({ value });
    if (query === undefined) throw new Error("no query");
    const store = liveStore<LiveValue>(query, { initial: value });
    expect(store.get()).toMatchObject({ status: "initial", value });
    const from = server.asked.length;
    const { states } = follow(store);
    const { id } = await server.next(from);
    server.send({ type: "result", id, seq: 1, value: "now" });
    expect(await states.until(({ status }) => status === "live")).toMatchObject({ value: "now" });
  }
});

test("an answer of a server changes no store that has a result, and is for nobody who signs in later", async () => {
  const [first, asked] = [follow(liveStore(tasks())), await server.next(0)];
  expect(first.states.last.status).toBe("loading");
  // A component with the answer of a server joins before the result, and another component after the result.
  expect(liveStore(tasks(), { initial: [row("0")] }).get()).toMatchObject({ status: "initial", items: [row("0")] });
  server.send({ type: "result", id: asked.id, seq: 1, items: [row("1")] });
  await first.states.until(({ status }) => status === "live");
  expect(liveStore(tasks(), { initial: [row("0")] }).get()).toMatchObject({ status: "live", items: [row("1")] });

  server.answer = () => Response.json({ accessToken: "a.e30.c", refreshToken: "r", user: { id: "usr_1" } });
  const waiting = follow(liveStore(tasks(2), { initial: [row("0")] }));
  await client.login({ email: "ada@example.com", password: "x" });
  expect(waiting.states.last).toMatchObject({ status: "loading", items: [] });
  expect(first.states.last).toMatchObject({ status: "loading", items: [] });
  expect(liveStore(tasks(2), { initial: [row("0")] }).get().items).toEqual([]);
});

test("while the service cannot be reached, the items of the server stay, and are followed by the result", async () => {
  const port = Number(new URL(server.url).port);
  server.stop();
  const { states } = follow(liveStore(tasks(), { initial: [row("1")] }));
  await states.until(({ status }) => status === "offline");
  expect(states.last).toMatchObject({ items: [row("1")], error: { code: "offline" } });
  server = new LiveServer(port);
  states.last.retry();
  const { id } = await server.next(0);
  server.send({ type: "result", id, seq: 1, items: [row("2")] });
  await states.until(({ status }) => status === "live");
  expect(states.last).toEqual({ status: "live", position: 1, items: [row("2")], retry: expect.any(Function) });
  expect(states.all.every(({ items }) => items.length === 1)).toBe(true);
});

test("a refused query is an error without items, and retry asks anew, for all listeners of the store", async () => {
  const store = liveStore(tasks(), { initial: [row("1")] });
  const [one, two] = [follow(store), follow(liveStore(tasks()))];
  const { id } = await server.next(0);
  server.send({ type: "error", id, code: "forbidden", message: "no" });
  await one.states.until(({ status }) => status === "error");
  expect(one.states.last.error).toBeInstanceOf(SocleError);
  expect(one.states.last).toMatchObject({ error: { code: "forbidden" }, items: [] });
  // A listener of the query itself keeps the error, and does not keep the store from asking.
  const states = new States<LiveState>();
  tasks().live(states.add);
  const { id: next } = await server.next(1);
  server.send({ type: "error", id: next, code: "forbidden", message: "no" });
  await states.until(({ status }) => status === "error");
  two.states.last.retry();
  expect(one.states.last).toMatchObject({ status: "loading", items: [] });
  const again = await server.next(2);
  server.send({ type: "result", id: again.id, seq: 1, items: [row("2")] });
  await two.states.until(({ status }) => status === "live");
  expect(one.states.last).toMatchObject({ status: "live", items: [row("2")] });
  expect(one.states.last.error).toBeUndefined();
});

test("an error that no component shows is forgotten: the next component asks anew", async () => {
  const { states, stop } = follow(liveStore(tasks()));
  const { id } = await server.next(0);
  server.send({ type: "error", id, code: "forbidden", message: "no" });
  await states.until(({ status }) => status === "error");
  stop();
  await Bun.sleep(1);
  expect(liveStore(tasks()).get().status).toBe("loading");
  // A suspended component, which has no subscription, finds the error, and forgets the error when the component has thrown it.
  const suspended = liveStore(tasks());
  const from = server.asked.length;
  const ready = suspended.ready();
  const asked = await server.next(from);
  server.send({ type: "error", id: asked.id, code: "forbidden", message: "no" });
  expect((await ready).status).toBe("error");
  await Bun.sleep(1);
  expect(liveStore(tasks())).toBe(suspended);
  suspended.forget();
  await Bun.sleep(1);
  expect(liveStore(tasks())).not.toBe(suspended);
  // Nothing is forgotten while a component shows the state.
  const shown = follow(liveStore(tasks(3)));
  liveStore(tasks(3)).forget();
  await Bun.sleep(1);
  expect(liveStore(tasks(3)).get()).toBe(shown.states.last);
});

test("on a server, stores of equal queries are apart: no rendering sees the answer of another", () => {
  expect("window" in globalThis).toBe(false);
  const ofAda = liveStore(tasks(), { initial: [row("ada")] });
  const ofBob = liveStore(tasks());
  expect(ofAda.get().items).toEqual([row("ada")]);
  expect(ofBob.get()).toMatchObject({ status: "loading", items: [] });
  expect(startOf<LiveState>(tasks(), {})).toMatchObject({ status: "loading", items: [] });
  expect(server.asked).toEqual([]);
});

test("a request with the answer of a server is sent with reload alone", async () => {
  let requests = 0;
  server.answer = () => {
    requests += 1;
    return requests < 2 ? Response.json({ items: [row("2")], nextCursor: null }) : new Response("{}", { status: 500 });
  };
  const initial = { items: [row("1")], nextCursor: null };
  const store = requestStore(client.collection("tasks").limit(1), { initial });
  const { states } = follow<RequestState<{ items: object[] }>>(store);
  await Bun.sleep(5);
  expect([requests, states.last]).toEqual([0, { status: "done", data: initial }]);
  store.reload();
  await states.until(({ data }) => data !== initial);
  expect(states.last).toMatchObject({ status: "done", data: { items: [row("2")] } });
  // The data stay beside the error of a later request.
  store.reload();
  await states.until(({ status }) => status === "error");
  expect(states.last).toMatchObject({ data: { items: [row("2")] }, error: expect.any(SocleError) });
});

test("the session begins with the user for whom a server has rendered the page", async () => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  server.answer = () => promise;
  const ada = { id: "usr_1", email: "ada@example.com", role: "admin", createdAt: "", verified: true } as const;
  const signedIn = createClient({ baseUrl: server.url, tokens: { accessToken: "a.e30.c", refreshToken: "r" } });
  const { states } = follow<SessionState>(sessionStore(signedIn, { initial: ada }));
  expect(states.last).toEqual({ status: "done", user: ada });
  resolve(Response.json({ user: { ...ada, email: "ada@example.org" } }));
  await states.until(({ user }) => user?.email === "ada@example.org");
  expect(states.all.map(({ status }) => status)).toEqual(["done", "done"]);
});

test("a session that is read from a store later is no other user: the items and the user of the server stay", async () => {
  const ada = { id: "usr_1", email: "ada@example.com", role: "admin", createdAt: "", verified: true } as const;
  const { promise, resolve } = Promise.withResolvers<string>();
  server.answer = () => Response.json({ user: { ...ada, email: "ada@example.org" } });
  const session = { load: () => promise, save: () => undefined };
  const later = createClient({ baseUrl: server.url, live, session });
  const list = follow(liveStore(later.collection("tasks").where({ n: 1 }), { initial: [row("1")] }));
  const user = follow(sessionStore(later, { initial: ada }));
  resolve(JSON.stringify({ accessToken: "a.e30.c", refreshToken: "r", userId: "usr_1", id: "ses_1" }));
  const { id } = await server.next(0);
  expect(server.tokens).toEqual(["a.e30.c"]);
  server.send({ type: "result", id, seq: 1, items: [row("1")] });
  await list.states.until(({ status }) => status === "live");
  await user.states.until((state) => state.user?.email === "ada@example.org");
  expect(list.states.all.map(({ status }) => status)).toEqual(["initial", "live"]);
  expect(user.states.all.map(({ status }) => status)).toEqual(["done", "done"]);
  await later.logout().catch(() => undefined);
  expect([list.states.last.items, user.states.last.user]).toEqual([[], null]);
  later.close();
});

test("a change that is refused tells the state; a caller without a catch causes no unhandled rejection", async () => {
  const unhandled: unknown[] = [];
  const note = (thrown: unknown): void => void unhandled.push(thrown);
  process.on("unhandledRejection", note);
  try {
    for (const send of [
      () => Promise.reject(new Error("no")),
      (): Promise<never> => {
        throw new Error("no");
      },
    ]) {
      const { run, get } = mutation(send);
      void run();
      await Bun.sleep(1);
      expect(get()).toMatchObject({ status: "error", error: { message: "no" } });
      // A caller who waits gets the rejection.
      expect(await run().catch((thrown: Error) => thrown.message)).toBe("no");
    }
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
  }
});

test("types: the first answer has the type of the query", () => {
  const query = client.collection("tasks").where({ n: 1 });
  const shown: Shown<LiveState> = liveStore(query, { initial: { items: [row("1")] } }).get();
  const text: string | undefined = shown.error?.code;
  // @ts-expect-error: no page and no items
  liveStore(query, { initial: 5 });
  // @ts-expect-error: not the items of the query
  liveStore(query, { initial: [{ title: "x" }] });
  expect(text).toBeUndefined();
});
