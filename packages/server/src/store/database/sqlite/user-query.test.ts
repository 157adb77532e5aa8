/** The SQL of the user's code: a table of the service that is restricted to some columns. */
import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { temporaryFolder } from "../../../../test/kit.ts";
import { UserQueries } from "../index.ts";

test.each(["posts", "pragma_table_info", "pragma_index_xinfo"])(
  "the columns of a restricted table beside a collection %s",
  (collection) => {
    const path = `${temporaryFolder()}/test.db`;
    const driver = new Driver(path);
    for (const sql of [
      "PRAGMA journal_mode = WAL",
      "CREATE TABLE _users (id TEXT PRIMARY KEY, email TEXT UNIQUE, secret TEXT)",
      "INSERT INTO _users VALUES ('usr_1', 'a@x.org', 'hash')",
      `CREATE TABLE ${collection} (id TEXT)`,
    ])
      driver.run(sql);
    const queries = new UserQueries(path, [{ table: "_users", view: { name: "users", columns: ["id", "email"] } }]);
    expect(queries.run("SELECT * FROM users", []).rows).toBe('[{"id":"usr_1","email":"a@x.org"}]');
    expect(queries.run("SELECT id FROM users WHERE email = ?", ["a@x.org"]).rows).toBe('[{"id":"usr_1"}]');
    expect(() => queries.run("SELECT secret FROM _users", [])).toThrow("not every column of this table is readable");
    expect(queries.run(`SELECT count(*) AS n FROM ${collection}`, []).rows).toBe('[{"n":0}]');
    driver.close();
  },
);

test.each([
  ["_sqlite_notes", true],
  ["_json_each", true],
  ["_json_each_other", false],
  ["_sessions", false],
])("a table %s, whose name a collection may have, is readable: %p", (table, isReadable) => {
  const path = `${temporaryFolder()}/test.db`;
  const driver = new Driver(path);
  for (const sql of ["PRAGMA journal_mode = WAL", `CREATE TABLE ${table} (id TEXT)`]) driver.run(sql);
  const queries = new UserQueries(path, []);
  const read = (): string => queries.run(`SELECT count(*) AS n FROM ${table}`, []).rows;
  if (isReadable) expect(read()).toBe('[{"n":0}]');
  else expect(read).toThrow();
  driver.close();
});

test("the service's virtual tables are closed, and a statement that depends on the time names no table alone", () => {
  const path = `${temporaryFolder()}/test.db`;
  const driver = new Driver(path);
  for (const sql of [
    "PRAGMA journal_mode = WAL",
    "CREATE TABLE notes (id TEXT)",
    "CREATE VIRTUAL TABLE _search_notes USING fts5(text)",
  ])
    driver.run(sql);
  const queries = new UserQueries(path, []);
  const closed = "SELECT count(*) FROM _search_notes WHERE _search_notes MATCH 'x'";
  expect(() => queries.run(closed, [])).toThrow('the table "_search_notes" is the service\'s own');
  expect(queries.run("SELECT id FROM notes", []).tables).toEqual(["notes"]);
  for (const sql of ["SELECT id FROM notes WHERE strftime('%s', 'now') > '1'", "SELECT random() FROM notes"])
    expect(queries.run(sql, []).tables).toContain("");
  expect(queries.run("SELECT value FROM json_each('[1]')", []).tables).toContain("");
  driver.close();
});
