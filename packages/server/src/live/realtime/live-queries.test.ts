/** Live queries: the window is what a request with the same parameters answers, after each change, for each caller. */
import { describe, expect, test } from "bun:test";
import { LiveClient } from "../../../test/live-client.ts";
import { openServer, until } from "../../../test/sockets.ts";

const server = await openServer({
  collections: [
    {
      name: "teams",
      fields: [{ name: "name", type: "string" }],
      permissions: { read: "members(team)[user = @user.id]", create: "admin" },
    },
    {
      name: "members",
      fields: [
        { name: "team", type: "relation", collection: "teams", required: true, anyTarget: true },
        { name: "user", type: "relation", collection: "users", required: true },
      ],
      permissions: { read: "authenticated", create: "admin" },
    },
    {
      name: "notes",
      fields: [
        { name: "title", type: "string" },
        { name: "n", type: "integer" },
        { name: "team", type: "relation", collection: "teams", anyTarget: true },
      ],
      search: ["title"],
    },
    {
      name: "vaults",
      fields: [
        { name: "n", type: "integer" },
        { name: "secret", type: "string", permissions: { read: "admin" } },
      ],
      permissions: { read: "authenticated", create: "admin" },
    },
    {
      name: "diaries",
      fields: [{ name: "text", type: "string" }],
      permissions: { read: "owner", create: "authenticated" },
    },
  ],
});
const { request, service } = server;
const admin = await server.admin();

const create = async (collection: string, body: object, token = admin): Promise<string> =>
  String((await request("POST", `/api/${collection}`, { token, body })).body["id"]);

/** The answer of a request with the parameters of a live query. */
async function answerOf(query: { readonly [name: string]: string | number }, token?: string): Promise<unknown> {
  const { collection, ...parameters } = query;
  const search = new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const { body } = await request("GET", `/api/${collection}?${search}`, token === undefined ? {} : { token });
  return body["items"];
}

async function agrees(client: LiveClient, query: { readonly [name: string]: string | number }, token?: string) {
  const end = performance.now() + 60_000;
  for (;;) {
    client.follow();
    const expected = await answerOf(query, token);
    if (Bun.deepEquals(client.items, expected)) return;
    if (performance.now() > end) expect(client.items as unknown).toEqual(expected);
    await Bun.sleep(5);
  }
}

describe("a live query", () => {
  test("brings the window, and each change of the window, with the order and the changed records alone", async () => {
    const query = { collection: "notes", filter: 'title ~ "live"', sort: "-n", limit: 2 };
    const first = await create("notes", { title: "live 1", n: 1 });
    const client = new LiveClient(server, query);
    const socket = await server.connect();
    socket.send({ action: "subscribe", id: "q", query });
    await until(() => socket.frames.length >= 2);
    expect(socket.frames[0]).toEqual({ type: "subscribed", id: "q" });
    expect(socket.frames[1]).toMatchObject({ type: "result", id: "q", items: [{ id: first, n: 1 }], nextCursor: null });
    const second = await create("notes", { title: "live 2", n: 2 });
    await until(() => socket.frames.length >= 3);
    expect(socket.frames[2]).toMatchObject({
      type: "change",
      id: "q",
      order: [second, first],
      items: [{ id: second }],
    });
    const third = await create("notes", { title: "live 3", n: 3 });
    await until(() => socket.frames.length >= 4);
    expect(socket.frames[3]).toMatchObject({ type: "change", order: [third, second], items: [{ id: third }] });
    expect(typeof Reflect.get(socket.frames[3] ?? {}, "nextCursor")).toBe("string");
    // A change outside of the window changes nothing but the end of the window.
    await request("DELETE", `/api/notes/${first}`, { token: admin });
    await until(() => socket.frames.length >= 5);
    expect(socket.frames[4]).toMatchObject({ type: "change", order: [third, second], items: [], nextCursor: null });
    await create("notes", { title: "other", n: 9 });
    socket.send({ action: "unsubscribe", id: "q" });
    await until(() => socket.frames.some(({ type }) => type === "unsubscribed"));
    await create("notes", { title: "live 4", n: 4 });
    await client.connect(undefined);
    await agrees(client, query);
    expect(socket.frames.filter(({ type }) => type === "change")).toHaveLength(3);
  });

  test("a right by membership that comes and goes fills and empties the window", async () => {
    const { user, accessToken } = await server.register("member@example.com");
    const team = await create("teams", { name: "red" });
    const query = { collection: "teams", sort: "name" };
    const client = new LiveClient(server, query);
    await client.connect(accessToken);
    expect(client.items).toEqual([]);
    const member = await create("members", { team, user: user.id });
    await agrees(client, query, accessToken);
    expect(client.items).toHaveLength(1);
    await request("DELETE", `/api/members/${member}`, { token: admin });
    await agrees(client, query, accessToken);
    expect(client.items).toEqual([]);
  });

  test("a query of own records receives only the own changes", async () => {
    const [ann, bob] = [await server.register("own-a@example.com"), await server.register("own-b@example.com")];
    const query = { collection: "diaries", sort: "createdAt" };
    const client = new LiveClient(server, query);
    await client.connect(ann.accessToken);
    await create("diaries", { text: "b" }, bob.accessToken);
    await create("diaries", { text: "a" }, ann.accessToken);
    await agrees(client, query, ann.accessToken);
    expect([client.items.length, client.frames]).toEqual([1, 2]);
  });

  test("a role that changes, and a rule that changes, change the window; a dropped collection ends the query", async () => {
    await request("POST", "/api/admin/collections", {
      token: admin,
      body: { name: "secrets", fields: [{ name: "title", type: "string" }], permissions: { read: "admin" } },
    });
    await create("secrets", { title: "one" });
    const { user, accessToken } = await server.register("riser@example.com");
    const query = { collection: "secrets", sort: "title" };
    const client = new LiveClient(server, query);
    await client.connect(accessToken);
    expect(client.error).toMatch(/^forbidden/);
    await request("PATCH", `/api/admin/users/${user.id}`, { token: admin, body: { role: "admin" } });
    await client.connect(accessToken);
    expect(client.items).toHaveLength(1);
    await request("PATCH", `/api/admin/users/${user.id}`, { token: admin, body: { role: "authenticated" } });
    await until(() => {
      client.follow();
      return client.items.length === 0;
    });
    const rule = { permissions: { read: "public" } };
    expect((await request("PUT", "/api/admin/collections/secrets", { token: admin, body: rule })).status).toBe(200);
    await agrees(client, query, accessToken);
    expect(client.items).toHaveLength(1);
    expect((await request("DELETE", "/api/admin/collections/secrets", { token: admin })).status).toBe(204);
    await until(() => {
      client.follow();
      return client.error !== null;
    });
    expect(client.error).toMatch(/^invalid_query/);
  });

  test("resumes with the order alone if nothing has changed, and with the whole window otherwise", async () => {
    const query = { collection: "notes", filter: "n > 100", sort: "n" };
    const id = await create("notes", { title: "r", n: 101 });
    const client = new LiveClient(server, query);
    await client.connect(undefined);
    client.break();
    const socket = await server.connect();
    socket.send({ action: "subscribe", id: "r", query, since: client.seq });
    await until(() => socket.frames.length >= 2);
    expect(socket.frames[1]).toMatchObject({ type: "change", order: [id], items: [] });
    await create("notes", { title: "r", n: 102 });
    await until(() => socket.frames.length >= 3);
    const late = await server.connect();
    late.send({ action: "subscribe", id: "r", query, since: client.seq });
    await until(() => late.frames.length >= 2);
    expect(late.frames[1]).toMatchObject({ type: "result", items: [{ n: 101 }, { n: 102 }] });
  });

  test("does not resume the window of another role: after a change of the role, the whole window comes", async () => {
    const query = { collection: "vaults", sort: "n" };
    const { accessToken, user } = await server.register("promoted@example.com");
    const setRole = (role: string) => request("PATCH", `/api/admin/users/${user.id}`, { token: admin, body: { role } });
    await create("vaults", { n: 1, secret: "s" });
    // The windows of both roles are known, and stay the same.
    const boss = new LiveClient(server, query);
    const other = await server.register("other@example.com");
    const stays = new LiveClient(server, query);
    await boss.connect(admin);
    await stays.connect(other.accessToken);
    const client = new LiveClient(server, query);
    await client.connect(accessToken);
    expect(client.items).toMatchObject([{ n: 1 }]);
    expect(client.items[0]).not.toHaveProperty("secret");
    for (const role of ["admin", "authenticated", "admin"]) {
      client.break();
      expect((await setRole(role)).status).toBe(200);
      await client.connect(accessToken);
      await agrees(client, query, accessToken);
      expect("secret" in (client.items[0] ?? {})).toBe(role === "admin");
    }
  });

  test.each([
    [{ collection: "notes", filter: "nope = 1" }, "invalid_query"],
    [{ collection: "absent" }, "invalid_query"],
    [{ collection: "notes", limit: 5_000 }, "invalid_query"],
    [{ collection: "notes", offset: 5 }, "invalid_query"],
    [{ collection: "notes", filter: 5.5 }, "invalid_query"],
    [{ collection: "diaries" }, "forbidden"],
    [[], "invalid_query"],
  ])("%j is refused: %s", async (query, code) => {
    const socket = await server.connect();
    socket.send({ action: "subscribe", id: "q", query });
    await until(() => socket.frames.length > 0);
    expect(socket.frames[0]).toMatchObject({ type: "error", id: "q", code });
    await create("notes", { title: "x" });
    expect(socket.frames).toHaveLength(1);
  });

  test("a filter of more than 4 KiB is refused, which a list takes", async () => {
    const filter = `n in (${Array.from({ length: 1_200 }, (_, i) => i).join(", ")})`;
    expect(filter.length).toBeGreaterThan(4_096);
    expect((await request("POST", "/api/notes/query", { body: { filter } })).status).toBe(200);
    const socket = await server.connect();
    socket.send({ action: "subscribe", id: "q", query: { collection: "notes", filter } });
    await until(() => socket.frames.length > 0);
    expect(socket.frames[0]).toMatchObject({ type: "error", id: "q", code: "invalid_query" });
    expect(JSON.stringify(socket.frames[0])).toContain("at most 4096 are allowed");
  });

  test("counts as a single subscription of the 50 of a socket", async () => {
    const socket = await server.connect();
    const query = { collection: "notes", limit: 1 };
    for (let i = 0; i < 51; i++) socket.send({ action: "subscribe", id: `q${i}`, query });
    await until(() => socket.frames.some(({ type }) => type === "error"));
    expect(socket.frames.find(({ type }) => type === "error")).toMatchObject({ code: "subscription_limit", id: "q50" });
    socket.send({ action: "unsubscribe", id: "q0" });
    socket.send({ action: "subscribe", id: "q51", query });
    await until(() => socket.frames.some((frame) => frame.type === "subscribed" && frame.id === "q51"));
  });

  test("sends the position after a write of the own user that changed nothing in the window", async () => {
    const { accessToken } = await server.register("writer@example.com");
    const client = new LiveClient(server, { collection: "notes", filter: "n = -5" });
    await client.connect(accessToken);
    const { headers } = await request("POST", "/api/notes", { token: accessToken, body: { title: "elsewhere" } });
    const position = Number(headers.get("socle-position"));
    expect(position).toBe(service.events.flushedSeq);
    await until(() => {
      client.follow();
      return (client.seq ?? 0) >= position;
    });
    expect([client.items, client.frames]).toEqual([[], 1]);
  });
});
