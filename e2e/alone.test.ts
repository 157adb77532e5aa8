/** The executable alone in a bare root: all work on threads and in child processes. */
// Promises: R5.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { SocleClient } from "../packages/client/src/index.ts";
import { png } from "../packages/server/test/images.ts";
import { serveBare } from "./bare-root.ts";
import { post, project, until } from "./kit.ts";
import { write } from "./scripts-kit.ts";

const posts = {
  name: "posts",
  fields: [
    { name: "title", type: "string" },
    { name: "body", type: "text" },
    { name: "copies", type: "integer" },
  ],
};
const copies = { name: "copies", fields: [{ name: "of", type: "string" }] };
const files = {
  "functions/posts/copy.ts": `
    export const onCreate: OnCreate = async ({ record, db, storage }) => {
      if (record.title !== "with a function") return;
      const [row] = await db.query("SELECT count(*) AS n FROM posts WHERE title = ?", [record.title]);
      await db.collection("copies").create({ of: String(row?.n) });
    };`,
  "jobs/tidy.ts": `
    export const schedule = "0 0 1 1 *";
    export default async ({ db }: JobContext) => { await db.collection("copies").create({ of: "a job" }); };`,
};

const records = 12_000;
const perBatch = 100;

test("checkpoints, queries and migrations on threads, functions, jobs, thumbnails and passwords need no other file", async () => {
  const cwd = await project({ collections: [posts, copies] });
  await write(cwd, files);
  const password = "a long password";
  const env = { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: password };
  const server = await serveBare({ data: cwd }, env);
  const { url } = server;

  // The service is process 1 of another user, and sees nothing of this machine.
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  expect(/^NSpid:.*\s1$/m.test(status)).toBe(true);
  expect(existsSync(`/proc/${server.pid}/root${process.cwd()}`)).toBe(false);
  expect(existsSync(`/proc/${server.pid}/root/tmp`)).toBe(false);

  const client = new SocleClient({ baseUrl: url });
  await client.login({ email: "admin@example.com", password });
  const admin = { Authorization: `Bearer ${client.accessToken}` };

  // A checkpoint copies the log into the database, which would stay at a few pages without the thread.
  const body = "x".repeat(1_500);
  for (let first = 0; first < records; first += perBatch) {
    const operations = Array.from({ length: perBatch }, (_, i) => ({
      method: "create",
      collection: "posts",
      body: { title: `title ${first + i}`, body, copies: first + i },
    }));
    expect((await post(`${url}/api/batch`, { operations })).status).toBe(200);
  }
  await until(() => statSync(join(cwd, "socle.db")).size > 8 * 1024 ** 2);

  // No index answers this filter: the query runs on a thread.
  const query = `filter=${encodeURIComponent('body ~ "nothing has this"')}&count=exact`;
  const found = await (await fetch(`${url}/api/posts?${query}`)).json();
  expect(found).toEqual({ items: [], nextCursor: null, total: 0 });

  // So many records are migrated on a thread.
  const fields = [...posts.fields.slice(0, 2), { name: "copies", type: "integer", unique: true }];
  const migrated = await fetch(`${url}/api/admin/collections/posts`, {
    method: "PUT",
    headers: { ...admin, "Content-Type": "application/json" },
    body: JSON.stringify({ fields }),
  });
  expect(await migrated.json()).toMatchObject({ name: "posts", records });

  // A function in a process, and the SQL of the function in a second process.
  expect((await post(`${url}/api/posts`, { title: "with a function" })).status).toBe(201);
  expect((await post(`${url}/api/admin/jobs/tidy/run`, {}, admin)).status).toBe(202);
  const made = async (): Promise<string[]> => {
    const list = await client.collection("copies").list();
    return list.map((record) => String(record["of"])).sort();
  };
  while ((await made()).length < 2) await Bun.sleep(20);
  expect(await made()).toEqual(["1", "a job"]);

  const image = new File([png(300, 200)], "a.png");
  const upload = await client.storage.upload(image, { visibility: "public" });
  const thumbnail = await fetch(`${url}${upload.url}?thumb=100x`);
  expect([thumbnail.status, thumbnail.headers.get("content-type")]).toEqual([200, "image/png"]);

  expect(await server.stop()).toBe(0);
  expect(existsSync(join(cwd, "socle.db-wal"))).toBe(false);
  const troubles = server
    .output()
    .split("\n")
    .filter((line) => /ERROR|ModuleNotFound|failed/.test(line));
  expect(troubles).toEqual([]);
});
