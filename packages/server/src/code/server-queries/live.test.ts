/** Live server queries: the values of a subscription, the callers who share a run, the end of a query. */
import { describe, expect, test } from "bun:test";
import { makeKey } from "../../../test/keys.ts";
import { setRole } from "../../../test/kit.ts";
import { openScripts } from "../../../test/scripts.ts";
import { listen, type TestSocket, until } from "../../../test/sockets.ts";

const args = `{ "~standard": { version: 1, vendor: "own", validate: (value) =>
  typeof value.kind === "string" ? { value } : { issues: [{ message: "must be a text", path: ["kind"] }] } } }`;
const open = (handler: string): string => `export default query({ access: "public" }, ${handler});`;
/** Each run is a line of the log. */
const counted = (name: string, handler: string): string =>
  open(`async (context) => { console.log("ran ${name}"); return (${handler})(context); }`);
const opened = await openScripts({
  collections: [
    { name: "notes", fields: [{ name: "kind", type: "string" }] },
    {
      name: "tags",
      fields: [
        { name: "name", type: "string" },
        { name: "note", type: "relation", collection: "notes" },
      ],
    },
    { name: "others", fields: [{ name: "kind", type: "string" }] },
  ],
  files: {
    "queries/count.ts": counted("count", '({ db }) => db.collection("notes").list({ aggregate: "count" })'),
    "queries/kinds.ts": `export default query({ access: "public", args: ${args} }, async ({ db, kind }) => (await db.collection("notes").list({ filter: 'kind = "' + kind + '"' })).length);`,
    "queries/two.ts": counted(
      "two",
      `async ({ db }) => {
      const [note] = await db.collection("notes").list({ filter: 'kind = "leads"' });
      return note === undefined ? "none" : (await db.collection("others").list()).length;
    }`,
    ),
    "queries/related.ts": counted(
      "related",
      `async ({ db }) => (await db.collection("tags").list({ filter: 'note.kind = "deep"', fields: "name" })).map(({ name }) => name)`,
    ),
    "queries/sql.ts": counted("sql", '({ db }) => db.query("SELECT count(*) AS n FROM others")'),
    "queries/users.ts": counted("users", '({ db }) => db.query("SELECT count(*) AS n FROM users")'),
    "queries/found.ts": counted(
      "found",
      'async ({ auth }) => (await auth.users.findByEmail("late@example.com")) !== null',
    ),
    "queries/events.ts": counted(
      "events",
      "({ db }) => db.query(\"SELECT count(*) AS n FROM _events WHERE type = 'storage.uploaded'\")",
    ),
    "queries/mine.ts": `export default query({}, ({ user }) => { console.log("ran mine"); return user.id + " " + user.role; });`,
    "queries/shy.ts": counted(
      "shy",
      '({ user }) => { if (user === null) throw new Refusal("not you", { status: 403 }); return user.email; }',
    ),
    "queries/proven.ts": "export default query({}, ({ user }) => user.verified);",
    "queries/sleepy.ts": counted("sleepy", 'async () => { await Bun.sleep(500); return "slept"; }'),
    "queries/kill.ts": open(
      '() => { Bun.spawnSync(["sh", "-c", "kill -9 " + process.pid]); return new Promise(() => {}); }',
    ),
    "queries/admins.ts": 'export default query({ access: "admin" }, () => "admins");',
    "queries/throws.ts": open(
      `async ({ db }) => { if ((await db.collection("notes").list({ filter: 'kind = "bad"' })).length > 0) throw new Error("secret4711"); return "good"; }`,
    ),
    "queries/writes.ts": open('({ db }) => db.collection("notes").create({ kind: "written" })'),
    "queries/large.ts": open('() => "x".repeat(600_000)'),
    "queries/loop.ts":
      'export const options = { timeout: "150ms" }; export default query({ access: "public" }, () => { for (;;); });',
  },
});
const { request, log, service } = opened;
const server = { ...opened, ...listen(opened) };
const admin = await opened.admin();
const member = await opened.register("member@example.com");
const other = await opened.register("other@example.com");

const create = async (collection: string, body: object): Promise<string> =>
  String((await request("POST", `/api/${collection}`, { token: admin, body })).body["id"]);
const remove = (collection: string, id: string) => request("DELETE", `/api/${collection}/${id}`, { token: admin });
const runsOf = (name: string): number => log.filter((line) => line.endsWith(`ran ${name}`)).length;

class Live {
  readonly socket: TestSocket;
  constructor(socket: TestSocket) {
    this.socket = socket;
  }
  get values(): unknown[] {
    return this.socket.frames.flatMap((frame) => (frame.type === "result" ? [frame.value] : []));
  }
  get errors(): { code: string; details?: unknown }[] {
    return this.socket.frames.flatMap((frame) => (frame.type === "error" ? [frame] : []));
  }
  async shows(value: unknown): Promise<void> {
    await until(() => Bun.deepEquals(this.values.at(-1), value));
  }
  async ends(code: string): Promise<{ code: string; details?: unknown }> {
    await until(() => this.errors.length > 0);
    expect(this.errors[0]).toMatchObject({ type: "error", id: "q", code });
    return this.errors[0] ?? { code: "" };
  }
  close(): void {
    this.socket.socket.close();
  }
}
async function view(query: object, token?: string): Promise<Live> {
  const live = new Live(await server.connect(token));
  live.socket.send({ action: "subscribe", id: "q", query });
  await until(() => live.values.length > 0 || live.errors.length > 0);
  return live;
}

describe("a live server query", () => {
  test("brings the value, and each other value, with a growing seq", async () => {
    const live = await view({ name: "count" });
    const [first, second] = live.socket.frames;
    expect(first).toEqual({ type: "subscribed", id: "q" });
    expect(second).toEqual({ type: "result", id: "q", seq: expect.any(Number), value: [{ count: 0 }] } as never);
    const id = await create("notes", { kind: "a" });
    await live.shows([{ count: 1 }]);
    // A run with the same value sends nothing.
    const runs = runsOf("count");
    await request("PUT", `/api/notes/${id}`, { token: admin, body: { kind: "b" } });
    await until(() => runsOf("count") > runs);
    await remove("notes", id);
    await live.shows([{ count: 0 }]);
    expect(live.values).toEqual([[{ count: 0 }], [{ count: 1 }], [{ count: 0 }]]);
    const seqs = live.socket.frames.flatMap((frame) => (frame.type === "result" ? [frame.seq] : []));
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    live.socket.send({ action: "unsubscribe", id: "q" });
    await until(() => live.socket.frames.some(({ type }) => type === "unsubscribed"));
    live.close();
  });

  test("depends on the reads of the last run, and on nothing more", async () => {
    const two = await view({ name: "two" });
    expect(two.values).toEqual(["none"]);
    const runs = runsOf("two");
    // Not read so far. The witness shows that the change was told.
    const witness = await view({ name: "sql" });
    await create("others", { kind: "x" });
    await witness.shows([{ n: 1 }]);
    expect(runsOf("two")).toBe(runs);
    const leads = await create("notes", { kind: "leads" });
    await two.shows(1);
    const otherId = await create("others", { kind: "y" });
    await two.shows(2);
    await remove("notes", leads);
    await two.shows("none");
    const later = runsOf("two");
    await remove("others", otherId);
    await witness.shows([{ n: 1 }]);
    expect(runsOf("two")).toBe(later);
    for (const live of [two, witness]) live.close();
  });

  test("depends on the collections that filters and SQL lead to, on users, and on files", async () => {
    const [related, users, found, events] = await Promise.all(
      ["related", "users", "found", "events"].map((name) => view({ name })),
    );
    if (related === undefined || users === undefined || found === undefined || events === undefined)
      throw new Error("No views");
    const note = await create("notes", { kind: "deep" });
    await create("tags", { name: "t", note });
    await related.shows(["t"]);
    await request("PUT", `/api/notes/${note}`, { token: admin, body: { kind: "flat" } });
    await related.shows([]);
    const before = (users.values[0] as { n: number }[])[0]?.n ?? 0;
    expect(found.values).toEqual([false]);
    await opened.register("late@example.com");
    await users.shows([{ n: before + 1 }]);
    await found.shows(true);
    const form = new FormData();
    form.set("file", new File(["x"], "x.txt"));
    const sent = new Request("http://x", { method: "POST", body: form });
    const headers = { "Content-Type": sent.headers.get("content-type") ?? "" };
    const upload = await request("POST", "/api/storage/upload", { token: admin, headers, body: await sent.text() });
    expect(upload.status).toBe(201);
    await events.shows([{ n: 1 }]);
    await remove("notes", note);
    for (const live of [related, users, found, events]) live.close();
  });

  test("runs once for all callers, and for each caller if the query uses the caller", async () => {
    const shared = await Promise.all(
      [undefined, admin, member.accessToken].map((token) => view({ name: "count", args: {} }, token)),
    );
    const runs = runsOf("count");
    const id = await create("notes", { kind: "shared" });
    await Promise.all(shared.map((live) => live.shows([{ count: 1 }])));
    expect(runsOf("count")).toBe(runs + 1);
    await remove("notes", id);
    const own = await Promise.all([member, other].map(({ accessToken }) => view({ name: "mine" }, accessToken)));
    expect(own.map(({ values }) => values)).toEqual([
      [`${member.user.id} authenticated`],
      [`${other.user.id} authenticated`],
    ]);
    for (const live of [...shared, ...own]) live.close();
  });

  test("that turns out to use its caller gives nobody the value of another", async () => {
    // Both subscribe before the first run is over.
    const sockets = await Promise.all([
      server.connect(),
      server.connect(member.accessToken),
      server.connect(other.accessToken),
    ]);
    for (const socket of sockets) socket.send({ action: "subscribe", id: "q", query: { name: "shy" } });
    const [nobody, first, second] = sockets.map((socket) => new Live(socket));
    await nobody?.ends("forbidden");
    await first?.shows("member@example.com");
    await second?.shows("other@example.com");
    expect([nobody?.values, first?.values, second?.values]).toEqual([
      [],
      ["member@example.com"],
      ["other@example.com"],
    ]);
    for (const live of [nobody, first, second]) live?.close();
  });

  test("that uses the caller receives a change of the caller's account", async () => {
    const live = await view({ name: "proven" }, member.accessToken);
    expect(live.values).toEqual([false]);
    const { users } = service.auth;
    await service.database.transact((tx) =>
      users.change(tx, { user: users.get(member.user.id, tx), verified: true }, null),
    );
    await live.shows(true);
    live.close();
  });

  test("follows the role of the caller: a right that ends, ends the query", async () => {
    const boss = await opened.register("boss@example.com");
    await setRole(service, boss.user.id, "admin");
    const [mine, admins] = [
      await view({ name: "mine" }, boss.accessToken),
      await view({ name: "admins" }, boss.accessToken),
    ];
    expect([mine.values, admins.values]).toEqual([[`${boss.user.id} admin`], ["admins"]]);
    await setRole(service, boss.user.id, "authenticated");
    await mine.shows(`${boss.user.id} authenticated`);
    await admins.ends("forbidden");
    for (const live of [mine, admins]) live.close();
  });

  test("needs the scope of the query for an API key", async () => {
    const { key } = await makeKey(opened, { token: member.accessToken, scopes: ["query:mine", "notes:read"] });
    expect((await view({ name: "mine" }, key)).values).toEqual([`${member.user.id} authenticated`]);
    expect((await view({ name: "count" }, key)).errors).toMatchObject([{ code: "forbidden" }]);
  });

  test.each<[query: object, code: string]>([
    [{ name: "none" }, "invalid_query"],
    [{ name: "count", args: { x: 1 } }, "invalid_query"],
    [{ name: "count", args: [] }, "invalid_query"],
    [{ name: "count", limit: 5 }, "invalid_query"],
    [{ name: 5 }, "invalid_query"],
    [{ name: "count", collection: "notes" }, "invalid_query"],
    [{ name: "mine" }, "forbidden"],
    [{ name: "admins" }, "forbidden"],
    [{ name: "kinds", args: { kind: 5 } }, "validation_error"],
    [{ name: "writes" }, "internal_error"],
    [{ name: "large" }, "query_too_large"],
    [{ name: "loop" }, "unavailable"],
  ])("%j is refused: %s", async (query, code) => {
    const live = await view(query);
    const error = await live.ends(code);
    expect(live.values).toEqual([]);
    if (code === "validation_error")
      expect(error.details).toEqual([{ field: "args.kind", rule: "schema", message: "must be a text" }]);
    // The id is free again.
    live.socket.send({ action: "subscribe", id: "q", query: { name: "count" } });
    await until(() => live.values.length === 1);
    live.close();
  });

  test("ends with the first run that fails, and the log says why", async () => {
    const live = await view({ name: "throws" });
    expect(live.values).toEqual(["good"]);
    const id = await create("notes", { kind: "bad" });
    await live.ends("internal_error");
    expect(JSON.stringify(live.socket.frames)).not.toContain("4711");
    expect(log.some((line) => line.startsWith("ERROR query of queries/throws.ts failed: secret4711"))).toBe(true);
    expect((await request("GET", '/api/notes?filter=kind="written"', { token: admin })).body["items"]).toEqual(
      [] as never,
    );
    await remove("notes", id);
    live.close();
  });

  test("that loses its process to another query runs again", async () => {
    const live = new Live(await server.connect());
    live.socket.send({ action: "subscribe", id: "q", query: { name: "sleepy" } });
    await until(() => runsOf("sleepy") === 1);
    expect((await request("GET", "/api/query/kill")).status).toBe(502);
    await live.shows("slept");
    expect([live.errors, runsOf("sleepy")]).toEqual([[], 2]);
    live.close();
  });

  test("runs again after a reload with other code; a file that is gone ends the query", async () => {
    await opened.save({ "queries/fresh.ts": open("() => 1") });
    const [live, count] = [await view({ name: "fresh" }), await view({ name: "count" })];
    await opened.save({ "queries/fresh.ts": open("() => 2") });
    await live.shows(2);
    await opened.save({ "queries/fresh.ts": 'export default query({ access: "admin" }, () => 3);' });
    await live.ends("forbidden");
    const again = await view({ name: "fresh" }, admin);
    expect(again.values).toEqual([3]);
    await Bun.file(`${opened.folder}/queries/fresh.ts`).delete();
    await opened.scripts.reload();
    await again.ends("invalid_query");
    // The value of the other query is the same: one frame.
    expect([count.values.length, count.errors]).toEqual([1, []]);
    const id = await create("notes", { kind: "after" });
    await count.shows([{ count: 1 }]);
    await remove("notes", id);
    for (const each of [live, count, again]) each.close();
  });
});
