/** Rooms of the client against a service whose every frame the test decides: what is sent for leaves, states and refusals. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { live } from "./entries/live.ts";
import { createClient, type Socle } from "./index.ts";
import { LiveServer } from "./testing/live-server.ts";

const name = { room: "lobby", key: "k" };
const { random } = Math;
let server: LiveServer;
let client: Socle;
beforeEach(() => {
  server = new LiveServer();
  client = createClient({ baseUrl: server.url, live });
});
afterEach(() => {
  Math.random = random;
  client.close();
  server.stop();
});

const joined = (id: string): void => server.send({ type: "joined", id, members: [], ...name });
const isStatus = async (room: { status: { get(): string } }, status: string): Promise<void> => {
  while (room.status.get() !== status) await Bun.sleep(1);
};

test("a leave takes the state of the join along, with a single frame, and a state after the leave is for nobody", async () => {
  const first = client.room("lobby", "k").join({ state: { n: 1 } });
  const second = client.room("lobby", "k").join();
  expect(await server.next(0)).toEqual({ action: "join", state: { n: 1 }, ...name } as object as { action: string });
  joined("one");
  for (const room of [first, second]) await isStatus(room, "joined");
  first.leave();
  expect(await server.next(1)).toEqual({ action: "state", state: {}, ...name } as object as { action: string });
  first.setState({ n: 5 });
  second.send("hi");
  expect((await server.next(2)).action).toBe("send");
  // After a break, the state of the join that has left does not come again.
  server.drop();
  await isStatus(second, "offline");
  expect(await server.next(3)).toEqual({ action: "join", state: null, ...name } as object as { action: string });
  expect([first.status.get(), server.asked.length]).toEqual(["left", 4]);
});

test("a bound of the service at a join after a break ends no membership: the client asks again; at the first join, the room is left", async () => {
  Math.random = () => 0;
  const errors: string[] = [];
  const room = client.room("lobby", "k").join({ onError: ({ code }) => errors.push(code) });
  await server.next(0);
  joined("one");
  await isStatus(room, "joined");
  server.drop();
  await server.next(1);
  const full = { type: "error", code: "room_limit", message: "The room is full", ...name };
  server.send(full);
  expect((await server.next(2)).action).toBe("join");
  expect([room.status.get(), errors]).toEqual(["offline", ["room_limit"]]);
  joined("two");
  await isStatus(room, "joined");
  room.leave();
  await server.next(3);
  server.send({ type: "left", ...name });
  const late = client.room("lobby", "k").join();
  await server.next(4);
  server.send(full);
  await isStatus(late, "left");
  expect(late.error?.code as string).toBe("room_limit");
  await Bun.sleep(1_100);
  expect(server.asked.length).toBe(5);
});
