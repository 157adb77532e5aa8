/**
 * The worker that the tabs of a browser share, and the tabs, in one process: the ports are real, SharedWorker and the locks are of
 * this file. `e2e/shared-worker.test.ts` has the real ones.
 */
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { liveWithChannels } from "./entries/live.ts";
import { createClient, type LiveState, type SessionStore, type Socle, SocleError } from "./index.ts";
import { LiveServer, States } from "./testing/live-server.ts";

type Work = () => Promise<unknown>;

/** Locks by name: the first holds the lock, the others wait. A tab that dies lets go. */
class Locks {
  readonly #waiting = new Map<string, Work[]>();
  readonly held: string[] = [];

  async request(name: string, work: Work): Promise<unknown> {
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) return waiting.push(work);
    this.#waiting.set(name, []);
    this.held.push(name);
    return work();
  }

  release(name: string): void {
    for (const work of this.#waiting.get(name) ?? []) void work();
  }
}

interface Scope {
  SharedWorker?: unknown;
  onconnect?: (event: { ports: MessagePort[] }) => void;
}
const scope = globalThis as Scope;
const locks = new Locks();
const ports: MessagePort[] = [];
/** Whether the script of the worker cannot be loaded. */
let isMissing = false;

class FakeSharedWorker {
  readonly port: MessagePort;
  onerror: (() => void) | null = null;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    ports.push(port1, port2);
    if (isMissing) setTimeout(() => this.onerror?.());
    else scope.onconnect?.({ ports: [port2] });
  }
}

Object.defineProperty(navigator, "locks", { configurable: true, value: locks });
await import("./worker.ts");

let server: LiveServer;
const clients: Socle[] = [];
function tab(options: { token?: string; session?: SessionStore } = {}): Socle {
  const { token, session } = options;
  const client = createClient({
    baseUrl: server.url,
    live: liveWithChannels,
    worker: "worker.js",
    session,
    ...(token !== undefined && { tokens: { accessToken: token, refreshToken: "r" } }),
  });
  clients.push(client);
  return client;
}
beforeEach(() => {
  isMissing = false;
  locks.held.length = 0;
  scope.SharedWorker = FakeSharedWorker;
  server = new LiveServer();
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  Reflect.deleteProperty(scope, "SharedWorker");
  server.stop();
});
afterAll(() => {
  for (const port of ports) port.close();
  Reflect.deleteProperty(navigator, "locks");
});

const watch = (client: Socle): { states: States<LiveState>; stop: () => void } => {
  const states = new States<LiveState>();
  return { states, stop: client.collection("tasks").where({ n: 1 }).live(states.add) };
};
const isLive = ({ status }: LiveState): boolean => status === "live";

test("tabs share a socket and a subscription; each tab gets the result and the changes", async () => {
  const first = watch(tab());
  const { id } = await server.next(0);
  server.send({ type: "result", id, seq: 1, items: [{ id: "1" }] });
  await first.states.until(isLive);
  const second = watch(tab());
  await second.states.until(isLive);
  expect(second.states.last.items).toEqual([{ id: "1" }]);
  server.send({ type: "change", id, seq: 2, order: ["2", "1"], items: [{ id: "2" }] });
  for (const { states } of [first, second]) await states.until(({ items }) => items.length === 2);
  expect([server.asked.length, server.sockets.size]).toEqual([1, 1]);
  first.stop();
  second.stop();
  await server.until(() => server.sockets.size === 0);
});

test("channels are shared, and the state of the connection is published", async () => {
  const [one, two] = [tab(), tab()];
  const connection = new States<string>();
  one.connection.subscribe(connection.add);
  const heard = [new States<string>(), new States<string>()];
  one.subscribe("tasks.*", ({ id }) => heard[0]?.add(id));
  two.subscribe("tasks.created", ({ id }) => heard[1]?.add(id));
  await server.until(() => server.asked.some(({ channel }) => channel === "tasks.*"));
  server.send({ type: "event", event: { id: "evt_1", type: "tasks.created", payload: { id: "1" } } });
  for (const states of heard) await states.until((id) => id === "evt_1");
  await connection.until((state) => state === "open");
  expect(server.sockets.size).toBe(1);
});

test("a closed tab leaves the socket to the others, and the last tab closes the socket", async () => {
  const first = watch(tab());
  const { id } = await server.next(0);
  server.send({ type: "result", id, seq: 1, items: [] });
  await first.states.until(isLive);
  const second = watch(tab());
  await second.states.until(isLive);
  const [one = "", two = ""] = locks.held;
  locks.release(one);
  server.send({ type: "change", id, seq: 2, order: ["1"], items: [{ id: "1" }] });
  await second.states.until(({ items }) => items.length === 1);
  expect(first.states.last.items).toEqual([]);
  locks.release(two);
  await server.until(() => server.sockets.size === 0);
});

test("tabs of another session have another socket, and a tab moves with its sign-in", async () => {
  const [anonymous, ada] = [tab(), tab({ token: "sk_ada" })];
  const first = watch(anonymous);
  const second = watch(ada);
  await server.until(() => server.asked.length === 2);
  expect([...server.tokens].sort()).toEqual([null, "sk_ada"].sort());
  for (const { id } of server.asked) server.send({ type: "result", id, seq: 1, items: [{ id: "1" }] });
  for (const { states } of [first, second]) await states.until(isLive);
  anonymous.adoptTokens({ accessToken: "sk_bob", refreshToken: "r" });
  expect(first.states.last).toEqual({ items: [], status: "loading", position: -1 });
  await server.until(() => server.tokens.includes("sk_bob"));
  expect(second.states.last.status).toBe("live");
});

test("without the worker's script, a tab has a socket of its own", async () => {
  isMissing = true;
  const client = tab();
  const { states } = watch(client);
  const { id } = await server.next(0);
  server.send({ type: "result", id, seq: 1, items: [{ id: "1" }] });
  await states.until(isLive);
  expect(client.connection.get()).toBe("open");
});

test("a room of the worker hears of a break, and is joined again", async () => {
  const room = tab()
    .room("lobby", "k")
    .join({ state: { n: 1 } });
  const seen = new States<string>();
  room.status.subscribe(seen.add);
  for (const [n, id] of ["one", "two"].entries()) {
    expect(await server.next(n)).toMatchObject({ action: "join", state: { n: 1 } });
    server.send({ type: "joined", id, members: [], room: "lobby", key: "k" });
    await seen.until((status) => status === "joined");
    if (id === "one") server.drop();
    if (id === "one") await seen.until((status) => status === "offline");
  }
  expect([room.id, seen.all]).toEqual(["two", ["joined", "offline", "joined"]]);
});

test("a tab whose session cannot be read tries again with a socket of the tab alone; each earlier subscription is opened once", async () => {
  let isAway = true;
  const client = tab({
    session: {
      async load() {
        if (isAway) throw new SocleError(null, { code: "offline", message: "away" });
        return JSON.stringify({ accessToken: "sk_ann", userId: "ann" });
      },
      save: () => undefined,
    },
  });
  const { states, stop } = watch(client);
  const given = watch(client);
  given.stop();
  const connection = new States<string>();
  client.connection.subscribe(connection.add);
  await connection.until((state) => state === "offline");
  isAway = false;
  const { id } = await server.next(0);
  server.send({ type: "result", id, seq: 1, items: [] });
  await states.until(isLive);
  expect([server.tokens, server.asked.length]).toEqual([["sk_ann"], 1]);
  stop();
});
