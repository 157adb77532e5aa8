/** Live streams of the log and of events, and the list of the log. */
import { beforeAll, describe, expect, test } from "bun:test";
import type { EventEntry, LogEntry, Page } from "@socle/protocol";
import { makeKey } from "../../../test/keys.ts";
import { openServer, until } from "../../../test/sockets.ts";

const server = await openServer({ collections: [{ name: "notes", fields: [{ name: "text", type: "text" }] }] });
const { request, register, parts } = server;
const token = await server.admin();

/** Reads a stream to the end. */
async function listenTo<T>(path: string, given: string) {
  const response = await fetch(`${server.url}/api/admin/${path}`, { headers: { Authorization: `Bearer ${given}` } });
  const heard: T[] = [];
  const state = { status: response.status, headers: response.headers, heard, isOver: false };
  let rest = "";
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      const events = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) if (event.startsWith("data: ")) heard.push(JSON.parse(event.slice(6)));
    }
  };
  // The end of the tests breaks the stream off.
  void read()
    .catch(() => undefined)
    .then(() => {
      state.isOver = true;
    });
  return state;
}

const listen = (given: string, query = "") => listenTo<LogEntry>(`logs/stream${query}`, given);
const listenToEvents = (given: string) => listenTo<EventEntry>("events/stream", given);

async function adminWith(email: string): Promise<{ id: string; given: string }> {
  const { user, accessToken } = await register(email);
  await request("PATCH", `/api/admin/users/${user.id}`, { token, body: { role: "admin" } });
  return { id: user.id, given: accessToken };
}

test("the list: the newest entries of the chosen levels, oldest first, in pages", async () => {
  const list = async (query: string) => {
    const { body } = await request<Page<LogEntry>>("GET", `/api/admin/logs?${query}`, { token });
    return [body.items.map(({ level, message }) => `${level} ${message}`), body.total, body.limit, body.offset];
  };
  for (let n = 0; n < 3; n++) {
    parts.logger.warn(`warned ${n}`);
    parts.logger.error(`failed ${n}`);
  }
  expect(await list("level=WARN,ERROR&limit=3")).toEqual([
    ["ERROR failed 1", "WARN warned 2", "ERROR failed 2"],
    6,
    3,
    0,
  ]);
  expect(await list("level=ERROR&limit=1&offset=1")).toEqual([["ERROR failed 1"], 3, 1, 1]);
  expect(await list("level=WARN&offset=9")).toEqual([[], 3, 100, 9]);
  for (const bad of ["level=LOUD", "level=", "level=WARN,", "limit=x", "offset=-1"])
    expect([bad, (await request("GET", `/api/admin/logs?${bad}`, { token })).status]).toEqual([bad, 400]);
});

describe("a search in the list", () => {
  beforeAll(() => {
    parts.logger.info("The Post office", { requestId: "req-77", n: 42 });
    parts.logger.for("mailer").warn("Sent", { to: { name: "Zoë" }, error: new Error("refused by relay") });
  });
  test.each<[query: string, messages: string[]]>([
    ["search=post%20OFF", ["The Post office"]],
    ["search=MAILER", ["Sent"]],
    ["search=eq-7", ["The Post office"]],
    ["search=%22n%22:42", ["The Post office"]],
    ["search=zo%C3%8B", ["Sent"]],
    ["search=by%20RELAY", ["Sent"]],
    ["search=by%20relay&level=INFO", []],
    ["search=Post&limit=0", []],
    ["search=nowhere", []],
    [`search=${"x".repeat(200)}`, []],
  ])("%s", async (query, messages) => {
    const { status, body } = await request<Page<LogEntry>>("GET", `/api/admin/logs?${query}`, { token });
    expect([status, body.items.map(({ message }) => message)]).toEqual([200, messages]);
  });

  test("beyond 200 characters is refused; an empty search counts as absent", async () => {
    const { status, body } = await request("GET", `/api/admin/logs?search=${"x".repeat(201)}`, { token });
    expect([status, String(body["error"]?.["message"])]).toEqual([
      400,
      '"search" must be at most 200 characters, not 201.',
    ]);
    const all = await request("GET", "/api/admin/logs", { token });
    expect((await request("GET", "/api/admin/logs?search=", { token })).body["total"]).toEqual(all.body["total"]);
  });
});

test("entries are sent as logged, of the chosen levels", async () => {
  const all = await listen(token);
  const some = await listen(token, "?level=warn,ERROR");
  parts.logger.info("one", { requestId: "r-1", n: 1, big: 2n });
  parts.logger.error("two\nlines", { error: new Error("why") });
  await until(() => some.heard.length === 1 && all.heard.length === 2);
  expect(all.heard[0]).toMatchObject({ level: "INFO", message: "one", requestId: "r-1", fields: { n: 1, big: "2" } });
  expect(some.heard).toMatchObject([{ level: "ERROR", message: "two\nlines", fields: { error: { message: "why" } } }]);
  expect((await request("GET", "/api/admin/logs/stream?level=LOUD", { token })).status).toBe(400);
});

test("a stream ends with the session, the role and the user, and receives nothing afterwards", async () => {
  const [out, demoted, deleted] = [
    await adminWith("out@example.com"),
    await adminWith("demoted@example.com"),
    await adminWith("deleted@example.com"),
  ];
  const given = [out, demoted, deleted].map((each) => each.given);
  const streams = await Promise.all(given.map((each) => listen(each)));
  const ofEvents = await Promise.all(given.map(listenToEvents));
  const stays = await listen(token);
  await request("POST", "/api/auth/logout", { token: out.given });
  await request("PATCH", `/api/admin/users/${demoted.id}`, { token, body: { role: "authenticated" } });
  await request("DELETE", `/api/admin/users/${deleted.id}`, { token });
  await until(() => [...streams, ...ofEvents].every(({ isOver }) => isOver));
  parts.logger.warn("after");
  await until(() => stays.heard.some(({ message }) => message === "after"));
  expect(stays.isOver).toBe(false);
  for (const { heard } of streams) expect(heard.map(({ message }) => message)).not.toContain("after");
  await request("POST", "/api/notes", { body: { text: "after" } });
  for (const { heard } of ofEvents) expect(heard.map(({ type }) => type)).not.toContain("notes.created");
});

test("a stream of an admin's key ends with the key, and with the scope of the owner", async () => {
  const [owner, demoted] = [await adminWith("owner@example.com"), await adminWith("owner2@example.com")];
  const keys = [
    await makeKey(server, { token: owner.given, scopes: ["admin"] }),
    await makeKey(server, { token: demoted.given, scopes: ["admin"] }),
    await makeKey(server, { token: owner.given, scopes: ["admin"] }),
  ];
  const streams = await Promise.all(keys.map(({ key }) => listen(key)));
  await request("DELETE", `/api/auth/keys/${keys[0]?.id}`, { token: owner.given });
  await request("PATCH", `/api/admin/users/${demoted.id}`, { token, body: { role: "authenticated" } });
  await until(() => streams.slice(0, 2).every(({ isOver }) => isOver));
  parts.logger.warn("after the keys");
  await until(() => streams[2]?.heard.some(({ message }) => message === "after the keys") === true);
  for (const { heard } of streams.slice(0, 2))
    expect(heard.map(({ message }) => message)).not.toContain("after the keys");
});

test("events are sent as stored, of all types, also of the audit, with the causing user", async () => {
  await request("POST", "/api/notes", { body: { text: "before" } });
  const { user, accessToken } = await register("writer@example.com");
  const stream = await listenToEvents(token);
  expect([stream.status, stream.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  const created = await request("POST", "/api/notes", { body: { text: "a\nb\r\n\u2028" }, token: accessToken });
  await request("PATCH", `/api/admin/users/${user.id}`, { token, body: { role: "public" } });
  await request("DELETE", `/api/notes/${String(created.body["id"])}`, { token });
  await until(() => stream.heard.length === 3);
  expect(stream.heard.map(({ type, source, actor }) => [type, source, actor === user.id])).toEqual([
    ["notes.created", "collections", true],
    ["admin.user.updated", "admin", false],
    ["notes.deleted", "collections", false],
  ]);
  const { body } = await request<Page<EventEntry>>("GET", "/api/admin/events?limit=3", { token });
  expect(stream.heard).toEqual(body.items.reverse());
});

test("a caller without the right opens no stream", async () => {
  const { accessToken } = await register("member@example.com");
  for (const path of ["logs/stream", "events/stream"]) {
    expect((await listenTo(path, accessToken)).status).toBe(403);
    expect((await listenTo(path, "nonsense")).status).toBe(401);
  }
});

test("a client that reads nothing is cut off, and others go on", async () => {
  const url = new URL(server.url);
  const ended = Promise.withResolvers<void>();
  let received = 0;
  const socket = await Bun.connect({
    hostname: url.hostname,
    port: Number(url.port),
    socket: {
      data(connection, bytes) {
        // From the first answer on nothing is read, for a while.
        if (received === 0) connection.pause();
        received += bytes.byteLength;
        // The last piece of an answer in pieces.
        if (bytes.toString().endsWith("\r\n0\r\n\r\n")) ended.resolve();
      },
    },
  });
  socket.write(`GET /api/admin/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await until(() => received > 0);
  const quick = await listenToEvents(token);
  const text = "x".repeat(500_000);
  for (let n = 0; n < 40; n++) {
    await request("POST", "/api/notes", { body: { text } });
    await until(() => quick.heard.length === n + 1);
  }
  expect(quick.isOver).toBe(false);
  socket.resume();
  await ended.promise;
  // The client has got a part of the 20 MB: the bytes waiting in the stream and on the way.
  expect(received).toBeLessThan(12e6);
  socket.end();
});

test("open streams have a bound, and the end of a stream frees a place", async () => {
  const controller = new AbortController();
  // A response that nothing refers to is collected, and the stream ends.
  const responses: Response[] = [];
  const open = async (method = "GET", signal = controller.signal): Promise<number> => {
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(`${server.url}/api/admin/events/stream`, { method, headers, signal });
    responses.push(response);
    return response.status;
  };
  // The streams of the tests before are open, too.
  let opened = 0;
  while ((await open()) === 200) opened += 1;
  expect(opened).toBeGreaterThan(30);
  expect([opened <= 64, await open()]).toEqual([true, 503]);
  expect((await request("GET", "/metrics", { token })).status).toBe(200);
  controller.abort();
  while ((await open("GET", new AbortController().signal)) !== 200) await Bun.sleep(1);
  // HEAD opens no stream.
  for (let n = 0; n < 70; n++) expect(await open("HEAD", new AbortController().signal)).toBe(200);
  expect(responses.length).toBeGreaterThan(opened + 70);
});
