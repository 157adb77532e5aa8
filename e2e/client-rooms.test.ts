/** Rooms of the client against the executable: members, states, messages, refusals, ends, breaks, and several joins of one room. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { live } from "../packages/client/src/entries/live.ts";
import { createClient, type Room, type Socle } from "../packages/client/src/index.ts";
import { roomStore } from "../packages/client/src/room-store.ts";
import { project, serve, until } from "./kit.ts";
import { RoomClient } from "./room-socket.ts";

const boards = {
  name: "boards",
  fields: [{ name: "isOpen", type: "boolean" }],
  permissions: { read: "public", create: "public", update: "public", delete: "public" },
};
const cwd = await project({ collections: [boards] });
const definitions = {
  lobby: { key: "string", join: "public", presence: ["n", "text"], events: ["hi"] },
  board: { key: { collection: "boards" }, join: "isOpen = true", presence: ["n"], events: ["hi"] },
};
for (const [name, definition] of Object.entries(definitions))
  await Bun.write(join(cwd, "rooms", `${name}.json`), JSON.stringify(definition));
const server = await serve(cwd);

/** A client, and its sockets, which a test breaks. */
function open(): { socle: Socle; sockets: WebSocket[] } {
  const sockets: WebSocket[] = [];
  class Breakable extends WebSocket {
    constructor(url: string) {
      super(url);
      sockets.push(this);
    }
  }
  const socle = createClient({ baseUrl: server.url, live, webSocket: Breakable });
  afterAll(() => socle.$source.live().close());
  return { socle, sockets };
}

function states(room: Room): unknown[] {
  return room.members
    .get()
    .map(({ state }) => state["n"])
    .toSorted();
}

test("a client hears members, states and messages, and is heard", async () => {
  const [a, b] = [
    open()
      .socle.room("lobby", "k")
      .join({ state: { n: 1 } }),
    open().socle.room("lobby", "k").join(),
  ];
  await until(() => a.members.get().length === 2 && b.members.get().length === 2);
  expect([a.status.get(), b.status.get()]).toEqual(["joined", "joined"]);
  expect(b.members.get().find(({ id }) => id === a.id)?.state).toEqual({ n: 1 });
  const heard: unknown[] = [];
  const stop = a.on("hi", (payload, from) => heard.push([payload, from?.id === b.id, from?.state]));
  b.setState({ n: 2 });
  expect(b.send("hi", { x: 1 })).toBe(true);
  await until(() => heard.length > 0);
  // The state comes before the message.
  expect(heard).toEqual([[{ x: 1 }, true, { n: 2 }]]);
  stop();
  b.send("hi", 2);
  b.leave();
  expect([b.status.get(), b.send("hi", 3)]).toEqual(["left", false]);
  await until(() => a.members.get().length === 1);
  expect(heard).toHaveLength(1);
  a.leave();
});

test("of many states, few are sent, and the last always; the states of a fast pointer are no error", async () => {
  const errors: unknown[] = [];
  const room = open()
    .socle.room("lobby", "fast")
    .join({ onError: (error) => errors.push(error) });
  const watcher = await RoomClient.open(server.url);
  await watcher.join("lobby", "fast");
  await until(() => room.status.get() === "joined");
  for (let n = 0; n < 300; n++) {
    room.setState({ n });
    if (n % 10 === 0) await Bun.sleep(5);
  }
  await until(() => watcher.members("lobby", "fast").some(({ state }) => state["n"] === 299));
  expect(watcher.frames.filter(({ type }) => type === "presence").length).toBeLessThan(40);
  expect(errors).toEqual([]);
  room.leave();
});

test("after a break, the client joins again with the last state, and hears messages again", async () => {
  const { socle, sockets } = open();
  const room = socle.room("lobby", "break").join({ state: { n: 1 } });
  const other = open()
    .socle.room("lobby", "break")
    .join({ state: { n: 9 } });
  await until(() => states(room).length === 2);
  room.setState({ n: 5 });
  await until(() => states(other).includes(5));
  const before = room.id;
  const seen: string[] = [];
  room.status.subscribe((status) => seen.push(status));
  sockets.at(-1)?.close();
  await until(() => room.status.get() === "joined" && seen.includes("offline"));
  expect(room.id).not.toBe(before);
  await until(() => JSON.stringify(states(other)) === "[5,9]");
  const heard: unknown[] = [];
  room.on("hi", (payload) => heard.push(payload));
  other.send("hi", "again");
  await until(() => heard.length > 0);
  room.leave();
  other.leave();
});

test("a refused join is over with its reason; a right that ends is over, and other rooms go on", async () => {
  const { socle } = open();
  const lobby = socle.room("lobby", "beside").join();
  const errors: string[] = [];
  const refused = socle.room("board", "rec_x").join({ onError: ({ code }) => errors.push(code) });
  await until(() => refused.status.get() === "left");
  expect([refused.error?.code, ...errors] as string[]).toEqual(["forbidden", "forbidden"]);
  const unknown = socle.room("nothing", "k").join();
  await until(() => unknown.status.get() === "left");
  expect(unknown.error?.code as string).toBe("invalid_room");
  const { id } = await socle.collection("boards").create({ isOpen: true });
  const board = socle.room("board", id).join();
  await until(() => board.status.get() === "joined");
  await socle.collection("boards").update(id, { isOpen: false });
  await until(() => board.status.get() === "left");
  expect(board.error?.code as string).toBe("forbidden");
  await until(() => lobby.status.get() === "joined");
  expect(lobby.send("hi", 1)).toBe(true);
  lobby.leave();
});

test("what exceeds a bound is told, and the membership goes on; a state that a frame cannot carry is not sent", async () => {
  const { socle, sockets } = open();
  const errors: string[] = [];
  const room = socle.room("lobby", "bounds").join({ onError: ({ code }) => errors.push(code) });
  await until(() => room.status.get() === "joined");
  room.setState({ text: "x".repeat(5_000) });
  await until(() => errors.length === 1);
  room.send("bye", 1);
  await until(() => errors.length === 2);
  room.setState({ m: 1 });
  await until(() => errors.length === 3);
  expect(errors).toEqual(["room_limit", "invalid_event", "invalid_state"]);
  expect(() => room.setState({ text: "x".repeat(1_000_000) })).toThrow(RangeError);
  expect(() => room.setState({ text: "é".repeat(30_000) })).toThrow(RangeError);
  expect(() => room.send("hi", "x".repeat(1_000_000))).toThrow(RangeError);
  expect(() => socle.room("lobby", "k").join({ state: { text: "x".repeat(1_000_000) } })).toThrow(RangeError);
  expect([room.status.get(), sockets.length]).toEqual(["joined", 1]);
  room.leave();
});

test("several joins of a room are one member, with the state that was set last; messages reach the other joins", async () => {
  const { socle } = open();
  const watcher = await RoomClient.open(server.url);
  await watcher.join("lobby", "joins");
  const [first, second] = [socle.room("lobby", "joins").join({ state: { n: 1 } }), socle.room("lobby", "joins").join()];
  await until(() => first.status.get() === "joined" && second.status.get() === "joined");
  const others = (): unknown[] => watcher.members("lobby", "joins").map(({ state }) => state["n"]);
  await until(() => others().length === 2);
  expect(second.members.get()).toHaveLength(2);
  expect(second.id).toBe(first.id);
  second.setState({ n: 2 });
  await until(() => others().includes(2));
  const heard: unknown[] = [];
  first.on("hi", (payload, from) => heard.push([payload, from?.id === second.id]));
  second.on("hi", (payload) => heard.push(["echo", payload]));
  second.send("hi", 1);
  await until(() => watcher.payloads.length > 0);
  expect(heard).toEqual([[1, true]]);
  second.leave();
  await until(() => others().includes(1));
  expect(others()).toHaveLength(2);
  first.leave();
  await until(() => others().length === 1);
});

test("a join right after a leave is a member, whatever answers are still under way", async () => {
  const { socle } = open();
  const watcher = await RoomClient.open(server.url);
  await watcher.join("lobby", "again");
  const first = socle.room("lobby", "again").join();
  await until(() => first.status.get() === "joined");
  first.leave();
  socle.room("lobby", "again").join().leave();
  socle.room("lobby", "again").join().leave();
  const last = socle.room("lobby", "again").join({ state: { n: 7 } });
  await until(() => watcher.members("lobby", "again").some(({ state }) => state["n"] === 7));
  await until(() => last.members.get().length === 2);
  await Bun.sleep(100);
  expect(last.status.get()).toBe("joined");
  const ids = watcher.members("lobby", "again").map(({ id }) => id);
  expect([ids.length, ids.includes(last.id ?? "")]).toEqual([2, true]);
  const heard: unknown[] = [];
  last.on("hi", (payload) => heard.push(payload));
  watcher.send({ action: "send", room: "lobby", key: "again", event: "hi", payload: 1 });
  await until(() => heard.length > 0);
  last.leave();
  await until(() => watcher.members("lobby", "again").length === 1);
});

test("a store of a framework joins with the first subscription, leaves with the last, and stays for one that comes back at once", async () => {
  const { socle } = open();
  const watcher = await RoomClient.open(server.url);
  await watcher.join("lobby", "store");
  const store = roomStore(socle.room("lobby", "store"), { n: 1 });
  const heard: unknown[] = [];
  store.on("hi", (payload) => heard.push(payload));
  expect(store.get()).toMatchObject({ status: "joining", members: [], me: undefined });
  const stop = store.subscribe(() => undefined);
  await until(() => store.get().members.length === 2);
  expect(store.get()).toMatchObject({ status: "joined", me: { state: { n: 1 } } });
  const { id } = store.get().me ?? {};
  stop();
  const again = store.subscribe(() => undefined);
  await Bun.sleep(50);
  expect(store.get().me?.id).toBe(id ?? "");
  watcher.send({ action: "send", room: "lobby", key: "store", event: "hi", payload: 1 });
  await until(() => heard.length > 0);
  again();
  await until(() => watcher.members("lobby", "store").length === 1);
  expect(roomStore(null).get().status).toBe("idle");
});
