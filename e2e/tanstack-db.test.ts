/**
 * The collection of TanStack DB over a live query, against the service: changes are shown at once, end with the position of the
 * write, and are taken back with a refusal; the package from its file is read by TypeScript and run by Node.
 */
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createCollection, createLiveQueryCollection, eq } from "@tanstack/db";
import { live } from "../packages/client/src/entries/live.ts";
import { createClient, SocleError } from "../packages/client/src/index.ts";
import { socleCollectionOptions } from "../packages/tanstack-db/src/index.ts";
import { project, root, serve, temporaryFolder, until } from "./kit.ts";

interface Task {
  id: string;
  createdAt: string;
  updatedAt: string;
  title: string;
  done: boolean;
  n: number | null;
}

interface Project {
  collections: {
    tasks: { record: Task; create: Partial<Task> & { title: string }; update: Partial<Task>; owner: never };
  };
  endpoints: object;
  queries: object;
}

const tasks = {
  name: "tasks",
  fields: [
    { name: "title", type: "string", required: true, unique: true },
    { name: "done", type: "boolean", default: false },
    { name: "n", type: "integer", max: 100 },
  ],
  permissions: { read: "public", create: "public", update: "public", delete: "public" },
};
const cwd = await project({ collections: [tasks] });
const server = await serve(cwd);

/** Sockets of the client. While the network is down, no socket opens. */
const sockets: WebSocket[] = [];
let isDown = false;
class Breakable extends WebSocket {
  constructor(url: string) {
    super(isDown ? "ws://127.0.0.1:1" : url);
    sockets.push(this);
  }
}
const client = createClient<Project>({ baseUrl: server.url, live, webSocket: Breakable });
const other = createClient<Project>({ baseUrl: server.url });
afterAll(() => client.close());
const theirs = other.tasks;

/** A collection with the records whose `n` is a number, and every state that a listener was told. */
async function opened(n: number) {
  const collection = createCollection(socleCollectionOptions({ client, query: client.tasks.where({ n }) }));
  const titles = (): string[] => collection.toArray.map(({ title }) => title).sort();
  const seen: string[] = [];
  await collection.preload();
  collection.subscribeChanges(() => seen.push(titles().join()), { includeInitialState: true });
  return { collection, titles, seen, rows: () => collection.toArray };
}

const times = { createdAt: "", updatedAt: "" };
const task = (title: string, n: number, done = false): Task => ({ id: crypto.randomUUID(), title, n, done, ...times });

test("a new record is shown at once, and the record of the service takes its place without a gap", async () => {
  const { collection, titles, seen, rows } = await opened(1);
  const inserting = collection.insert(task("one", 1));
  expect(titles()).toEqual(["one"]);
  expect(rows()[0]?.id.startsWith("rec_")).toBe(false);
  await inserting.isPersisted.promise;
  // The window has passed the write: the only record is the record of the service.
  expect(rows()).toHaveLength(1);
  expect(await theirs.get(String(rows()[0]?.id))).toMatchObject({ title: "one", n: 1, done: false });
  expect(seen.filter((titles) => titles !== "" && titles !== "one")).toEqual([]);
  expect(seen.slice(seen.indexOf("one"))).not.toContain("");
});

test("updates send only the changed fields, deletions and changes of others arrive", async () => {
  const { id } = await theirs.create({ title: "two", n: 2 });
  const { collection, titles, rows } = await opened(2);
  expect(titles()).toEqual(["two"]);
  await theirs.update(id, { done: true });
  const updating = collection.update(id, (draft) => {
    draft.title = "second";
  });
  expect(titles()).toEqual(["second"]);
  await updating.isPersisted.promise;
  expect(rows()).toMatchObject([{ id, title: "second", done: true }]);
  const { id: third } = await theirs.create({ title: "third", n: 2 });
  await until(() => titles().join() === "second,third");
  // The record leaves the window.
  await collection.update(third, (draft) => {
    draft.n = 20;
  }).isPersisted.promise;
  expect(titles()).toEqual(["second"]);
  await collection.delete(id).isPersisted.promise;
  expect(titles()).toEqual([]);
  expect(await theirs.where({ n: 2 }).count()).toBe(0);
});

test("a refused change is taken back with the error of the service, of several changes all", async () => {
  const { id } = await theirs.create({ title: "kept", n: 3 });
  const { collection, titles, rows } = await opened(3);
  const refused = collection.insert([task("fresh", 3), task("kept", 3)]);
  expect(titles()).toEqual(["fresh", "kept", "kept"]);
  const thrown = await refused.isPersisted.promise.catch((error: unknown) => error);
  expect(SocleError.is(thrown, "validation_error") || SocleError.is(thrown, "conflict")).toBe(true);
  expect((thrown as SocleError).fields["title"]).toContain("taken");
  expect(rows()).toMatchObject([{ id, title: "kept", n: 3 }]);
  expect(await theirs.where({ title: "fresh" }).count()).toBe(0);
  const tooMuch = collection.update(id, (draft) => {
    draft.n = 101;
  });
  expect(rows()[0]?.n).toBe(101);
  const fault = await tooMuch.isPersisted.promise.catch((error: unknown) => error);
  expect(SocleError.is(fault, "validation_error")).toBe(true);
  expect(rows()).toMatchObject([{ id, title: "kept", n: 3 }]);
});

test("a change stays shown while the window has not passed the write", async () => {
  const { collection, titles, rows } = await opened(4);
  isDown = true;
  sockets.at(-1)?.close();
  const inserting = collection.insert(task("four", 4));
  let isPersisted = false;
  void inserting.isPersisted.promise.then(() => {
    isPersisted = true;
  });
  while ((await theirs.where({ n: 4 }).count()) === 0) await Bun.sleep(2);
  // The service has the record, and the window of this client does not know.
  expect([titles(), isPersisted, rows()[0]?.id.startsWith("rec_")]).toEqual([["four"], false, false]);
  isDown = false;
  await inserting.isPersisted.promise;
  expect([titles(), rows()[0]?.id.startsWith("rec_")]).toEqual([["four"], true]);
});

test("queries of TanStack DB follow the collection, and a collection that is cleaned up delays no change", async () => {
  const { collection } = await opened(5);
  const open = createLiveQueryCollection((q) => q.from({ task: collection }).where(({ task }) => eq(task.done, false)));
  await open.preload();
  await collection.insert([task("five", 5), task("closed", 5, true)]).isPersisted.promise;
  await until(() => open.toArray.map(({ title }) => title).join() === "five");
  await open.cleanup();
  isDown = true;
  sockets.at(-1)?.close();
  const inserting = collection.insert(task("late", 5));
  while ((await theirs.where({ title: "late" }).count()) === 0) await Bun.sleep(2);
  await collection.cleanup();
  await inserting.isPersisted.promise;
  isDown = false;
});

test("a query that the service refuses is the error of the collection; groups and server queries are refused at once", async () => {
  const query = client.tasks.filter("nonsense = 1");
  const collection = createCollection(socleCollectionOptions({ client, query }));
  const thrown = await collection.preload().catch((error: unknown) => error);
  expect((thrown as SocleError).message).toContain("nonsense");
  expect(collection.status).toBe("error");
  const call = createClient({ baseUrl: server.url, live }).queries["board"]?.({});
  for (const wrong of [client.tasks.group("done").aggregate("count"), call])
    expect(() => Reflect.apply(socleCollectionOptions, null, [{ client, query: wrong }])).toThrow("a query of records");
});

test("the package from its file: TypeScript knows the records, and Node runs the package", () => {
  const app = temporaryFolder();
  writeFileSync(join(app, "package.json"), '{ "private": true, "type": "module" }\n');
  const tarballs = ["client", "tanstack-db"].map((name) => join(root, `dist/packages/socle-${name}-0.2.0.tgz`));
  const options = ["--offline", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"];
  expect(Bun.spawnSync(["npm", "install", ...options, ...tarballs], { cwd: app }).exitCode).toBe(0);
  for (const name of ["@tanstack/db", "@tanstack/db-ivm", "@tanstack/pacer-lite", "@standard-schema/spec", "ws"]) {
    mkdirSync(dirname(join(app, "node_modules", name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(app, "node_modules", name));
  }
  const strict = {
    target: "es2022",
    lib: ["es2022", "dom"],
    strict: true,
    noEmit: true,
    types: [],
    skipLibCheck: true,
  };
  const compilerOptions = { ...strict, module: "esnext", moduleResolution: "bundler" };
  writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["app.ts"] }));
  const lines = (insert: string): string => `import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { socleCollectionOptions } from "@socle/tanstack-db";
import { createCollection } from "@tanstack/db";
interface Task { id: string; createdAt: string; updatedAt: string; title: string; n: number | null }
interface Project { collections: { tasks: { record: Task; create: { title: string }; update: { title?: string }; owner: never } }; endpoints: object; queries: object }
const socle = createClient<Project>({ baseUrl: "", live });
const tasks = createCollection(socleCollectionOptions({ client: socle, query: socle.tasks.where({ n: 1 }) }));
${insert}`;
  const check = (insert: string): string => {
    writeFileSync(join(app, "app.ts"), lines(insert));
    return Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "-p", "."], { cwd: app }).stdout.toString();
  };
  const given = 'n: null, createdAt: "", updatedAt: ""';
  expect(check(`tasks.insert({ id: "1", title: "a", ${given} }); tasks.get("1")?.title.length;`)).toBe("");
  expect(check(`tasks.insert({ id: "1", title: 1, ${given} });`)).toMatch(/'number' is not assignable/);
  expect(check("tasks.get('1')?.titel;")).toMatch(/titel/);
  writeFileSync(
    join(app, "run.js"),
    `import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { socleCollectionOptions } from "@socle/tanstack-db";
import { createCollection } from "@tanstack/db";
import WebSocket from "ws";
const socle = createClient({ baseUrl: "${server.url}", live, webSocket: WebSocket });
const tasks = createCollection(socleCollectionOptions({ client: socle, query: socle.tasks.where({ n: 9 }) }));
await tasks.preload();
await tasks.insert({ id: "new", title: "nine", n: 9 }).isPersisted.promise;
console.log(tasks.toArray.map(({ title }) => title).join());
socle.close();
process.exit(0);`,
  );
  const { stdout, stderr } = Bun.spawnSync(["node", "run.js"], { cwd: app });
  expect([stdout.toString(), stderr.toString()]).toEqual(["nine\n", ""]);
});
