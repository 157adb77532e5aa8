/** Undos over HTTP: what is named, what an undo would do, the progress, and what is left. */
import { expect, test } from "bun:test";
import type { EventEntry, UndoPreview, UndoState } from "@socle/protocol";
import { openApi } from "../../../test/kit.ts";
import { listen, until } from "../../../test/sockets.ts";

const api = await openApi({
  collections: [
    {
      name: "posts",
      fields: [
        { name: "title", type: "string", unique: true },
        { name: "n", type: "integer" },
        { name: "by", type: "relation", collection: "users", onDelete: "clear" },
        { name: "next", type: "relation", collection: "posts", onDelete: "cascade" },
      ],
      permissions: { read: "public", create: "authenticated", update: "authenticated", delete: "authenticated" },
    },
  ],
  settings: { SERVICE_LIMITS_UNDO: "3000" },
});
const { undos } = api.service;
const running = new AbortController();
undos.start(running.signal);
const token = await api.admin();
const ann = await api.register("ann@example.com");
const own = { token: ann.accessToken };

interface Made {
  readonly id: string;
  /** The id of the request. */
  readonly request: string;
}

async function make(title: string): Promise<Made> {
  const { status, body, headers } = await api.request("POST", "/api/posts", { body: { title, n: 1 }, ...own });
  expect(status).toBe(201);
  return { id: String(body["id"]), request: headers.get("x-request-id") ?? "" };
}

async function change(id: string, body: object): Promise<string> {
  const { status, headers } = await api.request("PUT", `/api/posts/${id}`, { body, ...own });
  expect(status).toBe(200);
  return headers.get("x-request-id") ?? "";
}

async function titles(): Promise<unknown[]> {
  const { body } = await api.request("GET", "/api/posts?limit=200&sort=title");
  return (body["items"] as unknown as { title: string }[]).map(({ title }) => title);
}

/** Undoes, and answers the state at the end. */
async function undo(selection: object): Promise<UndoState> {
  const { status, body } = await api.request<{ id: string }>("POST", "/api/admin/undo", { body: selection, token });
  expect(status).toBe(202);
  let state: UndoState | null = null;
  for (const end = performance.now() + 60_000; state?.status !== "completed"; await Bun.sleep(5)) {
    state = (await api.request<UndoState>("GET", `/api/admin/undo/${body.id}`, { token })).body;
    if (state.status === "failed" || performance.now() > end) throw new Error(JSON.stringify(state));
  }
  return state;
}

test("undo of a batch exchanges unique values, and leaves the value of another record", async () => {
  const [a, b, c] = [await make("swap a"), await make("swap b"), await make("swap c")];
  const ring = async (...titled: [string, string][]): Promise<string> => {
    const operations = titled.map(([id, title]) => ({ method: "update", collection: "posts", id, body: { title } }));
    const { status, headers } = await api.request("POST", "/api/batch", { body: { operations }, ...own });
    expect(status).toBe(200);
    return headers.get("x-request-id") ?? "";
  };
  const titleOf = async ({ id }: Made): Promise<unknown> =>
    (await api.request("GET", `/api/posts/${id}`)).body["title"];
  const request = await ring([a.id, "swap b"], [b.id, "swap c"], [c.id, "swap a"]);
  const dry = await api.request<UndoPreview>("POST", "/api/admin/undo?dryRun=true", { body: { request }, token });
  expect(dry.body).toMatchObject({ effects: [{ changed: 3 }], left: [] });
  expect(await titleOf(a)).toBe("swap b");
  expect(await undo({ request })).toMatchObject({ done: 3, left: [] });
  expect([await titleOf(a), await titleOf(b), await titleOf(c)]).toEqual(["swap a", "swap b", "swap c"]);

  // The title of `c` before the batch is taken meanwhile; `a` and `b` exchange their titles back.
  const second = await ring([a.id, "swap b"], [b.id, "swap a"], [c.id, "swap d"]);
  const { id } = await make("swap c");
  expect(await undo({ batch: second })).toMatchObject({
    done: 2,
    left: [{ record: c.id, reason: "title is taken by another record" }],
  });
  expect([await titleOf(a), await titleOf(b), await titleOf(c)]).toEqual(["swap a", "swap b", "swap d"]);
  for (const each of [a.id, b.id, c.id, id]) await api.request("DELETE", `/api/posts/${each}`, own);
});

test("undo brings back a whole ring of relations, and no part of a broken ring", async () => {
  const [self, a, b] = [await make("self"), await make("ring a"), await make("ring b")];
  for (const [{ id }, next] of [
    [self, self],
    [a, b],
    [b, a],
  ] as const)
    await change(id, { next: next.id });
  const remove = async ({ id }: Made): Promise<string> =>
    (await api.request("DELETE", `/api/posts/${id}`, own)).headers.get("x-request-id") ?? "";
  expect(await undo({ request: await remove(self) })).toMatchObject({ done: 1, left: [] });
  expect(await undo({ request: await remove(a) })).toMatchObject({ done: 2, left: [] });
  const nextOf = async ({ id }: Made): Promise<unknown> => (await api.request("GET", `/api/posts/${id}`)).body["next"];
  expect([await nextOf(self), await nextOf(a), await nextOf(b)]).toEqual([self.id, b.id, a.id]);

  const request = await remove(a);
  const other = await make("ring b");
  expect((await undo({ request })).left.map(({ record }) => record).toSorted()).toEqual([a.id, b.id].toSorted());
  for (const { id } of [self, other]) await api.request("DELETE", `/api/posts/${id}`, own);
});

test("a deleted record with a relation to a user comes back, and stays deleted after the deletion of the user", async () => {
  const bob = await api.register("bob@example.com");
  const { id } = await make("of a user");
  await change(id, { by: bob.user.id });
  const remove = async (): Promise<string> => {
    const { status, headers } = await api.request("DELETE", `/api/posts/${id}`, own);
    expect(status).toBe(204);
    return headers.get("x-request-id") ?? "";
  };
  expect(await undo({ request: await remove() })).toMatchObject({ done: 1, left: [] });
  expect((await api.request<{ by: string }>("GET", `/api/posts/${id}`)).body["by"]).toBe(bob.user.id);
  const request = await remove();
  await api.request("DELETE", `/api/admin/users/${bob.user.id}`, { token });
  expect((await undo({ request })).left).toMatchObject([
    { collection: "posts", record: id, reason: `by names a record that is gone: ${bob.user.id}` },
  ]);
});

test("a request is taken back, and the undo again; a dry run changes nothing", async () => {
  const { connect } = listen(api);
  const socket = await connect();
  await socket.subscribe("posts.*");
  const { id } = await make("first");
  const request = await change(id, { title: "wrong", n: 2 });
  const dry = await api.request<UndoPreview>("POST", "/api/admin/undo?dryRun=true", { body: { request }, token });
  expect([dry.status, dry.body]).toEqual([
    200,
    {
      dryRun: true,
      total: 1,
      tried: 1,
      text: "1 update in posts taken back.",
      effects: [{ collection: "posts", deleted: 0, changed: 1, restored: 0 }],
      left: [],
    },
  ]);
  expect(await titles()).toEqual(["wrong"]);
  const state = await undo({ request });
  expect(state).toMatchObject({ status: "completed", done: 1, total: 1, left: [], error: null });
  expect(await titles()).toEqual(["first"]);
  await until(() => socket.frames.filter(({ type }) => type === "event").length === 3);
  const log = await api.request("GET", "/api/admin/events?type=posts.*&limit=1", { token });
  expect(log.body["items"]?.[0 as never]).toMatchObject({ cause: { kind: "undo", id: state.id } });
  expect((await undo({ undo: state.id })).done).toBe(1);
  expect(await titles()).toEqual(["wrong"]);
  expect((await undo({ request })).left).toMatchObject([]);
  // The undo of the request has nothing to take back any more.
  const again = await undo({ request });
  expect(again).toMatchObject({
    done: 0,
    leftCount: 1,
    left: [{ collection: "posts", record: id, reason: "title was changed since" }],
  });
});

test("all that a user changed since a time is taken back, but not what others changed since", async () => {
  const kept = await make("kept");
  await Bun.sleep(5);
  const since = new Date().toISOString();
  const made = await make("made");
  await change(kept.id, { title: "changed", n: 5 });
  await api.request("PUT", `/api/posts/${kept.id}`, { body: { n: 6 }, token });
  await change(made.id, { n: 9 });
  const state = await undo({ by: ann.user.id, since });
  expect(state).toMatchObject({ done: 2, total: 3, left: [{ record: kept.id, reason: "n was changed since" }] });
  expect(await titles()).toContain("changed");
  expect(await titles()).not.toContain("made");
});

test("an undo of 1,000 changes is a transaction, and a larger undo has transactions of 50; beyond limits.undo, an undo is refused", async () => {
  const before = await titles();
  const lines = (from: number, count: number): string =>
    Array.from({ length: count }, (_, i) => JSON.stringify({ title: `row ${from + i}`, n: i })).join("\n");
  const headers = { "Content-Type": "application/x-ndjson" };
  const send = async (body: string): Promise<string> => {
    const answer = await api.request("POST", "/api/posts/import", { body, token, headers });
    expect([answer.status, answer.body["failed"] ?? 0]).toEqual([200, 0 as never]);
    return String(answer.body["import"]);
  };
  /** The number of transactions of an undo. */
  const transactionsOf = async (id: string): Promise<number> => {
    const waiter = { caller: "test", signal: new AbortController().signal };
    const search = { key: id, before: Number.MAX_SAFE_INTEGER, limit: 3_000 };
    return new Set((await api.service.events.about(search, waiter)).map(({ first }) => first)).size;
  };
  const whole = await undo({ import: await send(lines(0, 1_000)) });
  expect([whole.done, await transactionsOf(whole.id)]).toEqual([1_000, 1]);
  const first = await send(lines(0, 2_500));
  const state = await undo({ import: first });
  expect(state).toMatchObject({ done: 2_500, total: 2_500, leftCount: 0 });
  expect(await transactionsOf(state.id)).toBe(50);
  expect(await titles()).toEqual(before);
  const large = await send(lines(0, 3_001));
  const refused = await api.request("POST", "/api/admin/undo", { body: { import: large }, token });
  expect([refused.status, refused.body["error"]?.["message"]]).toEqual([
    400,
    expect.stringContaining("3000 changes (limits.undo)") as never,
  ]);
});

/** The newest events of the posts. */
async function log(limit: number): Promise<{ items: EventEntry[] }> {
  const path = `/api/admin/events?type=posts.*&limit=${limit}`;
  return (await api.request<{ items: EventEntry[] }>("GET", path, { token })).body;
}

test("the requests of an admin with the id of an import are taken back together; the header of another caller names nothing", async () => {
  const id = `imp_${crypto.randomUUID().replaceAll("-", "")}`;
  const send = (path: string, body: object, caller: object = { token }, name = id) =>
    api.request("POST", path, { body, ...caller, headers: { "Socle-Import": name } });
  const operations = [1, 2].map((n) => ({ method: "create", collection: "posts", body: { title: `part ${n}`, n } }));
  expect((await send("/api/batch", { operations })).status).toBe(200);
  expect((await send("/api/posts", { title: "part 3", n: 3 })).status).toBe(201);
  expect((await send("/api/posts", { title: "of ann", n: 4 }, own)).status).toBe(201);
  for (const wrong of ["imp_1", "x".repeat(40), `imp_${"x".repeat(61)}`]) {
    const refused = await send("/api/posts", { title: "wrong", n: 5 }, { token }, wrong);
    expect([refused.status, refused.body["error"]?.["message"]]).toEqual([
      400,
      expect.stringContaining('Socle-Import must be "imp_"') as never,
    ]);
  }
  const { items } = await log(4);
  expect(items.map(({ cause }) => cause?.kind)).toEqual(["request", "import", "import", "import"]);
  expect(new Set(items.slice(1).map(({ cause }) => cause?.id))).toEqual(new Set([id]));
  expect(await undo({ import: id })).toMatchObject({ done: 3, total: 3, leftCount: 0 });
  expect((await api.request("GET", "/api/posts?filter=title ~ 'part'")).body["items"]).toEqual([] as never);
  expect((await api.request("GET", "/api/posts?filter=title = 'of ann'")).body["items"]).toHaveLength(1);
});

test("the log answers the changed fields of updates and deletions, and of no other event", async () => {
  const { id } = await make("logged");
  await change(id, { n: 2 });
  expect((await api.request("DELETE", `/api/posts/${id}`, { token })).status).toBe(204);
  const { items } = await log(3);
  expect(items.map(({ type, changes }) => [type, changes])).toEqual([
    ["posts.deleted", { title: { before: "logged", after: null }, n: { before: 2, after: null } }],
    ["posts.updated", { n: { before: 1, after: 2 } }],
    ["posts.created", undefined],
  ]);
});

test("only admins undo; a selection that is wrong, empty or of nothing is refused with what is allowed", async () => {
  const ask = async (body: object, caller: object = { token }) => {
    const answer = await api.request("POST", "/api/admin/undo", { body, ...caller });
    return [answer.status, String(answer.body["error"]?.["message"])];
  };
  expect((await ask({ request: "x" }, {}))[0]).toBe(401);
  expect((await ask({ request: "x" }, own))[0]).toBe(403);
  expect(await ask({})).toEqual([400, expect.stringContaining('must name the changes by one of "events"')]);
  expect(await ask({ request: "x", run: "y" })).toEqual([400, expect.stringContaining("one of")]);
  expect(await ask({ requests: "x" })).toEqual([400, expect.stringContaining('"requests" names no changes')]);
  expect(await ask({ events: [] })).toEqual([400, expect.stringContaining('"events" must be an array')]);
  expect(await ask({ events: ["1"] })).toEqual([400, expect.stringContaining('"events" must be an array')]);
  expect(await ask({ by: ann.user.id, since: "yesterday" })).toEqual([400, expect.stringContaining('"since" must be')]);
  expect(await ask({ request: "unknown" })).toEqual([404, expect.stringContaining("no change")]);
  const { id } = await make("no cause");
  expect(await ask({ request: id })).toEqual([404, expect.stringContaining("no change")]);
  expect(await ask({ events: [999_999] })).toEqual([404, expect.stringContaining("no change")]);
  expect((await api.request("GET", "/api/admin/undo/und_1", { token })).status).toBe(404);
  const wrong = await api.request("POST", "/api/admin/undo?dryRun=yes", { body: { request: "x" }, token });
  expect(wrong.status).toBe(400);
});

test("an undo that a stop cuts off goes on at the next start", async () => {
  const { id, request } = await make("cut off");
  running.abort();
  await undos.settled();
  const { body } = await api.request<{ id: string }>("POST", "/api/admin/undo", { body: { request }, token });
  expect(undos.state(body.id).status).toBe("running");
  const later = new AbortController();
  undos.start(later.signal);
  await until(() => undos.state(body.id).status === "completed");
  later.abort();
  await undos.settled();
  expect((await api.request("GET", `/api/posts/${id}`)).status).toBe(404);
});

test("a table of undos that cannot be read stops the undos with a line of the log, and not the service", async () => {
  const broken = await openApi({});
  await broken.service.database.transact((tx) => tx.run("DROP TABLE _undos"));
  broken.service.undos.start(new AbortController().signal);
  await broken.service.undos.settled();
  expect(broken.log.filter((line) => line.startsWith("ERROR"))).toEqual([
    expect.stringContaining("Undos have stopped, and go on at the next start"),
  ]);
});
