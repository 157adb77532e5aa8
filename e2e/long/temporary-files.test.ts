/** SQLite's temporary files in a container without `/tmp`: large sorts, new indexes and dropped fields write such files. */
// Promises: R5.
import { expect, test } from "bun:test";
import { chmodSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Layout, serveBare } from "../bare-root.ts";
import { patience, post, project, type Running, socle, temporaryFolder } from "../kit.ts";
import { write } from "../scripts-kit.ts";

const password = "a long password";
const records = 25_000;
const title = { name: "title", type: "string" };
const body = { name: "body", type: "string" };
const extra = { name: "extra", type: "string" };
const posts = { name: "posts", fields: [title, body, extra] };
const results = { name: "results", fields: [{ name: "title", type: "string" }] };
const sortJob = `
  export const schedule = "0 0 1 1 *";
  export default async ({ db }: JobContext) => {
    const [row] = await db.query("SELECT title FROM (SELECT title, body FROM posts ORDER BY body DESC LIMIT -1) LIMIT 1");
    await db.collection("results").create({ title: String(row?.title) });
  };`;

/** A number and 1,000 characters after the number: the texts of all records are more than any cache of the service holds. */
function textOf(n: number): string {
  return `${String((n * 7_919) % records).padStart(6, "0")} ${"x".repeat(1_000)}`;
}

/** A data folder with the records, which a user made beside no service. */
async function filledData(app: string): Promise<string> {
  const data = temporaryFolder();
  chmodSync(data, 0o700);
  const rows = join(temporaryFolder(), "rows.ndjson");
  const lines = Array.from({ length: records }, (_, n) =>
    JSON.stringify({ title: `${n}`, body: textOf(n), extra: "" }),
  );
  await Bun.write(rows, lines.join("\n"));
  const env = { SERVICE_DATABASE: join(data, "socle.db"), SERVICE_STORAGE: join(data, "storage") };
  expect(await socle(["import", "posts", rows], { cwd: app, env })).toMatchObject({ code: 0 });
  return data;
}

function serveContainer(layout: Layout): Promise<Running> {
  return serveBare(layout, {
    SERVICE_DATABASE: "/data/socle.db",
    SERVICE_STORAGE: "/data/storage",
    SERVICE_BACKUP_TARGET: "/data/backups",
    SERVICE_ADMIN_EMAIL: "admin@example.com",
    SERVICE_ADMIN_PASSWORD: password,
  });
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

type Ask = (method: "GET" | "PUT" | "POST", path: string, sent?: object) => Promise<Answer>;

async function asAdmin(url: string): Promise<Ask> {
  const login = await post(`${url}/api/auth/login`, { email: "admin@example.com", password });
  const { accessToken } = (await login.json()) as { accessToken: string };
  const headers = { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" };
  return async (method, path, sent) => {
    const answer = await fetch(`${url}/api/${path}`, { method, headers, body: sent && JSON.stringify(sent) });
    return { status: answer.status, body: await answer.json() };
  };
}

/** Asks until the answer holds `expected`; the last answer is compared when the time is over. */
async function eventually(ask: () => Promise<Answer>, isReady: (text: string) => boolean): Promise<Answer> {
  const end = performance.now() + patience;
  for (;;) {
    const answer = await ask();
    if (isReady(JSON.stringify(answer.body)) || performance.now() > end) return answer;
    await Bun.sleep(20);
  }
}

test("sorts, new indexes, dropped fields, queries of code and backups write nowhere but into the data folder", async () => {
  const app = await project({ collections: [posts, results] });
  const data = await filledData(app);
  await write(app, { "jobs/sort.ts": sortJob });
  const server = await serveContainer({ data, app });
  const ask = await asAdmin(server.url);
  const first = String(Array.from({ length: records }).findIndex((_, n) => textOf(n).startsWith(`0${records - 1}`)));

  // No index gives these groups in order: a reader thread sorts 25 MB of texts.
  const grouped = await ask("GET", "posts?group=body&aggregate=count&sort=-body&limit=1");
  expect(grouped).toMatchObject({ status: 200, body: { items: [{ body: textOf(Number(first)), count: 1 }] } });
  const listed = await ask("GET", "posts?sort=-body&limit=1");
  expect(listed).toMatchObject({ status: 200, body: { items: [{ title: first }] } });

  // The process of queries sorts the same texts for a job.
  expect(await ask("POST", "admin/jobs/sort/run", {})).toMatchObject({ status: 202 });
  const made = await eventually(
    () => ask("GET", "results"),
    (text) => text.includes('"title"') || server.output().includes("ERROR"),
  );
  expect(made).toMatchObject({ status: 200, body: { items: [{ title: first }] } });

  // The thread of migrations sorts for an index, and writes the table anew without a field.
  const change = (fields: readonly object[], indexes: readonly string[][]): Promise<Answer> =>
    ask("PUT", "admin/collections/posts", { fields, indexes });
  expect(await change(posts.fields, [["body", "title"]])).toMatchObject({ status: 200, body: { records } });
  expect(await change([title, body], [["body", "title"]])).toMatchObject({ status: 200, body: { records } });
  expect(await change([title, { ...body, unique: true }], [])).toMatchObject({ status: 200, body: { records } });

  expect(await ask("POST", "admin/backups", {})).toMatchObject({ status: 202 });
  const backups = await eventually(
    () => ask("GET", "admin/backups"),
    (text) => !text.includes("running"),
  );
  expect(backups).toMatchObject({ status: 200, body: { items: [{ state: "completed", error: null }] } });

  expect(await server.stop()).toBe(0);
  expect(server.output()).not.toContain("ERROR");
  expect(readdirSync(data).filter((name) => name.startsWith("etilqs"))).toEqual([]);
});
