import { expect, test } from "bun:test";
import fc from "fast-check";
import { fill } from "../../../test/expression-schemas.ts";
import { idsByPredicate, idsBySql } from "../../../test/found-records.ts";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { isLong } from "../../../test/long.ts";
import { randomSeed } from "../../../test/random.ts";
import { expression, literal, nestedExpression, severalPath, text, world } from "../../../test/random-expressions.ts";
import { Database } from "../../store/database/index.ts";
import type { EvaluationContext } from "./expression.ts";

const onFatal = (error: unknown): void => {
  throw error;
};

function openDatabase(): Database {
  return new Database({ path: `${temporaryFolder()}/test.db`, logger: quietLogger(), onFatal });
}

test.each([
  ["agreement", expression, isLong ? 600 : 200],
  // `@record` and `every` in brackets inside brackets.
  ["nested", nestedExpression, isLong ? 300 : 100],
] as const)("SQL and predicate agree, whatever the records and the expression: %s", async (name, any, numRuns) => {
  const database = openDatabase();
  const seed = randomSeed(name);
  let matched = 0;
  const property = fc.asyncProperty(
    world,
    fc.array(any, { minLength: 1, maxLength: 25 }),
    fc.constantFrom("u1", "u2", null),
    async (records, expressions, userId) => {
      await fill(database, records);
      const user = userId === null ? null : { id: userId, role: "authenticated", email: `${userId}@example.com` };
      const context: EvaluationContext = { now: Date.parse("2026-03-01T09:30:00.000Z"), user };
      for (const one of expressions) {
        const bySql = await idsBySql(database, one, context);
        expect([one, ...bySql]).toEqual([one, ...idsByPredicate(records, one, context)]);
        expect([one, ...bySql]).toEqual([one, ...(await idsBySql(database, one, { ...context, isOfOneRecord: true }))]);
        if (bySql.length > 0 && bySql.length < records.posts.length) matched += 1;
      }
    },
  );
  await fc.assert(property, { seed, numRuns });
  // A suite in which nothing matches, or everything, would agree about nothing.
  expect(matched).toBeGreaterThan(isLong ? 500 : 150);
  await database.close();
});

test("@record is the record of the whole expression, and every passes over records that the caller may not read", async () => {
  const database = openDatabase();
  let matched = 0;
  const property = fc.asyncProperty(world, fc.constantFrom("u1", "u2", null), async (records, userId) => {
    await fill(database, records);
    const { posts, authors } = records;
    type Post = (typeof posts)[number];
    const children = ({ id }: Post): Post[] => posts.filter(({ parent }) => parent === id);
    const linked = ({ links }: Post): Post[] => posts.filter(({ id }) => links.includes(id));
    const fansOf = ({ fans }: Post) =>
      authors.filter((each) => fans.includes(each.id) && each._owner === userId && userId !== null);
    // A link to a record that is gone leads to null.
    const slugOf = (link: string): string | null => posts.find(({ id }) => id === link)?.slug ?? null;
    const parentOf = ({ parent }: Post): Post | undefined => posts.find(({ id }) => id === parent);
    const is = (a: number | null, test: (a: number, b: number) => boolean, b: number | null): boolean =>
      a !== null && b !== null && test(a, b);
    const models: [string, (record: Post) => boolean][] = [
      ["@record.title = slug", (record) => record.title === record.slug],
      [
        "posts(parent)[title = @record.title]",
        (record) => children(record).some(({ title }) => title === record.title),
      ],
      [
        "links[count > @record.count && slug = @record.parent.slug]",
        (record) =>
          linked(record).some(
            ({ count, slug }) => is(count, (a, b) => a > b, record.count) && slug === (parentOf(record)?.slug ?? null),
          ),
      ],
      [
        "links[posts(parent)[title = @record.title]]",
        (record) => linked(record).some((each) => children(each).some(({ title }) => title === record.title)),
      ],
      [
        "posts(parent)[@record.links.slug = slug]",
        (record) => children(record).some(({ slug }) => record.links.some((id) => slugOf(id) === slug)),
      ],
      ["every(links, title = @record.title)", (record) => linked(record).every(({ title }) => title === record.title)],
      [
        "every(posts(parent), published = true)",
        (record) => children(record).every(({ published }) => published === true),
      ],
      [
        "every(links, count < @record.count)",
        (record) => linked(record).every(({ count }) => is(count, (a, b) => a < b, record.count)),
      ],
      ["every(links, !(count < 5))", (record) => linked(record).every(({ count }) => !is(count, (a, b) => a < b, 5))],
      ["!every(links, published != true)", (record) => linked(record).some(({ published }) => published === true)],
      [
        "every(links[published = true], every(posts(parent), slug = @record.slug || id = @record.id))",
        (record) =>
          linked(record)
            .filter(({ published }) => published === true)
            .every((each) => children(each).every(({ slug, id }) => slug === record.slug || id === record.id)),
      ],
      [
        "every(links.links, id != @record.id)",
        (record) => linked(record).every((each) => linked(each).every(({ id }) => id !== record.id)),
      ],
      ["every(fans, name = @record.title)", (record) => fansOf(record).every(({ name }) => name === record.title)],
      [
        "every(parent.links, slug != null)",
        (record) =>
          (parentOf(record) === undefined ? [] : linked(parentOf(record) as Post)).every(({ slug }) => slug !== null),
      ],
    ];
    const user = userId === null ? null : { id: userId, role: "authenticated", email: null };
    const context: EvaluationContext = { now: 0, user };
    for (const [text, model] of models) {
      const expected = posts.filter(model).map(({ id }) => id);
      if (expected.length > 0 && expected.length < posts.length) matched += 1;
      expect([text, ...(await idsBySql(database, text, context))]).toEqual([text, ...expected]);
      expect([text, ...idsByPredicate(records, text, context)]).toEqual([text, ...expected]);
    }
  });
  await fc.assert(property, { seed: randomSeed("model"), numRuns: isLong ? 200 : 80 });
  expect(matched).toBeGreaterThan(isLong ? 500 : 150);
  await database.close();
});

test("and on numbers in JSON that have more digits than a number has", async () => {
  const database = openDatabase();
  const large = [2 ** 60 + 128, 1234567890123456800, -(2 ** 62) - 1024, 1e21];
  const posts = large.map((n, i) => ({ id: `p${i}`, meta: { a: n }, score: n }));
  await fill(database, { posts, authors: [] });
  const context: EvaluationContext = { now: 0, user: null };
  for (const [i, n] of large.entries())
    for (const one of [`meta.a = ${n}`, `meta.a in (1, ${n})`, `meta.a = score && score = ${n}`, `!(meta.a != ${n})`]) {
      expect([one, await idsBySql(database, one, context)]).toEqual([one, [`p${i}`]]);
      expect([one, idsByPredicate({ posts, authors: [] }, one, context)]).toEqual([one, [`p${i}`]]);
    }
  await database.close();
});

test("a multiple field is a set of items: some item fulfils = and ~, no item fulfils != and !~, and null is no item", async () => {
  const database = openDatabase();
  const seed = randomSeed("multiple");
  const property = fc.asyncProperty(
    world,
    fc.array(fc.tuple(severalPath, text.map(literal), text.map(literal)), { minLength: 1, maxLength: 10 }),
    async (records, cases) => {
      await fill(database, records);
      const context: EvaluationContext = { now: 0, user: { id: "u1", role: "authenticated", email: null } };
      const ids = (one: string): string[] => idsBySql(database, one, context);
      const all = records.posts.map(({ id }) => String(id));
      const others = (some: readonly string[]): string[] => all.filter((id) => !some.includes(id));
      const where = (holds: (tags: readonly string[]) => boolean): string[] =>
        records.posts.filter(({ tags }) => holds(tags)).map(({ id }) => String(id));
      for (const [path, a, b] of cases) {
        const isOpposite = !path.startsWith("posts(") && !path.startsWith("author.posts(");
        const named = `links[published = true || title = ${b}].title`;
        expect([named, await ids(`${named} != ${a}`)]).toEqual([named, others(await ids(`${named} = ${a}`))]);
        if (isOpposite)
          for (const [operator, opposite] of [
            ["=", "!="],
            ["~", "!~"],
          ])
            expect([path, a, await ids(`${path} ${opposite} ${a}`)]).toEqual([
              path,
              a,
              others(await ids(`${path} ${operator} ${a}`)),
            ]);
        const found = new Set([...(await ids(`${path} = ${a}`)), ...(await ids(`${path} = ${b}`))]);
        expect(await ids(`${path} in (${a}, ${b})`)).toEqual(all.filter((id) => found.has(id)));
        expect(await ids(`tags = ${a}`)).toEqual(where((tags) => tags.includes(String(JSON.parse(a)))));
      }
      expect(await ids("tags = null")).toEqual(where((tags) => tags.length === 0));
      expect(await ids("tags != null")).toEqual(where((tags) => tags.length > 0));
      expect(await ids("length(tags) = 2")).toEqual(where((tags) => tags.length === 2));
      expect(await ids('tags in ("a", null)')).toEqual(where((tags) => tags.includes("a") || tags.length === 0));
    },
  );
  await fc.assert(property, { seed, numRuns: 60 });
  await database.close();
});
