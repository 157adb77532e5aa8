/** Random records and expressions, for the property tests of expressions. */
import { isName } from "@socle/protocol/filter";
import fc from "fast-check";
import { ExpressionError } from "../src/data/expressions/expression.ts";
import { parseExpression } from "../src/data/expressions/parse.ts";
import type { Fields } from "../src/data/expressions/predicate.ts";
import { schemaOf, statuses, texts } from "./expression-schemas.ts";

/** Beyond 2^53, SQLite reads other integers from JSON than we write. */
const numbers = [0, 1, -1, 1.5, 5, 2 ** 53 - 1, 2 ** 60 + 128, 1234567890123456800, -(2 ** 63), 1e300, -1e-300, 0.1];
const times = [
  "2026-01-01T00:00:00.000Z",
  "2026-03-01T09:30:00.000Z",
  "2026-03-01T09:30:00.001Z",
  "9999-12-31T23:59:59.999Z",
];
const members = ["a", "b", "größe", "x-y", "a b", "a.b", "0", "it's]"];

const json: fc.Arbitrary<Fields[string]> = fc.letrec<{ json: Fields[string] }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Fields[string]>(null, true, false, ...texts, ...numbers),
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...members), tie("json"), { maxKeys: 3 }),
  ),
})).json;

/** Poles, both sides of the antimeridian, neighbours, and opposite places. */
const places = [
  ...[90, 89.9999999, -90, 0].map((lat) => ({ lat, lon: 0 })),
  ...[180, -180, 179.99999, -179.9].flatMap((lon) => [0, 52.5, -89.9].map((lat) => ({ lat, lon }))),
  { lat: 52.52, lon: 13.405 },
  { lat: 52.52, lon: 13.4050001 },
  { lat: -52.52, lon: -166.595 },
];
const place = fc.oneof(
  fc.constantFrom(...places),
  fc.record({
    lat: fc.double({ min: -90, max: 90, noNaN: true }).map((lat) => lat + 0),
    lon: fc.double({ min: -180, max: 180, noNaN: true }).map((lon) => lon + 0),
  }),
);
const metres = [0, 0.01, 1, 1_000, 111_195, 5e6, 10_007_557, 15e6, 20_015_114, 20_015_115, -1];

const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { nil: null, freq: 3 });
export const text = fc.constantFrom(...texts);
const several = (items: readonly string[]): fc.Arbitrary<string[]> =>
  fc.uniqueArray(fc.constantFrom(...items), { maxLength: 3 });
const postIds = ["p1", "p2", "p3", "p4", "p5"];
const authorIds = ["a1", "a2", "a3"];

const post = fc.record({
  title: maybe(text),
  slug: maybe(text),
  count: maybe(fc.constantFrom(...numbers)),
  score: maybe(fc.constantFrom(...numbers)),
  published: maybe(fc.boolean()),
  createdAt: fc.constantFrom(...times),
  due: maybe(fc.constantFrom(...times)),
  status: maybe(fc.constantFrom(...statuses)),
  before: maybe(fc.constantFrom(...statuses)),
  meta: maybe(json),
  place: maybe(place),
  author: maybe(fc.constantFrom(...authorIds, "gone")),
  parent: maybe(fc.constantFrom(...postIds, "gone")),
  tags: several(texts.filter((each) => each !== "")),
  kinds: several(statuses),
  links: several([...postIds, "gone"]),
  fans: several([...authorIds, "gone"]),
});
const author = fc.record({
  _owner: fc.constantFrom("u1", "u2", null),
  name: maybe(text),
  age: maybe(fc.constantFrom(...numbers)),
  notes: maybe(json),
  home: maybe(place),
  boss: maybe(fc.constantFrom(...authorIds, "gone")),
});
export const world = fc.record({
  posts: fc.tuple(post, post, post, post, post).map((all) => all.map((one, i) => ({ id: postIds[i] ?? "", ...one }))),
  authors: fc.tuple(author, author, author).map((all) => all.map((one, i) => ({ id: authorIds[i] ?? "", ...one }))),
});

export const literal = (value: unknown): string => JSON.stringify(value).replaceAll("'", "\\u0027");
const textPath = fc.constantFrom(
  "title",
  "slug",
  "author",
  "author.name",
  "parent.title",
  "parent.author.name",
  "author.boss.name",
  "id",
);
const numberPath = fc.constantFrom("count", "score", "author.age", "parent.count", "parent.parent.author.age");
const timePath = fc.constantFrom("createdAt", "due", "parent.due");
const statusPath = fc.constantFrom("status", "before", "parent.status", "posts(parent).status");
const status = fc.constantFrom(...statuses).map(literal);
const placePath = fc.constantFrom("place", "author.home", "parent.place", "parent.author.home");
const distance = fc
  .tuple(placePath, fc.oneof(place, fc.constantFrom(...places)))
  .map(([path, { lat, lon }]) => `distance(${path}, ${lat}, ${lon})`);
const length = fc.constantFrom(...metres.map(String), "5km", "111.195km", "2000km", "20000km", "500m");
const jsonPath = fc
  .tuple(
    fc.constantFrom("meta", "author.notes", "parent.meta"),
    fc.array(fc.constantFrom(...members), { maxLength: 2 }),
  )
  .map(([root, rest]) => root + rest.map((each) => (isName(each) ? `.${each}` : `[${literal(each)}]`)).join(""));
const textSide = fc.oneof(textPath, text.map(literal), fc.constant("@user.id"));
const numberSide = fc.oneof(numberPath, fc.constantFrom(...numbers).map(String));
const timeSide = fc.oneof(
  timePath,
  fc.constantFrom(...times).map(literal),
  fc.constantFrom("@now", "@today", '"2026-03-01"', '"2026-03-01T10:30:00+01:00"'),
);
const equal = fc.constantFrom("=", "!=");
const ordered = fc.constantFrom("=", "!=", ">", ">=", "<", "<=");
const contains = fc.constantFrom("~", "!~");
const list = (side: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.array(fc.oneof(side, fc.constant("null")), { minLength: 1, maxLength: 3 }).map((items) => `(${items.join(", ")})`);

const term = fc
  .oneof(
    fc.tuple(textSide, ordered, textSide),
    fc.tuple(textSide, contains, textSide),
    fc.tuple(numberSide, ordered, numberSide),
    fc.tuple(timePath, ordered, timeSide),
    fc.tuple(timeSide, ordered, timePath),
    fc.tuple(fc.constantFrom("published", "true", "false"), equal, fc.constantFrom("published", "true", "null")),
    fc.tuple(
      fc.oneof(textPath, numberPath, timePath, jsonPath, fc.constant("published"), fc.constant("@user.id")),
      equal,
      fc.constant("null"),
    ),
    fc.tuple(distance, ordered, fc.oneof(length, length, fc.constantFrom("count", "author.age"))),
    fc.tuple(length, ordered, distance),
    fc.tuple(distance, ordered, distance),
    fc.tuple(fc.oneof(placePath, distance), equal, fc.constant("null")),
    fc.tuple(
      fc.constantFrom("posts(parent)[", "links["),
      distance,
      fc.constantFrom("<", ">="),
      length,
      fc.constant("]"),
    ),
    fc.tuple(jsonPath, ordered, fc.oneof(textSide, numberSide)),
    fc.tuple(fc.oneof(textSide, numberSide), ordered, jsonPath),
    fc.tuple(jsonPath, equal, fc.constantFrom("true", "false", "published", "null")),
    fc.tuple(statusPath, ordered, fc.oneof(status, fc.constantFrom("status", "before", "parent.before"))),
    fc.tuple(status, ordered, fc.constantFrom("status", "parent.status")),
    fc.tuple(statusPath, equal, fc.constantFrom("null", "title", "@user.id")),
    fc.tuple(
      fc.constantFrom("status", "parent.status"),
      fc.constant("in"),
      list(fc.oneof(status, fc.constant("null"))),
    ),
    fc.tuple(
      fc.constantFrom("status", "before"),
      fc.constant("in"),
      list(fc.oneof(status, fc.constantFrom("title", "@user.id"))),
    ),
    fc.tuple(jsonPath, contains, textSide),
    fc.tuple(textPath, fc.constant("in"), list(textSide)),
    fc.tuple(numberPath, fc.constant("in"), list(numberSide)),
    fc.tuple(timePath, fc.constant("in"), list(timeSide)),
    fc.tuple(jsonPath, fc.constant("in"), list(fc.oneof(textSide, numberSide, fc.constantFrom("true", "published")))),
  )
  .map((parts) => parts.join(" "));

const bracket = (path: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(
        path,
        equal,
        fc.oneof(text.map(literal), fc.constant("@user.id"), fc.constantFrom(...postIds).map(literal)),
      ),
      { minLength: 1, maxLength: 2 },
    )
    .chain((terms) =>
      fc.constantFrom(" && ", " || ").map((sign) => `[${terms.map((parts) => parts.join(" ")).join(sign)}]`),
    );

/** Comparisons through backward steps: from the record itself, from a record that a relation leads to, and further on. */
const backward = fc
  .oneof(
    fc.tuple(
      fc.constantFrom(
        "posts(parent).title",
        "posts(parent).author.name",
        "parent.posts(parent).slug",
        "author.posts(author).slug",
      ),
      fc.oneof(ordered, contains),
      textSide,
    ),
    fc.tuple(fc.constantFrom("posts(parent).count", "author.authors(boss).age"), ordered, numberSide),
    fc.tuple(
      fc.constantFrom("posts(parent).posts(parent).slug", "author.posts(author).id"),
      fc.constant("in"),
      list(textSide),
    ),
    fc.tuple(fc.constantFrom("posts(parent)", "parent.posts(parent)", "author.posts(author)"), bracket(textPath)),
    fc.tuple(
      fc.constantFrom("author.authors(boss)", "author.boss.authors(boss)"),
      bracket(fc.constantFrom("id", "name")),
    ),
    fc.tuple(fc.constantFrom("posts(parent)", "author.authors(boss)")),
  )
  .map(([path, ...rest]) => [path, ...rest].join(rest.length === 1 ? "" : " "));

/** Comparisons of items of arrays, of functions, and of times from now on. */
const more = fc
  .oneof(
    fc.tuple(
      fc.constantFrom("meta[*]", "meta.a[*]", "meta[*].a", 'meta["a b"][*]', 'meta[*]["a.b"]', "author.notes[*]"),
      fc.oneof(ordered, contains),
      textSide,
    ),
    fc.tuple(fc.constantFrom("meta[0]", "meta[1].a", "meta.a[0]"), ordered, fc.oneof(textSide, numberSide)),
    fc.tuple(fc.constantFrom("meta[*]", "meta.b[*]"), fc.constant("in"), list(fc.oneof(textSide, numberSide))),
    fc.tuple(fc.constantFrom("lower(title)", "lower(author.name)"), equal, textSide),
    fc.tuple(
      fc.constantFrom("length(title)", "length(meta)", "length(meta.a)", "length(author.name)"),
      ordered,
      numberSide,
    ),
    fc.tuple(timePath, ordered, fc.constantFrom("@now - 7d", "@now + 1h", "@today - 1w", "@now-30m")),
    fc.tuple(
      fc.constantFrom("@user.role", "@user.email", "title"),
      equal,
      fc.constantFrom('"authenticated"', '"u1@example.com"', "null"),
    ),
  )
  .map((parts) => parts.join(" "));

/** Paths through multiple fields, which lead to several texts. */
export const severalPath = fc.constantFrom(
  "tags",
  "links",
  "fans",
  "fans.name",
  "links.title",
  "links.author.name",
  "links.tags",
  "links.fans.name",
  "links.links",
  "parent.tags",
  "author.posts(fans).title",
  "posts(links).slug",
  "posts(links).tags",
  "posts(parent).tags",
  "links.posts(links).slug",
  "fans.posts(fans).title",
);
const ofItems = fc
  .oneof(
    fc.tuple(severalPath, fc.oneof(ordered, contains), textSide),
    fc.tuple(severalPath, equal, fc.constant("null")),
    fc.tuple(severalPath, fc.constant("in"), list(textSide)),
    fc.tuple(fc.constantFrom("links.count", "links.parent.count", "fans.age"), ordered, numberSide),
    fc.tuple(fc.constantFrom("kinds", "links.kinds"), equal, fc.oneof(status, fc.constant("title"))),
    fc.tuple(fc.constantFrom("kinds", "links.kinds"), fc.constant("in"), list(status)),
    fc.tuple(fc.constantFrom("links.status", "posts(links).status"), ordered, status),
    fc.tuple(fc.constantFrom("lower(tags)", "lower(links.title)"), equal, textSide),
    fc.tuple(fc.constantFrom("length(tags)", "length(links.tags)", "length(links.title)"), ordered, numberSide),
    fc.tuple(
      fc.constantFrom("count", "posts(parent).count"),
      ordered,
      fc.constantFrom("length(links)", "length(parent.tags)"),
    ),
    fc.tuple(
      fc.constantFrom("posts(links)", "links.posts(links)", "fans.posts(fans)"),
      bracket(fc.constantFrom("tags", "slug", "links.title")),
    ),
    fc.tuple(fc.constantFrom("links.meta.a", "links.meta.a[*]"), ordered, textSide),
    fc.tuple(
      fc.constantFrom("links", "parent.links", "links.links", "posts(links).links", "links.posts(links)"),
      bracket(fc.oneof(textPath, fc.constantFrom("tags", "links.title"))),
    ),
    // SQLite finds the records of these expressions by an index.
    fc
      .tuple(
        fc.constantFrom("links", "parent.links", "links.links", "posts(parent).links"),
        fc.constantFrom(...postIds).map(literal),
        fc.constantFrom("", ' && tags != "a"', " && links != null", " && count > 0"),
      )
      .map(([path, id, rest]) => [`${path}[id = ${id}${rest}]`]),
    fc
      .tuple(fc.constantFrom("fans", "links.fans"), fc.constantFrom(...authorIds).map(literal))
      .map(([path, id]) => [`${path}[id in (${id}, "none")]`]),
    fc.tuple(fc.constantFrom("fans", "links.fans"), bracket(fc.constantFrom("id", "name", "boss.name"))),
    fc
      .tuple(
        bracket(textPath),
        fc.constantFrom(".title", ".tags", ".author.name", ".links", ".posts(parent).title"),
        fc.oneof(ordered, contains),
        textSide,
      )
      .map(([where, tail, operator, side]) => [`links${where}${tail}`, operator, side]),
  )
  .map((parts) => parts.join(" ").replace(/ \[/, "["));

/** Paths from the record of the expression, which lead to texts. */
const recordText = fc.constantFrom(
  "@record.title",
  "@record.slug",
  "@record.id",
  "@record.author.name",
  "@record.parent.title",
  "lower(@record.title)",
);
/** Paths to posts, for brackets and for `every`. */
const toPosts = fc.constantFrom(
  "links",
  "parent.links",
  "links.links",
  "posts(parent)",
  "posts(links)",
  "author.posts(author)",
  "@record.links",
  "@record.posts(parent)",
  "@record.parent.links",
);
const ofRecord = fc
  .oneof(
    fc.tuple(textPath, fc.oneof(ordered, contains), recordText),
    fc.tuple(recordText, fc.oneof(ordered, contains), textSide),
    fc.tuple(textPath, fc.constant("in"), list(recordText)),
    fc.tuple(numberPath, ordered, fc.constantFrom("@record.count", "@record.parent.count", "length(@record.links)")),
    fc.tuple(fc.constantFrom("status", "@record.status"), ordered, fc.oneof(status, fc.constant("@record.before"))),
    fc.tuple(fc.constantFrom("@record.meta.a", "@record.meta[*]", "meta.a"), ordered, textSide),
    fc.tuple(jsonPath, equal, recordText),
    fc.tuple(severalPath, equal, fc.oneof(recordText, fc.constant("null"))),
    fc.tuple(
      fc.constantFrom("@record.tags", "@record.links", "@record.links.title", "@record.posts(parent).slug"),
      fc.oneof(ordered, contains),
      fc.oneof(textSide, recordText),
    ),
    // An index finds the records in these brackets, which SQL must not look up: a step begins at the record outside.
    fc
      .tuple(
        fc.constantFrom("links", "posts(parent)", "parent.posts(parent)"),
        fc.oneof(
          text.map((each) => `slug = ${literal(each)}`),
          fc.constantFrom(...postIds).map((id) => `id = "${id}"`),
        ),
        fc.constantFrom("@record.posts(parent)", '@record.tags = "a"', "@record.links.title = title"),
      )
      .map(([path, found, other]) => [`${path}[${found} && ${other}]`]),
    fc
      .tuple(
        fc.constantFrom("links", "posts(parent)", "parent.posts(parent)"),
        fc.constantFrom("@record.links", "@record.posts(parent)", "@record.parent.links"),
        fc.oneof(
          text.map((each) => `slug = ${literal(each)}`),
          fc.constantFrom(...postIds).map((id) => `id = "${id}"`),
        ),
      )
      .map(([path, other, found]) => [`${path}[${other}[${found}]]`]),
    fc.constantFrom(["@record.posts(parent)"], ["every(fans, age > 0)"], ["every(@record.fans, name = @record.title)"]),
  )
  .map((parts) => parts.join(" "));

/** A condition in brackets. Behind a name, brackets that begin with a value are the number of an item. */
const inBrackets = (condition: string): string => (/^["\d-]/.test(condition) ? `[(${condition})]` : `[${condition}]`);

/** `@record` and `every`, in brackets inside brackets. */
const nested: fc.Arbitrary<string> = fc.letrec<{ nested: string }>((tie) => ({
  nested: fc.oneof(
    { maxDepth: 3, depthIdentifier: "nested" },
    fc.oneof(ofRecord, term),
    fc.tuple(toPosts, tie("nested")).map(([path, inner]) => path + inBrackets(inner)),
    fc.tuple(toPosts, tie("nested")).map(([path, inner]) => `every(${path}, ${inner})`),
    fc
      .tuple(toPosts, tie("nested"), tie("nested"))
      .map(([path, filter, inner]) => `every(${path}${inBrackets(filter)}, ${inner})`),
    fc.tuple(tie("nested"), fc.constantFrom("&&", "||"), tie("nested")).map((parts) => `(${parts.join(" ")})`),
    tie("nested").map((inner) => `!(${inner})`),
  ),
})).nested;

/** Whether a path of an expression is not longer than paths may be. */
function isWithinBounds(text: string): boolean {
  try {
    parseExpression(text, schemaOf("posts"));
    return true;
  } catch (thrown) {
    if (thrown instanceof ExpressionError && thrown.problem.includes("5 relations")) return false;
    throw thrown;
  }
}

export const nestedExpression = nested.filter(isWithinBounds);

export const expression: fc.Arbitrary<string> = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    term,
    backward,
    more,
    ofItems,
    fc.tuple(tie("expression"), fc.constantFrom("&&", "||"), tie("expression")).map((parts) => `(${parts.join(" ")})`),
    tie("expression").map((inner) => `!(${inner})`),
  ),
})).expression;
