/** Functions on the built executable: input, rights, order, and the number of runs. */
import { describe, expect, test } from "bun:test";
import type { Event, JsonValue, StoredRecord, TokenResponse } from "@socle/protocol";
import { inParallel, post, type Running, serve, until } from "./kit.ts";
import { collection, RunEvents, scriptProject } from "./scripts-kit.ts";

/** Writes a handler's input into the collection `seen`. */
const recorder = `
export const tell = async ({ db, logger, storage, signal, ...rest }: any, handler: string) => {
  const { auth, ...about } = rest;
  await db.collection("seen").create({ handler, about: { ...about, user: auth.user, aborted: signal.aborted } });
};
`;

interface Seen {
  event: Event;
  record: { [field: string]: JsonValue };
  previous?: { [field: string]: JsonValue };
  user: { email: string } | null;
  attempt: number;
  runId: string;
  aborted: boolean;
}

/** The records that handlers of a name were given, oldest first. */
async function seen(url: string, handler: string): Promise<Seen[]> {
  const records = await RunEvents.records(url, "seen");
  return records.filter((record) => record["handler"] === handler).map((record) => Object(record["about"]) as Seen);
}

async function create(server: Running, name: string, body: object, headers = {}): Promise<StoredRecord> {
  const response = await post(`${server.url}/api/${name}`, body, headers);
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as StoredRecord;
}

const seenCollection = {
  name: "seen",
  fields: [
    { name: "handler", type: "string" },
    { name: "about", type: "json" },
  ],
};

describe("the event of a handler", async () => {
  const handlers = ["onCreate", "onUpdate", "onDelete"]
    .map((name) => `export const ${name} = (context: any) => tell(context, "${name}");`)
    .join("\n");
  const folder = await scriptProject({
    collections: [
      seenCollection,
      collection("notes"),
      {
        name: "large",
        fields: [
          { name: "n", type: "integer" },
          { name: "text", type: "text" },
        ],
      },
    ],
    files: {
      "functions/_tell.ts": recorder,
      "functions/notes/all.ts": `import { tell } from "../_tell.ts";\n${handlers}\n`,
      "functions/large/all.ts": `import { tell } from "../_tell.ts";
        export const onUpdate = (context: any) => tell(context, "onLarge");`,
      "functions/users/all.ts": `import { tell } from "../_tell.ts";
        export const onCreate = (context: any) => tell(context, "registered");
        export const onLogin = (context: any) => tell(context, "loggedIn");`,
    },
  });
  const server = await serve(folder);
  const { url } = server;
  const events = await RunEvents.of(url);
  const credentials = { email: "me@example.com", password: "correct horse" };
  const registered = (await (await post(`${url}/api/auth/register`, credentials)).json()) as TokenResponse;
  const headers = { Authorization: `Bearer ${registered.accessToken}`, "Content-Type": "application/json" };

  test("by a record's creation, change and deletion", async () => {
    const record = await create(server, "notes", { n: 1 }, headers);
    const path = `${url}/api/notes/${record.id}`;
    const changed = (await (await fetch(path, { method: "PUT", headers, body: '{"n":2}' })).json()) as StoredRecord;
    await fetch(path, { method: "PUT", headers, body: "{}" });
    await fetch(path, { method: "DELETE", headers });
    await until(() => events.of("function.completed", "functions/notes/all.ts").length === 3);
    const [created] = await seen(url, "onCreate");
    expect(created).toMatchObject({ record, attempt: 1, aborted: false, user: { ...registered.user } });
    expect(created).not.toHaveProperty("previous");
    expect(created?.event).toMatchObject({ type: "notes.created", source: "collections", payload: record });
    expect(created?.event.id).toMatch(/^evt_[0-9a-f]{25}$/);
    expect(await seen(url, "onUpdate")).toMatchObject([{ record: changed, previous: record }]);
    const [deleted] = await seen(url, "onDelete");
    expect(deleted).toMatchObject({ record: changed, previous: changed });
    expect(deleted?.event).toMatchObject({ type: "notes.deleted", payload: { id: record.id } });
  });

  test("a change of a large record: the whole record of that time, though the log stores only the changes", async () => {
    const large = await create(server, "large", { n: 1, text: "x".repeat(20_000) }, headers);
    const changes = [2, 3, 4].map(async (n) => {
      const response = await fetch(`${url}/api/large/${large.id}`, {
        method: "PUT",
        headers,
        body: JSON.stringify({ n }),
      });
      return (await response.json()) as StoredRecord;
    });
    const changed = await Promise.all(changes);
    await until(() => events.of("function.completed", "functions/large/all.ts").length === 3);
    const heard = (await seen(url, "onLarge")).map(({ record, event, previous }) => ({ record, event, previous }));
    expect(heard).toHaveLength(3);
    for (const { record, event } of heard) {
      expect(changed).toContainEqual(record as StoredRecord);
      expect(event.payload).toEqual(record);
    }
    expect(heard[0]?.previous).toEqual({ ...large });
    expect(heard[1]?.previous).toEqual(heard[0]?.record ?? {});
    await fetch(`${url}/api/large/${large.id}`, { method: "DELETE", headers });
  });

  test("by a registration and a login", async () => {
    await post(`${url}/api/auth/login`, credentials);
    // The listener to the events has registered, too.
    for (const handler of ["registered", "loggedIn"])
      while ((await seen(url, handler)).every(({ user }) => user?.email !== credentials.email)) await Bun.sleep(5);
    const [loggedIn, ...more] = await seen(url, "loggedIn");
    expect(more).toEqual([]);
    expect(loggedIn).toMatchObject({ record: { ...registered.user }, user: { ...registered.user } });
    expect(loggedIn?.event).toMatchObject({ type: "auth.login", payload: { userId: registered.user.id } });
    const mine = (await seen(url, "registered")).filter(({ user }) => user?.email === credentials.email);
    expect(mine).toHaveLength(1);
    expect(JSON.stringify(mine)).not.toContain("argon2");
  });

  test("the events of its run name the function, and nothing secret", async () => {
    const [started] = events.of("function.started", "functions/notes/all.ts");
    const [completed] = events.of("function.completed", "functions/notes/all.ts");
    const [about] = await seen(url, "onCreate");
    const common = {
      collection: "notes",
      trigger: "onCreate",
      eventType: "notes.created",
      filePath: "functions/notes/all.ts",
      eventId: about?.event.id,
      runId: about?.runId,
    };
    expect(started?.payload).toEqual(common);
    expect(completed?.payload).toEqual({ ...common, durationMs: expect.any(Number) });
    expect(started?.source).toBe("functions");
  });
});

describe("the calls of a handler", async () => {
  const folder = await scriptProject({
    collections: [
      seenCollection,
      collection("asks"),
      {
        name: "strict",
        fields: [
          { name: "title", type: "string", required: true },
          { name: "on", type: "boolean" },
        ],
        permissions: { read: "admin" },
      },
    ],
    files: {
      "functions/asks/ask.ts": `export const onCreate = async ({ db, auth, storage, logger, event }: any) => {
        const answers: any = {};
        const attempt = async (name: string, work: () => unknown) => {
          try { answers[name] = (await work()) ?? null; }
          catch (error: any) { answers[name] = { name: error.name, code: error.code, message: error.message, details: error.details, line: /ask\\.ts:(\\d+)/.exec(error.stack)?.[1] }; }
        };
        const strict = db.collection("strict");
        await attempt("created", () => strict.create({ title: "a", on: true }));
        await attempt("invalid", async () => { await strict.create({ titel: "a", on: "yes" }); });
        await attempt("noObject", () => strict.create("text"));
        await attempt("undefined", () => strict.create(undefined));
        await attempt("unknown", () => db.collection("nothing").list());
        await attempt("updated", () => strict.update(answers.created.id, { title: "b" }));
        await attempt("updateMissing", () => strict.update("rec_x", { title: "b" }));
        await attempt("stale", () => strict.update(answers.created.id, { title: "c" }, { ifMatch: answers.created }));
        await attempt("staleDelete", () => strict.delete(answers.created.id, { ifMatch: answers.created }));
        await attempt("current", () => strict.update(answers.created.id, { on: false }, { ifMatch: answers.updated }));
        await attempt("updated", () => strict.update(answers.created.id, { on: true }));
        await attempt("got", () => strict.get(answers.created.id));
        await attempt("gotMissing", () => strict.get("rec_x"));
        await attempt("listed", async () => { const all = await strict.list(); return [all.length, all.items.length]; });
        await attempt("query", () => db.query("SELECT title, \\"on\\" FROM strict WHERE title = ? AND \\"on\\" = ?", ["b", true]));
        await attempt("queryNames", () => db.query("SELECT :a AS a, :b AS b", { a: 1, b: null }));
        await attempt("users", () => db.query("SELECT count(*) AS n FROM users"));
        for (const [i, sql] of [
          "SELECT passwordHash FROM _users", "SELECT * FROM _users", "SELECT value FROM _secrets", "SELECT * FROM _sessions",
          "SELECT 1 WHERE EXISTS (SELECT 1 FROM _users WHERE passwordHash LIKE '$%')", "DELETE FROM strict", "WITH a AS (SELECT 1) DELETE FROM strict",
          "PRAGMA user_version = 5", "ATTACH 'x.db' AS x", "SELEC 1", "", "SELECT * FROM _refresh_tokens",
        ].entries()) await attempt("refused" + i, () => db.query(sql));
        await attempt("deleted", () => strict.delete(answers.created.id));
        await attempt("deletedTwice", () => strict.delete(answers.created.id));
        await attempt("file", () => storage.put({ filename: "a.txt", data: "hello", visibility: "public" }));
        await attempt("fileRead", async () => new TextDecoder().decode(await storage.read(answers.file.id)));
        await attempt("fileGot", () => storage.get(answers.file.id));
        await attempt("fileDeleted", async () => [await storage.delete(answers.file.id), await storage.delete(answers.file.id), await storage.get(answers.file.id)]);
        await attempt("user", () => auth.users.create({ email: "New@Example.com", password: "correct horse" }));
        await attempt("userAgain", () => auth.users.create({ email: "new@example.com", password: "correct horse" }));
        await attempt("userFound", () => auth.users.findByEmail("NEW@example.com"));
        await attempt("userRole", () => auth.users.setRole(answers.user.id, "public"));
        await attempt("userRoleBad", () => auth.users.setRole(answers.user.id, "king"));
        await attempt("userList", async () => (await auth.users.list({ limit: 1, offset: 0 })).length);
        await db.collection("seen").create({ handler: "asks", about: answers });
      };\n`,
    },
    scripts: { timeout: "20s" },
  });
  const server = await serve(folder);
  const events = await RunEvents.of(server.url);
  await create(server, "asks", { n: 1 });
  await events.first("function.completed", "functions/asks/ask.ts");
  const [answers = {}] = (await seen(server.url, "asks")) as unknown as {
    [name: string]: { [key: string]: unknown };
  }[];

  test("records, with the validation of the API and without its permissions", () => {
    expect(answers["created"]).toMatchObject({ title: "a", on: true });
    expect(answers["invalid"]).toMatchObject({ name: "ServiceError", code: "validation_error", line: "9" });
    expect(answers["invalid"]?.["details"]).toMatchObject([
      { field: "titel", rule: "unknown" },
      { field: "title", rule: "required" },
      { field: "on", rule: "type" },
    ]);
    expect(answers["noObject"]).toMatchObject({ code: "bad_request" });
    expect(answers["undefined"]).toMatchObject({
      code: "bad_request",
      message: "The values must be an object, not null.",
    });
    expect(answers["unknown"]).toMatchObject({ code: "not_found", message: 'There is no collection "nothing".' });
    expect(answers["updated"]).toMatchObject({ title: "b", on: true });
    expect(answers["stale"]).toMatchObject({ name: "ServiceError", code: "conflict" });
    expect(answers["staleDelete"]).toMatchObject({ name: "ServiceError", code: "conflict" });
    expect(answers["current"]).toMatchObject({ title: "b", on: false });
    expect(answers["updateMissing"]).toMatchObject({ code: "not_found" });
    expect(answers["got"]).toMatchObject({ title: "b" });
    expect(answers["gotMissing"]).toBeNull();
    expect(answers["listed"]).toEqual([1, 1] as never);
    expect([answers["deleted"], answers["deletedTwice"]]).toEqual([true, false] as never);
  });

  test("SQL that reads, without the tables of the service", () => {
    expect(answers["query"]).toEqual([{ title: "b", on: 1 }] as never);
    expect(answers["queryNames"]).toEqual([{ a: 1, b: null }] as never);
    expect(answers["users"]).toEqual([{ n: 1 }] as never);
    for (let i = 0; i < 12; i++) expect([i, answers[`refused${i}`]?.["code"]]).toEqual([i, "bad_request"]);
    expect(JSON.stringify(answers)).not.toContain("argon2");
  });

  test("files and users", () => {
    expect(answers["file"]).toMatchObject({ filename: "a.txt", size: 5, visibility: "public", userId: null });
    expect(answers["fileRead"]).toBe("hello" as never);
    expect(answers["fileGot"]).toEqual(answers["file"] as never);
    expect(answers["fileDeleted"]).toEqual([true, false, null] as never);
    expect(answers["user"]).toMatchObject({ email: "new@example.com", role: "authenticated" });
    expect(answers["userAgain"]).toMatchObject({ code: "conflict" });
    expect(answers["userFound"]).toEqual(answers["user"] as never);
    expect(answers["userRole"]).toMatchObject({ role: "public" });
    expect(answers["userRoleBad"]).toMatchObject({ code: "bad_request" });
    expect(answers["userList"]).toBe(1 as never);
  });

  test("with the same events as over HTTP, without a causing user", async () => {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime`);
    const frames: string[] = [];
    socket.onmessage = ({ data }) => frames.push(String(data));
    await until(() => socket.readyState === WebSocket.OPEN);
    socket.send('{"action":"subscribe","channel":"seen.*"}');
    await until(() => frames.length === 2);
    await create(server, "asks", { n: 2 });
    await until(() => frames.length === 3);
    expect(JSON.parse(frames[2] ?? "")).toMatchObject({ event: { type: "seen.created", source: "collections" } });
    socket.close();
  });
});

describe("order, retries and chains", async () => {
  const folder = await scriptProject({
    collections: [
      seenCollection,
      collection("steps"),
      collection("flaky"),
      collection("loops"),
      collection("ping"),
      collection("pong"),
    ],
    files: {
      // The first handler is slow, so that a later event would overtake the first event.
      "functions/steps/create.ts": `export const onCreate = async ({ record, db }: any) => {
        await Bun.sleep(150);
        await db.collection("seen").create({ handler: record.id, about: 0 });
      };\n`,
      "functions/steps/change.ts": `const pause = () => Bun.sleep(Math.random() * 20);
      export const onUpdate = async ({ record, db }: any) => { await pause(); await db.collection("seen").create({ handler: record.id, about: record.n }); };
      export const onDelete = async ({ record, db }: any) => { await pause(); await db.collection("seen").create({ handler: record.id, about: -1 }); };\n`,
      "functions/flaky/flaky.ts": `export const options = { retries: 1 };
      export const onCreate = async ({ attempt, runId, db, record }: any) => {
        await db.collection("seen").create({ handler: "flaky", about: { attempt, runId, n: record.n } });
        if (attempt <= record.n) throw new Error("attempt " + attempt);
      };
      export const onUpdate = ({ db }: any) => db.collection("seen").create({ handler: "flaky", about: "update" });\n`,
      "functions/loops/loop.ts": `export const onCreate = async ({ record, db }: any) => {\n  await db.collection("loops").create({ n: record.n + 1 });\n};\n`,
      "functions/ping/a.ts": `export const onCreate = async ({ record, db }: any) => {\n  await db.collection("pong").create({ n: record.n + 1 });\n};\n`,
      "functions/pong/b.ts": `export const onCreate = async ({ record, db }: any) => {\n  await db.collection("ping").create({ n: record.n + 1 });\n};\n`,
    },
    scripts: { processes: 2 },
  });
  const server = await serve(folder);
  const { url } = server;
  const events = await RunEvents.of(url);

  test("the changes of a record run in order, also between files and processes, whatever the durations", async () => {
    const ids: string[] = [];
    const headers = { "Content-Type": "application/json" };
    await inParallel(
      Array.from({ length: 20 }, (_, n) => n),
      20,
      async () => {
        const { id } = await create(server, "steps", { n: 0 });
        ids.push(id);
        for (let n = 1; n <= 5; n++)
          await fetch(`${url}/api/steps/${id}`, { method: "PUT", headers, body: `{"n":${n}}` });
        await fetch(`${url}/api/steps/${id}`, { method: "DELETE" });
      },
    );
    const path = (name: string): string => `functions/steps/${name}.ts`;
    await until(() => events.of("function.completed", path("change")).length === 20 * 6);
    const records = await RunEvents.records(url, "seen");
    for (const id of ids)
      expect(records.filter((record) => record["handler"] === id).map((record) => record["about"])).toEqual([
        0, 1, 2, 3, 4, 5, -1,
      ]);
  });

  test("a run is retried as often as its options allow, and later runs wait", async () => {
    const good = await create(server, "flaky", { n: 1 });
    await fetch(`${url}/api/flaky/${good.id}`, {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: '{"n":1}',
    });
    const path = "functions/flaky/flaky.ts";
    await until(() => events.of("function.completed", path).length === 2);
    const told = (await RunEvents.records(url, "seen"))
      .filter((record) => record["handler"] === "flaky")
      .map((record) => record["about"]);
    expect(told).toMatchObject([{ attempt: 1 }, { attempt: 2 }, "update"]);
    expect(new Set(told.slice(0, 2).map((about) => Reflect.get(Object(about), "runId"))).size).toBe(1);
    expect(events.of("function.started", path)).toHaveLength(2);
    expect(events.of("function.failed", path)).toEqual([]);
    expect(server.output()).toContain("failed: attempt 1 (functions/flaky/flaky.ts:4:");
  });

  test.each([
    ["loops", "functions/loops/loop.ts", ["loops"]],
    ["ping", "functions/pong/b.ts", ["ping", "pong"]],
  ])(
    "a chain that begins with %s ends after sixteen functions, with the reason in the log",
    async (first, last, names) => {
      await create(server, first, { n: 1 });
      const failed = await events.first("function.failed", last);
      expect(String(failed.payload["error"])).toMatch(
        /A chain of 16 functions.*Does a function react to its own changes\?.*functions\/\w+\/\w+\.ts:\d+:\d+/,
      );
      await Bun.sleep(50);
      const records = await Promise.all(names.map((name) => RunEvents.records(url, name)));
      expect(records.flat()).toHaveLength(16);
      expect(
        events.all.filter(
          ({ type, payload }) => type === "function.started" && names.includes(String(payload["collection"])),
        ),
      ).toHaveLength(16);
    },
  );
});
