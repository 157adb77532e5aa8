/** Previews of runs: the effects that a run would have with the present code, and nothing that stays. */
import { Database as Sqlite } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { PreviewChanges, RunPreview } from "@socle/protocol";
import { fileForm, formType } from "../../../test/forms.ts";
import { openScripts } from "../../../test/scripts.ts";

const posts = {
  name: "posts",
  fields: [
    { name: "title", type: "string", required: true },
    { name: "slug", type: "string", unique: true },
    { name: "views", type: "integer" },
    { name: "file", type: "file" },
  ],
  permissions: { create: "authenticated", read: "public", update: "owner", delete: "owner" },
};
const notes = {
  name: "notes",
  fields: [
    { name: "text", type: "string" },
    { name: "number", type: "integer", sequence: true },
    { name: "post", type: "relation", collection: "posts", onDelete: "cascade" },
  ],
};
const logs = { name: "logs", fields: [{ name: "text", type: "string" }] };

/** Counts the requests: a preview makes none. */
let requests = 0;
const outside = Bun.serve({
  port: 0,
  fetch: () => {
    requests += 1;
    return new Response("real");
  },
});
afterAll(() => outside.stop(true));

const effects = `
  import { config, count } from "../_shared/state.ts";
  const wrong = (promise) => promise.then(() => "done", (error) => error.code);
  export const onCreate = async ({ record, db, fetch: _, jobs, mail, storage, auth, logger }) => {
    logger.info("module state " + count(), { config });
    const response = await fetch("${outside.url}hook", { method: "POST", body: JSON.stringify({ id: record.id }) });
    logger.info("answer " + response.status + " " + JSON.stringify(await response.json()) + " " + response.headers.get("x-socle-preview"));
    if (!record.title.startsWith("act")) return;
    const before = await db.posts.list();
    const note = await db.notes.create({ text: "from a function", post: record.id });
    await db.notes.create({ text: "short-lived" }).then(({ id }) => db.notes.delete(id));
    await db.posts.update(record.id, { views: { $increment: 2 } });
    const seen = await db.notes.get(note.id);
    const listed = await db.notes.where({ text: "from a function" });
    logger.info("sees " + JSON.stringify({ seen: seen.number, listed: listed.items.length, posts: before.length, views: (await db.posts.get(record.id)).views }));
    await db.batch([{ method: "create", collection: "logs", body: { text: "batch" } }], { enqueue: [{ name: "work", payload: { of: "batch" } }] });
    // The hook reads what the preview has changed.
    await db.notes.create({ text: "late", post: record.id });
    const total = await db.transaction(async (tx) => {
      const all = await tx.notes.list();
      await tx.logs.create({ text: "in a transaction: " + all.length });
      await tx.mail.send({ to: "bob@example.com", subject: "In tx", text: "x" });
      await tx.jobs.enqueue("work", { of: "tx" });
      return (await tx.logs.list()).length;
    });
    logger.info("in the transaction " + total);
    const first = await jobs.enqueue("work", { n: 1 }, { key: "k" });
    const second = await jobs.enqueue("work", { n: 2 }, { key: "k" });
    logger.info("same key " + (first.runId === second.runId));
    await mail.send({ to: "ann@example.com", subject: "Hello", text: "y".repeat(5000) });
    const file = await storage.put({ filename: "a.txt", data: "bytes" });
    await db.posts.update(record.id, { file: file.id });
    logger.info("file " + new TextDecoder().decode(await storage.read(file.id)) + " " + (await storage.get(file.id)).size);
    const user = await auth.users.create({ email: "new@example.com", password: "correct horse battery" });
    await db.as(user).posts.create({ title: "by the user" });
    logger.info("user " + (await auth.users.findByEmail("new@example.com")).email + " " + (await auth.users.get(user.id)).role);
    await auth.users.setRole(user.id, "admin");
    logger.info("refused " + await wrong(db.as(null).posts.create({ title: "nobody" })) + " " + await wrong(db.query("SELECT 1")) + " " + await wrong(auth.createSession(user.id)));
    if (auth.user !== null) logger.info("by " + auth.user.email);
    for (const old of (await db.posts.where({ title: "old" })).items) {
      if (old.file) await storage.delete(old.file);
      await db.posts.delete(old.id);
    }
  };`;

const api = await openScripts({
  collections: [posts, notes, logs],
  settings: { SERVICE_MAIL_FROM: "shop@example.com" },
  files: {
    "functions/_shared/state.ts": `let n = 0; export const count = () => (n += 1);
      export const config = await fetch(" ${outside.url}config").then((response) => response.text());`,
    "functions/posts/effects.ts": effects,
    "functions/notes/hook.ts": `
      export const beforeCreate = async ({ record, db }) => {
        await fetch("${outside.url}from-the-hook");
        if (record.text === "refused") throw new Refusal("no");
        const logs = await db.logs.list();
        return { text: record.text };
      };
      export const onCreate = ({ db }) => db.logs.create({ text: "triggered" });`,
    "functions/notes/other.ts": `export const onDelete = ({ previous, logger }) => logger.info("gone " + previous.text);
      export const onUpdate = async ({ record, previous, logger, db }) => {
        logger.info(previous.text + " -> " + record.text);
        if (record.text === "again") return;
        await db.notes.create({ text: "refused" }).catch((error) => logger.info("hook: " + error.message));
        const kept = await db.notes.update(record.id, { text: "again" });
        logger.info("kept " + kept.text);
        if (record.text === "fails") throw new Error("after a change");
      };`,
    "jobs/work.ts": `export const queue = { retries: 0 };
      export default async ({ payload, db, logger }) => {
        logger.info("payload " + JSON.stringify(payload));
        if (payload.fails) throw new Error("it failed");
        await db.logs.create({ text: "worked" });
      };`,
    "jobs/nightly.ts": `export const schedule = "0 3 * * *";
      export default async ({ db }) => { for (const each of await db.logs.list()) await db.logs.delete(each.id); };`,
    "jobs/loop.ts": `export const schedule = "0 3 1 1 *"; export const options = { timeout: 300, retries: 0 };
      export default async ({ db }) => { if (!(await db.logs.list({ filter: "text = 'loop'" })).length) return; await db.logs.create({ text: "x" }); for (;;); };`,
    "jobs/slow.ts": `export const schedule = "0 3 1 1 *"; export const options = { timeout: "20s", retries: 0 };
      export default async ({ db, logger }) => {
        const { length } = await db.notes.list();
        if (length === 0) return;
        for (let i = 0; i < 40; i += 1) { await db.logs.create({ text: "slow " + i }); await db.logs.list({ limit: 1 }); }
      };`,
    "jobs/contest.ts": `import { existsSync, writeFileSync } from "node:fs";
      export const schedule = "0 3 1 1 *";
      export default async ({ db, logger }) => {
        if ((await db.logs.list({ filter: "text = 'contest'" })).length === 0) return;
        await db.posts.create({ title: "mine", slug: "contested" }).catch((error) => logger.info("taken: " + error.code));
        writeFileSync("made", "");
        while (!existsSync("go on")) await Bun.sleep(5);
        logger.info("reads " + (await db.posts.where({ slug: "contested" })).items.map(({ title }) => title));
      };`,
    "endpoints/hello.ts": `export const access = "public"; export const GET = () => new Response("x");`,
  },
});
const token = await api.admin();
const { service } = api;

function preview(runId: string, by = token) {
  return api.request<RunPreview & { error: { code: string; message: string } }>(
    "POST",
    `/api/admin/runs/${runId}/preview`,
    {
      token: by,
    },
  );
}

/** Every row of every table, and every file of the storage. */
function digest(): string {
  const sqlite = new Sqlite(api.config.database, { readonly: true });
  const tables = sqlite.query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all() as {
    name: string;
  }[];
  // The log of requests tells of the requests of the test.
  const kept = tables.filter(({ name }) => name !== "_requests");
  const rows = kept.map(({ name }) => [name, sqlite.query(`SELECT * FROM "${name}"`).values()]);
  sqlite.close();
  const files = readdirSync(api.folder, { recursive: true }).filter((path) => !String(path).includes(".db"));
  return JSON.stringify([rows, files.sort()], (_, value) => (value instanceof Uint8Array ? [...value] : value));
}

async function runOf(handler: string, filePath: string): Promise<string> {
  await api.scripts.settled();
  const { body } = await api.request<{ items: { runId: string; handler: string; status: string }[] }>(
    "GET",
    `/api/admin/functions/runs?filePath=${filePath}`,
    { token },
  );
  const own = body.items.filter((run) => run.handler === handler);
  return (own.find(({ status }) => status === "failed") ?? own[0])?.runId ?? "";
}

const create = async (collection: string, body: object) =>
  (await api.request("POST", `/api/${collection}`, { token, body })).body as unknown as { id: string };
const changeOf = (body: RunPreview, collection: string): PreviewChanges | undefined =>
  body.changes.find((each) => each.collection === collection);

describe("a preview of a run of a function", () => {
  test("tells the effects, and leaves nothing: no row, file, event, number, request, mail or run", async () => {
    const upload = await api.request<{ id: string }>("POST", "/api/storage/upload", {
      token,
      headers: { "content-type": formType },
      body: fileForm("kept"),
    });
    const file = upload.body.id;
    const old = await create("posts", { title: "old", file });
    await create("notes", { text: "of the old", post: old.id });
    const { id } = await create("posts", { title: "quiet" });
    await api.scripts.settled();
    const runId = await runOf("onCreate", "functions/posts/effects.ts");
    // The code acts from now on.
    await api.save({
      "functions/posts/effects.ts": effects.replace('if (!record.title.startsWith("act")) return;', ""),
    });
    const heard: string[] = [];
    const unlisten = service.events.listen(({ type }) => heard.push(type));
    requests = 0;
    const [before, version] = [digest(), service.records.versions.now];
    const { status, body } = await preview(runId);
    expect(status).toBe(200);
    expect(body.outcome).toEqual({ status: "completed", error: null });
    expect(digest()).toBe(before);
    unlisten();
    expect([
      heard,
      requests,
      service.records.versions.now,
      service.records.count(service.records.collection("logs")),
    ]).toEqual([[], 0, version, 1]);
    expect(body).toMatchObject({ runId, filePath: "functions/posts/effects.ts", handler: "onCreate" });
    const messages = body.logs.items.map(({ message }) => message);
    expect(messages).toEqual([
      `A request outside of a handler was recorded, and answered 200 {}: GET ${outside.url}config`,
      "module state 1",
      "answer 200 {} recorded",
      'sees {"seen":2,"listed":1,"posts":2,"views":2}',
      "in the transaction 3",
      "same key true",
      "file bytes 5",
      "user new@example.com authenticated",
      "refused unauthorized bad_request bad_request",
      expect.stringContaining("by "),
    ]);
    expect(changeOf(body, "posts")).toMatchObject({ created: 1, updated: 1, deleted: 1, more: 0 });
    const update = changeOf(body, "posts")?.records.find((record) => record.change === "updated");
    expect(update).toEqual({
      id,
      change: "updated",
      before: { views: null, file: null },
      after: { views: 2, file: expect.stringMatching(/^fil_/) },
    });
    expect(changeOf(body, "notes")).toMatchObject({ created: 2, updated: 0, deleted: 1 });
    expect(changeOf(body, "logs")).toMatchObject({ created: 2, updated: 0, deleted: 0 });
    expect(changeOf(body, "users")).toMatchObject({ created: 1, updated: 0, deleted: 0 });
    expect(body.mails.items.map(({ to, subject, text }) => [to, subject, text.length])).toEqual([
      ["bob@example.com", "In tx", 1],
      ["ann@example.com", "Hello", 2_001],
      ...body.mails.items.slice(2).map(({ to, subject, text }) => [to, subject, text.length]),
    ]);
    const runs = body.calls.items
      .filter(({ kind }) => kind === "queue")
      .map(({ target, body: payload }) => [target, payload]);
    expect(runs).toEqual([
      ["work", '{"of":"batch"}'],
      ["work", '{"of":"tx"}'],
      ["work", '{"n":1}'],
    ]);
    const fetches = body.calls.items.filter(({ kind }) => kind === "fetch");
    expect(fetches[0]).toEqual({
      kind: "fetch",
      method: "POST",
      target: `${outside.url}hook`,
      body: JSON.stringify({ id }),
      answer: "200 {}",
    });
    expect(fetches.some(({ target }) => target.endsWith("/from-the-hook"))).toBe(true);
    expect(body.calls.items.filter(({ kind }) => kind === "storage").map(({ method }) => method)).toEqual([
      "put",
      "delete",
    ]);
    expect(body.logs.items[1]?.fields).toEqual({ config: "{}" });
    const stored = await api.answer("GET", `/api/storage/${file}`, { token });
    expect([stored.status, await stored.text()]).toEqual([200, "kept"]);
    // The log of the service has the line of the real run alone.
    expect(api.entries("module state 1").length).toBe(1);
    // A second preview is the same: also the variables of the modules are fresh.
    const again = await preview(runId);
    expect(again.body.logs.items.map(({ message }) => message)).toEqual(messages);
    expect(digest()).toBe(before);
  });
});

async function runJob(name: string): Promise<string> {
  const { body } = await api.request<{ runId: string }>("POST", `/api/admin/jobs/${name}/run`, { token });
  await api.scripts.settled();
  return body.runId;
}

describe("a preview of another run", () => {
  test("of an update and a deletion has the record before, runs the hooks, and tells the changes before an error", async () => {
    const { id } = await create("notes", { text: "one" });
    await api.scripts.settled();
    await api.request("PUT", `/api/notes/${id}`, { token, body: { text: "fails" } });
    const failed = await runOf("onUpdate", "functions/notes/other.ts");
    const hookCalls = async () =>
      (
        await api.request<{ items: { handler: string; calls?: object }[] }>("GET", "/api/admin/functions", { token })
      ).body.items.find(({ handler }) => handler === "beforeCreate")?.calls;
    const [before, calls] = [digest(), await hookCalls()];
    const { body } = await preview(failed);
    expect(await hookCalls()).toEqual(calls);
    expect(body.outcome.status).toBe("failed");
    expect(body.outcome.error).toMatchObject({
      message: expect.stringContaining("after a change"),
      stack: expect.stringContaining("functions/notes/other.ts"),
      source: { filePath: "functions/notes/other.ts" },
    });
    const messages = body.logs.items.map(({ message }) => message);
    expect(messages).toEqual(["one -> fails", "hook: no", "kept again"]);
    // The run itself has changed the text, too.
    expect(body.changes).toEqual([]);
    expect(digest()).toBe(before);
    await api.request("DELETE", `/api/notes/${id}`, { token });
    const deleted = await preview(await runOf("onDelete", "functions/notes/other.ts"));
    expect(deleted.body.logs.items.map(({ message }) => message)).toEqual(["gone again"]);
    expect([deleted.body.outcome.status, deleted.body.changes]).toEqual(["completed", []]);
  });

  test("of a job and of a queue has the input of the run, and neither the history nor the queue hears of it", async () => {
    const nightly = await runJob("nightly");
    await create("logs", { text: "a" });
    await create("logs", { text: "b" });
    const queued = await api.request<{ runId: string }>("POST", "/api/admin/jobs/work/enqueue", {
      token,
      body: { payload: { fails: true } },
    });
    await api.scripts.settled();
    const before = digest();
    const night = await preview(nightly);
    expect(changeOf(night.body, "logs")).toMatchObject({ created: 0, deleted: 2 });
    expect(changeOf(night.body, "logs")?.records[0]).toMatchObject({
      change: "deleted",
      before: { text: "b" },
      after: null,
    });
    const work = await preview(queued.body.runId);
    expect(work.body.logs.items[0]?.message).toBe('payload {"fails":true}');
    expect(work.body.outcome).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("it failed") },
    });
    expect(digest()).toBe(before);
    // The code is mended: the same run would complete.
    const file = "jobs/work.ts";
    const source = await Bun.file(`${api.folder}/${file}`).text();
    await api.save({ [file]: source.replace("if (payload.fails)", "if (payload.broken)") });
    const mended = await preview(queued.body.runId);
    expect([mended.body.outcome.status, changeOf(mended.body, "logs")?.created]).toEqual(["completed", 1]);
    await api.request("POST", `/api/admin/jobs/work/queue/${queued.body.runId}/retry`, { token });
    await api.scripts.settled();
    const over = await preview(queued.body.runId);
    expect([over.status, over.body.error]).toMatchObject([
      409,
      { code: "conflict", message: expect.stringContaining("payload") },
    ]);
  });

  test("that loops ends by the timeout, and costs no other run and no module state", async () => {
    const runId = await runJob("loop");
    await create("logs", { text: "loop" });
    const before = digest();
    const looping = preview(runId);
    const others = await Promise.all(
      Array.from({ length: 20 }, (_, n) => api.request("POST", "/api/notes", { token, body: { text: `beside ${n}` } })),
    );
    expect(others.map(({ status }) => status)).toEqual(Array(20).fill(201));
    const { body } = await looping;
    expect(body.outcome).toMatchObject({ status: "late" });
    expect(changeOf(body, "logs")).toMatchObject({ created: 1 });
    expect(api.scripts.host.processesLost).toBe(0);
    expect(before).not.toBe(digest());
  });

  test("goes on beside other writes, and tells its own changes alone", async () => {
    const runId = await runJob("slow");
    let isOver = false;
    const slow = preview(runId).finally(() => {
      isOver = true;
    });
    let made = 0;
    while (!isOver) {
      await create("logs", { text: "beside" });
      made += 1;
      await Bun.sleep(5);
    }
    const { status, body } = await slow;
    expect(made).toBeGreaterThan(5);
    expect([status, body.outcome.status, changeOf(body, "logs")?.created]).toEqual([200, "completed", 40]);
    expect(changeOf(body, "logs")?.records.map(({ after }) => after?.["text"])).toEqual(
      Array.from({ length: 40 }, (_, n) => `slow ${n}`),
    );
  });

  test("begins anew when others change what the preview has changed", async () => {
    const runId = await runJob("contest");
    await create("logs", { text: "contest" });
    const contest = preview(runId);
    while (!existsSync(`${api.folder}/made`)) await Bun.sleep(5);
    await create("posts", { title: "theirs", slug: "contested" });
    await Bun.write(`${api.folder}/go on`, "");
    const { status, body } = await contest;
    expect([status, body.outcome.status, body.changes]).toEqual([200, "completed", []]);
    expect(body.logs.items.map(({ message }) => message)).toEqual(["taken: validation_error", "reads theirs"]);
  });

  test("beyond two at a time is refused, and costs the others nothing", async () => {
    const runId = await runJob("slow");
    const all = await Promise.all(Array.from({ length: 4 }, () => preview(runId)));
    const answered = all.map(({ status }) => status).toSorted();
    expect(answered).toEqual([200, 200, 503, 503]);
    const refused = all.find(({ status }) => status === 503);
    expect([refused?.body.error.code, refused?.headers.get("retry-after")]).toEqual([
      "unavailable",
      expect.any(String),
    ]);
    expect((await preview(runId)).status).toBe(200);
  });
});

test("a run that has no preview is refused, with the reason", async () => {
  const { body: user } = await api.request<{ runId: string }>("POST", "/api/admin/jobs/nightly/run", { token });
  const told = async (runId: string, by = token) => {
    const { status, body } = await preview(runId, by);
    return [status, body.error.code, body.error.message];
  };
  expect(await told("mai_123")).toEqual([400, "bad_request", expect.stringContaining("functions, jobs and queues")]);
  expect(await told("run_0")).toEqual([404, "not_found", expect.stringContaining("hooks, endpoints")]);
  expect(await told(`run_${"0".repeat(28)}`)).toEqual([404, "not_found", expect.any(String)]);
  expect(await told(`run_${"f".repeat(28)}`)).toEqual([404, "not_found", expect.any(String)]);
  const { accessToken } = await api.register("someone@example.com");
  expect(await told(user.runId, accessToken)).toEqual([403, "forbidden", expect.any(String)]);
  const runId = await runOf("onCreate", "functions/posts/effects.ts");
  await api.save({ "functions/posts/effects.ts": "export const onCreate = (;" });
  expect(await told(runId)).toEqual([409, "conflict", expect.stringContaining("effects.ts does not load")]);
  await rm(`${api.folder}/functions/posts/effects.ts`);
  await api.scripts.reload();
  expect(await told(runId)).toEqual([409, "conflict", expect.stringContaining("is not loaded")]);
  const ofNote = await runOf("onUpdate", "functions/notes/other.ts");
  const completed = await runOf("onCreate", "functions/notes/hook.ts");
  expect((await preview(completed)).status).toBe(200);
  await api.request("DELETE", "/api/admin/collections/notes?force=true", { token });
  expect(await told(ofNote)).toEqual([409, "conflict", expect.stringContaining("no collection")]);
  await service.database.transact((tx) => service.events.trim(tx, { until: service.events.lastSeq(), limit: 100_000 }));
  expect(await told(completed)).toEqual([409, "conflict", expect.stringContaining("left the event log")]);
});
