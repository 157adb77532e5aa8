import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { schemaOf } from "../../../test/expression-schemas.ts";
import { isLong } from "../../../test/long.ts";
import { randomSeed } from "../../../test/random.ts";
import { AppError } from "../../base/kernel/index.ts";
import { ExpressionError, ownColumnsIn } from "./expression.ts";
import { parseExpression } from "./parse.ts";
import { toPredicate } from "./predicate.ts";
import { toSql } from "./sql/conditions.ts";

const posts = schemaOf("posts");

function refused(text: string): AppError {
  try {
    parseExpression(text, posts);
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown;
    throw thrown;
  }
  throw new Error(`${text} was not refused`);
}

const operators = "= != > >= < <= ~ !~ or in";
const operand = 'a field, a value such as "text", 5, true or null, or @now';

const ofLat = "from -90 to 90, as in distance(field, lat, lon)";
const ofLon = "from -180 to 180, as in distance(field, lat, lon)";
const ofPlace = "null, or distance(field, lat, lon) < 5km for the places nearby";

describe("an error has its position and the expected piece", () => {
  test.each([
    ["", `at position 1: expected ${operand}, found the end`],
    ["   ", `at position 4: expected ${operand}, found the end`],
    ["title", `at position 6: expected ${operators}, found the end`],
    ["title =", `at position 8: expected ${operand}, found the end`],
    ['title = "a', 'at position 9: this text has no end; expected "'],
    ["title = 'a\\'", "at position 9: this text has no end; expected '"],
    [
      'title = "a\\x"',
      String.raw`at position 9: the text has \x, which is no escape; allowed are \" \' \\ \/ \b \f \n \r \t and \u with four hexadecimal digits`,
    ],
    ['title = "\\u0000"', "at position 9: a text must be Unicode text without NUL and lone surrogates"],
    ['title = "\\ud800"', "at position 9: a text must be Unicode text without NUL and lone surrogates"],
    ['title == "a"', 'at position 7: "==" means nothing here; write "="'],
    ['title <> "a"', 'at position 7: "<>" means nothing here; write "!="'],
    ['title = "a" & count = 1', 'at position 13: "&" means nothing here; write "&&"'],
    ['title = "a" and count = 1', 'at position 13: expected && or ||, or the end, found "and"; for "and" write &&'],
    ['title LIKE "a"', `at position 7: expected ${operators}, found "LIKE"; for "like" write ~`],
    ['title = "a") ', 'at position 12: expected && or ||, or the end, found ")"'],
    ['(title = "a"', "at position 13: expected &&, || or ), found the end"],
    ["count in 5", 'at position 10: expected "(" and the values, found 5'],
    ["count in ()", `at position 11: expected ${operand}, found ")"`],
    ["count in (1 2)", 'at position 13: expected "," or ")", found 2'],
    ["count = 5x", 'at position 9: "5x" is no number, and no length in m or km'],
    ["distance(place, 1, 2) < 5mi", 'at position 25: "5mi" is no number, and no length in m or km'],
    ["count < 5km", "at position 9: 5km is a length, which only distance(field, lat, lon) can be compared with"],
    ["5.5m < count", "at position 1: 5.5m is a length, which only distance(field, lat, lon) can be compared with"],
    ["count in (1, 5km)", "at position 14: 5km is a length, which only distance(field, lat, lon) can be compared with"],
    [
      "meta[5m] = 1",
      'at position 6: expected the number of an item, from 0, * for any, or a member such as "a b", found 5m',
    ],
    ["distance(place, 91, 2) < 5", `at position 17: expected a latitude ${ofLat}, found 91`],
    ["distance(place, 1, -180.5) < 5", `at position 20: expected a longitude ${ofLon}, found -180.5`],
    ["distance(place, 1m, 2) < 5", `at position 17: expected a latitude ${ofLat}, found 1m`],
    ["distance(place, count, 2) < 5", `at position 17: expected a latitude ${ofLat}, found "count"`],
    ["distance(place, 1) < 5", `at position 18: expected "," and a longitude ${ofLon}, found ")"`],
    [
      "distance(place) < 5",
      'at position 1: "distance(place)" does not point to "posts"; distance(field, lat, lon) needs a latitude and a longitude',
    ],
    ["distance(place, 1, 2, 3) < 5", 'at position 21: expected ")", found ","'],
    ["distance(title, 1, 2) < 5", "at position 1: distance(…) takes a field of type geo, not a text"],
    ["distance(meta, 1, 2) < 5", "at position 1: distance(…) takes a field of type geo, not JSON"],
    ['distance("a", 1, 2) < 5', "at position 1: distance(…) takes a field"],
    [
      'distance(place, 1, 2) < "5"',
      'at position 25: distance(place, …), a number, cannot be compared with "5", a text; expected a number such as 5',
    ],
    ["place = 5", `at position 9: "place", a place, cannot be compared with 5, a number; expected ${ofPlace}`],
    [
      "place = parent.place",
      `at position 9: "place", a place, cannot be compared with "parent.place", a place; expected ${ofPlace}`,
    ],
    [
      "place > null",
      `at position 9: "place", a place, cannot be compared with null: > needs two values; expected ${ofPlace}`,
    ],
    ["place = meta.a", `at position 9: "place", a place, cannot be compared with "meta.a", JSON; expected ${ofPlace}`],
    ['place ~ "a"', 'at position 1: ~ looks in texts; "place", a place, cannot contain one'],
    ["place.lat = 1", 'at position 7: "place" is a place: only relations and json have something in them'],
    ["count = 1e999", 'at position 9: "1e999" is too large for a number'],
    ["count = .5", `at position 9: expected ${operand}, found "."`],
    [
      "due > @yesterday",
      'at position 7: expected @now, @today, @user.id, @user.role, @user.email, @user.anonymous or @record, found "@yesterday"',
    ],
    ["titel = 1", 'at position 1: "posts" has no field "titel"; did you mean "title"?'],
    ["author.nam = 1", 'at position 8: "authors" has no field "nam"; did you mean "name"?'],
    ["title.length = 1", 'at position 7: "title" is a text: only relations and json have something in them'],
    [
      "parent.parent.parent.parent.parent.parent.title = 'x'",
      "at position 43: a path may go through 5 relations, not more",
    ],
    [
      'count = "5"',
      'at position 9: "count", a number, cannot be compared with "5", a text; expected a number such as 5',
    ],
    [
      "title > 5",
      'at position 9: "title", a text, cannot be compared with 5, a number; expected a text such as "news"',
    ],
    [
      "published = 1",
      'at position 13: "published", a boolean, cannot be compared with 1, a number; expected true or false',
    ],
    [
      "published > true",
      'at position 13: "published", a boolean, cannot be compared with true, a boolean: > means nothing for booleans; expected true or false',
    ],
    [
      "count > null",
      'at position 9: "count", a number, cannot be compared with null: > needs two values; expected a number such as 5',
    ],
    [
      'due > "soon"',
      'at position 7: "soon" is no datetime; expected a datetime such as "2026-03-01" or "2026-03-01T09:30:00Z", or @now',
    ],
    [
      "due = title",
      'at position 7: "due", a datetime, cannot be compared with "title", a text; expected a datetime such as "2026-03-01" or "2026-03-01T09:30:00Z", or @now',
    ],
    [
      "meta.due > @now",
      'at position 12: "meta.due", JSON, cannot be compared with @now, a datetime; expected a text, a number, true, false or null',
    ],
    [
      "meta = author.notes",
      'at position 8: "meta", JSON, cannot be compared with "author.notes", JSON; expected a text, a number, true, false or null',
    ],
    ['count ~ "5"', 'at position 1: ~ looks in texts; "count", a number, cannot contain one'],
    ["title ~ 5", "at position 9: ~ looks for a text, not for 5, a number"],
    ["title !~ null", "at position 10: !~ looks for a text, not for null"],
    ['"a" in (title)', 'at position 1: expected a field before in, found "a"'],
    [
      'count in (1, "2")',
      'at position 14: "count", a number, cannot be compared with "2", a text; expected a number such as 5',
    ],
    [
      "title[count = 1]",
      'at position 1: "title" has no records: only a multiple relation, or collection(field), has records for a condition',
    ],
    [
      "tags[title = 'a']",
      'at position 1: "tags" has no records: only a multiple relation, or collection(field), has records for a condition',
    ],
    [
      "author[age = 1]",
      'at position 1: "author" has no records: only a multiple relation, or collection(field), has records for a condition',
    ],
    ["links[tilte = 'a']", 'at position 7: "posts" has no field "tilte"; did you mean "title"?'],
    ["lniks[title = 'a']", 'at position 1: "posts" has no field "lniks"; did you mean "links"?'],
    ["links[title = 'a'", "at position 18: expected &&, || or ], found the end"],
    [
      "links[]",
      'at position 7: expected the number of an item, from 0, * for any, or a member such as "a b", found "]"',
    ],
    ['meta["a\\"b"] = 1', "at position 6: a member in brackets has no quotation mark, backslash or control character"],
    ['meta["a b" = 1', 'at position 12: expected "]", found "="'],
    ['author["name"] = "x"', 'at position 7: "author" is a text: only relations and json have something in them'],
    ['title["x"] = "x"', 'at position 6: "title" is a text: only relations and json have something in them'],
    [
      "title = links[count = 1]",
      "at position 9: a path that leads back to several records can stand only left of a comparison",
    ],
    ["title = tags", 'at position 9: "tags" has several items; only the left side of a comparison can name it'],
    ["title in (tags)", 'at position 11: "tags" has several items; only the left side of a comparison can name it'],
    ["count > links.count", 'at position 9: "links" has several items; only the left side of a comparison can name it'],
    ["links.tilte = 'x'", 'at position 7: "posts" has no field "tilte"; did you mean "title"?'],
    ["tags = 5", 'at position 8: "tags", a text, cannot be compared with 5, a number; expected a text such as "news"'],
    ["tags.a = 'x'", 'at position 6: "tags" is a text: only relations and json have something in them'],
    ["links", `at position 6: expected ${operators}, found the end`],
    ["kinds = 'donee'", 'at position 9: "donee" is none of the values of the field; did you mean "done"?'],
    [
      "kinds in ('todo', 'x')",
      'at position 19: "x" is none of the values of the field; allowed: "todo", "doing", "done"',
    ],
    ["kinds > 'todo'", 'at position 9: > means nothing for the items of a field with "values"'],
    ["links.links.links.links.links.links.title = 'x'", "at position 37: a path may go through 5 relations, not more"],
    ["@record", 'at position 8: expected "." and a field after @record, found the end'],
    ["title = @record", 'at position 16: expected "." and a field after @record, found the end'],
    ["title = @record && count = 1", 'at position 17: expected "." and a field after @record, found "&&"'],
    ["links[@record = id]", 'at position 15: expected "." and a field after @record, found "="'],
    ["title = @record.", "at position 17: expected a field after @record, found the end"],
    ["title = @record.5", "at position 17: expected a field after @record, found 5"],
    [
      "title = @records.title",
      'at position 9: expected @now, @today, @user.id, @user.role, @user.email, @user.anonymous or @record, found "@records.title"',
    ],
    ["links[title = @record.tilte]", 'at position 23: "posts" has no field "tilte"; did you mean "title"?'],
    [
      "fans[name = @record.name]",
      'at position 21: "posts" has no field "name"; there are: id, title, slug, count, score, published, createdAt, due, status, before, meta, place, author, parent, vault, tags, kinds, links, fans',
    ],
    ["fans[name = @record.author.nam]", 'at position 28: "authors" has no field "nam"; did you mean "name"?'],
    [
      "count = @record.title",
      'at position 9: "count", a number, cannot be compared with "@record.title", a text; expected a number such as 5',
    ],
    [
      "links[title = @record.tags]",
      'at position 23: "tags" has several items; only the left side of a comparison can name it',
    ],
    [
      "posts(parent)[parent.parent.parent.parent.title = @record.parent.parent.parent.parent.parent.title]",
      "at position 94: a path may go through 5 relations, not more",
    ],
    ["every", `at position 6: expected ${operators}, found the end`],
    ["every()", `at position 7: expected ${operand}, found ")"`],
    [
      "every(links)",
      'at position 1: "every(links)" does not point to "posts"; every(path, condition) needs a condition',
    ],
    ["every(links,)", `at position 13: expected ${operand}, found ")"`],
    ["every(links, count = 1", "at position 23: expected &&, || or ), found the end"],
    ["every(links, count = 1, count = 2)", 'at position 23: expected &&, || or ), found ","'],
    ["every(links count = 1)", 'at position 13: expected "," and a condition, found "count"'],
    [
      "every(links[count = 1].title, count = 1)",
      'at position 24: "title" has no records: only a multiple relation, or collection(field), has records for a condition',
    ],
    ["every(5, count = 1)", "at position 7: every(path, condition) takes a path to records first"],
    ["every(lower(title), count = 1)", "at position 7: every(path, condition) takes a path to records first"],
    [
      "every(meta[*], count = 1)",
      "at position 11: every(path, condition) takes a path to records, not to items of JSON",
    ],
    [
      "every(tags, title = 'a')",
      'at position 7: "tags" has no records: only a multiple relation, or collection(field), has records for a condition',
    ],
    [
      "every(author, age = 1)",
      'at position 7: "author" has no records: only a multiple relation, or collection(field), has records for a condition',
    ],
    ["every(links, tilte = 'a')", 'at position 14: "posts" has no field "tilte"; did you mean "title"?'],
    ["every(lniks, title = 'a')", 'at position 7: "posts" has no field "lniks"; did you mean "links"?'],
    ["every(comments(post), title = 'a')", 'at position 7: "comments(post)" does not point to "posts"'],
    ["every(links, count = 1) = true", 'at position 25: expected && or ||, or the end, found "="'],
    ["true = every(links, count = 1)", 'at position 19: expected ")", found ","'],
    ["title = #", 'at position 9: "#" means nothing here'],
    [
      "__proto__ = 1",
      'at position 1: "posts" has no field "__proto__"; there are: id, title, slug, count, score, published, createdAt, due, status, before, meta, place, author, parent, vault, tags, kinds, links, fans',
    ],
  ])("%s", (text, message) => {
    const error = refused(text);
    expect(error.message).toBe(message);
    expect(error).toBeInstanceOf(ExpressionError);
  });

  test("a collection without a record that the caller may read is not entered", () => {
    expect(refused("vault.code = 'x'")).toMatchObject({ code: "forbidden" });
    // The id that a relation holds is a value of the record with the relation.
    expect(toSql(parseExpression("vault = 'x'", posts), "p").text).toBe('(p."vault" = +?)'.slice(1, -1));
  });
});

test.each([
  ['tags = "a" && title != null', ["tags", "title"]],
  ['links.title = title || !(fans.name ~ "x")', ["links", "title", "fans"]],
  ['parent.tags = "a" || length(kinds) = 1', ["parent", "kinds"]],
  ['links[tags = "a" && title = slug]', ["links"]],
  ["posts(links).tags = title", ["id", "title"]],
  ["@record.title = 'a'", ["title"]],
  ["links[title = @record.slug && every(fans, name = @record.parent.title)]", ["links", "slug", "parent"]],
  ["posts(parent)[@record.tags = title && @record.posts(links)[slug = @record.slug]]", ["id", "tags", "slug"]],
  ["every(posts(parent), title = 'a')", ["id"]],
  ["!every(links, tags = 'a')", ["links"]],
])("the columns of the record that %s needs", (text, columns) => {
  expect([...ownColumnsIn(parseExpression(text, posts))]).toEqual(columns);
});

describe("limits", () => {
  const terms = (n: number): string => Array.from({ length: n }, () => "count=1").join("||");
  const levels = (n: number): string => `${"(".repeat(n)}count = 1${")".repeat(n)}`;
  const nots = (n: number): string => `${"!".repeat(n)}(count = 1)`;
  const everies = (n: number): string => `${"every(links, ".repeat(n)}count = 1${")".repeat(n)}`;
  const bytes = (n: number): string => `title = "${"é".repeat((n - 10) / 2)}"`;

  test.each([
    ["100 comparisons", terms(100)],
    ["20 levels", levels(20)],
    ["20 levels of !", nots(19)],
    ["4,096 bytes", bytes(4_096)],
  ])("%s are allowed", (_, text) => {
    expect(() => parseExpression(text, posts)).not.toThrow();
  });

  test.each([
    ["101 comparisons", terms(101), "at position 901: more than 100 comparisons"],
    ["21 levels", levels(21), "at position 21: more than 20 levels of ( and !"],
    ["21 levels of !", nots(20), "at position 21: more than 20 levels of ( and !"],
    ["21 levels of every", everies(21), "at position 266: more than 20 levels of ( and !"],
    ["6 relations of every", everies(6), "at position 72: a path may go through 5 relations, not more"],
    [
      "6 relations with @record",
      `${"links[@record.".repeat(6)}title = "a"${"]".repeat(6)}`,
      "at position 71: a path may go through 5 relations, not more",
    ],
    [
      "101 comparisons and every",
      `${terms(50)}||every(links, ${terms(50)})`,
      "at position 905: more than 100 comparisons",
    ],
    ["4,098 bytes", bytes(4_098), "at position 1: 4098 bytes are too many; at most 4096 are allowed"],
  ])("%s are refused", (_, text, message) => {
    expect(refused(text).message).toBe(message);
  });
});

describe("whatever the text", () => {
  const pieces = fc.constantFrom(
    "title",
    "count",
    "author.name",
    "meta.a",
    "vault.code",
    "due",
    "published",
    "@record",
    "@record.title",
    "every(",
    "links",
    "@now",
    "@user.id",
    "@x",
    "=",
    "!=",
    ">=",
    "~",
    "!~",
    "in",
    "(",
    ")",
    "!",
    "&&",
    "||",
    ",",
    '"a"',
    "'",
    '"',
    "\\",
    "5",
    "-1.5e3",
    "1e999",
    "true",
    "null",
    " ",
    "\n",
    "é",
    "\u{1f600}",
    "\0",
    "--",
    "/*",
    ";",
    "%",
    ".",
    "..",
    "_probe(1)",
    "$",
    "constructor",
  );
  const term = fc.constantFrom(
    ...['title = "a"', "count > 5", "author.name ~ 'a'", "meta.a = true", "due < @now", "published != null"],
    ...["count in (5, 6)", '(title in ("a", null))', "@user.id = author", "!(meta.b.c !~ title)", "parent.due >= due"],
    ...[
      "every(links, title = @record.title)",
      "links[every(fans, name != @record.slug)]",
      "posts(parent)[@record.tags = slug]",
    ],
  );
  const terms = fc.array(term, { minLength: 1, maxLength: 5 }).map((all) => all.join(" && "));
  const broken = fc
    .tuple(terms, fc.nat(200), pieces)
    .map(([text, at, piece]) => text.slice(0, at % text.length) + piece + text.slice(at % text.length));
  const written = fc.oneof(
    terms,
    broken,
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.array(pieces, { maxLength: 60 }).map((all) => all.join(" ")),
    fc.array(pieces, { maxLength: 60 }).map((all) => all.join("")),
  );

  test("is an expression or is refused; no part of the text gets into the SQL", () => {
    const seed = randomSeed("parse");
    let understood = 0;
    fc.assert(
      fc.property(written, (text) => {
        try {
          const expression = parseExpression(text, posts);
          toPredicate(expression);
          const { text: sql, values } = toSql(expression, "p");
          expect(sql.match(/\?/g)?.length ?? 0).toBe(values.length);
          // All that was written is a parameter, or the name of a column.
          const own = /'(?:text|integer|real|null|true|false|array)'/g;
          expect(sql.replace(own, "")).not.toMatch(/['\\;]|--|\/\*/);
          understood += 1;
        } catch (thrown) {
          if (!(thrown instanceof AppError)) throw thrown;
          expect(["bad_request", "forbidden"]).toContain(thrown.code);
        }
      }),
      { seed, numRuns: isLong ? 5_000 : 2_000 },
    );
    expect(understood).toBeGreaterThan(100);
  });

  test("a text that looks like SQL is a value", () => {
    const text = `x' OR 1=1; DROP TABLE posts; -- " \\`;
    const { text: sql, values } = toSql(parseExpression(`title = ${JSON.stringify(text)}`, posts), "p");
    expect(sql).toBe('p."title" = +?');
    expect(values).toEqual([{ type: "value", value: text, valueType: "text" }]);
  });
});
