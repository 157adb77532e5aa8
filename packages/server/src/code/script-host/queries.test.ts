/** Queries of `db` by the steps of the client: in handlers, in transactions, and in server queries. */
import { describe, expect, test } from "bun:test";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";

const collections = [
  {
    name: "posts",
    fields: [
      { name: "title", type: "string" },
      { name: "n", type: "integer" },
      { name: "parent", type: "relation", collection: "posts" },
    ],
    permissions: { read: "admin", create: "admin" },
    search: ["title"],
  },
  { name: "transaction", fields: [{ name: "title", type: "string" }] },
];

async function open(job: string): Promise<TestScripts> {
  const code = `export const schedule = "0 0 1 1 *";\nexport default async ({ db, jobs }) => { ${job} };`;
  return openScripts({ collections, files: { "jobs/try.ts": code } });
}

/** Runs the job, and answers the log of the job as JSON, or the error. */
async function run(api: TestScripts): Promise<unknown> {
  let logged: unknown = null;
  const error = await api.scripts.run({ kind: "job", name: "try" }, ({ message }) => {
    logged = JSON.parse(message);
  });
  return error ?? logged;
}

const tell = (value: string): string => `console.log(JSON.stringify(${value}))`;

test("db has each collection under its name, with the steps of the client's queries", async () => {
  const api = await open(`
    const parent = await db.posts.create({ title: 'a "quoted" name', n: 0 });
    for (const n of [1, 2, 3]) await db.posts.create({ title: "t" + n, n, parent: parent.id });
    const query = db.posts.where({ n: { gte: 1 } }).orderBy("-n");
    const { items, nextCursor } = await query.limit(2);
    ${tell(`{
      titles: items.map(({ title }) => title),
      next: (await query.limit(2).after(nextCursor).page()).items.map(({ n }) => n),
      first: (await db.posts.where({ title: 'a "quoted" name' }).first()).n,
      none: await db.posts.where({ n: 99 }).first(),
      count: await db.posts.filter\`parent = \${parent.id}\`.count(),
      total: (await db.posts.withTotal().limit(1)).total,
      selected: (await db.posts.where({ n: 1 }).select("n", { parent: ["n"] }).first()).parent.n,
      expanded: (await db.posts.where({ n: 1 }).expand("parent").first()).parent.title,
      related: await db.posts.where({ parent: { n: 0 } }).count(),
      all: await Array.fromAsync(db.posts.limit(1).orderBy("n").all(), ({ n }) => n),
      groups: (await db.posts.group("parent").aggregate("sum(n)").orderBy("parent")).items.map((item) => item["sum(n)"]),
      found: (await db.posts.search("t2")).items.length,
      offset: (await db.posts.orderBy("n").offset(3)).items.map(({ n }) => n),
      listed: (await db.posts.list({ filter: filter\`n in \${[1, 2]} && title != \${'" || true || "'}\` })).length,
      got: (await db.posts.get(parent.id)).n,
      updated: (await db.posts.update(parent.id, { n: 7 })).n,
      deleted: await db.posts.delete(parent.id),
      asked: typeof (await db).posts.where,
    }`)}`);
  expect(await run(api)).toEqual({
    titles: ["t3", "t2"],
    next: [1],
    first: 0,
    none: null,
    count: 3,
    total: 4,
    selected: 0,
    expanded: 'a "quoted" name',
    related: 3,
    all: [0, 1, 2, 3],
    groups: [0, 6],
    found: 1,
    offset: [3],
    listed: 2,
    got: 0,
    updated: 7,
    deleted: true,
    asked: "function",
  });
});

test("a member of db hides the collection of its name, which db.collection reaches", async () => {
  const api = await open(`
    await db.collection("transaction").create({ title: "x" });
    await db.transaction(async (tx) => { await tx.collection("transaction").create({ title: "y" }); });
    ${tell('[typeof db.transaction, await db.collection("transaction").count(), await db.unknown.count().catch(({ code }) => code)]')}`);
  expect(await run(api)).toEqual(["function", 2, "not_found"]);
});

test.each([
  ["await db.posts.where({ nope: 1 });", 'has no field "nope"'],
  ["await db.posts.where({ nope: 1 }).first();", 'has no field "nope"'],
  ["await db.posts.where({ title: undefined });", "A filter has no value for undefined: title"],
  ["await db.transaction(async (tx) => { await tx.posts.where({ nope: 1 }); });", 'has no field "nope"'],
  ["db.posts.live(() => undefined);", "has no live()"],
  [`filter\`n = \${Number.NaN}\`;`, "A filter has no value NaN"],
])("an error of %s names the line of the code", async (line, message) => {
  const error = await run(await open(`\n${line}`));
  expect(error).toContain(message);
  expect(error).toMatch(/\(jobs\/try\.ts:3:\d+\)$/);
});

test("an aborted signal ends the reading of pages", async () => {
  const api = await open(`await db.posts.where({}).first({ signal: AbortSignal.abort(new Error("enough")) });`);
  expect(await run(api)).toContain("enough");
});

describe("in a transaction", () => {
  test("queries see the writes of the transaction", async () => {
    const api = await open(`
      const seen = await db.transaction(async (tx) => {
        const { id } = await tx.posts.create({ title: "a", n: 1 });
        await tx.posts.update(id, { n: { $increment: 4 } });
        return [await tx.posts.where({ title: "a" }).first(), await tx.posts.filter\`n > \${4}\`.count()];
      });
      ${tell("[seen[0].n, seen[1]]")}`);
    expect(await run(api)).toEqual([5, 1]);
  });

  test("a query whose answer others change lets the function run again", async () => {
    const api = await open(`
      let times = 0;
      const n = await db.transaction(async (tx) => {
        times += 1;
        const count = await tx.posts.where({ title: "x" }).count();
        if (times === 1) await db.posts.create({ title: "x" });
        await tx.posts.create({ title: "x", n: count });
        return count;
      });
      ${tell("[times, n]")}`);
    expect(await run(api)).toEqual([2, 1]);
  });

  test("an error of a function that is called again does not grow", async () => {
    const api = await open(`
      const sizes = [];
      for (let round = 0; round < 3; round += 1) {
        let times = 0;
        await db.transaction(async (tx) => {
          times += 1;
          await tx.posts.where({ n: 1 }).first();
          if (times > 1) return;
          await db.posts.create({ n: 1 });
          for (let again = 0; again < 5; again += 1)
            await tx.posts.where({ n: 2 }).first().catch(({ stack }) => sizes.push(stack.length));
          await tx.posts.create({ n: 3 });
        });
      }
      ${tell("[sizes.length, new Set(sizes).size]")}`);
    expect(await run(api)).toEqual([15, 1]);
  });

  test("reads that nobody waits for when the function runs again are no failure", async () => {
    const api = await open(`
      let times = 0;
      await db.transaction(async (tx) => {
        times += 1;
        await tx.posts.where({ n: 1 }).first();
        if (times === 1) await db.posts.create({ n: 1 });
        const first = tx.posts.where({ n: 2 }).first();
        await Bun.sleep(20);
        // Refused in the first call, before the await of the other read tells.
        tx.posts.where({ n: 3 }).first();
        await Bun.sleep(20);
        await first;
        await tx.posts.create({ n: 4 });
      });
      await Bun.sleep(20);
      ${tell("times")}`);
    expect(await run(api)).toBe(2);
  });
});

test("a hook asks, and the write looks at the answer again", async () => {
  const api = await openScripts({
    collections: [{ ...collections[0], permissions: { read: "public", create: "public" } }],
    files: {
      "functions/posts/limit.ts": `export const beforeCreate = async ({ record, db }) => {
        const n = await db.posts.where({ title: record.title }).count();
        await Bun.sleep(5);
        if (n >= 3) throw new Refusal("full", { field: "title" });
      };`,
    },
  });
  const sent = Array.from({ length: 10 }, () => api.request("POST", "/api/posts", { body: { title: "same" } }));
  const statuses = (await Promise.all(sent)).map(({ status }) => status);
  expect([
    statuses.filter((status) => status === 201).length,
    statuses.filter((status) => status === 400).length,
  ]).toEqual([3, 7]);
});

test("a server query asks, and has no method that writes", async () => {
  const api = await openScripts({
    collections,
    files: {
      "queries/found.ts": `export default query({ access: "public" }, ({ db }) => db.posts.where({ n: 1 }).count());`,
      "queries/writes.ts": `export default query({ access: "public" }, ({ db }) => db.posts.create({ n: 1 }));`,
    },
  });
  expect(await (await api.answer("GET", "/api/query/found")).json()).toBe(0);
  expect((await api.request("GET", "/api/query/writes")).status).toBe(500);
  expect(api.log.join("\n")).toContain("db.create: a query only reads");
});
