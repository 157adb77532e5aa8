import { describe, expect, test } from "bun:test";
import { migrate, setRole } from "../../../test/kit.ts";
import { openServer, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";
import { parseDefinition } from "../../data/collections/index.ts";

const field = { name: "title", type: "string" };
/** Collections named after their readers. */
const readers = { everybody: "public", members: "authenticated", owners: "owner", admins: "admin" };
const names = Object.keys(readers);
const collections = [
  ...Object.entries(readers).map(([name, read]) => ({
    name,
    fields: [field],
    permissions: { read, create: "public" },
  })),
  { name: "notes", fields: [field] },
];

const server = await openServer({ collections });
const { service } = server;
const adminToken = await server.admin();
const ann = await server.register("ann@example.com");
const bob = await server.register("bob@example.com");

async function create(collection: string, token?: string, title = "x"): Promise<string> {
  const { status, body } = await server.request("POST", `/api/${collection}`, {
    body: { title },
    ...(token === undefined ? {} : { token }),
  });
  expect(status).toBe(201);
  return String(body["id"]);
}

describe("frames and their responses", () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const cases: [string, object | string, object][] = [
    ["ping", { action: "ping" }, { type: "pong" }],
    ["subscribe", { action: "subscribe", channel: "notes.*" }, { type: "subscribed", channel: "notes.*" }],
    ["unsubscribe", { action: "unsubscribe", channel: "notes.*" }, { type: "unsubscribed", channel: "notes.*" }],
    ["an unknown collection is silent", { action: "subscribe", channel: "nothing.created" }, { type: "subscribed" }],
    ["unsubscribe without", { action: "unsubscribe", channel: "notes.deleted" }, { type: "unsubscribed" }],
    ["since null is none", { action: "subscribe", channel: "notes.*", since: null }, { type: "subscribed" }],
    ["no JSON", "hello", { type: "error", code: "invalid_json" }],
    ["nothing", "", { type: "error", code: "invalid_json" }],
    ["half of it", '{"action":"ping"', { type: "error", code: "invalid_json" }],
    ["deep", deep, { type: "error" }],
    ["a list", "[]", { type: "error", code: "invalid_action" }],
    ["null", "null", { type: "error", code: "invalid_action" }],
    ["no action", {}, { type: "error", code: "invalid_action" }],
    ["an unknown action", { action: "publish", channel: "notes.*" }, { type: "error", code: "invalid_action" }],
    ["an action that is no string", { action: ["ping"] }, { type: "error", code: "invalid_action" }],
    ["since that is no string", { action: "subscribe", channel: "notes.*", since: 5 }, { code: "invalid_action" }],
    ["no channel", { action: "subscribe" }, { type: "error", code: "invalid_channel" }],
    ["a channel that is no string", { action: "unsubscribe", channel: {} }, { code: "invalid_channel" }],
    ["no channel to leave", { action: "unsubscribe" }, { type: "error", code: "invalid_channel" }],
    ["a channel to leave that is null", { action: "unsubscribe", channel: null }, { code: "invalid_channel" }],
    ["10 KB", { action: "subscribe", channel: `${"a".repeat(10_000)}.created` }, { code: "invalid_channel" }],
    ["since of another log", { action: "subscribe", channel: "notes.*", since: "evt_x" }, { code: "resume_gap" }],
    [
      "since from the future",
      { action: "subscribe", channel: "notes.*", since: `evt_${"f".repeat(25)}` },
      { code: "resume_gap", channel: "notes.*" },
    ],
  ];
  test.each(cases)("%s", async (_, frame, answer) => {
    const client = await server.connect();
    const got = await client.ask(frame);
    expect(got).toMatchObject(answer);
    if (got.type === "error") {
      expect(got.error).toEqual({ code: got.code, message: got.message });
      expect(got.message.length).toBeLessThan(300);
    }
    expect(await client.ask({ action: "ping" })).toEqual({ type: "pong" });
    expect(client.frames).toHaveLength(2);
  });

  test.each([
    "*",
    "",
    ".",
    "notes",
    "notes.",
    "notes.read",
    "notes.created.x",
    "notes.**",
    "no tes.created",
    "auth.*",
    "auth.refresh",
    "Users.*",
    "system.collection.updated",
    "system.collection.deleted",
    "system.collection.*",
    "storage.*",
    "function.*",
    "_events.created",
    "constructor",
    "__proto__.created",
  ])("%j is no channel", async (channel) => {
    const client = await server.connect(adminToken);
    const answer = await client.ask({ action: "subscribe", channel });
    expect(answer).toMatchObject({ type: "error", code: "invalid_channel", channel });
  });

  test.each([
    "auth.login",
    "auth.logout",
    "auth.register",
    "storage.uploaded",
    "storage.deleted",
    "function.started",
    "function.completed",
    "function.failed",
    "job.started",
    "job.completed",
    "job.failed",
    "system.collection.created",
  ])("%s is a channel", async (channel) => {
    const client = await server.connect();
    expect(await client.ask({ action: "subscribe", channel })).toEqual({ type: "subscribed", channel });
  });

  test("the 51st channel is refused, the 50 stay, and a channel that ends makes place for another", async () => {
    const client = await server.connect();
    for (let i = 0; i < 49; i++) await client.subscribe(`c${i}.created`);
    await client.subscribe("notes.created");
    const more = { action: "subscribe", channel: "notes.updated" };
    expect(await client.ask(more)).toMatchObject({ code: "subscription_limit", channel: "notes.updated" });
    await client.subscribe("notes.created");
    await create("notes");
    expect(await client.types()).toEqual(["notes.created"]);
    await client.ask({ action: "unsubscribe", channel: "c7.created" });
    expect(await client.ask(more)).toMatchObject({ type: "subscribed" });
  });

  test("a frame that is too long or binary ends the socket, and no other", async () => {
    const [long, binary, other] = await Promise.all([server.connect(), server.connect(), server.connect()]);
    long.send(`"${"x".repeat(65_535)}"`);
    binary.socket.send(new Uint8Array([1, 2, 3]));
    await until(() => long.closed !== null && binary.closed !== null);
    expect([long.closed?.code, binary.closed?.code]).toEqual([1009, 1003]);
    expect(await other.ask(`"${"x".repeat(65_534)}"`)).toMatchObject({ code: "invalid_action" });
  });

  test("1,000 subscribes at once each get a response", async () => {
    const client = await server.connect();
    for (let i = 0; i < 1_000; i++) client.send({ action: "subscribe", channel: `x${i % 100}.*` });
    await until(() => client.frames.length === 1_000);
    const kinds = client.frames.map((frame) => (frame.type === "error" ? frame.code : frame.type));
    expect(kinds.filter((kind) => kind === "subscribed")).toHaveLength(500);
    expect(kinds.filter((kind) => kind === "subscription_limit")).toHaveLength(500);
  });
});

describe("the upgrade", () => {
  test("a plain GET is 426, a bad token 401 before anything else", async () => {
    const url = `${server.url}/api/realtime`;
    const plain = await fetch(url);
    expect([plain.status, plain.headers.get("upgrade"), plain.headers.get("content-type")]).toEqual([
      426,
      "websocket",
      "application/json",
    ]);
    const upgrade = { Upgrade: "websocket", Connection: "Upgrade" };
    expect((await fetch(url, { headers: upgrade })).status).toBe(426);
    expect((await fetch(`${url}?token=nonsense`, { headers: upgrade })).status).toBe(401);
    expect((await fetch(`${url}?token=nonsense`)).status).toBe(401);
    expect((await fetch(url, { headers: { Authorization: "Bearer nonsense" } })).status).toBe(401);
    expect((await fetch(url, { method: "POST" })).status).toBe(405);
    await expect(server.connect("nonsense")).rejects.toThrow();
  });

  test("the token may be in the header, and an empty token in the query counts as absent", async () => {
    const headers = { Authorization: `Bearer ${ann.accessToken}` };
    const frames: string[] = [];
    // Bun's client can set headers; a browser's cannot.
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime?token=`, { headers });
    socket.onmessage = ({ data }) => frames.push(String(data));
    socket.onopen = () => socket.send('{"action":"subscribe","channel":"members.created"}');
    await until(() => frames.length === 2);
    await create("members");
    await until(() => frames.length === 3);
    expect(JSON.parse(frames[2] ?? "")).toMatchObject({ type: "event", event: { type: "members.created" } });
    socket.close();
  });
});

describe("events by listener", () => {
  test("collection events follow the read rule", async () => {
    const [anonymous, first, second, admin] = await Promise.all([
      server.connect(),
      server.connect(ann.accessToken),
      server.connect(bob.accessToken),
      server.connect(adminToken),
    ]);
    const clients = { anonymous, first, second, admin };
    for (const client of Object.values(clients)) for (const name of names) await client.subscribe(`${name}.*`);
    const ids: Record<string, string> = {};
    for (const name of names) ids[name] = await create(name, ann.accessToken);
    await create("owners");
    await server.request("DELETE", `/api/owners/${ids["owners"]}`, { token: ann.accessToken });
    const heard = Object.fromEntries(
      await Promise.all(Object.entries(clients).map(async ([name, client]) => [name, await client.types()])),
    );
    expect(heard).toEqual({
      anonymous: ["everybody.created"],
      first: ["everybody.created", "members.created", "owners.created", "owners.deleted"],
      second: ["everybody.created", "members.created"],
      admin: [
        "everybody.created",
        "members.created",
        "owners.created",
        "admins.created",
        "owners.created",
        "owners.deleted",
      ],
    });
  });

  test("an event equals the event of the log, and is received once, however subscriptions overlap", async () => {
    const client = await server.connect();
    await client.subscribe("notes.created");
    await client.subscribe("notes.*");
    await client.subscribe("notes.created");
    const id = await create("notes", undefined, 'with "quotes" and 漢字');
    await client.ask({ action: "unsubscribe", channel: "notes.*" });
    await create("notes");
    await server.request("PUT", `/api/notes/${id}`, { body: { title: "y" } });
    const events = await client.events();
    expect(events.map(({ type }) => type)).toEqual(["notes.created", "notes.created"]);
    const { body } = await server.request("GET", `/api/notes/${id}`);
    expect(events[0]).toEqual({
      id: expect.stringMatching(/^evt_[0-9a-f]{25}$/),
      type: "notes.created",
      timestamp: body["createdAt"],
      source: "collections",
      payload: { ...body, title: 'with "quotes" and 漢字', updatedAt: body["createdAt"] },
    } as never);
    expect((events[0]?.id ?? "") < (events[1]?.id ?? "")).toBe(true);
    await client.ask({ action: "unsubscribe", channel: "notes.created" });
    await create("notes");
    expect(await client.types()).toHaveLength(2);
  });

  test("a socket receives a greeting before anything else, with an id of its own", async () => {
    const greetings: { type: string; clientId: string }[] = [];
    for (let i = 0; i < 2; i++) {
      const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime`);
      socket.onmessage = ({ data }) => greetings.push(JSON.parse(String(data)));
      await until(() => greetings.length > i);
      socket.close();
    }
    expect(greetings).toEqual(Array(2).fill({ type: "connected", clientId: expect.stringMatching(/./) }) as never);
    expect(greetings[0]?.clientId).not.toBe(greetings[1]?.clientId);
  });

  test("other events are for all listeners, also without a token", async () => {
    const [anonymous, user] = await Promise.all([server.connect(), server.connect(bob.accessToken)]);
    for (const client of [anonymous, user]) {
      await client.subscribe("auth.register");
      await client.subscribe("auth.login");
      await client.subscribe("auth.logout");
      await client.subscribe("storage.uploaded");
      await client.subscribe("storage.deleted");
      await client.subscribe("system.collection.created");
    }
    const cy = await server.register("cy@example.com");
    const file = await service.storage.store(system, async () => ({ filename: "a.txt", visibility: "protected" }));
    await service.storage.delete(file.id, system);
    const definition = parseDefinition({ name: "late", fields: [field] });
    await migrate(service, { define: [definition], drop: [] });
    await server.request("POST", "/api/auth/logout", { token: cy.accessToken });
    const payload = { userId: cy.user.id, role: "authenticated" };
    const events = await user.events();
    expect(events.map((event) => [event.type, event.source, event.payload])).toEqual([
      ["auth.register", "auth", payload],
      ["storage.uploaded", "storage", { ...file, filename: null, url: null }],
      ["storage.deleted", "storage", { id: file.id, userId: null }],
      ["system.collection.created", "collections", { name: "late" }],
      ["auth.logout", "auth", payload],
    ]);
    expect(await anonymous.events()).toEqual(events);
  });

  test("a user whose role is public counts as signed in", async () => {
    const dora = await server.register("dora@example.com");
    await setRole(service, dora.user.id, "public");
    const client = await server.connect(dora.accessToken);
    await client.subscribe("members.created");
    await client.subscribe("owners.created");
    await create("members");
    await create("owners", dora.accessToken);
    expect(await client.types()).toEqual(["members.created", "owners.created"]);
  });
});

describe("while connected", () => {
  test("a role that changes counts from that moment, in both directions", async () => {
    const eve = await server.register("eve@example.com");
    const client = await server.connect(eve.accessToken);
    await client.subscribe("admins.created");
    await create("admins");
    await setRole(service, eve.user.id, "admin");
    await create("admins");
    await create("owners");
    expect(await client.types()).toEqual(["admins.created"]);
    await setRole(service, eve.user.id, "authenticated");
    await create("admins");
    expect(await client.types()).toEqual(["admins.created"]);
  });

  test("a session that ends takes its sockets along, and no others", async () => {
    const fay = await server.register("fay@example.com");
    const again = await server.login("fay@example.com");
    const [first, second] = await Promise.all([server.connect(fay.accessToken), server.connect(again.accessToken)]);
    await first.subscribe("notes.created");
    await second.subscribe("notes.created");
    await server.request("POST", "/api/auth/logout", { token: fay.accessToken });
    await until(() => first.closed !== null);
    expect(first.closed?.code).toBe(4401);
    expect(first.frames.at(-1)).toMatchObject({ type: "error", code: "token_expired" });
    await create("notes");
    expect(await second.types()).toEqual(["notes.created"]);
    expect(first.frames.filter(({ type }) => type === "event")).toEqual([]);
  });

  test("a token that expires ends the socket in its second", async () => {
    const short = await openServer({ collections, settings: { SERVICE_AUTH_ACCESS_TOKEN_TTL: "2s" } });
    const gil = await short.register("gil@example.com");
    const client = await short.connect(gil.accessToken);
    await until(() => client.closed !== null);
    expect(client.closed).toEqual({ code: 4401, reason: "token_expired" });
    expect(client.frames).toEqual([expect.objectContaining({ type: "error", code: "token_expired" })]);
    await expect(short.connect(gil.accessToken)).rejects.toThrow();
  });
});
