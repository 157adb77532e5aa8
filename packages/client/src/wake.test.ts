/** A client that waits for the next try connects at once when the device has a network again, or somebody looks at the page. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { live } from "./entries/live.ts";
import { createClient, type LiveState, type Socle } from "./index.ts";
import { LiveServer, States } from "./testing/live-server.ts";

let server: LiveServer;
let client: Socle;
const { setTimeout } = globalThis;
/** The events of a browser; the types of server runtimes do not have the events. */
const page = globalThis as { dispatchEvent?(event: Event): void };
beforeEach(() => {
  server = new LiveServer();
  client = createClient({ baseUrl: server.url, live });
});
afterEach(() => {
  Object.assign(globalThis, { setTimeout });
  Reflect.deleteProperty(globalThis, "document");
  client.close();
  server.stop();
});

/** No try follows by time alone: timers of this test never fire. */
async function lost(): Promise<States<LiveState>> {
  const states = new States<LiveState>();
  client.collection("tasks").live(states.add);
  const { id } = await server.next(0);
  server.send({ type: "subscribed", id });
  server.send({ type: "result", id, seq: 1, items: [] });
  await states.until(({ status }) => status === "live");
  Object.assign(globalThis, { setTimeout: () => 0 });
  server.drop();
  await states.until(({ status }) => status === "offline");
  expect(server.asked.length).toBe(1);
  return states;
}

const events: [name: string, visibilityState: string, isTried: boolean][] = [
  ["online", "hidden", true],
  ["visibilitychange", "visible", true],
  ["visibilitychange", "hidden", false],
];
test.each(events)("%s of a page that is %s: a try at once, %p", async (name, visibilityState, isTried) => {
  const states = await lost();
  Object.assign(globalThis, { document: { visibilityState } });
  page.dispatchEvent?.(new Event(name));
  if (isTried) {
    const { id, since } = await server.next(1);
    expect(since).toBe(1);
    server.send({ type: "subscribed", id });
    server.send({ type: "change", id, seq: 2, order: [], items: [] });
    await states.until(({ status }) => status === "live");
  } else {
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect([server.asked.length, states.last.status]).toEqual([1, "offline"]);
  }
});

test("a socket that does not answer a ping is replaced", async () => {
  const states = new States<LiveState>();
  client.collection("tasks").live(states.add);
  await server.next(0);
  const timers: (() => void)[] = [];
  Object.assign(globalThis, {
    setTimeout: (run: () => void) => timers.push(run),
    document: { visibilityState: "visible" },
  });
  page.dispatchEvent?.(new Event("visibilitychange"));
  // The test server answers no ping: the wait for the answer is over, and then the wait for the next try.
  for (const end of ["answer", "try"]) expect([end, timers.splice(0).map((run) => run()).length]).toEqual([end, 1]);
  await server.next(1);
  expect(server.asked[1]?.action).toBe("subscribe");
});
