/** Damaged files: a damaged page fails the requests that need the page, and no other request. */
import { Database as Driver } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join, relative } from "node:path";
import { damage, damagePage, firstFreePage, type PageKind } from "../../../../test/damage.ts";
import { openApi, type TestApi, temporaryFolder } from "../../../../test/kit.ts";
import { messageOf } from "../../../base/kernel/index.ts";
import { asUnavailable, damageOf, SqliteFailure } from "./errors.ts";

const collections = [
  {
    name: "posts",
    fields: [
      { name: "title", type: "string", unique: true },
      { name: "body", type: "text" },
    ],
  },
  { name: "notes", fields: [{ name: "text", type: "string" }] },
];

interface World {
  folder: string;
  path: string;
  /** Ids of posts, oldest first. */
  posts: string[];
}

/** A copy of a database with some hundred posts and a note, closed. */
async function world(): Promise<World> {
  const made = await original;
  const folder = temporaryFolder();
  cpSync(made.folder, folder, { recursive: true });
  return { ...made, folder, path: join(folder, relative(made.folder, made.path)) };
}

async function makeWorld(): Promise<World> {
  const folder = temporaryFolder();
  const api = await openApi({ folder, collections });
  const path = api.service.database.path;
  await api.admin();
  const posts: string[] = [];
  for (let n = 0; n < 300; n++)
    posts.push((await api.request<{ id: string }>("POST", "/api/posts", { body: post(n) })).body.id);
  await api.request("POST", "/api/notes", { body: { text: "fine" } });
  await api.close();
  return { folder, path, posts };
}

const original = makeWorld();

function post(n: number): { title: string; body: string } {
  return { title: `title ${n}`, body: `${n} `.repeat(300) };
}

/** The rest of the service works, even while requests for the damaged page fail. */
async function expectNotesWork({ request }: TestApi): Promise<void> {
  const before = (await request<{ items: object[] }>("GET", "/api/notes")).body.items.length;
  const answers = await Promise.all([
    request("POST", "/api/notes", { body: { text: "one more" } }),
    request("GET", "/api/posts"),
    request("POST", "/api/posts", { body: post(1_000 + before) }),
    request("POST", "/api/notes", { body: { text: "and another" } }),
    request("GET", "/api/notes"),
  ]);
  expect([answers[0].status, answers[3].status, answers[4].status]).toEqual([201, 201, 200]);
  expect((await request<{ items: object[] }>("GET", "/api/notes")).body.items.length).toBe(before + 2);
}

const kinds: { name: string; kind: PageKind; isRead: boolean }[] = [
  { name: "posts", kind: "leaf", isRead: true },
  { name: "posts", kind: "root", isRead: true },
  { name: "sqlite_autoindex_posts_1", kind: "leaf", isRead: false },
  { name: "sqlite_autoindex_posts_1", kind: "root", isRead: false },
];

describe("a damaged page of a collection", () => {
  for (const { name, kind, isRead } of kinds)
    for (const fill of [0, 0x5a])
      test(`${kind} of ${name}, filled with ${fill}: its requests are 500, the others go on, also after a restart`, async () => {
        const { folder, path, posts } = await world();
        damage(path, name, { kind, fill });
        for (let start = 0; start < 2; start++) {
          const api = await openApi({ folder, collections });
          const newest = posts.at(-1) ?? "";
          const read = await api.request("GET", isRead ? "/api/posts" : `/api/posts/${newest}`);
          expect(read.status).toBe(500);
          expect(read.body).toMatchObject({ error: { code: "internal_error" } });
          expect(JSON.stringify(read.body)).not.toContain("SQLITE");
          const logged = api
            .entries("A request failed")
            .map(({ fields }) => String(fields?.["error"]))
            .join();
          expect(logged).toContain('at the table "posts"');
          expect(logged).toContain("restore a backup");
          expect(logged).toContain(path);
          await expectNotesWork(api);
          expect(api.log.filter((line) => line.startsWith("FATAL"))).toEqual([]);
          await api.close();
        }
      });

  test("is a single ERROR a minute, however many requests meet the page", async () => {
    const { folder, path } = await world();
    damage(path, "posts", { kind: "root", fill: 0 });
    const api = await openApi({ folder, collections });
    for (let n = 0; n < 50; n++) expect((await api.request("GET", "/api/posts")).status).toBe(500);
    expect(api.entries("A request failed")).toHaveLength(1);
    await api.close();
  });
});

/** The service started with a damaged file, or the line that refuses the start. */
async function started(folder: string): Promise<TestApi | string> {
  try {
    return await openApi({ folder, collections });
  } catch (thrown) {
    return String(thrown);
  }
}

/** Either a line that names the file and the next step refuses the start, or the undamaged part works. */
async function expectClear({ folder, path }: World): Promise<void> {
  const api = await started(folder);
  if (typeof api === "string") {
    expect(api).not.toContain("\n");
    expect(api).toStartWith(`SetupError: database ${path}: `);
    expect(api).toContain("restore a backup");
    return;
  }
  for (const address of ["/api/notes", "/api/posts", "/api/admin/users", "/health"])
    expect([200, 401, 500]).toContain((await api.request("GET", address)).status);
  const answers = await Promise.all([
    api.request("POST", "/api/notes", { body: { text: "x" } }),
    api.request("POST", "/api/auth/login", { body: { email: "admin@example.com", password: "correct horse" } }),
  ]);
  for (const { status } of answers) expect([200, 201, 400, 500]).toContain(status);
  expect(api.log.filter((line) => line.startsWith("FATAL"))).toEqual([]);
  await api.close();
}

describe("values of another page", () => {
  test.each([
    "UPDATE _schema SET module = 'not a module' WHERE module = 'events'",
    "UPDATE _schema SET version = 58219 WHERE module = 'events'",
    "UPDATE _position SET journal = 'a text of another page'",
  ])("%s: the refusal says that the file may be damaged, and the next steps", async (sql) => {
    const { path, folder } = await world();
    const file = new Driver(path);
    file.run(sql);
    file.close();
    const refused = await openApi({ folder, collections }).then(
      () => "it started",
      (error: unknown) => messageOf(error),
    );
    expect(refused).toContain(`database ${path}: `);
    expect(refused).toMatch(/if the file is damaged, see what is damaged with socle verify.* socle restore$/);
  });
});

describe("a damaged page of the service's own", () => {
  for (const name of ["_users", "_events", "_collections", "_sessions", "_schema", "_secrets"])
    test(`${name}: a clear line at the start, or a response to each request`, async () => {
      const damaged = await world();
      damage(damaged.path, name, { kind: "root", fill: 0 });
      await expectClear(damaged);
    });

  test("the tables' names", async () => {
    const damaged = await world();
    damage(damaged.path, "sqlite_schema");
    await expectClear(damaged);
  });

  test("the header", async () => {
    const damaged = await world();
    damagePage(damaged.path, 1);
    await expectClear(damaged);
  });

  test("the list of free pages: reads go on", async () => {
    const damaged = await world();
    // The log keeps no values of deleted records, so that pages become free.
    const before = await openApi({ folder: damaged.folder, settings: { SERVICE_EVENTS_BEFORE: "false" } });
    for (const id of damaged.posts) await before.request("DELETE", `/api/posts/${id}`);
    await before.close();
    const page = firstFreePage(damaged.path);
    expect(page).toBeGreaterThan(1);
    damagePage(damaged.path, page);
    const api = await openApi({ folder: damaged.folder });
    for (let n = 0; n < 20; n++)
      expect([201, 500]).toContain((await api.request("POST", "/api/posts", { body: post(n) })).status);
    expect((await api.request("GET", "/api/notes")).status).toBe(200);
    expect(api.log.filter((line) => line.startsWith("FATAL"))).toEqual([]);
  });
});

test("a disk that cannot read a page is distinguished from a full disk", () => {
  const error = damageOf(
    { message: "disk I/O error", code: "SQLITE_IOERR_READ" },
    { path: "/data/socle.db", sql: 'SELECT * FROM "my ""notes""" JOIN _users' },
  );
  expect(error?.message).toBe(
    'database /data/socle.db: cannot be read by the disk at the tables "my "notes"", "_users" (SQLITE_IOERR_READ: disk I/O error); check the disk; if the file stays unreadable, see what is damaged with socle verify, and restore a backup with socle restore',
  );
  expect(asUnavailable(error)).toBe(error);
  const writing = { message: "disk I/O error", code: "SQLITE_IOERR_WRITE" };
  expect(damageOf(writing, { path: "/data/socle.db", sql: "INSERT INTO t VALUES (1)" })).toBeNull();
  expect(asUnavailable(new SqliteFailure(writing.message, writing.code))).toMatchObject({ code: "unavailable" });
});
