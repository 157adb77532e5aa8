import { beforeAll, describe, expect, test } from "bun:test";
import type { LogEntry, Page } from "@socle/protocol";
import { openServer, until } from "../../test/sockets.ts";

const server = await openServer({});
const { request, register, parts } = server;
const token = await server.admin();

/** Reads a stream until it ends. */
async function listen(given: string, query = "") {
  const response = await fetch(`${server.url}/api/admin/logs/stream${query}`, {
    headers: { Authorization: `Bearer ${given}` },
  });
  const heard: LogEntry[] = [];
  const state = { status: response.status, heard, isOver: false };
  let rest = "";
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      const events = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) if (event.startsWith("data: ")) heard.push(JSON.parse(event.slice(6)));
    }
  };
  // The end of the tests breaks it off.
  void read()
    .catch(() => undefined)
    .then(() => {
      state.isOver = true;
    });
  return state;
}

async function adminWith(email: string): Promise<{ id: string; given: string }> {
  const { user, accessToken } = await register(email);
  await request("PATCH", `/api/admin/users/${user.id}`, { token, body: { role: "admin" } });
  return { id: user.id, given: accessToken };
}

test("the list: the newest of the levels that are asked for, oldest first, in pages", async () => {
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

  test("of more than 200 characters is refused; an empty one is none", async () => {
    const { status, body } = await request("GET", `/api/admin/logs?search=${"x".repeat(201)}`, { token });
    expect([status, String(body["error"]?.["message"])]).toEqual([
      400,
      '"search" must be at most 200 characters, not 201.',
    ]);
    const all = await request("GET", "/api/admin/logs", { token });
    expect((await request("GET", "/api/admin/logs?search=", { token })).body["total"]).toEqual(all.body["total"]);
  });
});

test("entries come as they are logged, of the levels that are asked for", async () => {
  const all = await listen(token);
  const some = await listen(token, "?level=warn,ERROR");
  parts.logger.info("one", { requestId: "r-1", n: 1, big: 2n });
  parts.logger.error("two\nlines", { error: new Error("why") });
  await until(() => some.heard.length === 1 && all.heard.length === 2);
  expect(all.heard[0]).toMatchObject({ level: "INFO", message: "one", requestId: "r-1", fields: { n: 1, big: "2" } });
  expect(some.heard).toMatchObject([{ level: "ERROR", message: "two\nlines", fields: { error: { message: "why" } } }]);
  expect((await request("GET", "/api/admin/logs/stream?level=LOUD", { token })).status).toBe(400);
});

test("it ends with the session, the role and the user, and hears nothing afterwards", async () => {
  const [out, demoted, deleted] = [
    await adminWith("out@example.com"),
    await adminWith("demoted@example.com"),
    await adminWith("deleted@example.com"),
  ];
  const streams = await Promise.all([out, demoted, deleted].map(({ given }) => listen(given)));
  const stays = await listen(token);
  await request("POST", "/api/auth/logout", { token: out.given });
  await request("PATCH", `/api/admin/users/${demoted.id}`, { token, body: { role: "authenticated" } });
  await request("DELETE", `/api/admin/users/${deleted.id}`, { token });
  await until(() => streams.every(({ isOver }) => isOver));
  parts.logger.warn("after");
  await until(() => stays.heard.some(({ message }) => message === "after"));
  expect(stays.isOver).toBe(false);
  for (const { heard } of streams) expect(heard.map(({ message }) => message)).not.toContain("after");
});
