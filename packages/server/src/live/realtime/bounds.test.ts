/** The bounds of sockets: channels, frames, waiting bytes, and the origins that may open a socket. */
// Promises: B1.
import { describe, expect, spyOn, test } from "bun:test";
import { migrate } from "../../../test/kit.ts";
import { openServer, type TestServer, type TestSocket, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";
import { parseDefinition } from "../../data/collections/index.ts";
import { SocketConnection } from "./connection.ts";

const collections = [{ name: "notes", fields: [{ name: "text", type: "text" }] }];

function times(server: TestServer, limit: string): number {
  return server.service.limits.totals().find(([name]) => name === limit)?.[1] ?? 0;
}

describe("channels", () => {
  test("all sockets together have a bound; channels that a socket leaves are free for other sockets", async () => {
    const server = await openServer({ collections, settings: { SERVICE_LIMITS_SUBSCRIPTIONS: "60" } });
    const from = (address: string) => server.connect(undefined, address);
    const [first, second, other] = [await from("192.0.2.1"), await from("192.0.2.2"), await from("192.0.2.3")];
    for (let n = 0; n < 20; n++) await first.subscribe(`c${n}.*`);
    for (let n = 20; n < 40; n++) await other.subscribe(`c${n}.*`);
    for (let n = 0; n < 19; n++) await second.subscribe(`c${n}.created`);
    await second.subscribe("notes.created");
    await first.subscribe("c1.*");
    const more = { action: "subscribe", channel: "notes.*" };
    const refused = await first.ask(more);
    expect(refused).toMatchObject({ type: "error", code: "subscription_limit", channel: "notes.*" });
    expect(refused.type === "error" && refused.message).toContain("All sockets together");
    expect(times(server, "subscriptions")).toBe(1);
    await second.ask({ action: "unsubscribe", channel: "c3.created" });
    await second.ask({ action: "unsubscribe", channel: "c3.created" });
    expect(await first.ask(more)).toMatchObject({ type: "subscribed" });
    expect(await first.ask({ ...more, channel: "notes.deleted" })).toMatchObject({ code: "subscription_limit" });
    await server.service.records.create("notes", system, { text: "" });
    expect([await first.types(), await second.types()]).toEqual([["notes.created"], ["notes.created"]]);
    first.socket.close();
    await until(() => first.closed !== null);
    const third = await from("192.0.2.4");
    for (let n = 0; n < 21; n++) await third.subscribe(`c${n}.*`);
    expect(await third.ask({ ...more, channel: "notes.deleted" })).toMatchObject({ code: "subscription_limit" });
  });

  test("the sockets of an address have at most half of the bound; an IPv6 address counts by its /64", async () => {
    const server = await openServer({ collections, settings: { SERVICE_LIMITS_SUBSCRIPTIONS: "60" } });
    const from = (address: string) => server.connect(undefined, address);
    const greedy = [await from("2001:db8::1"), await from("2001:db8::2"), await from("[2001:db8::3]:443")];
    for (const client of greedy) for (let n = 0; n < 10; n++) await client.subscribe(`c${n}.*`);
    const more = { action: "subscribe", channel: "notes.*" };
    for (const client of greedy) {
      const refused = await client.ask(more);
      expect(refused).toMatchObject({ type: "error", code: "subscription_limit", channel: "notes.*" });
      expect(refused.type === "error" && refused.message).toContain("of your address");
    }
    expect(times(server, "subscriptions")).toBe(3);
    const other = await from("2001:db8:0:1::1");
    for (let n = 0; n < 30; n++) await other.subscribe(`c${n}.*`);
    // The room that a socket leaves is for others of its address, once.
    greedy[0]?.socket.close();
    await until(() => greedy[0]?.closed !== null);
    const again = await from("2001:db8::4");
    for (let n = 0; n < 10; n++) await again.subscribe(`c${n}.*`);
    expect(await again.ask(more)).toMatchObject({ code: "subscription_limit" });
  });

  test("refused channels in a flood leave no garbage behind: the collector runs during the flood", async () => {
    const server = await openServer({ collections });
    const client = await server.connect();
    using collected = spyOn(Bun, "gc");
    for (let sent = 0; sent < 20_000; sent += 100) {
      for (let n = 0; n < 100; n++) client.send({ action: "subscribe", channel: "nothing" });
      await client.ask({ action: "ping" });
    }
    expect(collected).toHaveBeenCalled();
  });

  test("the channel of a later collection receives events from its first record on, once", async () => {
    const server = await openServer({ collections });
    const [client, other] = [await server.connect(), await server.connect()];
    using joined = spyOn(SocketConnection.prototype, "join");
    for (const channel of ["late.created", "late.*", "lateness.*"]) await client.subscribe(channel);
    await other.subscribe("late.created");
    await other.ask({ action: "unsubscribe", channel: "late.created" });
    // Topics take memory, and a stranger could ask for any number of collections that do not exist.
    expect(joined).not.toHaveBeenCalled();
    const define = [parseDefinition({ name: "late", fields: [{ name: "text", type: "text" }] })];
    await migrate(server.service, { define, drop: [] });
    const { id } = (await server.service.records.create("late", system, { text: "" })).record;
    await client.subscribe("late.updated");
    await server.service.records.update("late", system, { record: id, body: { text: "b" } });
    expect(await client.types()).toEqual(["late.created", "late.updated"]);
    expect(await other.types()).toEqual([]);
    await client.ask({ action: "unsubscribe", channel: "late.*" });
    await server.service.records.delete("late", system, id);
    await server.service.records.create("late", system, { text: "" });
    expect(await client.types()).toEqual(["late.created", "late.updated", "late.created"]);
  });
});

describe("frames", () => {
  test("frames faster than the service follows end the socket, and no other", async () => {
    const server = await openServer({ collections });
    const [flood, calm] = [await server.connect(), await server.connect()];
    await server.service.records.create("notes", system, { text: "" });
    const since = (await server.service.events.at(server.service.events.flushedSeq))?.id;
    for (let n = 0; n < 5_000; n++) flood.send({ action: "subscribe", channel: "notes.*", since });
    await until(() => flood.closed !== null);
    expect(flood.closed?.code).toBe(1008);
    expect(await calm.ask({ action: "ping" })).toEqual({ type: "pong" });
  });

  test("frames that ask for replays all get a response, however many channels return at once", async () => {
    const server = await openServer({ collections });
    const client = await server.connect();
    await server.service.records.create("notes", system, { text: "" });
    const since = (await server.service.events.at(server.service.events.flushedSeq))?.id;
    for (let n = 0; n < 110; n++) client.send({ action: "subscribe", channel: `c${n % 50}.*`, since });
    await until(() => client.frames.length === 110);
    expect(client.frames.every(({ type }) => type === "subscribed")).toBe(true);
  });

  test("long frames are quoted shortly in errors", async () => {
    const client = await (await openServer({ collections })).connect();
    const large = Array.from({ length: 20_000 }, () => 1);
    const long = "x".repeat(60_000);
    for (const frame of [
      { action: large },
      { action: long },
      { action: "subscribe", channel: large },
      { action: "subscribe", channel: { large } },
      { action: "subscribe", channel: long },
      { action: "subscribe", channel: "notes.*", since: large },
      { action: "subscribe", channel: "notes.*", since: long },
    ]) {
      const answer = await client.ask(frame);
      expect(answer.type).toBe("error");
      expect(JSON.stringify(answer).length).toBeLessThan(1_000);
      expect(JSON.stringify(answer)).not.toContain("1,1,1");
    }
  });
});

describe("waiting bytes", () => {
  const settings = {
    SERVICE_REALTIME_BUFFER_LIMIT: "8MiB",
    SERVICE_REALTIME_BUFFER_TOTAL: "1MiB",
    SERVICE_LIMITS_BODY: "2MiB",
  };
  const large = "x".repeat(900_000);

  async function readersAndOthers(server: TestServer) {
    const slow = await Promise.all(Array.from({ length: 6 }, () => server.connect()));
    const quick = await server.connect();
    for (const client of [...slow, quick]) await client.subscribe("notes.*");
    return { slow, quick };
  }

  const eventsOf = (client: TestSocket) => client.frames.filter(({ type }) => type === "event").length;

  test("all sockets together have a bound: the slowest sockets are cut off, a reading socket receives everything", async () => {
    const server = await openServer({ collections, settings });
    const { slow, quick } = await readersAndOthers(server);
    for (const client of slow) client.socket.pause();
    for (let n = 1; n <= 12; n++) {
      await server.service.records.create("notes", system, { text: large });
      await until(() => eventsOf(quick) === n);
    }
    expect(times(server, "socketBuffers")).toBe(6);
    expect(times(server, "socketBuffer")).toBe(0);
    for (const client of slow) client.socket.resume();
    await until(() => slow.every(({ closed }) => closed !== null));
    expect(slow.map(({ closed }) => closed?.code)).toEqual([1006, 1006, 1006, 1006, 1006, 1006]);
    expect(quick.closed).toBeNull();
    expect((await quick.events()).length).toBe(12);
  });

  test("small events of the same moment count, too", async () => {
    const server = await openServer({ collections, settings });
    const { slow, quick } = await readersAndOthers(server);
    for (const client of slow) client.socket.pause();
    const text = "x".repeat(10_000);
    for (let n = 1; n <= 30; n++) {
      await Promise.all(Array.from({ length: 40 }, () => server.service.records.create("notes", system, { text })));
      await until(() => eventsOf(quick) === 40 * n);
    }
    await until(() => times(server, "socketBuffers") === 6);
    const ids = (await quick.events()).map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].sort());
    expect(ids).toHaveLength(1_200);
  });

  test("a single socket has a separate bound, which is counted", async () => {
    const server = await openServer({
      collections,
      settings: { ...settings, SERVICE_REALTIME_BUFFER_LIMIT: "64KiB", SERVICE_REALTIME_BUFFER_TOTAL: "1GiB" },
    });
    const { slow, quick } = await readersAndOthers(server);
    for (const client of slow.slice(0, 2)) client.socket.pause();
    for (let n = 1; n <= 12; n++) {
      await server.service.records.create("notes", system, { text: large });
      await until(() => [quick, ...slow.slice(2)].every((client) => eventsOf(client) === n));
    }
    await until(() => times(server, "socketBuffer") === 2);
    expect(times(server, "socketBuffers")).toBe(0);
  });

  test("replays of many sockets that do not read stay within the bound", async () => {
    const server = await openServer({ collections, settings });
    await server.service.records.create("notes", system, { text: "" });
    const since = (await server.service.events.at(server.service.events.flushedSeq))?.id;
    for (let n = 0; n < 20; n++) await server.service.records.create("notes", system, { text: large });
    const clients = await Promise.all(Array.from({ length: 4 }, () => server.connect()));
    for (const client of clients) client.socket.pause();
    for (const client of clients) client.send({ action: "subscribe", channel: "notes.*", since });
    await Bun.sleep(300);
    for (const client of clients) client.socket.resume();
    for (let client of clients) {
      const ids: string[] = [];
      const take = () => client.frames.flatMap((frame) => (frame.type === "event" ? [frame.event.id] : []));
      while (ids.length + take().length < 20) {
        await until(() => client.closed !== null || ids.length + take().length === 20);
        if (client.closed === null) continue;
        // A client that was cut off resumes at its place, and gets further.
        expect(client.closed.code).toBe(1006);
        ids.push(...take());
        client = await server.connect();
        client.send({ action: "subscribe", channel: "notes.*", since: ids.at(-1) ?? since });
      }
      ids.push(...take());
      expect(ids).toEqual([...new Set(ids)].sort());
    }
  });
});

describe("cors.origins", () => {
  const upgrade = {
    Upgrade: "websocket",
    Connection: "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  };
  const status = async (server: TestServer, origin?: string) => {
    const headers = { ...upgrade, ...(origin !== undefined && { Origin: origin }) };
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime`, { headers });
    const opened = await new Promise<boolean>((resolve) => {
      socket.onopen = () => resolve(true);
      socket.onerror = () => resolve(false);
    });
    socket.close();
    return opened;
  };

  test("names the pages that may open a socket; a client outside browsers may", async () => {
    const server = await openServer({
      collections,
      settings: { SERVICE_CORS_ORIGINS: "https://app.example.com,http://localhost:5173" },
    });
    for (const origin of [undefined, "https://app.example.com", "HTTPS://APP.example.com", "http://localhost:5173"])
      expect([origin, await status(server, origin)]).toEqual([origin, true]);
    expect(await status(server, server.url)).toBe(true);
    for (const origin of [
      "https://evil.example.com",
      "http://app.example.com",
      "https://app.example.com.evil.com",
      "https://app.example.com:444",
      "null",
      "",
      "x",
    ]) {
      expect([origin, await status(server, origin)]).toEqual([origin, false]);
      const answer = await fetch(`${server.url}/api/realtime`, { headers: { ...upgrade, Origin: origin } });
      expect(answer.status).toBe(403);
      expect(await answer.json()).toMatchObject({ error: { code: "forbidden" } });
    }
  });

  test("with * admits every page", async () => {
    expect(await status(await openServer({ collections }), "https://evil.example.com")).toBe(true);
  });
});
