/** SQL of admins over HTTP: rows, plan and bounds; and attacks, each refused or bounded with a message. */
import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { EventEntry, Page, SqlAnswer } from "@socle/protocol";
import { openApi, temporaryFolder } from "../../../../../test/kit.ts";

const api = await openApi({
  collections: [
    {
      name: "posts",
      fields: [
        { name: "title", type: "string" },
        { name: "views", type: "integer" },
        { name: "secret", type: "string", permissions: { read: "admin" } },
      ],
      indexes: [["views"]],
      search: ["title"],
    },
  ],
  settings: { SERVICE_LIMITS_QUERY_TIME: "2s" },
});
const { request } = api;
const token = await api.admin();

interface Refusal {
  error: { code: string; message: string };
}

async function run(sql: string): Promise<SqlAnswer> {
  const { status, body } = await request<SqlAnswer>("POST", "/api/admin/sql", { token, body: { sql } });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

async function refusal(sql: string): Promise<string> {
  const { status, body } = await request<Refusal>("POST", "/api/admin/sql", { token, body: { sql } });
  return `${status} ${body.error?.message}`;
}

async function audited(): Promise<unknown[]> {
  const { body } = await request<Page<EventEntry>>("GET", "/api/admin/events?type=admin.sql.run", { token });
  return body.items.map(({ payload }) => (payload["after"] as { sql: string } | null)?.sql);
}

beforeAll(async () => {
  for (let views = 0; views < 3; views++)
    await request("POST", "/api/posts", { token, body: { title: `Post ${views}`, views, secret: "s" } });
});

test("a SELECT answers rows by column, the plan and the time; a dry run the plan alone", async () => {
  const sql = "SELECT title, views FROM posts WHERE views >= 1 ORDER BY views";
  const answer = await run(sql);
  expect(answer).toMatchObject({
    columns: ["title", "views"],
    rows: [
      { title: "Post 1", views: 1 },
      { title: "Post 2", views: 2 },
    ],
    isCut: false,
  });
  expect(answer.plan.map(({ detail }) => detail).join()).toContain("SEARCH posts USING INDEX");
  const { body } = await request<SqlAnswer>("POST", "/api/admin/sql?dryRun=true", { token, body: { sql } });
  expect(body).toMatchObject({ columns: ["title", "views"], rows: [], isCut: false, plan: answer.plan });
  expect((await run("SELECT id FROM posts WHERE views > 9")).columns).toEqual(["id"]);
  // As for `db.query`, rules of fields are no rules for an admin.
  expect((await run("SELECT secret FROM posts LIMIT 1")).rows).toEqual([{ secret: "s" }]);
  expect((await run("/* note */ SELECT x'00ff' AS b -- end")).rows).toEqual([{ b: "00ff" }]);
});

test("a statement that runs is in the audit with its text; a refused statement and a plan are not", async () => {
  const before = await audited();
  await run("SELECT 'audited'");
  await refusal("DELETE FROM posts");
  await request("POST", "/api/admin/sql?dryRun=true", { token, body: { sql: "SELECT 'planned'" } });
  expect((await audited()).slice(0, -before.length || undefined)).toEqual(["SELECT 'audited'"]);
});

test("only the first 1,000 rows are answered, and about a megabyte", async () => {
  const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1001) SELECT i FROM n";
  const many = await run(numbers);
  expect([many.rows.length, many.isCut, many.rows.at(-1)]).toEqual([1_000, true, { i: 1_000 }]);
  const whole = await run(numbers.replace("1001", "1000"));
  expect([whole.rows.length, whole.isCut]).toEqual([1_000, false]);
  const wide = await run(numbers.replace("SELECT i FROM", "SELECT printf('%.*c', 100000, 'x') AS i FROM"));
  expect(wide.isCut).toBe(true);
  expect(wide.rows.length).toBeLessThan(11);
  expect(wide.rows.length).toBeGreaterThan(8);
});

const reads = "the SQL only reads";
const own = "is the service's own";
const attacks: readonly (readonly [name: string, sql: string, message: string])[] = [
  ["an INSERT", "INSERT INTO posts (id) VALUES ('x')", reads],
  ["an UPDATE", "UPDATE posts SET title = 'x'", reads],
  ["a DELETE", "DELETE FROM posts", reads],
  ["an INSERT behind WITH", "WITH x AS (SELECT 1) INSERT INTO posts (id) SELECT 'x'", `${reads}: INSERT is refused`],
  ["a DELETE behind WITH", "WITH x AS (SELECT 1) DELETE FROM posts", `${reads}: DELETE is refused`],
  ["an UPDATE behind WITH and a comment", "/* SELECT */ WITH x AS (SELECT 1) UPDATE/**/posts SET title = 'x'", reads],
  ["a REPLACE behind WITH", "WITH x AS (SELECT 1) REPLACE INTO posts (id) SELECT 'x'", `${reads}: REPLACE is refused`],
  ["DDL", "DROP TABLE posts", reads],
  ["ATTACH", "ATTACH '/tmp/other.db' AS other", reads],
  ["a PRAGMA", "PRAGMA writable_schema = 1", reads],
  ["VACUUM INTO", "VACUUM INTO '/tmp/stolen.db'", reads],
  ["a transaction", "BEGIN IMMEDIATE", reads],
  ["EXPLAIN of a write", "EXPLAIN DELETE FROM posts", reads],
  ["a second statement", "SELECT 1; DELETE FROM posts", "a single statement is allowed"],
  ["a second statement behind a comment", "SELECT 1; -- x\nDELETE FROM posts", "a single statement is allowed"],
  ["a second statement behind a quote", "SELECT ';' AS a; DELETE FROM posts", "a single statement is allowed"],
  ["nothing", "", reads],
  ["a comment alone", "-- SELECT 1", reads],
  ["load_extension", "SELECT load_extension('/tmp/evil.so')", "not authorized"],
  ["readfile", "SELECT readfile('/etc/passwd')", "no such function: readfile"],
  ["writefile", "SELECT writefile('/tmp/x', 'y')", "no such function: writefile"],
  ["raw pages", "SELECT data FROM sqlite_dbpage", "no such table: sqlite_dbpage"],
  ["sessions", "SELECT * FROM _sessions", own],
  ["sessions by a quoted name", 'SELECT * FROM main."_sessions"', own],
  ["sessions in a subquery", "SELECT (SELECT count(*) FROM _sessions)", own],
  ["keys", "SELECT hash FROM _keys", own],
  ["secrets", "SELECT value FROM _secrets", own],
  ["second factors", "SELECT secret FROM _totp", own],
  ["the outbox", "SELECT * FROM _mails", own],
  ["password hashes", "SELECT passwordHash FROM _users", "not every column of this table is readable; use users"],
  ["password hashes by all columns", "SELECT * FROM _users", "use users"],
  ["password hashes by the view", "SELECT passwordHash FROM users", "no such column: passwordHash"],
  ["the words of the search", "SELECT * FROM _search_posts", "_search_posts"],
  ["two columns of one name", "SELECT a.id, b.id FROM posts a, posts b", 'Two columns are named "id"'],
  ["a mistake", "SELECT titel FROM posts", "no such column: titel"],
  ["a long text", `SELECT '${"x".repeat(10_000)}'`, "10000 are allowed"],
  [
    "an endless statement",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "ran longer than 2.0 s",
  ],
];

describe("an attack is refused with a message, and changes nothing", () => {
  test.each(attacks)("%s", async (_name, sql, message) => {
    const said = await refusal(sql);
    expect(said).toStartWith("400 ");
    expect(said).toContain(message);
    expect(said).not.toContain("db.query");
    expect((await run("SELECT count(*) AS n FROM posts")).rows).toEqual([{ n: 3 }]);
  });

  test("no file was written", () => {
    for (const path of ["/tmp/other.db", "/tmp/stolen.db"]) expect(existsSync(path)).toBe(false);
    expect(existsSync(join(temporaryFolder(), "x"))).toBe(false);
  });
});

test("values of hundreds of megabytes end with the process of the statement, or are cut; the service goes on", async () => {
  // 600 MB: too large for an answer; the process is ended, or the value is left out.
  for (const value of [
    "randomblob(600000000)",
    "hex(zeroblob(300000000))",
    "zeroblob(900000000)",
    "printf('%.*c', 2000000000, 'x')",
  ]) {
    const { status, body } = await request<SqlAnswer & Refusal>("POST", "/api/admin/sql", {
      token,
      body: { sql: `SELECT ${value} AS x` },
    });
    if (status === 200) expect([body.rows, body.isCut]).toEqual([[], true]);
    else expect(body.error.message).toMatch(/more than 512 MiB of memory|ran longer than 2\.0 s|out of memory/);
  }
  expect((await run("SELECT 1 AS n")).rows).toEqual([{ n: 1 }]);
}, 60_000);

test("an admin runs one statement at a time, and the next statement afterwards", async () => {
  const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
  const both = await Promise.all([refusal(endless), refusal(endless)]);
  expect(both.filter((said) => said.startsWith("409 Another statement of yours runs"))).toHaveLength(1);
  expect(both.filter((said) => said.includes("ran longer than 2.0 s"))).toHaveLength(1);
  expect((await run("SELECT 1 AS n")).rows).toEqual([{ n: 1 }]);
});

test("an API key has no right to the route, whatever its scopes", async () => {
  const { body } = await request<{ key: string }>("POST", "/api/admin/keys", {
    token,
    body: { name: "all", scopes: ["*:read", "*:write", "admin"] },
  });
  const { status } = await request("POST", "/api/admin/sql", { token: body.key, body: { sql: "SELECT 1" } });
  expect([401, 403]).toContain(status);
});
