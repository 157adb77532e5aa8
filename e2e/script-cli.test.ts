/** The commands for functions and jobs: types, type checking, packages, running by hand. */
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { StoredRecord } from "@socle/protocol";
import { post, root, serve, socle, temporaryFolder, until } from "./kit.ts";
import { collection, RunEvents, scriptProject, write } from "./scripts-kit.ts";

test("check warns of a value in the text of a filter, with file and line, and does not fail", async () => {
  const files = {
    "functions/posts/count.ts": `import { counted } from "../../lib/counts.ts";
export const onCreate: OnCreate<"posts"> = async ({ record, db }) => {
  await db.posts.list({ filter: \`title = "\${record.title}"\` });
  await db.posts.filter\`title = \${record.title}\`.first();
  await counted(db, record.title);
};
`,
    "lib/counts.ts": `export async function counted(db: SocleDatabase, title: string): Promise<number> {
  const text = \`title = "\${title}"\`;
  return db.posts.filter(text).count();
}
`,
  };
  const definition = { name: "posts", fields: [{ name: "title", type: "string", required: true }] };
  const cwd = await scriptProject({ collections: [definition], files });
  const { code, stdout } = await socle(["check"], { cwd });
  const warnings = stdout.split("\n").filter((line) => line.includes("with the tag"));
  expect([code, warnings.map((line) => line.split(": ")[0])]).toEqual([
    0,
    ["functions/posts/count.ts:3", "lib/counts.ts:2"],
  ]);
});

describe("types", () => {
  const definition = {
    name: "posts",
    fields: [
      { name: "title", type: "string", required: true },
      { name: "state", type: "string", regex: "^(draft|published)$" },
      { name: "default", type: "integer" },
      { name: "meta", type: "json" },
      { name: "writer", type: "relation", collection: "users", owner: true },
    ],
  };

  test("for every collection: required fields are not null, a list of words is their union", async () => {
    const cwd = await scriptProject({ collections: [definition], files: {} });
    expect(await socle(["types"], { cwd })).toMatchObject({ code: 0, stdout: "Wrote .socle/types.d.ts: posts\n" });
    expect(existsSync(join(cwd, "socle.db"))).toBe(false);
    const code = `export const onCreate: OnCreate<"posts"> = async ({ record, db, auth, storage, event, signal }) => {
      const title: string = record.title;
      const state: "draft" | "published" | null = record.state;
      const type: "posts.created" = event.type;
      await db.collection("posts").create({ title });
      await db.collection("posts").update(record.id, { state: "draft", meta: { a: [1] }, default: null });
      const user: string | undefined = auth.user?.email;
      const bytes: Uint8Array | null = await storage.read("fil_1");
      const [row] = await db.query<{ n: number }>("SELECT 1 AS n");
      await storage.put({ filename: "a.txt", data: "a", visibility: "record" });
      await db.batch([{ method: "delete", collection: "posts", id: record.id, ifMatch: record }]);
      console.log(state, type, user, bytes, row?.n, signal.aborted, process.env.HOME);
    };\n`;
    await write(cwd, { "functions/posts/good.ts": code });
    expect(await socle(["check"], { cwd })).toMatchObject({ code: 0 });
    const mistakes: [string, RegExp][] = [
      ["record.titel;", /Property 'titel' does not exist/],
      ["const x: string = record.state;", /not assignable to type 'string'/],
      ['await db.collection("nothing").list();', /'"nothing"' is not assignable/],
      ["await db.collection('posts').create({});", /'title' is missing/],
      ["await db.collection('posts').create({ title: null });", /'null' is not assignable/],
      [
        "await db.collection('posts').update(record.id, { title: { $increment: 1 } });",
        /not assignable to type 'string'/,
      ],
      ["await db.collection('posts').update(record.id, { state: 'gone' });", /'"gone"' is not assignable/],
    ];
    for (const [line, message] of mistakes) {
      await write(cwd, {
        "functions/posts/bad.ts": `export const onCreate: OnCreate<"posts"> = async ({ record, db }) => {\n  ${line}\n};\n`,
      });
      const { code: exit, stdout } = await socle(["check"], { cwd });
      expect(stdout).toMatch(message);
      expect(stdout).toContain("functions/posts/bad.ts(2,");
      expect(exit).toBe(1);
    }
  });

  test("for handlers in other shapes: calls, imports and CommonJS", async () => {
    const cwd = await scriptProject({ collections: [definition, collection("notes")], files: {} });
    const body = "({ record, logger }) => logger.info(record.title)";
    await write(cwd, {
      "functions/a.ts": `const word = 1;\nonCreate("posts", ${body});\nonLogin("users", ({ record }) => record.email + word);\n`,
      "functions/b.ts": `import { onUpdate } from "socle/functions";\nconst word = 2;\nonUpdate("posts", ${body});\nexport { word };\n`,
      "functions/c.ts": 'const word = 3;\nbeforeCreate("posts", ({ record }) => ({ title: record.title + word }));\n',
      "functions/posts/d.ts":
        "const onDelete: OnDelete<'posts'> = ({ previous }) => previous.title;\nmodule.exports = { onDelete };\n",
      "functions/posts/helper.ts": "export const help = 1;\n",
    });
    const good = await socle(["check"], { cwd });
    expect(good).toMatchObject({ code: 0 });
    expect(good.stderr + good.stdout).toContain("functions/posts/helper.ts has no handler");
    await write(cwd, {
      "functions/a.ts": 'onCreate("notes", ({ record }) => record.title);\nonCreate("note", () => 1);\n',
    });
    const { code, stdout } = await socle(["check"], { cwd });
    expect(code).toBe(1);
    expect(stdout).toMatch(/functions\/a\.ts\(1,.*'title' does not exist/);
    expect(stdout).toMatch(/functions\/a\.ts\(2,.*"note"/);
  });

  test("without functions, jobs and endpoints, socle check names the checked parts", async () => {
    const cwd = await scriptProject({ collections: [collection("a"), collection("b")], files: {} });
    const stdout =
      "Checked the configuration and 2 collections; there are no functions, jobs, endpoints or queries to check\n";
    expect(await socle(["check"], { cwd })).toMatchObject({ code: 0, stdout });
  });

  test("a rule that a start refuses is refused by socle check, before and after the first start", async () => {
    const cwd = await scriptProject({ collections: [collection("a")], files: {} });
    const rule = { name: "b", fields: [], permissions: { read: "membrs(workspace)" } };
    const refused = /collections\/b\.json: .*the rule "read", at position 1: /;
    await write(cwd, { "collections/b.json": JSON.stringify(rule) });
    const before = await socle(["check"], { cwd });
    expect(before).toMatchObject({ code: 2, stderr: expect.stringMatching(refused) });
    await write(cwd, { "collections/b.json": JSON.stringify({ ...rule, permissions: {} }) });
    const server = await serve(cwd);
    await write(cwd, { "collections/b.json": JSON.stringify(rule) });
    expect(await socle(["check"], { cwd })).toMatchObject({ code: 2, stderr: expect.stringMatching(refused) });
    await server.stop();
    expect(await socle(["check"], { cwd })).toMatchObject({ code: 2, stderr: before.stderr });
    const start = await socle([], { cwd });
    expect(start).toMatchObject({ code: 2, stderr: expect.stringMatching(refused) });
  });

  test("a part of a definition without effect is named by socle check, and by the log of the start", async () => {
    const cwd = await scriptProject({ collections: [], files: {} });
    const fields = [{ name: "n", type: "integer", regex: "1", description: "A number" }];
    await write(cwd, { "collections/a.json": JSON.stringify({ name: "a", fields, permissions: null }) });
    const told = [
      'field "n": unknown attribute "description" is ignored',
      'field "n": "regex" means nothing on type integer',
    ];
    const { code: exit, stdout } = await socle(["check"], { cwd });
    expect(exit).toBe(0);
    const server = await serve(cwd);
    for (const each of told) {
      expect(stdout).toContain(`a.json: ${each}`);
      expect(server.output()).toContain(`Definition of "a": ${each}`);
    }
    await server.stop();
    const stray = JSON.stringify({ name: "a", fields: [{ name: "n", type: "integer", requird: true }] });
    await write(cwd, { "collections/a.json": stray });
    const refused = /a\.json: field "n": unknown attribute "requird"; did you mean "required"\?/;
    expect(await socle(["check"], { cwd })).toMatchObject({ code: 2, stderr: expect.stringMatching(refused) });
  });

  test("a file with right types that does not load is named by socle check", async () => {
    const files = {
      "functions/a/throws.ts": 'throw new Error("at the top");\nexport const onCreate = () => undefined;\n',
      "functions/a/fine.ts": "export const onCreate = () => undefined;\n",
      "jobs/never.ts": 'export const schedule = "61 * * * *";\nexport default () => undefined;\n',
      "endpoints/[id].ts": "export const GET = () => new Response();\n",
      "endpoints/[name].ts": "export const GET = () => new Response();\n",
    };
    const cwd = await scriptProject({ collections: [collection("a")], files });
    const { code, stdout } = await socle(["check"], { cwd });
    expect(code).toBe(1);
    expect(stdout).toContain("endpoints/[id].ts does not load: ");
    expect(stdout).toContain("functions/a/throws.ts does not load: at the top (functions/a/throws.ts:1:");
    expect(stdout).toContain("jobs/never.ts does not load: ");
    expect(stdout).not.toContain("fine.ts");
    expect(existsSync(join(cwd, "socle.db"))).toBe(false);
  });

  test("advice about missing types names a command of this executable", async () => {
    const files = { "functions/a/version.ts": "export const onCreate = () => void Bun.version;\n" };
    const cwd = await scriptProject({ collections: [collection("a")], files });
    const { code, stdout, stderr } = await socle(["check"], { cwd });
    expect(code).toBe(1);
    expect(stdout).toMatch(/socle\S* add @types\/bun/);
    expect(stdout + stderr).not.toContain("bun add");
  });

  test("follow the database, and the files that changed since", async () => {
    const cwd = await scriptProject({ collections: [collection("a")], files: {} });
    const developing = await serve(cwd, { args: ["dev"] });
    const path = join(cwd, ".socle/types.d.ts");
    await until(() => existsSync(path));
    expect(await Bun.file(path).text()).toContain("  a: {");
    await developing.stop();
    // `serve` applies no file while running.
    const server = await serve(cwd);
    await Bun.write(join(cwd, "collections/b.json"), JSON.stringify(collection("b")));
    expect(await socle(["types"], { cwd })).toMatchObject({ code: 0, stdout: "Wrote .socle/types.d.ts: a, b\n" });
    await server.stop();
    await rm(join(cwd, "collections/b.json"));
    expect(await socle(["types"], { cwd })).toMatchObject({ stdout: "Wrote .socle/types.d.ts: a\n" });
  });
});

describe("the blog", () => {
  function copy(): string {
    const cwd = temporaryFolder();
    for (const part of ["config.json", "package.json", "tsconfig.json", "collections", "functions", "jobs"])
      cpSync(join(root, "examples/blog", part), join(cwd, part), { recursive: true });
    cpSync(join(root, "node_modules/slugify"), join(cwd, "node_modules/slugify"), { recursive: true });
    return cwd;
  }

  test("passes the check; a planted mistake is found with its line", async () => {
    const cwd = copy();
    const { code, stderr, stdout } = await socle(["check"], { cwd });
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toContain("No type errors in 8 files");
    const path = join(cwd, "functions/users/welcome.ts");
    const lines = (await Bun.file(path).text()).split("\n");
    const at = lines.findIndex((line) => line.includes("to: record.id"));
    lines[at] = (lines[at] ?? "").replace("record.id", "42");
    await Bun.write(path, lines.join("\n"));
    const planted = await socle(["check"], { cwd });
    expect(planted.code).toBe(1);
    expect(planted.stdout).toContain(`functions/users/welcome.ts(${at + 1},`);
  });

  test("makes slugs, counts comments, welcomes, cleans up", async () => {
    const cwd = copy();
    const server = await serve(cwd, { args: ["--port", "0"] });
    const { url } = server;
    const events = await RunEvents.of(url);
    const registered = await post(`${url}/api/auth/register`, { email: "me@example.com", password: "correct horse" });
    const { token } = (await registered.json()) as { token: string };
    const headers = { Authorization: `Bearer ${token}` };
    const create = async (name: string, body: object): Promise<StoredRecord> =>
      (await (await post(`${url}/api/${name}`, body, headers)).json()) as StoredRecord;
    const read = async (path: string): Promise<StoredRecord> =>
      (await (await fetch(`${url}/api/${path}`, { headers })).json()) as StoredRecord;
    const profile = await create("profiles", { name: "Me" });
    const values = { title: "Grüße, Welt!", body: "x", author: profile.id };
    const posts = [await create("posts", values), await create("posts", values)];
    const [first = { id: "" }, second = { id: "" }] = posts;
    await until(() => events.of("function.completed", "functions/posts/slug.ts").length === 2);
    const slugs = [(await read(`posts/${first.id}`))["slug"], (await read(`posts/${second.id}`))["slug"]];
    expect(slugs.toSorted()).toEqual(["grusse-welt", "grusse-welt-2"]);
    const comments = await Promise.all(
      Array.from({ length: 20 }, (_, n) => create("comments", { post: first.id, text: `${n}` })),
    );
    await fetch(`${url}/api/comments/${comments[0]?.id}`, { method: "DELETE", headers });
    await until(() => events.of("function.completed", "functions/comments/count.ts").length === 21);
    expect((await read(`posts/${first.id}`))["commentCount"]).toBe(19);
    expect(await read("messages")).toMatchObject({ items: [{ text: expect.stringContaining("Welcome") }] });
    await fetch(`${url}/api/posts/${first.id}`, { method: "DELETE", headers });
    const { code, stdout } = await socle(["run", "job", "clean-up"], { cwd });
    expect([code, stdout]).toEqual([0, "INFO  Cleaned up comments=19 drafts=0\nCompleted\n"]);
    expect(await read("comments")).toEqual({ items: [] } as never);
    expect(await server.stop()).toBe(0);
  });
});

describe("run", async () => {
  const cwd = await scriptProject({
    collections: [collection("a"), collection("b")],
    files: {
      "functions/a/hand.ts": `export const onUpdate = async ({ record, previous, event, logger, db }: any) => {
        logger.info("by hand", { n: record.n, same: record.id === previous.id, type: event.type });
        await db.collection("b").create({ n: record.n });
      };
      export const onDelete = () => { throw new Error("not this"); };\n`,
      "functions/b/count.ts": 'export const onCreate = ({ record }: any) => Bun.write("b.txt", String(record.n));\n',
      "functions/users/hello.ts": "export const onLogin = ({ record, logger }: any) => logger.info(record.email);\n",
      "jobs/fails.ts":
        'export const schedule = "0 0 1 1 *";\nexport default () => {\n  throw new Error("no luck");\n};\n',
      "jobs/later.ts":
        'export const schedule = "0 0 1 1 *";\nexport default ({ logger }: any) => void setTimeout(() => logger.info("later"), 40);\n',
      "jobs/fine.ts":
        'export const schedule = "0 0 1 1 *";\nexport default ({ logger, runId, attempt }: any) => logger.warn("fine", { attempt });\n',
    },
  });
  const server = await serve(cwd, { single: "commands" });
  const record = (await (await post(`${server.url}/api/a`, { n: 7 })).json()) as StoredRecord;
  const registered = await post(`${server.url}/api/auth/register`, {
    email: "me@example.com",
    password: "correct horse",
  });
  const { user } = (await registered.json()) as { user: { id: string } };

  const cases: [string[], number, RegExp][] = [
    [["job", "fine"], 0, /^WARN {2}fine attempt=1\nCompleted\n$/],
    [["job", "fails"], 1, /^Failed: no luck \(jobs\/fails\.ts:3:13\)\n$/],
    [["job", "fien"], 1, /^Failed: There is no job "fien"\. Did you mean fine\?\n$/],
    [
      ["function", "a", "hand", "--record", record.id],
      0,
      /^INFO {2}by hand n=7 same=true type="a\.updated"\nCompleted\n$/,
    ],
    [
      ["function", "a", "hand.ts", "--record", record.id, "--handler", "onDelete"],
      1,
      /^Failed: not this \(functions\/a\/hand\.ts:5:/,
    ],
    [
      ["function", "a", "hand", "--record", record.id, "--handler", "onCreate"],
      1,
      /There is no handler in functions\/a\/hand\.ts "onCreate"/,
    ],
    [["function", "a", "hand", "--record", "rec_none"], 1, /There is no record "rec_none" in "a"/],
    [
      ["function", "a", "handy", "--record", record.id],
      1,
      /There is no function "functions\/a\/handy\.ts"\. Did you mean functions\/a\/hand\.ts\?/,
    ],
    [["function", "users", "hello", "--record", user.id], 0, /^INFO {2}me@example\.com\nCompleted\n$/],
    [["function", "a", "hand"], 2, /missing --record ID/],
    [["function", "a"], 2, /missing FILE/],
  ];

  describe("beside the service", () => {
    test.each(cases)("%j", async (args, code, output) => {
      const finished = await socle(["run", ...args], { cwd });
      expect(finished.stdout + finished.stderr).toMatch(output);
      expect(finished.code).toBe(code);
    });
  });

  test("lines logged after the end are only in the log of the service", async () => {
    expect(await socle(["run", "job", "later"], { cwd })).toMatchObject({ code: 0, stdout: "Completed\n" });
    await until(() => server.output().includes("INFO  later"));
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });

  test("without the service, the changes of a run make functions run, too", async () => {
    expect(await server.stop()).toBe(0);
    expect(existsSync(join(cwd, "socle.db-control"))).toBe(false);
    await rm(join(cwd, "b.txt"), { force: true });
    for (const [args, code, output] of cases) {
      const finished = await socle(["run", ...args], { cwd });
      expect(finished.stdout + finished.stderr).toMatch(output);
      expect(finished.code).toBe(code);
    }
    expect(await Bun.file(join(cwd, "b.txt")).text()).toBe("7");
  });
});

test("add installs a package that functions import, with the executable alone", async () => {
  const parent = await scriptProject({ collections: [collection("a")], files: {} });
  // A project inside another project, which must stay untouched.
  await write(parent, { "package.json": "{}" });
  const cwd = join(parent, "inner");
  await write(cwd, { "config.json": '{ "port": 0 }', "collections/a.json": JSON.stringify(collection("a")) });
  const local = join(cwd, "packages/shout");
  await mkdir(local, { recursive: true });
  await write(local, {
    "package.json": JSON.stringify({ name: "shout", version: "1.0.0", main: "main.js" }),
    "main.js": 'module.exports = (text) => text.toUpperCase() + "!";\n',
  });
  const env = { PATH: "/nowhere" };
  const added = await socle(["add", "./packages/shout"], { cwd, env });
  expect(added.code).toBe(0);
  expect(await Bun.file(join(cwd, "package.json")).json()).toMatchObject({
    dependencies: { shout: expect.any(String) },
  });
  await write(cwd, {
    "functions/a/use.ts":
      'import shout from "shout";\nexport const onCreate = ({ logger }: any) => logger.info(shout("hello"));\n',
  });
  const server = await serve(cwd);
  await post(`${server.url}/api/a`, { n: 1 });
  await until(() => server.output().includes("HELLO!"));
  expect(await Bun.file(join(parent, "package.json")).text()).toBe("{}");
  expect((await socle(["add"], { cwd })).stderr).toContain("missing PACKAGE...");
});

test("a package builds itself with bun and node, with the executable alone", async () => {
  const cwd = await scriptProject({ collections: [collection("a")], files: {} });
  const scripts = { install: "bun build.ts && node -e 1", postinstall: "bunx --version" };
  await write(cwd, {
    "package.json": '{ "private": true, "trustedDependencies": ["builds"] }',
    "builds/package.json": JSON.stringify({ name: "builds", version: "1.0.0", scripts }),
    "builds/build.ts": 'await Bun.write(String(process.env["OUT"]), "built");\n',
  });
  const out = join(cwd, "built.txt");
  const temporary = join(cwd, "tmp");
  await mkdir(temporary);
  const added = await socle(["add", "./builds"], { cwd, env: { PATH: "/bin", OUT: out, TMPDIR: temporary } });
  expect(added).toMatchObject({ code: 0 });
  expect(await Bun.file(out).text()).toBe("built");
  expect(readdirSync(temporary)).toEqual([]);
});

test("install scripts of packages see nothing that configures the service", async () => {
  const cwd = await scriptProject({ collections: [collection("a")], files: {} });
  await write(cwd, {
    "package.json": '{ "private": true, "trustedDependencies": ["curious"] }',
    "curious/package.json": '{ "name": "curious", "version": "1.0.0", "scripts": { "postinstall": "env > $OUT" } }',
  });
  const out = join(cwd, "seen.txt");
  const env = { SERVICE_AUTH_JWT_SECRET: "a secret of at least thirty-two letters", SERVICE_PORT: "1", OUT: out };
  expect((await socle(["add", "./curious"], { cwd, env })).code).toBe(0);
  const seen = await Bun.file(out).text();
  expect(seen).toContain(`OUT=${out}`);
  expect(seen).not.toContain("SERVICE_");
});

test("functions see the environment and .env, and nothing that configures the service", async () => {
  const code = 'export const onCreate = ({ logger }: any) => logger.info("env", { ...process.env });\n';
  const cwd = await scriptProject({ collections: [collection("a")], files: { "functions/a/env.ts": code } });
  await write(cwd, { ".env": "PRICE_KEY=one\nSERVICE_PORT=1\nOTHER=file\n" });
  const env = { SERVICE_AUTH_JWT_SECRET: "a secret of at least thirty-two letters", OTHER: "service" };
  const server = await serve(cwd, { args: ["dev"], env });
  const seen = async (): Promise<string> => {
    const before = server.output().length;
    await post(`${server.url}/api/a`, { n: 1 });
    await until(() => server.output().slice(before).includes("INFO  env"));
    return server.output().slice(before);
  };
  const first = await seen();
  expect(first).toContain("PRICE_KEY=one");
  expect(first).toContain("OTHER=service");
  expect(first).not.toContain("SERVICE_");
  await write(cwd, { ".env": "PRICE_KEY=two\n" });
  await until(() => server.output().includes("Reloaded"));
  expect(await seen()).toContain("PRICE_KEY=two");
});

test("dev applies added and changed definition files; a refused file changes nothing", async () => {
  const code = 'export const onCreate = ({ logger }: any) => logger.info("hello b");\n';
  const cwd = await scriptProject({ collections: [collection("a")], files: { "functions/b/b.ts": code } });
  const server = await serve(cwd, { args: ["dev"] });
  expect(server.output()).toContain('functions/b/b.ts: there is no collection "b", so it never runs');
  await write(cwd, { "collections/b.json": JSON.stringify(collection("b")) });
  await until(() => server.output().includes("Applied b.json"));
  expect((await post(`${server.url}/api/b`, { n: 1 })).status).toBe(201);
  await until(() => server.output().includes("hello b"));
  await until(() => existsSync(join(cwd, ".socle/types.d.ts")));
  await write(cwd, { "collections/b.json": '{ "name": "b", "fields": [{ "name": "n", "type": "text" }] }' });
  await until(() => server.output().includes("Collections stay as they are: "));
  expect((await post(`${server.url}/api/b`, { n: 2 })).status).toBe(201);
  expect(await Bun.file(join(cwd, ".socle/types.d.ts")).text()).toContain("  b: {");
  await write(cwd, { "jobs/late.ts": "export const queue = {};\nexport default () => undefined;\n" });
  await until(() => readFileSync(join(cwd, ".socle/files.d.ts"), "utf8").includes('"../jobs/late.ts"'));
});

test("a stop leaves everything in the database file, also after a function has requested the stop", async () => {
  const code = 'export const onCreate = ({ db }: any) => db.query("SELECT count(*) AS n FROM a");\n';
  const cwd = await scriptProject({
    collections: [collection("a")],
    files: { "functions/a/ask.ts": code, "functions/stray.ts": code },
  });
  const server = await serve(cwd);
  const events = await RunEvents.of(server.url);
  await post(`${server.url}/api/a`, { n: 1 });
  await events.first("function.completed", "functions/a/ask.ts");
  expect(await server.stop()).toBe(0);
  expect(existsSync(join(cwd, "socle.db-wal"))).toBe(false);
  expect(server.output()).toContain(
    "WARN  functions/stray.ts has no effect: functions are functions/<collection>/<file>.ts",
  );
});
