// Promises: E2.
import { describe, expect, spyOn, test } from "bun:test";
import { keepsAll } from "../../../test/event-log.ts";
import { migrate, quietLogger, setRole } from "../../../test/kit.ts";
import { openServer, type TestSocket, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";
import { parseDefinition } from "../../data/collections/index.ts";
import { EventRetention } from "../../store/events/index.ts";
import { SocketConnection } from "./connection.ts";
import { ListenerClass } from "./listener-class.ts";

const fields = [{ name: "text", type: "text" }];
const settings = { SERVICE_REALTIME_BUFFER_LIMIT: "65536", SERVICE_LIMITS_BODY: "2MiB" };

function open() {
  return openServer({ settings, collections: ["notes", "other"].map((name) => ({ name, fields })) });
}

type Server = Awaited<ReturnType<typeof open>>;

/** The id of the newest event. */
async function newest({ service }: Server): Promise<string> {
  return (await service.events.at(service.events.flushedSeq))?.id ?? "";
}

/** Writes and answers the expected events. */
function writer({ service }: Server) {
  const { records } = service;
  return {
    create: async (text: string, collection = "notes"): Promise<string> =>
      (await records.create(collection, system, { text })).record.id,
    update: async (id: string, text: string): Promise<void> => {
      await records.update("notes", system, { record: id, body: { text } });
    },
  };
}

async function heard(client: TestSocket): Promise<string[]> {
  return (await client.events()).map(({ type, payload }) => `${type} ${payload["text"] ?? ""}`);
}

/** Waits for a replay: the expected number of events, and no further event a moment later. */
async function settled(client: TestSocket, count: number): Promise<string[]> {
  await until(() => client.frames.filter(({ type }) => type === "event").length >= count);
  await Bun.sleep(20);
  return heard(client);
}

describe("since", () => {
  test("sends the missed events in order, then new events; the response is the first frame", async () => {
    const server = await open();
    const { create, update } = writer(server);
    const first = await create("0");
    const place = await newest(server);
    await create("1");
    await create("elsewhere", "other");
    await update(first, "2");
    const client = await server.connect();
    client.send({ action: "subscribe", channel: "notes.*", since: place });
    await create("3");
    expect(await settled(client, 3)).toEqual(["notes.created 1", "notes.updated 2", "notes.created 3"]);
    expect(client.frames[0]).toEqual({ type: "subscribed", channel: "notes.*" });
    await create("4");
    expect((await heard(client)).at(-1)).toBe("notes.created 4");
    expect(await heard(client)).toHaveLength(4);
  });

  test("beside a channel that is live: nothing twice, nothing missing, whatever is older", async () => {
    const server = await open();
    const { create, update } = writer(server);
    const id = await create("0");
    const place = await newest(server);
    await create("1");
    const client = await server.connect();
    await client.subscribe("notes.created");
    await create("2");
    await update(id, "3");
    expect(await heard(client)).toEqual(["notes.created 2"]);
    await client.subscribe("notes.*", place);
    expect(await settled(client, 3)).toEqual(["notes.created 2", "notes.created 1", "notes.updated 3"]);
    await create("4");
    await update(id, "5");
    const all = ["notes.created 2", "notes.created 1", "notes.updated 3", "notes.created 4", "notes.updated 5"];
    expect(await settled(client, 5)).toEqual(all);
    // All events have been sent: further subscriptions bring nothing.
    await client.subscribe("notes.*", place);
    await client.subscribe("notes.created", place);
    await client.subscribe("notes.created");
    await create("6");
    expect(await settled(client, 6)).toEqual([...all, "notes.created 6"]);
  });

  test("asked for again while the replay waits starts early enough for both", async () => {
    const server = await open();
    const { create } = writer(server);
    await create("0", "other");
    const start = await newest(server);
    for (let n = 0; n < 600; n++) await create("x".repeat(20_000), "other");
    const places: string[] = [];
    for (let n = 0; n < 30; n++) {
      await create(`${n}`);
      places.push(await newest(server));
    }
    const client = await server.connect();
    // The client does not read the first replay, so that the later subscriptions wait, and are merged.
    client.socket.pause();
    client.send({ action: "subscribe", channel: "other.*", since: start });
    for (const n of [20, 5]) client.send({ action: "subscribe", channel: "notes.created", since: places[n] });
    await Bun.sleep(100);
    client.socket.resume();
    const all = await settled(client, 624);
    expect(all.slice(600)).toEqual(Array.from({ length: 24 }, (_, i) => `notes.created ${i + 6}`));
  });

  test("skips any number of other events", async () => {
    const server = await open();
    const { create } = writer(server);
    await create("0");
    const place = await newest(server);
    await Promise.all(Array.from({ length: 1_700 }, () => create("", "other")));
    await create("1");
    const client = await server.connect();
    await client.subscribe("notes.*", place);
    expect(await settled(client, 1)).toEqual(["notes.created 1"]);
    await create("2");
    expect(await settled(client, 2)).toEqual(["notes.created 1", "notes.created 2"]);
  });

  test("given up during the replay sends no more, and can be asked for again", async () => {
    const server = await open();
    const { create } = writer(server);
    await create("0");
    const place = await newest(server);
    const some = "x".repeat(20_000);
    for (let n = 0; n < 600; n++) await create(some);
    const client = await server.connect();
    client.send({ action: "subscribe", channel: "notes.*", since: place });
    client.send({ action: "unsubscribe", channel: "notes.*" });
    await client.ask({ action: "ping" });
    const before = (await heard(client)).length;
    await Bun.sleep(50);
    expect(await heard(client)).toHaveLength(before);
    await create("1");
    await client.subscribe("notes.*");
    await create("2");
    expect((await heard(client)).slice(before)).toEqual(["notes.created 2"]);
  });

  test("sends no records of a deleted collection to a reader of its successor", async () => {
    const server = await open();
    const { create } = writer(server);
    await create("start", "other");
    const place = await newest(server);
    await create("secret");
    const { parseDefinition } = await import("../../data/collections/index.ts");
    const again = parseDefinition({ name: "notes", fields });
    await migrate(server.service, { define: [], drop: ["notes"] });
    const anonymous = await server.connect();
    await anonymous.subscribe("notes.*", place);
    await migrate(server.service, { define: [again], drop: [] });
    const late = await server.connect();
    await late.subscribe("notes.*", place);
    await create("new");
    expect(await settled(late, 1)).toEqual(["notes.created new"]);
    expect(await settled(anonymous, 1)).toEqual(["notes.created new"]);
    const admin = await server.connect(await server.admin());
    await admin.subscribe("notes.*", place);
    expect(await settled(admin, 2)).toEqual(["notes.created secret", "notes.created new"]);
  });

  test("beyond the oldest event of the log is a gap", async () => {
    const server = await open();
    const { create } = writer(server);
    await create("0");
    const trimmed = await newest(server);
    await create("1");
    const last = await newest(server);
    const { database, events, clock } = server.service;
    const retention = new EventRetention({
      database,
      events,
      clock,
      logger: quietLogger(),
      config: { ...keepsAll, "events.maxCount": 0 },
    });
    await retention.trim();
    const client = await server.connect();
    const ask = (since: string) => client.ask({ action: "subscribe", channel: "notes.*", since });
    expect(await ask(trimmed)).toMatchObject({ type: "error", code: "resume_gap", channel: "notes.*" });
    await create("2");
    expect(await heard(client)).toEqual([]);
    // Nothing came after the last trimmed event.
    expect(await ask(last)).toEqual({ type: "subscribed", channel: "notes.*" });
    expect(await settled(client, 1)).toEqual(["notes.created 2"]);
  });
});

describe("slow readers", () => {
  const large = "x".repeat(500_000);

  test("a replay waits for slow readers, however much there is to send", async () => {
    const server = await open();
    const { create } = writer(server);
    await create("0");
    const place = await newest(server);
    for (let n = 0; n < 60; n++) await create(large);
    const client = await server.connect();
    client.socket.pause();
    client.send({ action: "subscribe", channel: "notes.*", since: place });
    await Bun.sleep(300);
    expect(client.closed).toBeNull();
    client.socket.resume();
    expect(await settled(client, 60)).toHaveLength(60);
    await create("1");
    expect((await heard(client)).at(-1)).toBe("notes.created 1");
  });

  test("a trim of the log before their position is reported to every channel concerned", async () => {
    const server = await open();
    const { create } = writer(server);
    await create("0");
    const place = await newest(server);
    const client = await server.connect();
    await client.subscribe("notes.created");
    await client.subscribe("other.*");
    for (let n = 0; n < 60; n++) await server.service.records.create("other", system, { text: large });
    const second = await server.connect();
    second.socket.pause();
    for (const channel of ["other.created", "notes.*"]) second.send({ action: "subscribe", channel });
    second.send({ action: "subscribe", channel: "other.*", since: place });
    await Bun.sleep(200);
    const { database, events, clock } = server.service;
    await new EventRetention({
      database,
      events,
      clock,
      logger: quietLogger(),
      config: { ...keepsAll, "events.maxCount": 0 },
    }).trim();
    second.socket.resume();
    const gaps = () =>
      second.frames.flatMap((frame) => (frame.type === "error" ? [`${frame.code} ${frame.channel}`] : []));
    await until(() => gaps().length === 2);
    expect(gaps().sort()).toEqual(["resume_gap other.*", "resume_gap other.created"]);
    const before = (await heard(second)).length;
    expect(before).toBeLessThan(60);
    await create("1", "other");
    await create("2");
    expect((await heard(second)).slice(before)).toEqual(["notes.created 2"]);
  });

  describe("while a subscription waits for its replay, its collection is made", () => {
    const secret = { name: "secret", type: "string", permissions: { read: "admin" } };

    async function madeMeanwhile() {
      const server = await open();
      await server.admin();
      const { user, accessToken } = await server.register("ann@example.com");
      const place = await newest(server);
      await writer(server).create("0");
      const client = await server.connect(accessToken);
      const { promise, resolve: goOn } = Promise.withResolvers<void>();
      // Replays of a socket go one after the other: the second waits until the client has read the first.
      using read = spyOn(SocketConnection.prototype, "drainedBelow").mockReturnValue(promise);
      for (const channel of ["notes.*", "late.*"]) client.send({ action: "subscribe", channel, since: place });
      await until(() => client.frames.filter(({ type }) => type === "subscribed").length === 2);
      await until(() => read.mock.calls.length > 0);
      const define = [parseDefinition({ name: "late", fields: [...fields, secret] })];
      using appeared = spyOn(SocketConnection.prototype, "appear");
      await migrate(server.service, { define, drop: [] });
      await until(() => appeared.mock.calls.length > 0);
      return { server, client, user, goOn };
    }

    test("a change of the role in this time sends no event twice", async () => {
      const { server, client, user, goOn } = await madeMeanwhile();
      await setRole(server.service, user.id, "admin");
      await writer(server).create("first", "late");
      goOn();
      await until(() => client.frames.some((frame) => frame.type === "event" && frame.event.type === "late.created"));
      await writer(server).create("second", "late");
      const late = (await heard(client)).filter((each) => each.startsWith("late"));
      expect(late).toEqual(["late.created first", "late.created second"]);
    });

    test("a socket that ends in this time leaves no listener behind", async () => {
      const { server, client, goOn } = await madeMeanwhile();
      client.socket.terminate();
      await until(() => client.closed !== null);
      goOn();
      const other = await server.connect();
      await other.subscribe("notes.created");
      using asked = spyOn(ListenerClass.prototype, "publish");
      await writer(server).create("first", "late");
      await writer(server).create("end");
      await until(() => other.frames.some(({ type }) => type === "event"));
      expect(asked).not.toHaveBeenCalled();
    });
  });

  test("live, slow readers are cut off, and other sockets receive everything", async () => {
    const server = await open();
    const { create } = writer(server);
    const [slow, quick] = await Promise.all([server.connect(), server.connect()]);
    for (const client of [slow, quick]) await client.subscribe("notes.*");
    await create("0");
    const place = await newest(server);
    await until(() => slow.frames.length === 2);
    slow.socket.pause();
    for (let n = 0; n < 60; n++) await create(large);
    expect(await settled(quick, 61)).toHaveLength(61);
    slow.socket.resume();
    await until(() => slow.closed !== null);
    expect(slow.frames.length).toBeLessThan(62);
    const again = await server.connect();
    await again.subscribe("notes.*", place);
    expect(await settled(again, 60)).toHaveLength(60);
  });
});

test("a session that ended between the check of the token and the socket ends the socket", async () => {
  const server = await open();
  const { user, accessToken } = await server.register("ann@example.com");
  const me = async () => (await server.request("GET", "/api/auth/me", { token: accessToken })).status;
  expect(await me()).toBe(200);
  // A deletion that the session cache does not see: the token still passes.
  await server.service.database.transact((tx) => tx.run("DELETE FROM _sessions WHERE userId = ?", user.id));
  expect(await me()).toBe(200);
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime?token=${accessToken}`);
  const { promise: closed, resolve } = Promise.withResolvers<number>();
  socket.onclose = ({ code }) => resolve(code);
  expect(await closed).toBe(4401);
});
