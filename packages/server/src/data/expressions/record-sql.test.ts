/** The SQL of `@record` and `every`: the same SQL as without the words where they mean the same, and the index that a condition uses. */
import { expect, test } from "bun:test";
import { fill, schemaOf } from "../../../test/expression-schemas.ts";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { Database } from "../../store/database/index.ts";
import { parseExpression } from "./parse.ts";
import { toSql } from "./sql/conditions.ts";
import { bind, type SqlOptions } from "./sql/scope.ts";

const sqlOf = (text: string, options: SqlOptions = {}) => toSql(parseExpression(text, schemaOf("posts")), "p", options);

test.each([
  ['@record.title = "a"', 'title = "a"'],
  ["@record.author.name = @record.title", "author.name = title"],
  ["count in (1, @record.score)", "count in (1, score)"],
  ['@record.links.title != "a"', 'links.title != "a"'],
  ['@record.posts(parent)[slug = "a"]', 'posts(parent)[slug = "a"]'],
  [
    "length(@record.tags) = 2 && lower(@record.parent.title) = @record.meta.a",
    "length(tags) = 2 && lower(parent.title) = meta.a",
  ],
  ["every(@record.links, published = true)", "!links[!(published = true)]"],
  ["every(links[count > 1].fans, age > 1 || name = null)", "!links[count > 1].fans[!(age > 1 || name = null)]"],
  ["every(posts(parent)[slug = 'a'], count = 1)", "!posts(parent)[slug = 'a' && !(count = 1)]"],
])("%s is %s", (text, same) => {
  for (const options of [{}, { isProbed: true }, { isOfOneRecord: true }])
    expect(sqlOf(text, options)).toEqual(sqlOf(same, options));
});

test.each([
  [
    "links[slug = 'a' && count > 1]",
    'p._seq IN (SELECT _r2.record FROM "_items_posts.links" _r2, "posts" _r1 WHERE _r2.value = _r1.id AND (_r1."slug" = +? AND _r1."count" > +?))',
  ],
  [
    "posts(parent).title = title",
    'EXISTS (SELECT 1 FROM "posts" _r1 WHERE _r1."parent" = p.id AND _r1."title" IS p."title")',
  ],
  [
    "links[title = slug].author = author",
    'EXISTS (SELECT 1 FROM json_each(p."links") _r2, "posts" _r1 WHERE _r1.id = _r2.value AND (_r1."title" IS _r1."slug" AND _r1."author" IS p."author"))',
  ],
])("%s without the words has the SQL of an earlier version", (text, sql) => {
  expect(sqlOf(text).text).toBe(sql);
});

test("a comparison with @record goes along the path, and not along an index of the compared field", async () => {
  const onFatal = (error: unknown): void => {
    throw error;
  };
  const database = new Database({ path: `${temporaryFolder()}/test.db`, logger: quietLogger(), onFatal });
  await fill(database, { posts: [], authors: [] });
  await database.transact((tx) => {
    for (const column of ["id", "parent", "author"]) tx.run(`CREATE INDEX "posts_${column}" ON posts ("${column}")`);
  });
  const planOf = (text: string): string => {
    const { text: sql, values } = sqlOf(text);
    const query = `EXPLAIN QUERY PLAN SELECT p.id FROM posts p WHERE ${sql}`;
    const rows = database.reader.all<{ detail: string }>(query, ...bind(values, { now: 0, user: null }));
    return rows.map(({ detail }) => detail).join("\n");
  };
  for (const text of [
    "links[author = @record.author]",
    "links[@record.author = author]",
    "links[author in (null, @record.author)]",
    "!every(links, author != @record.author)",
  ]) {
    expect([text, planOf(text)]).toEqual([text, expect.stringContaining("posts_id (id=?)")]);
    expect([text, planOf(text)]).not.toEqual([text, expect.stringContaining("posts_author")]);
  }
  expect(planOf("posts(parent)[author = @record.author]")).toContain("posts_parent (parent=?)");
  expect(planOf("posts(parent)[author = @record.author]")).not.toContain("posts_author");
  await database.close();
});
