/** Rooms: frames and answers, bounds, and members behind a link to another process. */
// Promises: B1.
import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ServerFrame } from "@socle/protocol";
import { temporaryFolder } from "../../../test/kit.ts";
import { collections, framesOf, joined, membersOf, openRooms, rooms, settled, times } from "../../../test/rooms.ts";
import { openServer, until } from "../../../test/sockets.ts";
import { type RoomNews, readRooms } from "./index.ts";

const { server, ann, bob, board, seat } = await openRooms();

describe("frames", () => {
  test("members hear who comes, changes and leaves, and messages of the others", async () => {
    const id = await board(null);
    await seat(id, ann.user.id);
    await seat(id, bob.user.id);
    const [a, b] = [await server.connect(ann.accessToken), await server.connect(bob.accessToken)];
    const first = await joined(a, "board", id, { cursor: [1, 2] });
    expect(first).toEqual({
      type: "joined",
      room: "board",
      key: id,
      id: first.id,
      members: [{ id: first.id, userId: ann.user.id, state: { cursor: [1, 2] } }],
    });
    const second = await joined(b, "board", id);
    expect(second.members.map((member) => member.id)).toEqual([first.id, second.id]);
    const came = { id: second.id, userId: bob.user.id, state: {} };
    await until(() => framesOf(a, "presence").length > 0);
    expect(framesOf(a, "presence")).toEqual([{ type: "presence", room: "board", key: id, came: [came] }]);
    // A member does not hear of its own coming.
    expect(framesOf(b, "presence")).toEqual([]);
    b.send({ action: "state", room: "board", key: id, state: { typing: true } });
    b.send({ action: "send", room: "board", key: id, event: "cursor", payload: { x: 1 } });
    await settled(a, b);
    expect(a.frames.filter(({ type }) => type !== "pong").slice(-2)).toEqual([
      { type: "presence", room: "board", key: id, changed: [{ ...came, state: { typing: true } }] },
      { type: "message", room: "board", key: id, event: "cursor", payload: { x: 1 }, from: second.id },
    ]);
    expect(framesOf(b, "message")).toEqual([]);
    expect(await b.ask({ action: "leave", room: "board", key: id })).toEqual({ type: "left", room: "board", key: id });
    await settled(a);
    expect(framesOf(a, "presence").at(-1)).toEqual({ type: "presence", room: "board", key: id, left: [second.id] });
    a.send({ action: "send", room: "board", key: id, event: "cursor", payload: 1 });
    await settled(a, b);
    expect(framesOf(b, "message")).toEqual([]);
  });

  test("a closed socket is no member any more; a second join is the same member with another state", async () => {
    const [a, b] = [await server.connect(), await server.connect()];
    const { id } = await joined(a, "lobby", "closing", { n: 1 });
    await joined(b, "lobby", "closing");
    const again = await joined(a, "lobby", "closing", { n: 2 });
    expect(again.id).toBe(id);
    expect(again.members).toHaveLength(2);
    expect((await joined(a, "lobby", "closing")).members[0]?.state).toEqual({ n: 2 });
    a.socket.close();
    await until(() => framesOf(b, "presence").some(({ left }) => left?.includes(id) === true));
    expect(membersOf(b, "lobby")).toHaveLength(1);
  });

  test("states and messages of a member arrive in the order of their sending", async () => {
    const [a, b] = [await server.connect(), await server.connect()];
    await joined(a, "lobby", "order");
    await joined(b, "lobby", "order");
    for (let n = 0; n < 30; n++) {
      a.send({ action: "state", room: "lobby", key: "order", state: { n } });
      a.send({ action: "send", room: "lobby", key: "order", event: "hi", payload: n });
    }
    await settled(b);
    const heard = b.frames.flatMap((frame) => {
      if (frame.type === "message") return [frame.payload];
      return frame.type === "presence" ? (frame.changed ?? []).map(({ state }) => state["n"]) : [];
    });
    expect(heard).toEqual(Array.from({ length: 30 }, (_, n) => [n, n]).flat());
  });

  test("rooms of other keys, also of keys that look alike, hear nothing", async () => {
    const keys = ["a", "A", "a ", "\ud800", "\ud801", "__proto__", "\u00e9", "e\u0301"];
    const clients = await Promise.all(keys.map(() => server.connect()));
    for (const [i, client] of clients.entries()) await joined(client, "lobby", keys[i] ?? "");
    clients[3]?.send({ action: "send", room: "lobby", key: keys[3], event: "hi", payload: 1 });
    await settled(...clients);
    expect(clients.flatMap((client) => [...framesOf(client, "message"), ...framesOf(client, "presence")])).toEqual([]);
  });

  const lobby = { room: "lobby", key: "k" };
  test.each<[string, object, object]>([
    ["no room", { action: "join", key: "k" }, { code: "invalid_room" }],
    ["a room that does not exist", { action: "join", room: "x", key: "k" }, { code: "invalid_room", room: "x" }],
    ["no key", { action: "join", room: "lobby" }, { code: "invalid_room", room: "lobby" }],
    ["an empty key", { action: "join", room: "lobby", key: "" }, { code: "invalid_room" }],
    ["a long key", { action: "join", room: "lobby", key: "k".repeat(201) }, { code: "invalid_room" }],
    ["a field that is not listed", { action: "join", ...lobby, state: { m: 1 } }, { code: "invalid_state", ...lobby }],
    ["a state that is no object", { action: "join", ...lobby, state: [1] }, { code: "invalid_state", ...lobby }],
    ["no state", { action: "state", ...lobby }, { code: "invalid_state" }],
    ["a state before the join", { action: "state", ...lobby, state: {} }, { code: "forbidden", ...lobby }],
    ["a message before the join", { action: "send", ...lobby, event: "hi" }, { code: "forbidden", ...lobby }],
    ["no event", { action: "send", ...lobby }, { code: "invalid_event", ...lobby }],
  ])("%s is an error, and the socket stays open", async (_, frame, error) => {
    const client = await server.connect();
    const answer = await client.ask(frame);
    expect(answer).toMatchObject({ type: "error", ...error });
    if (answer.type === "error") expect(answer.error).toEqual({ code: answer.code, message: answer.message });
    expect(await client.ask({ action: "ping" })).toEqual({ type: "pong" });
  });

  test("an event that is not listed is an error, and nobody hears of the event", async () => {
    const [a, b] = [await server.connect(), await server.connect()];
    await joined(a, "lobby", "events");
    await joined(b, "lobby", "events");
    expect(await a.ask({ action: "send", room: "lobby", key: "events", event: "x" })).toMatchObject({
      type: "error",
      code: "invalid_event",
      message: "The room has no such event; there are: hi, bye.",
    });
    await settled(b);
    expect(framesOf(b, "message")).toEqual([]);
  });
});

describe("bounds", () => {
  test("members, states, messages and subscriptions: the sender is told, and the others hear nothing", async () => {
    const settings = {
      SERVICE_LIMITS_ROOM_MEMBERS: "2",
      SERVICE_LIMITS_ROOM_MESSAGES: "10",
      SERVICE_LIMITS_ROOM_STATE: "64",
    };
    const small = await openServer({ rooms, collections, settings });
    const from = (n: number) => small.connect(undefined, `192.0.2.${n}`);
    const [a, b, c] = [await from(1), await from(2), await from(3)];
    const lobby = { room: "lobby", key: "k" };
    await joined(a, "lobby", "k");
    await joined(b, "lobby", "k");
    const full = await c.ask({ action: "join", ...lobby });
    expect(full).toMatchObject({ type: "error", code: "room_limit", ...lobby });
    expect(await a.ask({ action: "state", ...lobby, state: { n: "x".repeat(64) } })).toMatchObject({
      code: "room_limit",
      message: "The state may have 64 bytes as JSON.",
    });
    expect(await a.ask({ action: "send", ...lobby, event: "hi", payload: "é".repeat(32) })).toMatchObject({
      code: "room_limit",
    });
    for (let n = 0; n < 30; n++) a.send({ action: "send", ...lobby, event: "hi", payload: n });
    await settled(a, b);
    const heard = framesOf(b, "message").length;
    expect(heard).toBeGreaterThan(5);
    expect(heard).toBeLessThan(12);
    expect(framesOf(a, "error").filter(({ code }) => code === "room_limit")).toHaveLength(2 + 30 - heard);
    expect(["roomMembers", "roomState", "roomMessages"].map((limit) => times(small, limit))).toEqual([
      1,
      2,
      30 - heard,
    ]);
    // Another address sends as before.
    expect(await b.ask({ action: "join", room: "lobby", key: "other" })).toMatchObject({ type: "joined" });
  });

  test("the states of all members together fit into the buffer of a socket", async () => {
    const small = await openServer({ rooms, collections, settings: { SERVICE_REALTIME_BUFFER_LIMIT: "64KiB" } });
    const answers: ServerFrame[] = [];
    for (let n = 0; n < 12; n++) {
      const client = await small.connect();
      answers.push(await client.ask({ action: "join", room: "lobby", key: "k", state: { n: "x".repeat(4_000) } }));
    }
    const refused = answers.filter(({ type }) => type === "error");
    expect(refused).toHaveLength(5);
    expect(refused[0]).toMatchObject({ code: "room_limit" });
  });

  test("a join counts as one of the 50 subscriptions, and a leave makes room", async () => {
    const client = await server.connect(ann.accessToken, "192.0.2.77");
    for (let n = 0; n < 25; n++) await client.subscribe(`c${n}.*`);
    for (let n = 0; n < 25; n++) await joined(client, "lobby", `k${n}`);
    const more = { action: "join", room: "lobby", key: "more" };
    expect(await client.ask(more)).toMatchObject({ code: "subscription_limit", room: "lobby", key: "more" });
    // A member may join again.
    await joined(client, "lobby", "k3");
    await client.ask({ action: "leave", room: "lobby", key: "k3" });
    await client.ask({ action: "leave", room: "lobby", key: "k3" });
    await joined(client, "lobby", "more");
    expect(await client.ask(more)).toMatchObject({ type: "joined" });
    expect(await client.ask({ action: "subscribe", channel: "boards.*" })).toMatchObject({
      code: "subscription_limit",
    });
  });

  test("a silent socket is asked for a sign of life, and cut off without an answer", async () => {
    const quiet = await openServer({ rooms, collections });
    const [a, b] = [await quiet.connect(), await quiet.connect()];
    const { id } = await joined(a, "lobby", "life");
    await joined(b, "lobby", "life");
    const { rooms: all } = quiet.parts.realtime;
    all.lookAtSockets(performance.now() + 15_000);
    await settled(a, b);
    expect([a.closed, b.closed]).toEqual([null, null]);
    const at = performance.now() + 19_000;
    await b.ask({ action: "ping" });
    await Bun.sleep(50);
    await b.ask({ action: "ping" });
    // Only `a` has sent nothing since.
    const silent = framesOf(a, "pong").length;
    all.lookAtSockets(at + 1_000);
    expect(silent).toBe(1);
    await until(() => a.closed !== null || b.closed !== null);
    expect(b.closed).toBe(null);
    await until(() => framesOf(b, "presence").some(({ left }) => left?.includes(id) === true));
  });
});

test("members and messages cross a link, and the members behind a link that ends have left", async () => {
  const [one, two] = [await openServer({ rooms, collections }), await openServer({ rooms, collections })];
  const [left, right] = [one.parts.realtime.rooms, two.parts.realtime.rooms];
  const a = await one.connect();
  const first = await joined(a, "lobby", "k", { n: 1 });
  const told: RoomNews[] = [];
  const toRight = {
    tell(news: RoomNews): void {
      told.push(news);
      setImmediate(() => right.take(toLeft, news));
    },
  };
  const toLeft = { tell: (news: RoomNews) => void setImmediate(() => left.take(toRight, news)) };
  const endLeft = left.connect(toRight);
  right.connect(toLeft);
  await Bun.sleep(20);
  const b = await two.connect();
  const second = await joined(b, "lobby", "k", { n: 2 });
  expect(second.members.map(({ id }) => id)).toEqual([first.id, second.id]);
  await until(() => membersOf(a, "lobby").length === 2);
  b.send({ action: "state", room: "lobby", key: "k", state: { n: 3 } });
  b.send({ action: "send", room: "lobby", key: "k", event: "hi", payload: 1 });
  await until(() => framesOf(a, "message").length > 0);
  expect(a.frames.slice(-2)).toMatchObject([
    { type: "presence", changed: [{ id: second.id, state: { n: 3 } }] },
    { type: "message", payload: 1, from: second.id },
  ]);
  a.send({ action: "send", room: "lobby", key: "k", event: "hi", payload: 2 });
  await until(() => framesOf(b, "message").length > 0);
  // News of a link do not come back over the link.
  expect(told.filter((news) => news.type === "presence" && news.came.some(([id]) => id === second.id))).toEqual([]);
  const messages = told.length;
  const alone = await one.connect();
  await joined(alone, "lobby", "elsewhere");
  alone.send({ action: "send", room: "lobby", key: "elsewhere", event: "hi", payload: 3 });
  await settled(alone);
  expect(told.slice(messages).map(({ type }) => type)).toEqual(["presence"]);
  endLeft();
  await until(() => membersOf(a, "lobby").length === 1);
  expect(framesOf(a, "presence").at(-1)).toMatchObject({ left: [second.id] });
});

test("members that come by another link before the end of the former link stay, and hear messages by the other link", async () => {
  const one = await openServer({ rooms, collections });
  const here = one.parts.realtime.rooms;
  const a = await one.connect();
  await joined(a, "lobby", "k");
  const told: string[] = [];
  const linkOf = (name: string) => ({
    tell(news: RoomNews): void {
      if (news.type === "message") told.push(name);
    },
  });
  const came: RoomNews = {
    type: "presence",
    room: "lobby",
    key: "k",
    came: [["other", null, '{"n":1}']],
    changed: [],
    left: [],
  };
  const [former, next] = [linkOf("former"), linkOf("next")];
  const endFormer = here.connect(former);
  here.take(former, came);
  const endNext = here.connect(next);
  here.take(next, came);
  endFormer();
  await settled(a);
  const others = (): string[] => membersOf(a, "lobby").flatMap(({ id }) => (id === "other" ? [id] : []));
  expect(others()).toEqual(["other"]);
  a.send({ action: "send", room: "lobby", key: "k", event: "hi", payload: 1 });
  await settled(a);
  expect(told).toEqual(["next"]);
  // The same member goes and comes in one pause.
  endNext();
  here.connect(former);
  here.take(former, came);
  await settled(a);
  expect(others()).toEqual(["other"]);
});

describe("definitions", () => {
  const folder = temporaryFolder();
  test.each<[string, unknown, string]>([
    ["no object", [], "a room is a JSON object"],
    ["no key", { join: "public" }, '"key" must be "string" or { "collection": NAME }'],
    ["another key", { key: "boards", join: "public" }, '"key" must be "string"'],
    ["no rule", { key: "string" }, '"join" must be a rule (public, authenticated, owner, admin, or an expression)'],
    ["another name", { name: "other", key: "string", join: "public" }, '"name" must be "hall"'],
    ["a misspelt attribute", { key: "string", join: "public", event: [] }, "Did you mean events?"],
    ["events that are no names", { key: "string", join: "public", events: [1] }, '"events" must be an array of names'],
  ])("%s is refused with the file", async (_, definition, problem) => {
    await Bun.write(join(folder, "rooms", "hall.json"), JSON.stringify(definition));
    const message = await readRooms(folder).then(
      () => "",
      (error: Error) => error.message,
    );
    expect(message).toStartWith(`${join(folder, "rooms", "hall.json")}: `);
    expect(message).toContain(problem);
  });

  test("text that is no JSON is refused with the line; a project without the folder has no rooms", async () => {
    await Bun.write(join(folder, "rooms", "hall.json"), '{\n"key": }');
    expect(readRooms(folder)).rejects.toThrow("in line 2");
    rmSync(join(folder, "rooms"), { recursive: true });
    expect(await readRooms(folder)).toEqual([]);
  });
});
