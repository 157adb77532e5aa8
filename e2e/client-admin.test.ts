/** The client's admin part against the executable: the configuration, files, filters, and live tails. */
import { expect, test } from "bun:test";
import type { EventEntry, LogEntry } from "@socle/protocol";
import { SocleClient, SocleError } from "../packages/client/src/index.ts";
import { project, serve, until } from "./kit.ts";
import { write } from "./scripts-kit.ts";

const secret = "a password of the environment";
const definition = {
  name: "albums",
  fields: [
    { name: "title", type: "string" },
    { name: "cover", type: "file" },
  ],
};
const cwd = await project({
  collections: [definition],
  config: { limits: { body: "2MiB" }, mail: { from: "shop@example.com" } },
});
await write(cwd, {
  "endpoints/send.ts": `export const POST: Endpoint = async (_, { mail }) => {
  await mail.send({ to: "ann@example.com", subject: "Hello", text: "Hello\\n" });
  return new Response();
};
`,
});
const env = { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: secret };
const server = await serve(cwd, { args: ["--port", "0"], env });
const client = new SocleClient({ baseUrl: server.url });
const me = await client.login({ email: "admin@example.com", password: secret });

test("the configuration: values, their sources, and no secret", async () => {
  const config = await client.admin.config();
  const sourceOf = (key: string) => config.keys.find((each) => each.key === key)?.source;
  expect(["limits.body", "admin.email", "port", "host"].map(sourceOf)).toEqual([
    "file",
    "environment",
    "command line",
    "default",
  ]);
  expect([config.fileExists, JSON.stringify(config).includes(secret)]).toEqual([true, false]);
});

test("a file: found by its name, protected, and the records with the file", async () => {
  const file = await client.storage.upload(new File(["x"], "Cover.TXT"), { visibility: "public" });
  await client.storage.upload(new File(["y"], "other.txt"), { visibility: "public" });
  const album = await client.collection("albums").create({ cover: file.id });
  expect((await client.admin.files({ search: "cover.t" })).items).toEqual([file]);
  expect((await client.admin.fileUses(file.id)).items).toEqual([
    { collection: "albums", field: "cover", id: album.id },
  ]);
  expect((await fetch(server.url + file.url)).status).toBe(200);
  const changed = await client.admin.setVisibility(file.id, "protected");
  expect(changed).toEqual({ ...file, visibility: "protected" });
  expect(await client.admin.file(file.id)).toEqual(changed);
  expect((await fetch(server.url + file.url)).status).toBe(401);
  expect((await client.admin.files({ visibility: "protected" })).total).toBe(1);
  const [audit] = (await client.admin.events({ actor: me.id, type: "admin.*" })).items;
  expect([audit?.type, audit?.payload["target"]]).toEqual(["admin.file.updated", file.id]);
  expect((await client.admin.overview()).storage).toEqual({ files: 2, size: 2 });
  await expect(client.admin.file("fil_none")).rejects.toBeInstanceOf(SocleError);
});

test("mails: the outbox, a mail, and no retry without an SMTP server", async () => {
  await client.function("send", { method: "POST" });
  const { items, total } = await client.admin.mails.list({ status: "kept" });
  expect([total, items.map(({ to, subject }) => [to, subject])]).toEqual([1, [["ann@example.com", "Hello"]]]);
  const id = items[0]?.id ?? "";
  expect(await client.admin.mails.get(id)).toMatchObject({ id, text: "Hello\n", html: null });
  expect((await client.admin.mails.list({ status: "sent" })).total).toBe(0);
  await expect(client.admin.mails.retry(id)).rejects.toMatchObject({ status: 400 });
});

test("a trial: the response for an anonymous caller", async () => {
  const trial = await client.admin.collections.try("albums", { as: null, operation: "create", body: { title: 5 } });
  expect(trial).toMatchObject({ as: null, allowed: false, status: 400, error: { details: [{ field: "title" }] } });
  const list = await client.admin.collections.try("albums", { as: me.id, operation: "read", query: { limit: 1 } });
  expect(list).toMatchObject({ as: { email: "admin@example.com" }, allowed: true });
});

test("a trial of a definition: the effect on a user and on an anonymous caller", async () => {
  const before = await client.admin.collections.get("albums");
  const definition = { permissions: { read: "admin", create: "public", update: "public", delete: "public" } };
  const effects = await client.admin.collections.tryDefinition("albums", { definition, sample: 0, as: me.id });
  expect(effects).toMatchObject({
    collection: "albums",
    isExact: true,
    rules: [{ operation: "read", from: "public", to: "admin" }],
  });
  expect(effects.callers.map(({ as }) => as?.email ?? null)).toEqual(["admin@example.com", null]);
  expect(effects.callers[0]?.operations[0]?.lost.count).toBe(0);
  expect(await client.admin.collections.get("albums")).toEqual(before);
});

test("tails: events and entries of the log in order of arrival, until the signal", async () => {
  const end = new AbortController();
  const opened: string[] = [];
  const events: EventEntry[] = [];
  const entries: LogEntry[] = [];
  const tails = [
    client.admin.tailEvents((event) => events.push(event), { signal: end.signal, onOpen: () => opened.push("events") }),
    client.admin.tailLogs((entry) => entries.push(entry), { signal: end.signal, onOpen: () => opened.push("logs") }),
  ];
  await until(() => opened.length === 2);
  const { id } = await client.collection("albums").create({ title: "heard" });
  const user = await client.admin.users.create({ email: "new@example.com", password: "long enough" });
  await until(() => events.length === 3 && entries.length > 0);
  expect(events.map(({ type, actor }) => [type, actor])).toEqual([
    ["albums.created", me.id],
    ["auth.register", me.id],
    ["admin.user.created", me.id],
  ]);
  expect(events[0]?.payload["id"]).toBe(id);
  expect(entries.map(({ fields }) => fields?.["target"])).toContain(user.id);
  expect((await client.admin.logs({ search: user.id.toUpperCase() })).items).toEqual(entries);
  end.abort();
  expect((await Promise.allSettled(tails)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test("an undo takes back a batch by the id of the request, and an import of several requests", async () => {
  const albums = client.collection<{ id: string; createdAt: string; updatedAt: string; title: string }>("albums");
  const kept = await albums.create({ title: "kept" });
  const requests: (string | null)[] = [];
  const onAnswer = (headers: Headers): number => requests.push(headers.get("X-Request-Id"));
  await client.batch([{ method: "update", collection: "albums", id: kept.id, body: { title: "wrong" } }], { onAnswer });
  const [request = ""] = requests;
  expect((await client.admin.undo.preview({ request: request ?? "" })).text).toBe("1 update in albums taken back.");
  const headers = { "Socle-Import": `imp_${"a1".repeat(12)}` };
  const made = await albums.create({ title: "made" }, { headers });
  await albums.update(kept.id, { title: "of the import" }, { headers, onAnswer });
  await client.batch([{ method: "create", collection: "albums", body: { title: "made, too" } }], { headers });
  expect(requests).toHaveLength(2);
  const { id } = await client.admin.undo.start({ import: headers["Socle-Import"] });
  await until(async () => (await client.admin.undo.get(id)).status === "completed");
  expect(await client.admin.undo.get(id)).toMatchObject({ done: 3, total: 3, left: [] });
  expect((await albums.get(kept.id)).title).toBe("wrong");
  expect((await albums.list()).map((album) => album.id)).not.toContain(made.id);
});
