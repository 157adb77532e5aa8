/** Sockets of API keys: the channels and filters that the scopes open, the audience of events, and the end of the socket with the key. */
import { describe, expect, test } from "bun:test";
import { makeKey } from "../../../test/keys.ts";
import { setRole } from "../../../test/kit.ts";
import { openServer, type TestSocket, until } from "../../../test/sockets.ts";

const field = { name: "text", type: "string" };
const server = await openServer({
  collections: [
    { name: "posts", fields: [field], permissions: { read: "authenticated", create: "public" } },
    { name: "notes", fields: [field], permissions: { read: "public" } },
    { name: "own", fields: [field], permissions: { read: "owner", create: "public" } },
    { name: "secrets", fields: [field], permissions: { read: "admin", create: "public" } },
    {
      name: "comments",
      fields: [field, { name: "post", type: "relation", collection: "posts", anyTarget: true }],
      permissions: { read: "public" },
    },
    {
      name: "byRule",
      fields: [field],
      permissions: { read: '@user.role = "authenticated" && @user.id = null', create: "public" },
    },
  ],
  settings: { SERVICE_LIMITS_KEYS_PER_USER: "100" },
});
const { service } = server;
const admin = await server.admin();
const ann = await server.register("ann@example.com");

async function connect(...scopes: string[]): Promise<TestSocket> {
  return server.connect((await makeKey(server, { token: ann.accessToken, scopes })).key);
}

async function connectService(...scopes: string[]): Promise<TestSocket> {
  return server.connect((await makeKey(server, { token: admin, scopes, isOfService: true })).key);
}

async function create(collection: string, token?: string): Promise<string> {
  const sent = { body: { text: "x" }, ...(token !== undefined && { token }) };
  return String((await server.request("POST", `/api/${collection}`, sent)).body["id"]);
}

describe("a channel", () => {
  test("needs the read scope of its first word, live and with since", async () => {
    const start = (await service.events.read(0, 10_000)).at(-1)?.id ?? "";
    const socket = await connect("posts:read", "notes:write");
    await socket.subscribe("posts.created");
    for (const channel of [
      "notes.created",
      "notes.*",
      "posts2.created",
      "auth.login",
      "storage.uploaded",
      "job.started",
    ])
      for (const since of [undefined, start])
        expect(await socket.ask({ action: "subscribe", channel, ...(since && { since }) })).toMatchObject({
          type: "error",
          code: "invalid_channel",
          message: expect.stringContaining(`${channel.split(".")[0]}:read`),
        });
    await create("notes");
    await create("posts");
    await server.login("ann@example.com");
    expect(await socket.types()).toEqual(["posts.created"]);
    const replayed = await connect("posts:read");
    await replayed.subscribe("posts.*", start);
    expect(await replayed.types()).toEqual(["posts.created"]);
  });

  test("the service is open with *:read", async () => {
    const socket = await connect("*:read");
    await socket.subscribe("auth.login");
    await server.login("ann@example.com");
    expect(await socket.types()).toEqual(["auth.login"]);
  });

  test("brings the owner's records to the owner's key, and admin's events to no key without the scope", async () => {
    const socket = await connect("*:read");
    const root = await server.connect((await makeKey(server, { token: admin, scopes: ["*:read"] })).key);
    for (const each of [socket, root]) for (const name of ["own", "secrets"]) await each.subscribe(`${name}.created`);
    await create("own", ann.accessToken);
    await create("own");
    await create("secrets");
    expect(await socket.types()).toEqual(["own.created"]);
    expect(await root.types()).toEqual([]);
    const full = await server.connect((await makeKey(server, { token: admin, scopes: ["admin"] })).key);
    await full.subscribe("secrets.created");
    await create("secrets");
    expect(await full.types()).toEqual(["secrets.created"]);
  });

  test("brings no record without an owner to a service key, live or replayed", async () => {
    const start = (await service.events.read(0, 10_000)).at(-1)?.id ?? "";
    const socket = await connectService("*:read");
    for (const name of ["own", "posts", "byRule"]) await socket.subscribe(`${name}.created`);
    const gone = await create("own");
    await server.request("DELETE", `/api/own/${gone}`, { token: admin });
    await create("own");
    await create("own", ann.accessToken);
    await create("posts");
    await create("byRule");
    expect(await socket.types()).toEqual(["posts.created", "byRule.created"]);
    const replayed = await connectService("*:read");
    for (const name of ["own", "posts", "byRule"]) await replayed.subscribe(`${name}.*`, start);
    expect((await replayed.types()).sort()).toEqual(["byRule.created", "posts.created"]);
    const user = await connect("*:read");
    await user.subscribe("byRule.created");
    await create("byRule");
    expect(await user.types()).toEqual([]);
  });
});

test("a filter reaches only collections of the scopes, also beside the owner's session with the same filter", async () => {
  const filter = 'post.text = "x"';
  const [narrow, wide] = [await connect("comments:read"), await connect("comments:read", "posts:read")];
  const session = await server.connect(ann.accessToken);
  const frame = { action: "subscribe", channel: "comments.created", id: "a", filter };
  expect((await session.ask(frame)).type).toBe("subscribed");
  expect(await narrow.ask(frame)).toMatchObject({ type: "error", code: "invalid_filter" });
  expect((await wide.ask(frame)).type).toBe("subscribed");
  const post = await create("posts");
  await server.request("POST", "/api/comments", { body: { text: "y", post }, token: ann.accessToken });
  await until(() => wide.frames.some(({ type }) => type === "event"));
  expect([await session.types(), await wide.types(), await narrow.types()]).toEqual([
    ["comments.created"],
    ["comments.created"],
    [],
  ]);
});

describe("a socket ends", () => {
  test("with the key, at the commit, and no other socket of the owner", async () => {
    const { key, id } = await makeKey(server, { token: ann.accessToken, scopes: ["notes:read"] });
    const [socket, other] = [await server.connect(key), await connect("notes:read")];
    for (const each of [socket, other]) await each.subscribe("notes.created");
    await server.request("DELETE", `/api/auth/keys/${id}`, { token: ann.accessToken });
    await create("notes");
    await until(() => socket.closed !== null);
    expect(socket.closed?.code).toBe(4401);
    expect(socket.frames.at(-1)).toMatchObject({ type: "error", code: "token_expired" });
    expect(socket.frames.filter(({ type }) => type === "event")).toEqual([]);
    expect(await other.types()).toEqual(["notes.created"]);
    await expect(server.connect(key)).rejects.toThrow("not opened");
  });

  test("when the key expires", async () => {
    const expiresAt = new Date(Date.now() + 4_000).toISOString();
    const { key, id } = await makeKey(server, { token: ann.accessToken, scopes: ["notes:read"], expiresAt });
    const socket = await server.connect(key);
    await until(() => socket.closed !== null);
    expect(socket.closed).toEqual({ code: 4401, reason: "token_expired" });
    // The socket has not waited for the sweep.
    expect(service.database.reader.all("SELECT id FROM _keys WHERE id = ?", id)).toHaveLength(1);
  });

  test("with the owner, and when a role of the owner changes the rights of the key", async () => {
    const bea = await server.register("bea@example.com");
    await setRole(service, bea.user.id, "admin");
    const make = async (scopes: string[]): Promise<TestSocket> =>
      server.connect((await makeKey(server, { token: bea.accessToken, scopes })).key);
    const [full, plain] = [await make(["admin"]), await make(["notes:read"])];
    await full.subscribe("secrets.created");
    await plain.subscribe("notes.created");
    await setRole(service, bea.user.id, "authenticated");
    await create("secrets");
    await create("notes");
    await until(() => full.closed !== null);
    expect(full.frames.filter(({ type }) => type === "event")).toEqual([]);
    // The other key acts as before.
    expect(await plain.types()).toEqual(["notes.created"]);
    await server.request("DELETE", `/api/admin/users/${bea.user.id}`, { token: admin });
    await until(() => plain.closed !== null);
    expect(plain.closed?.code).toBe(4401);
  });
});
