/** The cause of changes and the history of records over sockets: each way to a change, in processes of a service and instances of a cluster. */
import { describe, expect, test } from "bun:test";
import type { EventEntry, ImportReport, Page, StoredRecord, TokenResponse } from "@socle/protocol";
import { SocleClient } from "../packages/client/src/index.ts";
import { post, serve, until } from "./kit.ts";
import { scriptProject } from "./scripts-kit.ts";

const text = { name: "text", type: "string" };
const collections = [
  { name: "posts", fields: [text] },
  { name: "notes", fields: [text] },
  { name: "users", fields: [{ name: "nick", type: "string" }], permissions: { read: "public", update: "owner" } },
];
const files = {
  "functions/posts/note.ts": `
    export const beforeCreate = async ({ db, record }) => {
      if (record.text === "hooked") await db.collection("notes").create({ text: "of the hook" });
    };
    export const onCreate = async ({ db, record }) => {
      if (record.text === "told") await db.collection("notes").create({ text: "of the function" });
    };`,
  "jobs/tidy.ts": `
    export const queue = {};
    export default async ({ db, payload }) => void (await db.collection("notes").create({ text: payload.text }));`,
  "endpoints/make.ts": `
    export const access = "public";
    export const POST = async (_, { db, jobs }) => {
      await db.as(null).collection("notes").create({ text: "of the endpoint" });
      await db.transaction(async (tx) => {
        await tx.collection("notes").create({ text: "of the transaction" });
      });
      await jobs.enqueue("tidy", { text: "of the job" });
      return new Response("made");
    };`,
};

const cwd = await scriptProject({ collections, files, scripts: { timeout: "60s" } });
const server = await serve(cwd);
const register = (email: string): Promise<TokenResponse> =>
  post(`${server.url}/api/auth/register`, { email, password: "correct horse battery" }).then(
    async (answer) => (await answer.json()) as TokenResponse,
  );
const admin = { Authorization: `Bearer ${(await register("listener@example.com")).accessToken}` };

async function events(type: string): Promise<EventEntry[]> {
  const answer = await fetch(`${server.url}/api/admin/events?type=${type}&limit=1000`, { headers: admin });
  return ((await answer.json()) as Page<EventEntry>).items;
}

/** The event of the record with a text, and the answer's `X-Request-Id`. */
async function eventOf(textOf: string, type = "notes.created"): Promise<EventEntry> {
  let found: EventEntry | undefined;
  await until(async () => {
    found = (await events(type)).find(({ payload }) => payload["text"] === textOf);
    return found !== undefined;
  });
  if (found === undefined) throw new Error(`There is no ${type} with ${textOf}`);
  return found;
}

const requestId = ({ headers }: Response): string => headers.get("x-request-id") ?? "none";

describe("an event has the cause of its change", () => {
  test.each([
    ["nobody", async () => ({})],
    ["a user", async () => ({ Authorization: `Bearer ${(await register("ann@example.com")).accessToken}` })],
  ])("the request of %s: create, update, upsert, batch, deletion", async (name, sign) => {
    const headers = { "Content-Type": "application/json", ...(await sign()) };
    const call = (method: string, path: string, body?: object): Promise<Response> =>
      fetch(`${server.url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const made = await call("POST", "/api/notes", { text: `made by ${name}` });
    const { id } = (await made.json()) as StoredRecord;
    const changed = await call("PUT", `/api/notes/${id}`, { text: `changed by ${name}` });
    const batch = await call("POST", "/api/batch", {
      operations: [{ method: "update", collection: "notes", id, body: { text: `batch of ${name}` } }],
    });
    const gone = await call("DELETE", `/api/notes/${id}`);
    const all = (await events("notes.*")).filter(({ payload }) => payload["id"] === id).reverse();
    expect(all.map(({ type, cause }) => [type, cause])).toEqual(
      [made, changed, batch, gone].map((answer, i) => [
        i === 0 ? "notes.created" : i === 3 ? "notes.deleted" : "notes.updated",
        { kind: "request", id: requestId(answer) },
      ]),
    );
    expect(all.map(({ seq }) => seq)).toEqual(all.map(({ seq }) => seq).sort((a, b) => a - b));
  });

  test("a create with an Idempotency-Key has its first request", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const first = await post(`${server.url}/api/notes`, { text: "once" }, headers);
    await post(`${server.url}/api/notes`, { text: "once" }, headers);
    expect((await eventOf("once")).cause).toEqual({ kind: "request", id: requestId(first) });
  });

  test("an import has the id of its answer; a dry run has none", async () => {
    const send = async (query: string): Promise<[Response, ImportReport]> => {
      const headers = { ...admin, "Content-Type": "text/csv" };
      const answer = await fetch(`${server.url}/api/notes/import${query}`, {
        method: "POST",
        headers,
        body: "text\nimported\n",
      });
      return [answer, (await answer.json()) as ImportReport];
    };
    expect((await send("?dryRun=true"))[1].import).toBeUndefined();
    const [answer, report] = await send("");
    expect(report.import).toBe(requestId(answer));
    expect((await eventOf("imported")).cause).toEqual({ kind: "import", id: requestId(answer) });
  });

  test("a hook has the cause of the write that asked the hook", async () => {
    const made = await post(`${server.url}/api/posts`, { text: "hooked" });
    expect((await eventOf("of the hook")).cause).toEqual({
      kind: "request",
      id: requestId(made),
      name: "functions/posts/note.ts:beforeCreate",
    });
  });

  test("a function has its run", async () => {
    await post(`${server.url}/api/posts`, { text: "told" });
    const { cause } = await eventOf("of the function");
    const name = "functions/posts/note.ts:onCreate";
    expect(cause).toEqual({ kind: "function", id: expect.stringMatching(/^run_/), name });
    const runs = (await events("function.started")).map(({ payload }) => payload["runId"]);
    expect(runs).toContain(cause?.id);
  });

  test("an endpoint has its request, also with db.as and in a transaction; its job has the run", async () => {
    const answer = await post(`${server.url}/api/function/make`, {});
    expect(answer.status).toBe(200);
    for (const each of ["of the endpoint", "of the transaction"])
      expect((await eventOf(each)).cause).toEqual({
        kind: "request",
        id: requestId(answer),
        name: "endpoints/make.ts:POST",
      });
    const { cause } = await eventOf("of the job");
    expect(cause).toEqual({ kind: "job", id: expect.stringMatching(/^run_/), name: "jobs/tidy.ts:default" });
    await until(async () => (await events("job.completed")).some(({ payload }) => payload["runId"] === cause?.id));
  });

  test("a change of an account by an admin has the request", async () => {
    const { user } = await register("bob@example.com");
    const headers = { ...admin, "Content-Type": "application/json" };
    const body = JSON.stringify({ role: "admin" });
    const answer = await fetch(`${server.url}/api/admin/users/${user.id}`, { method: "PATCH", headers, body });
    expect(answer.status).toBe(200);
    const [event] = (await events("users.updated")).filter(({ payload }) => payload["id"] === user.id);
    expect(event?.cause).toEqual({ kind: "request", id: requestId(answer) });
  });
});

test("the history of a record in the client, page by page, from each process", async () => {
  const client = new SocleClient({ baseUrl: server.url, session: "memory" });
  await client.login({ email: "listener@example.com", password: "correct horse battery" });
  const notes = client.collection("notes");
  const { id } = await notes.create({ text: "first" });
  for (const text of ["second", "third"]) await notes.update(id, { text });
  const first = await notes.history(id, { limit: 2 });
  const rest = await notes.history(id, { limit: 2, cursor: first.nextCursor });
  expect([...first.items, ...rest.items].map(({ type, changes, by }) => [type, changes, by?.email])).toEqual([
    ["updated", { text: { before: "second", after: "third" } }, "listener@example.com"],
    ["updated", { text: { before: "first", after: "second" } }, "listener@example.com"],
    ["created", { text: { before: null, after: "first" } }, "listener@example.com"],
  ]);
  expect([first.nextCursor, rest.nextCursor]).toEqual([expect.any(String), null]);
  await notes.delete(id);
  for (let n = 0; n < 6; n++) expect((await notes.history(id)).items).toHaveLength(4);
});
