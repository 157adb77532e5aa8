/** Files of `migrations/`: once each, in order, before requests are answered, and on from the last slice after any end. */
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { RecordList } from "@socle/protocol";
import { executable, project, serve, singleService, socle, until } from "./kit.ts";
import { write } from "./scripts-kit.ts";

const number = { name: "n", type: "integer", required: true };
const collections = [
  { name: "items", fields: [number, { name: "text", type: "string" }] },
  { name: "steps", fields: [number] },
];
const size = 60;
/** Adds 1 to each item in slices of ten. After each slice, `gate` tells whether the migration waits. */
const counting = (gate: string): string => `
  const migration: Migration<{ cursor: string | null; done: number }> = async ({ db, position, save, signal }) => {
    let { cursor, done } = position ?? { cursor: null, done: 0 };
    while (done < ${size}) {
      const page = await db.collection("items").list({ sort: "createdAt", limit: 10, cursor });
      cursor = page.nextCursor;
      done += page.length;
      await save(
        page.map(({ id }) => ({ method: "update", collection: "items", id, body: { n: { $increment: 1 } } })),
        { cursor, done },
      );
      ${gate}
    }
  };
  export default migration;
`;

/** A project with items, before its first migration. */
async function filled(): Promise<string> {
  const cwd = await project({ collections });
  const server = await serve(cwd);
  const operations = Array.from({ length: size }, () => ({ method: "create", collection: "items", body: { n: 0 } }));
  const answer = await fetch(`${server.url}/api/batch`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ operations }),
  });
  expect(answer.status).toBe(200);
  await server.stop();
  return cwd;
}

/** Starts the service, and does not wait until the service listens. */
function begin(cwd: string) {
  const env = { PATH: process.env["PATH"] ?? "" };
  const child = Bun.spawn([executable], { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  afterAll(() => child.kill("SIGKILL"));
  return { child, output: Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]) };
}

function positionOf(cwd: string): { done: number } | null {
  if (!existsSync(join(cwd, "socle.db"))) return null;
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  // The service that starts recovers the write-ahead log, and a reader waits for the recovery.
  database.run("PRAGMA busy_timeout = 60000");
  const row = database.query<{ position: string }, []>("SELECT position FROM _migrations").get();
  return row === null ? null : JSON.parse(row.position);
}

function rows(cwd: string): unknown[] {
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  return database.query("SELECT path, finishedAt IS NOT NULL AS done FROM _migrations ORDER BY path").all();
}

async function numbers(url: string, name: string): Promise<unknown[]> {
  const { items } = (await (await fetch(`${url}/api/${name}`)).json()) as RecordList;
  return items.map(({ n }) => n);
}

describe("a migration that ends in the middle goes on from its last slice", () => {
  const once = Array.from({ length: size }, () => 1);

  test.each([
    ["kill -9", "SIGKILL", null],
    ["SIGTERM", "SIGTERM", 0],
  ] as const)("after %s, each record is changed once", async (_, signal, code) => {
    singleService("start");
    const cwd = await filled();
    const gate = `while (done >= 30 && !(await Bun.file("go").exists())) await Bun.sleep(5);`;
    await write(cwd, { "migrations/001-count.ts": counting(gate) });
    const { child, output } = begin(cwd);
    await until(() => positionOf(cwd)?.done === 30);
    child.kill(signal);
    await child.exited;
    expect(child.exitCode).toBe(code);
    expect((await output).join("")).not.toContain("Listening");
    expect(rows(cwd)).toEqual([{ path: "migrations/001-count.ts", done: 0 }]);
    await Bun.write(join(cwd, "go"), "");
    const server = await serve(cwd);
    expect(server.output()).toContain("migrations/001-count.ts goes on");
    expect(await numbers(server.url, "items")).toEqual(once);
    await server.stop();
    // A migration that is over does not run again.
    const again = await serve(cwd);
    expect(await numbers(again.url, "items")).toEqual(once);
    expect(again.output()).not.toContain("001-count.ts");
  });

  test("a throw stops the start with the place; the corrected file goes on", async () => {
    const cwd = await filled();
    const bad = counting(`if (done === 20) throw new Error("no more");`);
    const second = `export default ({ db }) => db.collection("steps").create({ n: 2 });\n`;
    await write(cwd, { "migrations/001-count.ts": bad, "migrations/002-step.ts": second });
    for (let n = 0; n < 2; n++) {
      // The second start throws nothing: the slice with 20 is behind.
      if (n === 1)
        await write(cwd, { "migrations/001-count.ts": counting(`if (done === 40) throw new Error("no more");`) });
      const { code, stdout, stderr } = await socle([], { cwd });
      expect([code, `${stdout}${stderr}`]).toEqual([2, expect.stringContaining("migrations/001-count.ts: no more (")]);
      expect(`${stdout}${stderr}`).toMatch(/migrations\/001-count\.ts:\d+/);
      expect(positionOf(cwd)?.done).toBe((n + 1) * 20);
      expect(rows(cwd)).toHaveLength(1);
    }
    await write(cwd, { "migrations/001-count.ts": counting("") });
    const server = await serve(cwd);
    expect(await numbers(server.url, "items")).toEqual(once);
    expect(await numbers(server.url, "steps")).toEqual([2]);
  });
});

test("a slice with a refused record is taken back with its position", async () => {
  const cwd = await filled();
  const migration = `
    const migration: Migration<number> = async ({ save }) => {
      await save([{ method: "create", collection: "steps", body: { n: 1 } }], 1);
      await save([{ method: "create", collection: "steps", body: { n: 2 } }, { method: "create", collection: "steps", body: {} }], 2);
    };
    export default migration;
  `;
  await write(cwd, { "migrations/a.ts": migration });
  const { stdout, stderr } = await socle([], { cwd });
  expect(`${stdout}${stderr}`).toContain("migrations/a.ts:");
  expect(positionOf(cwd)).toBe(1 as never);
  await write(cwd, { "migrations/a.ts": "export default ({ position, save }) => save([], position + 10);\n" });
  const server = await serve(cwd);
  expect(positionOf(cwd)).toBe(11 as never);
  expect(await numbers(server.url, "steps")).toEqual([1]);
});

test("save without a JSON position is an error, and null is a position", async () => {
  const cwd = await project({ collections });
  const migration = `export default async ({ save }) => {
    const create = { method: "create", collection: "steps", body: { n: 1 } };
    for (const position of [undefined, () => 1, Symbol("x")])
      await save([create], position).then(() => { throw new Error("kept"); }, (error: Error) => console.log(error.message));
    await save([{ ...create, body: { n: 2 } }], null);
  };
`;
  await write(cwd, { "migrations/a.ts": migration });
  const server = await serve(cwd);
  for (const type of ["undefined", "function", "symbol"])
    expect(server.output()).toContain(`save needs a position that is JSON, such as null, not ${type}`);
  expect(await numbers(server.url, "steps")).toEqual([2]);
});

test("a position that cannot be stored takes the records of the slice back", async () => {
  const cwd = await project({ collections });
  await (await serve(cwd)).stop();
  const database = new Database(join(cwd, "socle.db"));
  database.run(
    `CREATE TRIGGER full BEFORE UPDATE ON _migrations WHEN new.position = '"full"' BEGIN SELECT RAISE(ABORT, 'full'); END`,
  );
  database.close();
  const migration = `export default async ({ save }) => {
    const create = { method: "create", collection: "steps", body: { n: 1 } };
    const error = await save([create], "full").catch((thrown: Error) => thrown);
    if (!(error instanceof Error)) throw new Error("the slice was kept");
    await save([{ ...create, body: { n: 2 } }], "end");
  };
`;
  await write(cwd, { "migrations/a.ts": migration });
  const server = await serve(cwd);
  expect(await numbers(server.url, "steps")).toEqual([2]);
});

test("in the order of names, after the definitions; a file that does not load stops the start before all", async () => {
  const cwd = await project({ collections });
  const step = (n: number): string => `export default ({ db }) => db.collection("steps").create({ n: ${n} });\n`;
  await write(cwd, {
    "migrations/010.ts": step(10),
    "migrations/002.ts": step(2),
    "migrations/020.ts": "export const x = 1;\n",
  });
  const { code, stdout, stderr } = await socle([], { cwd });
  expect([code, `${stdout}${stderr}`]).toEqual([
    2,
    expect.stringContaining("migrations/020.ts does not load: has no default export that is a function"),
  ]);
  expect(rows(cwd)).toEqual([]);
  expect((await socle(["check"], { cwd })).stdout).toContain("migrations/020.ts does not load");
  await write(cwd, { "migrations/020.ts": step(20) });
  const server = await serve(cwd);
  expect(await numbers(server.url, "steps")).toEqual([20, 10, 2]);
  await server.stop();
  await write(cwd, { "migrations/002.ts": step(99) });
  const again = await serve(cwd);
  expect(again.output()).toContain("migrations/002.ts has changed since its run on");
  expect(await numbers(again.url, "steps")).toEqual([20, 10, 2]);
});

test("socle dev runs a new file; its writes are writes of a job: with hooks, functions and events", async () => {
  const cwd = await project({ collections });
  await write(cwd, {
    "functions/items/log.ts": `
      export const beforeCreate = () => ({ text: "hooked" });
      export const onCreate = ({ record, db }) => db.collection("steps").create({ n: record.n });
    `,
  });
  const server = await serve(cwd, { args: ["dev"] });
  await write(cwd, {
    "migrations/new.ts": `export default ({ db }) => db.collection("items").create({ n: 7 });\n`,
  });
  await until(async () => (await numbers(server.url, "steps")).length > 0);
  expect(await numbers(server.url, "steps")).toEqual([7]);
  const { items } = (await (await fetch(`${server.url}/api/items`)).json()) as RecordList;
  expect(items).toMatchObject([{ n: 7, text: "hooked" }]);
  // The function may be over before the migration.
  const done = [{ path: "migrations/new.ts", done: 1 }];
  await until(() => Bun.deepEquals(rows(cwd), done));
  expect(rows(cwd)).toEqual(done);
});

test("socle dev reloads code beside a migration that hangs, and ends the migration when its file changes", async () => {
  const cwd = await project({ collections });
  const server = await serve(cwd, { args: ["dev"] });
  const said = (text: string): number => server.output().split(text).length - 1;
  await write(cwd, {
    "migrations/a.ts": `export default async ({ save }) => {
      await save([{ method: "create", collection: "steps", body: { n: 1 } }], 1);
      await new Promise(() => {});
    };\n`,
  });
  await until(() => said("migrations/a.ts begins") === 1 && positionOf(cwd) !== null);
  await write(cwd, { "functions/items/a.ts": "export const beforeCreate = () => ({ n: 5 });\n" });
  await until(() => said("functions/items/a.ts:beforeCreate") > 0 && said("migrations/a.ts still runs") > 0);
  expect(said("has changed and is ended")).toBe(0);
  await write(cwd, {
    "migrations/a.ts": `export default ({ save, position }) =>
      save([{ method: "create", collection: "steps", body: { n: position + 1 } }], 2);\n`,
  });
  await until(() => said("migrations/a.ts is done") === 1);
  expect([said("migrations/a.ts has changed and is ended"), said("migrations/a.ts goes on")]).toEqual([1, 1]);
  expect(await numbers(server.url, "steps")).toEqual([2, 1]);
  // A change after the end is told once, and a failure names the moment of the next run.
  await write(cwd, { "migrations/a.ts": "export default () => null;\n" });
  await until(() => said("migrations/a.ts has changed since its run on") === 1);
  await write(cwd, { "migrations/b.ts": 'export default () => { throw new Error("no more"); };\n' });
  await until(() => said("migrations/b.ts: no more") === 1);
  expect(server.output()).toContain("What it saved stays; the next change of a file goes on from there");
  // Many changes meanwhile are one more run.
  await write(cwd, {
    "migrations/b.ts": `export default async () => {
      while (!(await Bun.file("go").exists())) await Bun.sleep(5);
      throw new Error("over");
    };\n`,
  });
  await until(() => said("migrations/b.ts begins") === 2);
  for (let n = 1; n <= 3; n++) {
    await write(cwd, { "lib/a.ts": `export const n = ${n};\n` });
    await until(() => said("migrations/b.ts still runs") >= n);
  }
  await Bun.write(join(cwd, "go"), "");
  await until(() => said("migrations/b.ts: over") === 2);
  await write(cwd, { "migrations/b.ts": "export default () => null;\n" });
  await until(() => said("migrations/b.ts is done") === 1);
  expect(said("migrations/b.ts: over")).toBe(2);
  expect(said("migrations/a.ts has changed since its run on")).toBe(1);
});
