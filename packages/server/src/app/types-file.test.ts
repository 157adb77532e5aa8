/** The generated types of a project, as the compiler reads the types: queues and payloads, endpoints, variables. */
// Promises: D1.
import { expect, test } from "bun:test";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type CollectionDefinition, ERROR_CODES } from "@socle/protocol";
import { temporaryFolder } from "../../test/kit.ts";
import { parseDefinition } from "../data/collections/index.ts";
import { checkFile, writeCheckSettings, writeTypes } from "./types-file.ts";

const modules = join(import.meta.dir, "../../../../node_modules");

/** Without a `@ts-expect-error` that is not used, and without an error elsewhere, the compiler is silent. */
const project: { readonly [path: string]: string } = {
  "jobs/mail.ts": `export const queue: QueueOptions = { concurrency: 4 };
const job: QueueJob<{ order: string; lines?: string[] }> = async ({ payload, jobs }) => {
  await jobs.enqueue("mail", payload);
};
export default job;
`,
  "jobs/any.ts": `export const queue = {};
const job: QueueJob = ({ payload }) => payload;
export default job;
`,
  "jobs/nightly.ts": `export const schedule = "0 3 * * *";
const job: Job = async ({ jobs }) => jobs.enqueue("any");
export default job;
`,
  "endpoints/orders/[id].ts": `import { z } from "zod";
export const GET: Endpoint<"id"> = (_request, { params }) => Response.json(params.id);
export const POST = endpoint(
  { query: z.object({ notify: z.stringbool() }), body: z.object({ amount: z.int() }) },
  async ({ body, query, params, jobs }) => {
    if (body.amount === 0) return new Response("Nothing");
    if (query.notify) await jobs.enqueue("mail", { order: String(params.id) });
    return { amount: body.amount, at: new Date() };
  },
);
export const PUT = endpoint({ params: z.object({ id: z.string() }), answer: z.object({ id: z.string() }) }, ({ params }) => params);
// @ts-expect-error: the schema of answer asks for an id
export const DELETE = endpoint({ answer: z.object({ id: z.string() }) }, async () => ({ name: "x" }));
`,
  "endpoints/files/[...rest].ts": `export const GET: Endpoint<"...rest"> = (_request, { params }) => Response.json(params.rest);
`,
  "endpoints/index.ts": `export const GET: Endpoint = () => new Response();
export const helper = 1;
`,
  "endpoints/use.ts": `export const POST: Endpoint = async (_request, { db, env, jobs }) => {
  const at = new Date();
  await jobs.enqueue("mail", { order: "a" }, { at, key: "k" });
  await jobs.enqueue("any");
  await jobs.enqueue("any", [1]);
  const name: string = env.QUEUE;
  await jobs.enqueue(name as QueueName, { order: "a" });
  // @ts-expect-error: no literal
  await jobs.enqueue(name, { order: "a" });
  // @ts-expect-error: no queue of this name
  await jobs.enqueue("mial", { order: "a" });
  // @ts-expect-error: a schedule is no queue
  await jobs.enqueue("nightly", { order: "a" });
  // @ts-expect-error: the wrong type of a field
  await jobs.enqueue("mail", { order: 5 });
  // @ts-expect-error: an unknown field
  await jobs.enqueue("mail", { order: "a", extra: 1 });
  // @ts-expect-error: no payload
  await jobs.enqueue("mail");
  await db.transaction(async (tx) => {
    await tx.jobs.enqueue("mail", { order: "a" });
    // @ts-expect-error: no queue of this name
    await tx.jobs.enqueue("mial", { order: "a" });
    // @ts-expect-error: the wrong type of a field
    await tx.jobs.enqueue("mail", { order: 5 });
  });
  await db.batch([], { enqueue: [{ name: "mail", payload: { order: { $ref: 0 }, lines: ["a", { $ref: 1 }] }, at }] });
  await db.batch([], { enqueue: [{ name: "any" }] });
  // @ts-expect-error: no queue of this name
  await db.batch([], { enqueue: [{ name: "mial", payload: { order: "a" } }] });
  // @ts-expect-error: the wrong type of a field
  await db.batch([], { enqueue: [{ name: "mail", payload: { order: 5 } }] });
  // @ts-expect-error: no payload
  await db.batch([], { enqueue: [{ name: "mail" }] });
  // @ts-expect-error: not declared
  return new Response(env.OTHER);
};

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const isTrue = <_ extends true>(): void => undefined;
isTrue<Same<keyof Endpoints & \`\${string} /api/function/orders/[id]\`, \`\${"GET" | "POST" | "PUT" | "DELETE"} /api/function/orders/[id]\`>>();
isTrue<Same<Exclude<keyof Endpoints, \`\${string}/orders/\${string}\`>, "GET /api/function" | "GET /api/function/files/[...rest]" | "POST /api/function/use">>();
type Post = Endpoints["POST /api/function/orders/[id]"];
isTrue<Same<Post["params"], { id: string }>>();
isTrue<Same<Post["query"], { notify: string }>>();
isTrue<Same<Post["body"], { amount: number }>>();
isTrue<Same<Post["answer"], { amount: number; at: string }>>();
isTrue<Same<Endpoints["PUT /api/function/orders/[id]"]["answer"], { id: string }>>();
isTrue<Same<Endpoints["GET /api/function/files/[...rest]"]["params"], { rest: string[] }>>();
isTrue<Same<unknown, Endpoints["GET /api/function"]["body"]>>();
// @ts-expect-error: not the type of the answer
isTrue<Same<Post["answer"], { amount: string; at: string }>>();
`,
};

function write(folder: string, files: typeof project): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

async function compiled(
  folder: string,
  definitions: readonly CollectionDefinition[] = [],
  settings: { "auth.anonymous": boolean } = { "auth.anonymous": false },
): Promise<string> {
  const config = { folder, "scripts.env": ["QUEUE"], "endpoints.prefix": "/api/function", ...settings };
  await writeTypes(config, definitions);
  await writeCheckSettings(folder);
  const { stdout } = Bun.spawnSync([join(modules, ".bin/tsc"), "-p", join(folder, checkFile)], { cwd: folder });
  return stdout.toString();
}

test("queues, payloads, variables and endpoints have the types of the files", async () => {
  const folder = temporaryFolder();
  write(folder, project);
  cpSync(join(modules, "zod"), join(folder, "node_modules/zod"), { recursive: true });
  expect(await compiled(folder)).toBe("");
});

test("a project without queues and endpoints type-checks, and has no queue", async () => {
  const folder = temporaryFolder();
  write(folder, {
    "functions/users/a.ts": `export const onCreate: OnCreate<"users"> = async ({ jobs }) => {
  // @ts-expect-error: no queue of this name
  await jobs.enqueue("mail");
};
const none: keyof Endpoints extends never ? true : false = true;
console.log(none);
`,
  });
  expect(await compiled(folder)).toBe("");
});

test("lists of parts of records have other types than records; errors have the codes and details of the API", async () => {
  const folder = temporaryFolder();
  write(folder, {
    "jobs/list.ts": `export const schedule = "@daily";
const codes = ${JSON.stringify(ERROR_CODES)} as const;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
export const isSame: Same<ServiceError["code"], (typeof codes)[number]> = true;
const job: Job = async ({ db }) => {
  const posts = db.collection("posts");
  const titles: string[] = (await posts.list({ filter: "title != null", expand: "author" })).map(({ title }) => title);
  const [group] = await posts.list({ group: "title", aggregate: "count" });
  const count: JsonValue | undefined = group?.["count"];
  const [row] = await posts.list<{ title: string; count: number }>({ group: "title", aggregate: "count" });
  const known: number | undefined = row?.count;
  // @ts-expect-error: a group has no fields of a record
  const title: string | undefined = group?.title;
  // @ts-expect-error: a part of a record has no other fields
  const at: string = (await posts.list({ fields: "title" }))[0]!.createdAt;
  const place = (thrown: ServiceError): number | undefined => thrown.details?.[0]?.item;
  console.log(titles, count, known, title, at, place);
};
export default job;
`,
  });
  const posts: CollectionDefinition = { name: "posts", fields: [{ name: "title", type: "string", required: true }] };
  expect(await compiled(folder, [posts])).toBe("");
});

test("queries of db, of transactions and of server queries have the types of the client's queries", async () => {
  const folder = temporaryFolder();
  write(folder, {
    "jobs/ask.ts": `export const schedule = "@daily";
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const isTrue = <_ extends true>(): void => undefined;
const job: Job = async ({ db, cause }) => {
  const { items, nextCursor } = await db.posts.where({ title: "x", n: { gte: 3 }, writer: { name: ["a", "b"] } }).orderBy("-n", "writer.name");
  isTrue<Same<typeof items, RecordOf<"posts">[]>>();
  isTrue<Same<typeof nextCursor, string | null>>();
  const chosen = await db.posts.select("title", { writer: ["name"] }).first();
  isTrue<Same<typeof chosen, { id: string; title: string; writer: { id: string; name: string } | null } | { title: string; id: string; writer: { name: string } | null } | null>>();
  const expanded = await db.collection("posts").expand("writer").first();
  isTrue<Same<NonNullable<typeof expanded>["writer"], RecordOf<"people"> | null>>();
  const total: number = (await db.posts.withTotal()).total;
  const groups = await db.posts.group("title").aggregate("count", "sum(n)");
  isTrue<Same<(typeof groups.items)[number], { title: string; count: number; "sum(n)": number }>>();
  for await (const { title } of db.posts.filter\`n > \${total} && title in \${["a", "b"]}\`.all()) console.log(title.trim());
  const text: string = filter\`title = \${null} && createdAt < \${new Date()}\`;
  const count: number = await db.posts.search("x").count();
  await db.transaction(async (tx) => {
    const found = await tx.posts.where({ "comments(post)": { some: { text: "x" } } }).first();
    if (found !== null) await tx.posts.update(found.id, { n: count });
    // @ts-expect-error: no such field
    await tx.posts.where({ titel: "x" });
    await tx.collection("transaction").create({ text });
  });
  await db.collection("transaction").where({ text: "x" }).first();
  const ruled = db.as(cause.user);
  isTrue<Same<Awaited<ReturnType<typeof ruled.posts.get>>, RecordOf<"posts">>>();
  await ruled.notes.create({ text: "x" });
  await db.transaction(async (tx) => {
    await tx.as("usr_1").notes.create({ text: "x" });
    await tx.as(null).posts.where({ title: "x" }).first();
  });
  await ruled.transaction((tx) => tx.notes.create({ text: "x" }));
  // @ts-expect-error: the owner is missing
  await db.notes.create({ text: "x" });
  // @ts-expect-error: SQL knows no rules
  ruled.query("SELECT 1");
  // @ts-expect-error: undefined is no user
  db.as(undefined);
  // @ts-expect-error: no such field
  await db.posts.where({ titel: "x" });
  // @ts-expect-error: no such value
  await db.posts.where({ n: "x" });
  // @ts-expect-error: no such path
  db.posts.orderBy("writer.titel");
  // @ts-expect-error: only the client has live queries
  db.posts.live;
  // @ts-expect-error: no such collection
  db.pots;
  // @ts-expect-error: a value that filters do not have
  filter\`title = \${{}}\`;
};
export default job;
`,
    "queries/some.ts": `export default query({}, async ({ db, user }) => {
  // @ts-expect-error: a query only reads
  await db.posts.create({ title: "x" });
  // @ts-expect-error: a query only reads, also under rules
  await db.as(user).posts.create({ title: "x" });
  return (await db.as(user).posts.where({ n: 1 }).count()) + (await db.posts.where({ n: 1 }).count());
});
`,
  });
  const definitions: CollectionDefinition[] = [
    {
      name: "posts",
      fields: [
        { name: "title", type: "string", required: true },
        { name: "n", type: "integer" },
        { name: "writer", type: "relation", collection: "people" },
      ],
    },
    { name: "people", fields: [{ name: "name", type: "string", required: true }] },
    {
      name: "comments",
      fields: [
        { name: "text", type: "string" },
        { name: "post", type: "relation", collection: "posts" },
      ],
    },
    { name: "transaction", fields: [{ name: "text", type: "string" }] },
    {
      name: "notes",
      fields: [
        { name: "text", type: "string" },
        { name: "writer", type: "relation", collection: "users", owner: true, required: true },
      ],
    },
  ];
  expect(await compiled(folder, definitions)).toBe("");
});

test("the types of records have names", async () => {
  const folder = temporaryFolder();
  write(folder, {
    "jobs/names.ts": `export const schedule = "@daily";
async function add(db: SocleDatabase, values: NewRecord<"posts">, changes: ChangesOf<"posts">): Promise<RecordOf<"posts">> {
  const post: RecordOf<"posts"> = await db.collection("posts").create(values);
  const views: number | null = post.views;
  console.log(views);
  return db.collection("posts").update(post.id, changes);
}
const job: Job = async ({ db, auth }) => {
  await add(db, { title: "x" }, { views: { $increment: 1 } });
  // @ts-expect-error: the title is missing
  await add(db, { views: 1 }, {});
  // @ts-expect-error: no number
  await add(db, { title: "x" }, { views: "1" });
  // @ts-expect-error: no collection of this name
  type None = RecordOf<"none">;
  const user: RecordOf<"users"> | null = await auth.users.get("usr_1");
  console.log(user?.email);
};
export default job;
`,
  });
  const fields: CollectionDefinition["fields"] = [
    { name: "title", type: "string", required: true },
    { name: "views", type: "integer" },
  ];
  expect(await compiled(folder, [{ name: "posts", fields }])).toBe("");
});

test("users have the fields of the definition; without a definition, a user is an account", async () => {
  const folder = temporaryFolder();
  write(folder, {
    "functions/users/a.ts": `type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const isTrue = <_ extends true>(): void => undefined;
export const onCreate: OnCreate<"users"> = async ({ record, event, auth }) => {
  isTrue<Same<typeof record, { id: string; createdAt: string; updatedAt: string; email: string; role: "admin" | "authenticated" | "public"; verified: boolean; name: string | null; plan: string; number: number }>>();
  console.log(event.payload.userId);
  await auth.users.create({ email: "a@example.com", password: "long enough", name: "Ann" });
  // @ts-expect-error: name is missing
  await auth.users.create({ email: "a@example.com", password: "long enough" });
};
export const onUpdate: OnUpdate<"users"> = ({ record, previous }) => console.log(record.name === previous.name);
export const beforeUpdate: BeforeUpdate<"users"> = ({ record }) => ({ name: record.name?.trim() });
export const beforeRegister: BeforeRegister = ({ record }) => {
  isTrue<Same<keyof typeof record, "email" | "role" | "verified" | "name" | "plan">>();
};
export const onLogin: OnLogin = async ({ db, record }) => {
  await db.collection("users").update(record.id, { name: "x" });
  // @ts-expect-error: the role follows the account
  await db.collection("users").update(record.id, { role: "admin" });
};
`,
  });
  const { definition } = parseDefinition({
    name: "users",
    fields: [
      { name: "name", type: "string", required: true },
      { name: "plan", type: "string", required: true, default: "free" },
      { name: "number", type: "integer", sequence: true },
    ],
  });
  expect(await compiled(folder, [definition])).toBe("");
  const bare = temporaryFolder();
  write(bare, {
    "functions/users/a.ts": `export const onCreate: OnCreate<"users"> = async ({ record, auth }) => {
  const user: SocleUser = record;
  await auth.users.create({ email: user.email, password: "long enough" });
};
export const beforeRegister: BeforeRegister = ({ record }) => console.log(record.email, record.role);
`,
  });
  expect(await compiled(bare)).toBe("");
});

test("with anonymous users, the email of a user may be null", async () => {
  const folder = temporaryFolder();
  write(folder, {
    "functions/users/a.ts": `export const onCreate: OnCreate<"users"> = ({ record, auth }) => {
  // @ts-expect-error: an anonymous user has no email
  const one: string = record.email;
  // @ts-expect-error: the same for the caller
  const other: string | undefined = auth.user?.email;
};
`,
  });
  const { definition } = parseDefinition({ name: "users", fields: [{ name: "name", type: "string" }] });
  for (const definitions of [[], [definition]])
    expect(await compiled(folder, definitions, { "auth.anonymous": true })).toBe("");
});
