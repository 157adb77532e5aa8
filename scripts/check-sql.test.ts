import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Exceptions, findSqlProblems } from "./check-sql.ts";
import { root } from "./run.ts";

const none: Exceptions = { statements: [], tables: [] };
const schema = 'export const authSchema = { steps: ["CREATE TABLE _users (id TEXT) STRICT"] };\n';

async function problemsOf(file: string, source: string, allowed: Exceptions = none): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "socle-sql-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  await Bun.write(join(folder, "packages/server/src/people/auth/schema.ts"), schema);
  await Bun.write(join(folder, "packages/server/src", file), source);
  return findSqlProblems(folder, allowed);
}

test("the SQL of this checkout stands in the files of SQL", async () => {
  expect(await findSqlProblems(root)).toEqual([]);
});

test.each([
  ["a query", 'tx.get("SELECT id FROM posts")'],
  ["a query over several lines", "tx.get(`SELECT id,\n  title\nFROM posts`)"],
  ["an insertion", 'tx.run("INSERT OR REPLACE INTO posts VALUES (?)")'],
  ["an update", "tx.run(`UPDATE posts SET title = ?`)"],
  ["a deletion", "tx.run(`DELETE FROM posts`)"],
  ["a change of a table", "tx.run(`ALTER TABLE posts ADD COLUMN a`)"],
  ["an index", 'tx.run("CREATE UNIQUE INDEX a ON posts (b)")'],
  ["a pragma", 'tx.run("PRAGMA optimize")'],
])("%s outside the files of SQL is found", async (_name, source) => {
  const problems = await problemsOf("data/records/records.ts", `${source};\n`);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(/^packages\/server\/src\/data\/records\/records\.ts: holds SQL/);
});

test.each([
  "data/records/record-table.ts",
  "data/queries/sql/list.ts",
  "store/database/sqlite/writer.ts",
  "data/expressions/sql.ts",
])("SQL in %s is fine", async (file) => {
  expect(await problemsOf(file, 'tx.get("SELECT id FROM posts");\n')).toEqual([]);
});

test.each([
  ["a random value", "tx.run(`UPDATE posts SET n = random()`)"],
  ["the time of the machine", "tx.run(`UPDATE posts SET at = unixepoch('subsec')`)"],
  ["the time by name", 'tx.run("UPDATE posts SET at = CURRENT_TIMESTAMP")'],
  ["some rows in any order", 'tx.run("DELETE FROM posts WHERE id IN (SELECT id FROM posts LIMIT 5)")'],
])("%s is found: another instance would have another value", async (_name, source) => {
  const [problem] = await problemsOf("data/records/record-table.ts", `${source};\n`);
  expect(problem).toContain("instances of a cluster would differ");
});

test("rows in an order are fine", async () => {
  const source = 'tx.run("DELETE FROM posts WHERE id IN (SELECT id FROM posts ORDER BY id LIMIT 5)");\n';
  expect(await problemsOf("data/records/record-table.ts", source)).toEqual([]);
});

test("a comment about SQL is no SQL", async () => {
  expect(await problemsOf("data/records/records.ts", "// Like SELECT id FROM posts.\nexport {};\n")).toEqual([]);
});

test("a table of another module is found, also in a file of SQL", async () => {
  const source = 'tx.get("SELECT p.id FROM posts p JOIN _users u ON u.id = p._owner");\n';
  expect(await problemsOf("data/records/record-table.ts", source)).toEqual([
    "packages/server/src/data/records/record-table.ts: names _users, a table of people/auth",
  ]);
  expect(await problemsOf("people/auth/user-table.ts", source)).toEqual([]);
});

test("an exception that keeps the rule has to go", async () => {
  const allowed: Exceptions = { statements: ["data/records/records.ts"], tables: ["data/records/records.ts"] };
  const problems = await problemsOf("data/records/records.ts", "export {};\n", allowed);
  expect(problems).toHaveLength(2);
  expect(problems[0]).toContain("it goes from the list of exceptions");
});
