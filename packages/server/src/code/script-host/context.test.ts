/** The context of handlers, in a real process: lists by query, passwords, files of a user, and `fetch`. */
import { afterAll, expect, test } from "bun:test";
import type { GroupQuery, RecordQuery } from "@socle/protocol";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";
import { typeDeclarations } from "./type-declarations.ts";

const posts = {
  name: "posts",
  fields: [
    { name: "title", type: "string" },
    { name: "n", type: "integer" },
    { name: "author", type: "relation", collection: "users", owner: true },
  ],
  permissions: { read: "owner" },
};

async function open(job: string, settings: Record<string, string> = {}): Promise<TestScripts> {
  const code = `export const schedule = "0 0 1 1 *";\nexport default async ({ db, auth, storage }) => { ${job} };`;
  return openScripts({ collections: [posts], files: { "jobs/try.ts": code }, settings });
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

test("db.list takes the parameters of lists, without permission rules", async () => {
  const api = await open(`
    for (const n of [1, 2, 3, 4]) await db.collection("posts").create({ title: "t" + n, n });
    const first = await db.collection("posts").list({ filter: "n > 1", sort: "n", limit: 2, count: "exact", fields: "n" });
    const second = await db.collection("posts").list({ filter: "n > 1", sort: "n", limit: 2, fields: "n", cursor: first.nextCursor });
    const all = await db.collection("posts").list();
    const groups = await db.collection("posts").list({ group: "author", aggregate: "count,sum(n)" });
    ${tell("{ first, items: first.items, total: first.total, second, end: second.nextCursor, all: all.length, groups }")}`);
  const first = [{ n: 2 }, { n: 3 }].map((each) => expect.objectContaining(each) as object);
  expect(await run(api)).toEqual({
    first,
    items: first,
    total: 3,
    second: [expect.objectContaining({ n: 4 })],
    end: null,
    all: 4,
    groups: [{ author: null, count: 4, "sum(n)": 10 }],
  });
});

/** Every parameter of a list and of the groups. */
const listParameters: { readonly [name in keyof (RecordQuery & GroupQuery)]-?: true } = {
  filter: true,
  search: true,
  snippet: true,
  sort: true,
  limit: true,
  cursor: true,
  offset: true,
  count: true,
  fields: true,
  expand: true,
  group: true,
  aggregate: true,
  zone: true,
};

test("db.list is declared with every parameter of the HTTP API, also search", async () => {
  const declared =
    /interface SocleQuery \{([^}]*)\}/
      .exec(typeDeclarations([], { "scripts.env": [], "auth.anonymous": false }))?.[1]
      ?.match(/\w+(?=\?:)/g) ?? [];
  expect(declared.toSorted()).toEqual(Object.keys(listParameters).toSorted());
  const api = await openScripts({
    collections: [{ ...posts, search: ["title"] }],
    files: {
      "jobs/try.ts": `export const schedule = "0 0 1 1 *";
        export default async ({ db }) => {
          for (const title of ["one two", "three"]) await db.collection("posts").create({ title });
          console.log(JSON.stringify(await db.collection("posts").list({ search: "tw*", snippet: "title", fields: "title" })));
        };`,
    },
  });
  expect(await run(api)).toEqual([{ title: "one two", snippet: { title: "one <mark>two</mark>" } }]);
});

test("an invalid query is refused as over HTTP", async () => {
  expect(await run(await open('await db.collection("posts").list({ filter: "nope = 1" })'))).toContain("nope");
  expect(await run(await open('await db.collection("posts").list({ fliter: "n = 1" })'))).toContain(
    "has no parameter of a list",
  );
});

test("db.query finds fields by their own names: the owner field, and names that the database reserves", async () => {
  const api = await openScripts({
    collections: [
      posts,
      { name: "plain", fields: [{ name: "n", type: "integer" }] },
      {
        name: "kept",
        fields: [
          { name: "rowid", type: "integer" },
          { name: "Oid", type: "string" },
        ],
      },
    ],
    files: {
      "jobs/try.ts": `export const schedule = "0 0 1 1 *";
        export default async ({ db, auth }) => {
          const [user] = await auth.users.list();
          const name = (await db.query("SELECT name FROM pragma_table_info('posts') WHERE name IN ('author', 'writer')"))[0].name;
          const made = (await db.collection("posts").list())[0] ?? await db.collection("posts").create({ title: "a", n: 1, [name]: user.id });
          if (name === "author") await db.collection("kept").create({ rowid: 7, Oid: "x" });
          console.log(JSON.stringify({
            where: await db.query("SELECT title, " + name + ", _owner FROM posts WHERE " + name + " = ?", [user.id]),
            join: await db.query("SELECT u.email, p." + name + " AS by FROM users u LEFT JOIN posts p ON p." + name + " = u.id WHERE u.email LIKE '_@%' ORDER BY u.email"),
            count: await db.query("SELECT count(*) AS n FROM posts"),
            kept: await db.query("SELECT rowid, oid, _field_rowid FROM kept"),
            plain: await db.query("SELECT n FROM plain"),
            all: Object.keys((await db.query("SELECT * FROM posts"))[0]),
            refused: await db.query("SELECT " + (name === "author" ? "writer" : "author") + " FROM posts").catch((error) => error.message),
            written: await db.query("INSERT INTO posts (title) VALUES ('x')").catch((error) => error.code),
          }));
        };`,
    },
  });
  const { user } = await api.register("a@example.com");
  await api.register("b@example.com");
  const about = (name: string, other: string) => ({
    where: [{ title: "a", [name]: user.id, _owner: user.id }],
    join: [
      { email: "a@example.com", by: user.id },
      { email: "b@example.com", by: null },
    ],
    count: [{ n: 1 }],
    kept: [{ rowid: 7, Oid: "x", _field_rowid: 7 }],
    plain: [],
    all: expect.arrayContaining(["id", "_owner", name]) as string[],
    refused: expect.stringContaining(`no such column: ${other}`) as string,
    written: "bad_request",
  });
  expect(await run(api)).toEqual(about("author", "writer"));
  const fields = posts.fields.map((field) =>
    field.name === "author" ? { ...field, name: "writer", renamedFrom: "author" } : field,
  );
  const renamed = await api.request("PUT", "/api/admin/collections/posts", {
    body: { ...posts, fields },
    token: await api.admin(),
  });
  expect(renamed.status).toBe(200);
  // The process of queries is the same as before.
  expect(await run(api)).toEqual(about("writer", "author"));
});

test("auth.users.setPassword gives a password, and ends the sessions", async () => {
  const api = await open(
    `const user = await auth.users.findByEmail("a@example.com"); ${tell('await auth.users.setPassword(user.id, "another password")')}`,
  );
  const { user, accessToken: token } = await api.register("a@example.com");
  expect(await run(api)).toEqual({ ...user, verified: false, anonymous: false });
  expect((await api.request("GET", "/api/auth/me", { token })).status).toBe(401);
  const body = { email: "a@example.com", password: "another password" };
  expect((await api.request("POST", "/api/auth/login", { body })).status).toBe(200);
  const short = await open(`const user = await auth.users.create({ email: "b@example.com", password: "long enough" });
    await auth.users.setPassword(user.id, "x")`);
  expect(await run(short)).toContain("password");
});

test("db.batch takes a record as ifMatch, and refuses the batch when the record has changed since", async () => {
  const api = await open(`const posts = db.collection("posts");
    const made = await posts.create({ title: "a" });
    const changed = await posts.update(made.id, { title: "b" });
    const change = (ifMatch) => db.batch([{ method: "update", collection: "posts", id: made.id, ifMatch, body: { title: "c" } }]);
    const stale = await change(made).catch(({ code, details }) => ({ code, details }));
    const [{ title }] = await change(changed);
    ${tell('[stale, title, await db.batch("x").catch(({ code }) => code), await db.batch([null]).catch(({ code }) => code)]')}`);
  expect(await run(api)).toEqual([
    { code: "conflict", details: [expect.objectContaining({ operation: 0 })] },
    "c",
    "bad_request",
    "validation_error",
  ]);
});

test("storage.put makes a file of a user, with the right to read the file", async () => {
  const api = await open(`const user = await auth.users.findByEmail("a@example.com");
    ${tell('[await storage.put({ filename: "a.txt", data: "hello", owner: user.id }), await storage.put({ filename: "b.txt", data: "b", visibility: "public" })]')}`);
  const { user, accessToken: token } = await api.register("a@example.com");
  const files = (await run(api)) as { id: string; userId: string | null; visibility: string }[];
  expect(files).toMatchObject([
    { userId: user.id, visibility: "protected" },
    { userId: null, visibility: "public" },
  ]);
  const path = `/api/storage/${files[0]?.id}`;
  expect([(await api.request("GET", path)).status, (await api.request("GET", path, { token })).status]).toEqual([
    401, 200,
  ]);
  const nobody = await open('await storage.put({ filename: "a.txt", data: "", owner: "usr_nobody" })');
  expect(await run(nobody)).toContain("is no user");
});

test("fetch ends with the run, also beside a signal of its own", async () => {
  const closed = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    fetch: ({ signal }) => {
      signal.addEventListener("abort", () => closed.resolve());
      return new Promise(() => undefined);
    },
  });
  afterAll(() => server.stop(true));
  const api = await open(`await fetch("${server.url}", { signal: new AbortController().signal })`, {
    SERVICE_SCRIPTS_TIMEOUT: "200ms",
  });
  expect(await run(api)).toContain("ran longer than its timeout");
  await closed.promise;
});

test("the user's code sees no variable of the service, wherever the variable is set", async () => {
  const api = await openScripts({
    files: {
      ".env": "SERVICE_AUTH_JWT_SECRET=secret\nOTHER=seen\n",
      "jobs/try.ts": `export const schedule = "0 0 1 1 *";
        const names = () => Object.keys(process.env).filter((name) => name.startsWith("SERVICE_") || name === "OTHER");
        const atLoad = names();
        export default () => console.log(JSON.stringify([atLoad, names()]));`,
    },
  });
  expect(await run(api)).toEqual([["OTHER"], ["OTHER"]]);
});

test("env has the declared variables, of the environment and of .env, and names a missing variable", async () => {
  const api = await openScripts({
    collections: [posts],
    settings: { SERVICE_SCRIPTS_ENV: "PATH, FROM_FILE, EMPTY, MISSING, OPTIONAL?, ABSENT?" },
    files: {
      ".env": "FROM_FILE=file\nEMPTY=\nOPTIONAL=given\nPATH=overridden\nUNDECLARED=x\n",
      "jobs/try.ts": `export const schedule = "0 0 1 1 *";
        export default ({ env }) => {
          const read = (name) => { try { return env[name] ?? null; } catch (error) { return error.message; } };
          const names = ["PATH", "FROM_FILE", "EMPTY", "MISSING", "OPTIONAL", "ABSENT", "UNDECLARED"];
          let isFrozen = false;
          try { env.PATH = "changed"; } catch { isFrozen = true; }
          console.log(JSON.stringify({ values: names.map(read), all: { ...env }, isFrozen }));
        };`,
    },
  });
  const missing = (name: string): string =>
    `${name} is not set: put it into the environment of the service, or into .env`;
  const path = process.env["PATH"];
  expect(await run(api)).toEqual({
    values: [path, "file", missing("EMPTY"), missing("MISSING"), "given", null, null],
    all: { PATH: path, FROM_FILE: "file", OPTIONAL: "given" },
    isFrozen: true,
  });
  const warned = api.log
    .filter((line) => line.includes("which scripts.env declares"))
    .map((line) => line.split(" ")[1]);
  expect(warned).toEqual(["EMPTY", "MISSING"]);
  api.log.length = 0;
  await api.save({ ".env": "FROM_FILE=again\nEMPTY=e\nMISSING=m\n" });
  expect(await run(api)).toMatchObject({ values: [path, "again", "e", "m", null, null, null] });
  expect(api.log.some((line) => line.includes("scripts.env"))).toBeFalse();
});
