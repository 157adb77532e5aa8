/** `socle test`: the tests of a project, each file against a separate service, by the executable alone. */
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, utimesSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { copyExample, executable, isLong, root, serve, socle, temporaryFolder, until } from "./kit.ts";
import { write } from "./scripts-kit.ts";
import { tested } from "./tested.ts";

const passing = 'import { expect, test } from "socle/test";\ntest("passes", () => expect(1).toBe(1));\n';
const failing =
  'import { expect, test } from "socle/test";\ntest("fails", () => {\n  expect("one").toBe("two");\n});\n';

/** A test that is still asking when its time is up. */
const late = `import { service, test } from "socle/test";
test("late", async () => service.clock.advance("36500d"), 500);
test("next", async () => {
  await (await service.client()).health();
});
`;

/** A test that waits for ever, and writes the address of its service. */
const hanging = `import { renameSync } from "node:fs";
import { service, test } from "socle/test";
test("hangs", async () => {
  await Bun.write("url.new", service.url);
  renameSync("url.new", "url.txt");
  await new Promise(() => undefined);
});
`;

describe("a run", () => {
  test("in the folder of socle init passes, and its types are right for socle check and for tsc", async () => {
    const cwd = temporaryFolder();
    expect((await socle(["init", "."], { cwd })).stdout).toContain("endpoints/summary.test.ts");
    const { code, stderr } = await socle(["test"], { cwd });
    expect(stderr).toContain("2 pass");
    expect(code).toBe(0);
    expect(await socle(["check"], { cwd })).toMatchObject({ code: 0 });
    const compile = (): string =>
      Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "-p", "."], { cwd }).stdout.toString();
    expect(compile()).toBe("");
    // With Bun's types in the project, the types of the test runner are not declared twice.
    const types = join(cwd, "node_modules/@types/bun");
    cpSync(join(root, "node_modules/bun-types"), join(cwd, "node_modules/bun-types"), { recursive: true });
    await write(types, {
      "package.json": '{ "name": "@types/bun", "version": "1.0.0", "types": "index.d.ts" }',
      "index.d.ts": '/// <reference types="bun-types" />\n',
    });
    expect(await socle(["types"], { cwd })).toMatchObject({ code: 0 });
    expect(existsSync(join(cwd, ".socle/test/bun-test.d.ts"))).toBe(false);
    expect(compile()).toBe("");
    await rm(join(cwd, "node_modules"), { recursive: true });
    await write(cwd, {
      "jobs/wrong.test.ts": `import { expect, service, test } from "socle/test";
test("", async () => {
  const ada = await service.client("ada@example.com");
  await ada.collection("notes").create({ titel: "x" });
  await service.clock.advance(5);
  expect(service.url).toBeNothing();
});
`,
    });
    const checked = await socle(["check"], { cwd });
    expect(checked.stdout).toMatch(/jobs\/wrong\.test\.ts\(4,.*'titel'/);
    expect(checked.stdout).toMatch(/jobs\/wrong\.test\.ts\(5,.*'number'/);
    expect(checked.stdout).toMatch(/jobs\/wrong\.test\.ts\(6,.*'toBeNothing'/);
    expect(checked.code).toBe(1);
    // The test does not touch the data of the project.
    expect(existsSync(join(cwd, "data"))).toBe(false);
  });

  test("with a failed test shows the assertion, and exits with 1", async () => {
    const { run, folders, cwd } = await tested({ "jobs/a.test.ts": passing, "functions/notes/b.test.ts": failing });
    const { code, stderr } = await run();
    expect(code).toBe(1);
    expect(stderr).toContain('Expected: "two"\nReceived: "one"');
    expect(stderr).toContain("functions/notes/b.test.ts:3:");
    expect(stderr).toContain("1 pass");
    expect(folders()).toEqual([]);
    expect(existsSync(join(cwd, "socle.db"))).toBe(false);
  });

  test("goes on after a test whose time is up", async () => {
    const { run } = await tested({
      "jobs/tick.ts": 'export const schedule = "* * * * *";\nexport default () => undefined;\n',
      "jobs/a.test.ts": late,
    });
    const { code, stderr } = await run();
    expect(stderr).toContain("this test timed out after 500ms");
    expect(stderr).toMatch(/ 1 pass\n 1 fail\n(?!.*error)/);
    expect(code).toBe(1);
  });

  test("has the chosen files and names", async () => {
    const { run, cwd } = await tested({
      "jobs/a.test.ts": passing,
      "functions/notes/b.test.ts": failing,
      "functions/_shared/c.test.ts": passing,
      "elsewhere/d.test.ts": passing,
      "elsewhere/e.test.ts": failing,
    });
    const ran = async (...args: readonly string[]) => {
      const { code, stderr } = await run(...args);
      return [code, /Ran (\d+) tests? across (\d+)/.exec(stderr)?.slice(1).join(" in ")];
    };
    expect(await ran("shared", "elsewhere/d.test.ts")).toEqual([0, "2 in 2"]);
    expect(await ran("-t", "passes")).toEqual([0, "2 in 3"]);
    expect((await run("--bail", "b.test")).stderr).toContain("Bailed out after 1 failure");
    expect(await run("nothing")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'no test matches "nothing"; there are: functions/_shared/c.test.ts, functions/notes/b.test.ts, jobs/a.test.ts',
      ),
    });
    // From another folder, with the configuration of the project.
    const there = await socle(["test", "--config", join(cwd, "config.json"), "jobs"], {
      env: { SERVICE_PORT: "no port of a test", SERVICE_DATABASE: join(cwd, "real.db") },
    });
    expect([there.code, there.stderr]).toEqual([0, expect.stringContaining("Ran 1 test across 1 file")]);
  });

  test("reports missing tests, and files that do not load; then no test runs", async () => {
    expect(await (await tested({})).run()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("has no tests: write *.test.ts beside functions, jobs and endpoints"),
    });
    const broken = await tested({ "jobs/bad.ts": "throw new Error('at the top');\n", "jobs/a.test.ts": passing });
    expect(await broken.run()).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/jobs\/bad\.ts does not load: at the top \(jobs\/bad\.ts:1:/),
    });
    expect(broken.folders()).toEqual([]);
    await write(broken.cwd, {
      "collections/wrong.json": '{ "name": "wrong", "fields": [{ "name": "a", "type": "b" }] }',
    });
    expect(await broken.run()).toMatchObject({ code: 2, stderr: expect.stringContaining("wrong.json") });
  });
});

/** Waits until the service of the hanging test answers, or does so no more. */
async function untilItIs(state: "there" | "gone", cwd: string): Promise<void> {
  const url = await Bun.file(join(cwd, "url.txt")).text();
  const look = (): Promise<string> =>
    fetch(`${url}/health`).then(
      () => "there",
      () => "gone",
    );
  while ((await look()) !== state) await Bun.sleep(5);
}

describe("an interrupted run", () => {
  const start = async (signal: NodeJS.Signals) => {
    const { cwd } = await tested({ "jobs/a.test.ts": hanging });
    const temporary = temporaryFolder();
    const env = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", TMPDIR: temporary };
    const child = Bun.spawn([executable, "test"], { cwd, env, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    await until(() => existsSync(join(cwd, "url.txt")));
    await untilItIs("there", cwd);
    child.kill(signal);
    await child.exited;
    await untilItIs("gone", cwd);
    return { code: child.exitCode, temporary };
  };

  test.each(["SIGINT", "SIGTERM"] as const)("by %s leaves no service and no folder", async (signal) => {
    const { code, temporary } = await start(signal);
    expect(code).not.toBe(0);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("at once leaves a folder, which a later run removes", async () => {
    const { temporary } = await start("SIGKILL");
    const [left = ""] = readdirSync(temporary);
    expect(left).not.toBe("");
    await write(temporary, { "socle-tests-of-somebody/file": "" });
    for (const name of readdirSync(temporary)) utimesSync(join(temporary, name), 0, 0);
    const { cwd } = await tested({ "jobs/a.test.ts": passing });
    expect((await socle(["test"], { cwd, env: { TMPDIR: temporary } })).code).toBe(0);
    expect(readdirSync(temporary)).toEqual(["socle-tests-of-somebody"]);
  });
});

test("--watch runs again when code, a test, a collection or .env.test changes, and goes on after a start that fails", async () => {
  const { cwd } = await tested({
    "endpoints/a.ts": 'export const access = "public";\nexport const GET = () => new Response("one");\n',
    "endpoints/a.test.ts": `import { expect, service, test } from "socle/test";
test("a", async () => {
  const guest = await service.client();
  expect(await (await guest.function("a")).text()).toBe("one");
});
`,
  });
  const temporary = temporaryFolder();
  const env = { ...process.env, TMPDIR: temporary };
  const child = Bun.spawn([executable, "test", "--watch"], { cwd, env, stdout: "ignore", stderr: "pipe" });
  let said = "";
  const reading = (async () => {
    for await (const chunk of child.stderr) said += new TextDecoder().decode(chunk);
  })();
  const waited = (times: number) => until(() => said.split("Waiting for a change").length > times);
  await waited(1);
  expect(said).toContain("1 pass");
  await write(cwd, {
    "endpoints/a.ts": 'export const access = "public";\nexport const GET = () => new Response("2");\n',
  });
  await waited(2);
  expect(said).toContain('Received: "2"');
  await write(cwd, { "endpoints/a.ts": "nonsense(\n" });
  await waited(3);
  expect(said).toContain("socle: endpoints/a.ts does not load");
  await write(cwd, {
    "endpoints/a.ts": 'export const access = "public";\nexport const GET = () => new Response(process.env.A);\n',
    ".env.test": "A=one",
  });
  await waited(4);
  expect(said.match(/1 pass/g)).toHaveLength(2);
  await write(cwd, { "collections/bad.json": "{" });
  await waited(5);
  child.kill("SIGINT");
  await reading;
  await child.exited;
  expect(readdirSync(temporary)).toEqual([]);
});

test("a service neither loads tests nor follows their changes", async () => {
  const files = { "jobs/a.test.ts": "throw new Error('loaded');\n", "functions/notes/b.spec.ts": "nonsense(\n" };
  const { cwd } = await tested({ ...files, "endpoints/c.test.js": "nonsense(\n" });
  const server = await serve(cwd, { args: ["dev"] });
  await write(cwd, { "jobs/a.test.ts": "throw new Error('changed');\n", "endpoints/d.test.ts": passing });
  await write(cwd, { "jobs/real.ts": 'export const schedule = "@daily";\nexport default () => undefined;\n' });
  await until(() => server.output().includes("Reloaded functions and jobs"));
  expect(server.output().match(/Reloaded/g)).toHaveLength(1);
  expect(server.output()).not.toMatch(/does not load|has no effect/);
  expect(await (await fetch(`${server.url}/api/function/d.test`)).status).toBe(404);
});

// The two larger examples take ten seconds of a core, and have end-to-end tests of their own.
test.each(isLong ? (["shop", "blog", "tracker"] as const) : (["shop"] as const))(
  "the tests of examples/%s pass",
  async (name) => {
    const cwd = temporaryFolder();
    copyExample(name, cwd);
    if (name === "blog")
      cpSync(join(root, "node_modules/slugify"), join(cwd, "node_modules/slugify"), { recursive: true });
    const { code, stderr } = await socle(["test"], { cwd });
    expect(stderr).toContain("\n 0 fail");
    expect(code).toBe(0);
    // e2e/templates.test.ts checks the code of the templates.
    if (name === "blog") expect(await socle(["check"], { cwd })).toMatchObject({ code: 0 });
  },
);
