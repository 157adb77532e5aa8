/** The client of a project: `socle client` and `socle types --module`, read by TypeScript, run by Bun and Node against the service. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { project, root, serve, socle } from "./kit.ts";

function fileTree(folder: string): string[] {
  return [...new Glob("**/*").scanSync({ cwd: folder, dot: true })].sort();
}

const projects = {
  name: "projects",
  fields: [
    { name: "name", type: "string", required: true },
    { name: "status", type: "string", values: ["open", "paid"], required: true },
  ],
  permissions: { read: "public", create: "public" },
};
const tasks = {
  name: "tasks",
  fields: [
    { name: "title", type: "string", required: true },
    { name: "done", type: "boolean", required: true, default: false },
    { name: "n", type: "integer" },
    { name: "project", type: "relation", collection: "projects" },
    { name: "helpers", type: "relation", collection: "projects", multiple: true },
  ],
  permissions: { read: "public", create: "public", update: "public", delete: "public" },
  search: ["title"],
};
const notes = {
  name: "notes",
  fields: [
    { name: "text", type: "string", required: true },
    { name: "writer", type: "relation", collection: "users", owner: true, required: true },
  ],
  permissions: { read: "public", create: "authenticated" },
};
const files: { readonly [path: string]: string } = {
  "endpoints/orders/[id]/pay.ts": `const body: StandardSchema<{ amount: number }> = {
  "~standard": { version: 1, vendor: "own", validate: (value) => ({ value: value as { amount: number } }) },
};
export const POST = endpoint({ body, access: "public" }, async ({ body, params }) => ({
  paid: body.amount > 0,
  id: String(params.id),
  at: new Date(0),
}));
`,
  "queries/board.ts": `const args: StandardSchema<{ project: string }> = {
  "~standard": { version: 1, vendor: "own", validate: (value) => ({ value: value as { project: string } }) },
};
export default query({ args, access: "public" }, async ({ db, args: { project } }) => {
  const tasks = await db.collection("tasks").list({ filter: 'project = "' + project + '"', sort: "title" });
  return { titles: tasks.map(({ title }) => title), at: new Date(0) };
});
`,
  "jobs/mail.ts": `export const queue: QueueOptions = {};
const job: QueueJob<{ to: string }> = ({ payload }) => payload;
export default job;
`,
  "rooms/board.json": JSON.stringify({
    key: { collection: "projects" },
    join: "public",
    presence: ["cursor", "is-typing"],
    events: ["cursor", "hi"],
  }),
  "rooms/lobby.json": JSON.stringify({ key: "string", join: "public" }),
  // The file of an app, which is not compiled with the code of the service.
  "src/server.mjs": `import { clientFor, socle } from "./socle/index.js";

const credentials = { email: "ann@example.com", password: "a long password" };
const refused = await socle.register(credentials).catch(({ message }) => message);
const headers = new Headers();
await clientFor(new Request("http://localhost/"), headers).register(credentials);
const [cookie] = headers.getSetCookie()[0].split(";");
const { email } = await clientFor(new Request("http://localhost/", { headers: { cookie } })).me();
const cookies = { get: (name) => (cookie.startsWith(name + "=") ? cookie.slice(name.length + 1) : undefined), set: () => undefined };
const other = await clientFor(cookies).me();
const alone = await clientFor().login(credentials);
const anonymous = await clientFor(new Request("http://localhost/")).ready();
console.log(JSON.stringify({ refused, email, other: other.email, alone: alone.email, anonymous, shared: socle.session.get() }));
`,
  "src/app.ts": `import { admin, clientFor, type Queues, socle, SocleError, storage } from "./socle";

export async function work(id: string, signal: AbortSignal): Promise<unknown[]> {
  const open = socle.tasks
    .where({ done: false, n: { gte: 3 }, project: { status: "paid" } })
    .orderBy("-createdAt")
    .select("title", { project: ["name"] })
    .limit(50);
  const page = await open;
  const titles: string[] = page.items.map(({ title }) => title);
  const names: (string | undefined)[] = page.items.map(({ project }) => project?.name);
  for await (const task of open.all({ signal })) titles.push(task.title);
  const stop = open.live(({ items, status }) => console.log(items[0]?.title, status));
  await socle.tasks.create({ title: "x", n: 5 }, { optimistic: true });
  const { paid, at } = await socle.endpoints.orders(id).pay.post({ amount: 5 });
  const isPaid: boolean = paid;
  const time: string = at;
  const board = await socle.queries.board({ project: id });
  const first: string | undefined = board.titles[0];
  const boardTime: string = board.at;
  socle.queries.board({ project: id }).live(({ value }) => console.log(value?.titles.length));
  const mail: Queues["mail"] = { to: "a@example.com" };
  try {
    await socle.tasks.update(id, { n: { $increment: 1 } });
  } catch (error) {
    if (SocleError.is(error, "validation_error")) console.log(error.fields["title"]);
    else if (SocleError.is(error, "offline")) throw error;
  }
  const users: number = (await admin(socle, { signal }).overview()).users;
  await storage(socle).delete("fil_1");
  const room = socle.room("board", id).join({ state: { cursor: [1, 2] } });
  room.setState({ "is-typing": true });
  room.send("hi", room.members.get()[0]?.state.cursor);
  // @ts-expect-error: no room of this name
  socle.room("bord", id);
  const ofRequest: string = (await clientFor(new Request("http://localhost/"), new Headers()).tasks.get(id)).title;
  // @ts-expect-error: a number is no request
  clientFor(5);
  // @ts-expect-error: no field of this name
  room.setState({ curser: 1 });
  // @ts-expect-error: no event of this name
  room.send("bye");
  // @ts-expect-error: the room has no events
  socle.room("lobby", "k").join().send("hi");
  // @ts-expect-error: no field of this name
  socle.tasks.where({ titel: "x" });
  // @ts-expect-error: not one of the values
  socle.projects.where({ status: "payed" });
  // @ts-expect-error: a project has no title
  (await socle.query({ search: "x", in: ["tasks", "projects"] }))[0]?.record.title;
  // @ts-expect-error: title is missing
  await socle.tasks.create({ n: 5 });
  // @ts-expect-error: the field is not selected
  page.items[0]?.done;
  // @ts-expect-error: the amount is no number
  await socle.endpoints.orders(id).pay.post({ amount: "5" });
  // @ts-expect-error: the argument is missing
  await socle.queries.board({});
  // @ts-expect-error: no query of this name
  await socle.queries.bord({ project: id });
  // @ts-expect-error: no queue of this name
  type None = Queues["none"];
  // @ts-expect-error: the types are in the module, and not global
  const leaked: Collections | undefined = undefined;
  return [names, stop, isPaid, time, mail, users, leaked, first, boardTime, ofRequest];
}
`,
  "src/names.ts": `import { type ChangesOf, type NewRecord, type RecordOf, socle, type SocleDatabase } from "./socle";

const draft: NewRecord<"notes"> = { text: "x" };
const own: NewRecord<"notes"> = { text: "x", writer: "usr_1" };
const changes: ChangesOf<"tasks"> = { n: { $increment: 1 }, done: true };
export async function add(db: SocleDatabase, values: NewRecord<"tasks">): Promise<RecordOf<"tasks">> {
  const task: RecordOf<"tasks"> = await db.tasks.create(values);
  const found: RecordOf<"tasks">[] = (await db.tasks.where({ done: false })).items;
  const n: number | null = task.n;
  console.log(n, found.length, await db.notes.create(draft), await db.notes.create(own));
  return db.tasks.update(task.id, changes);
}
await add(socle, { title: "x" });
// @ts-expect-error: the title is missing
await add(socle, { n: 5 });
// @ts-expect-error: no collection of this name
type None = RecordOf<"none">;
// @ts-expect-error: the service gives the id
const given: NewRecord<"tasks"> = { title: "x", id: "rec_1" };
// @ts-expect-error: no number
const wrong: ChangesOf<"tasks"> = { n: "5" };
console.log(given, wrong);
`,
  "src/run.mjs": `import { SocleError, socle } from "./socle/index.js";

const paid = await socle.projects.create({ name: "p", status: "paid" });
const open = await socle.projects.create({ name: "o", status: "open" });
await socle.tasks.create({ title: 'a "quoted" one', n: 5, project: paid.id, helpers: [open.id] });
await socle.tasks.create({ title: "b", n: 4, project: open.id });
await socle.tasks.create({ title: "c", n: 1, project: paid.id });
const query = socle.tasks.where({ done: false, n: { gte: 3 }, project: { status: "paid" } }).select("title", { project: ["name"] });
const { items } = await query;
const titles = [];
for await (const task of socle.tasks.orderBy("title").limit(1).all()) titles.push(task.title);
const groups = (await socle.tasks.group("project").aggregate("count").orderBy("-count")).items.map(({ count }) => count);
const helped = await socle.tasks.where({ helpers: { some: { name: "o" }, none: { name: "p" } } }).count();
const back = await socle.projects.where({ "tasks(project)": { some: { title: "b" } } }).first();
const board = await socle.queries.board({ project: paid.id });
// Node before 22 has no WebSocket.
const watched = globalThis.WebSocket === undefined ? board : await new Promise((resolve) => {
  const abort = new AbortController();
  const listener = ({ value, status, error }) => {
    if (status === "loading") return;
    queueMicrotask(() => abort.abort());
    resolve(error === undefined ? value : String(error));
  };
  socle.queries.board({ project: paid.id }).live(listener, { signal: abort.signal });
});
const answer = await socle.endpoints.orders("7").pay.post({ amount: 5 });
const refused = await socle.tasks.create({}).catch((error) => error);
const hits = (await socle.query({ search: "quot*", in: ["tasks"] })).map(({ collection, record }) => [collection, record.n]);
console.log(JSON.stringify({ hits, items: items.map(({ id, ...rest }) => rest), titles, groups, helped, back: back.name, board, watched, answer, fields: refused.fields, isRefused: SocleError.is(refused, "validation_error") }));
`,
};

const cwd = await project({ collections: [projects, tasks, notes] });
for (const [path, text] of Object.entries(files)) {
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  writeFileSync(join(cwd, path), text);
}
const server = await serve(cwd);
const written = await socle(["client", "src", "--url", server.url], { cwd });

test("the command writes a package, and leaves nothing else", async () => {
  expect([written.code, written.stderr]).toEqual([0, ""]);
  expect(fileTree(join(cwd, "src/socle"))).toEqual([
    "client-worker.js",
    "client-worker.js.map",
    "client.d.ts",
    "client.js",
    "client.js.map",
    "index.d.ts",
    "index.js",
    "native.js",
    "package.json",
    "types.d.ts",
  ]);
  expect(fileTree(join(cwd, ".socle")).filter((path) => path.startsWith("shown"))).toEqual([]);
  const again = readFileSync(join(cwd, "src/socle/types.d.ts"), "utf8");
  expect((await socle(["types", "--module", "src/types.ts"], { cwd })).code).toBe(0);
  expect(readFileSync(join(cwd, "src/types.ts"), "utf8")).toBe(again);
});

test.each([
  ["without a json field", [{ name: "title", type: "string" }], false],
  ["with a json field", [{ name: "meta", type: "json" }], true],
  ["without collections", null, false],
] as const)("the types of a project compile under the strict settings of Vite: %s", async (_, fields, hasJson) => {
  const folder = await project({ collections: fields === null ? [] : [{ name: "notes", fields }] });
  expect((await socle(["types", "--module", "types.ts"], { cwd: folder })).code).toBe(0);
  expect(readFileSync(join(folder, "types.ts"), "utf8").includes("JsonValue")).toBe(hasJson);
  const compilerOptions = {
    ...{ target: "es2023", lib: ["es2023", "dom"], module: "esnext", moduleResolution: "bundler", types: [] },
    ...{ strict: true, noUnusedLocals: true, noUnusedParameters: true, noFallthroughCasesInSwitch: true },
    ...{ verbatimModuleSyntax: true, erasableSyntaxOnly: true, moduleDetection: "force", noEmit: true },
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["types.ts"] }));
  const tsc = Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "-p", "."], { cwd: folder });
  expect(tsc.stdout.toString()).toBe("");
});

test("the address must be valid", async () => {
  const { code, stderr } = await socle(["client", "src", "--url", "localhost"], { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining('"localhost" is not the address of a service')]);
});

describe("TypeScript", () => {
  const options = { target: "es2022", lib: ["es2022", "dom"], strict: true, noEmit: true, types: [] };
  test.each([
    ["bundler", { module: "esnext", moduleResolution: "bundler", skipLibCheck: false }],
    [
      "isolated",
      { module: "preserve", moduleResolution: "bundler", isolatedModules: true, verbatimModuleSyntax: true },
    ],
  ])("reads the module: %s", (_, more) => {
    writeFileSync(
      join(cwd, "src/tsconfig.json"),
      JSON.stringify({ compilerOptions: { ...options, ...more }, files: ["app.ts", "names.ts"] }),
    );
    const tsc = Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "-p", "src"], { cwd });
    expect(tsc.stdout.toString()).toBe("");
  });
});

test.each(["bun", "node"])("%s runs the module against the service", async (runtime) => {
  const child = Bun.spawn([runtime === "bun" ? process.execPath : runtime, "src/run.mjs"], {
    cwd,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect(stderr).toBe("");
  const said = JSON.parse(stdout);
  const rounds = runtime === "bun" ? 1 : 2;
  expect(said).toEqual({
    items: Array(rounds).fill({ title: 'a "quoted" one', project: { name: "p" } }),
    titles: ['a "quoted" one', "b", "c"].flatMap((title) => Array(rounds).fill(title)),
    groups: expect.arrayContaining([2, 1]),
    helped: rounds,
    back: "o",
    board: { titles: ['a "quoted" one', "c"], at: "1970-01-01T00:00:00.000Z" },
    watched: { titles: ['a "quoted" one', "c"], at: "1970-01-01T00:00:00.000Z" },
    answer: { paid: true, id: "7", at: "1970-01-01T00:00:00.000Z" },
    fields: { title: expect.any(String) },
    hits: Array(rounds).fill(["tasks", 5]),
    isRefused: true,
  });
});

test.each(["bun", "node"])(
  "on a server, %s has a client for each request, and nobody signs in with the shared client",
  (runtime) => {
    const command = [runtime === "bun" ? process.execPath : runtime, "src/server.mjs"];
    const fresh = readFileSync(join(cwd, "src/server.mjs"), "utf8").replaceAll("ann@", `${runtime}@`);
    writeFileSync(join(cwd, "src/server.mjs"), fresh);
    const { stdout, stderr } = Bun.spawnSync(command, { cwd });
    writeFileSync(join(cwd, "src/server.mjs"), files["src/server.mjs"] ?? "");
    expect(stderr.toString()).toBe("");
    const email = `${runtime}@example.com`;
    expect(JSON.parse(stdout.toString())).toEqual({
      refused: expect.stringContaining("clientFor(request)"),
      ...{ email, other: email, alone: email, anonymous: null, shared: null },
    });
  },
);

test("the service has the client, the types and the worker, also without the dashboard", async () => {
  const bare = await project({ config: { dashboard: { enabled: false } } });
  const { url } = await serve(bare);
  for (const [file, type] of [
    ["client.js", "text/javascript"],
    ["client.js.map", "application/json"],
    ["client-worker.js", "text/javascript"],
    ["client.d.ts", "text/javascript"],
  ] as const) {
    const answer = await fetch(`${url}/_/${file}`);
    expect([file, answer.status, answer.headers.get("content-type")]).toEqual([
      file,
      200,
      expect.stringContaining(type),
    ]);
    expect(await answer.text()).toBe(readFileSync(join(cwd, "src/socle", file), "utf8"));
    const etag = answer.headers.get("etag") ?? "";
    expect((await fetch(`${url}/_/${file}`, { headers: { "If-None-Match": etag } })).status).toBe(304);
  }
  expect((await fetch(`${url}/_/client.css`)).status).toBe(404);
});
