/** `socle test`: the tests of a project, each file against a service of its own, by the executable alone. */
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, utimesSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { executable, type Finished, project, root, serve, socle, temporaryFolder, until } from "./kit.ts";
import { write } from "./scripts-kit.ts";

const notes = {
  name: "notes",
  fields: [
    { name: "text", type: "string", required: true },
    { name: "until", type: "datetime" },
    { name: "owner", type: "relation", collection: "users", owner: true },
  ],
  permissions: { read: "until = null || until > @now || owner = @user.id", create: "authenticated" },
};

/** A project with code and tests, and the folder in which its runs make theirs. */
async function tested(files: { readonly [path: string]: string }): Promise<{
  cwd: string;
  folders: () => string[];
  run: (...args: readonly string[]) => Promise<Finished>;
}> {
  const cwd = await project({ collections: [notes] });
  await write(cwd, files);
  const temporary = temporaryFolder();
  return {
    cwd,
    folders: () => readdirSync(temporary).filter((name) => name.startsWith("socle-")),
    run: (...args) => socle(["test", ...args], { cwd, env: { TMPDIR: temporary } }),
  };
}

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

/** A test that waits for ever, and says where its service is. */
const hanging = `import { renameSync } from "node:fs";
import { service, test } from "socle/test";
test("hangs", async () => {
  await Bun.write("url.new", service.url);
  renameSync("url.new", "url.txt");
  await new Promise(() => undefined);
}, 60_000);
`;

describe("a run", () => {
  test("of what socle init writes passes, and its types are right for socle check and for tsc", async () => {
    const cwd = temporaryFolder();
    expect((await socle(["init", "."], { cwd })).stdout).toContain("endpoints/summary.test.ts");
    const { code, stderr } = await socle(["test"], { cwd });
    expect(stderr).toContain("2 pass");
    expect(code).toBe(0);
    expect(await socle(["check"], { cwd })).toMatchObject({ code: 0 });
    const compile = (): string =>
      Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "-p", "."], { cwd }).stdout.toString();
    expect(compile()).toBe("");
    // With Bun's types in the project, those of its test runner are not there twice.
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
    // The data of the project is none of the test's business.
    expect(existsSync(join(cwd, "data"))).toBe(false);
  });

  test("with a test that fails shows the assertion, and answers 1", async () => {
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

  test("is of the files and the names that were asked for", async () => {
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
    expect(await ran("jobs")).toEqual([0, "1 in 1"]);
    expect(await ran("shared", "elsewhere/d.test.ts")).toEqual([0, "2 in 2"]);
    expect(await ran("-t", "passes")).toEqual([0, "2 in 3"]);
    expect((await run("--bail", "b.test")).stderr).toContain("Bailed out after 1 failure");
    expect(await run("nothing")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'no test matches "nothing"; there are: functions/_shared/c.test.ts, functions/notes/b.test.ts, jobs/a.test.ts',
      ),
    });
    // From another folder, with the configuration of this one.
    const there = await socle(["test", "--config", join(cwd, "config.json"), "jobs"], {
      env: { SERVICE_PORT: "no port of a test", SERVICE_DATABASE: join(cwd, "real.db") },
    });
    expect([there.code, there.stderr]).toEqual([0, expect.stringContaining("1 pass")]);
  }, 60_000);

  test("says that there are no tests, and what does not load; then no test runs", async () => {
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

describe("a service under test", () => {
  test("is the real one: hooks, functions, endpoints, queues, schedules, retries, rules and tokens by its clock", async () => {
    const { run } = await tested({
      "seed.json": JSON.stringify({
        users: [{ email: "seed@example.com", password: "a seed's password" }],
        notes: [{ text: "seeded", $owner: "seed@example.com" }],
      }),
      ".env": "SECRET=of the project\nOTHER=kept\n",
      ".env.test": "SECRET=of the tests\n",
      "functions/notes/guard.ts": `export const beforeCreate: BeforeCreate<"notes"> = ({ record }) => {
  if (record.text === "bad") throw new Refusal("Not that", { field: "text", status: 400 });
};
`,
      "functions/notes/flaky.ts": `export const options: FunctionOptions = { retries: 2 };
export const onCreate: OnCreate<"notes"> = async ({ record, attempt, db }) => {
  if (record.text !== "flaky") return;
  if (attempt < 3) throw new Error("try " + attempt);
  await db.collection("notes").create({ text: "third try" });
};
`,
      "jobs/tidy.ts": `export const schedule = "0 6 * * *";
// As libraries do, before the time is moved.
const { now } = Date;
const job: Job = async ({ db }) => {
  await db.collection("notes").create({ text: "tidy " + new Date(now()).toISOString().slice(0, 10) });
};
export default job;
`,
      "jobs/mail.ts": `export const queue = { concurrency: 2, retries: 3, backoff: "exponential" };
const job: QueueJob<{ to: string }> = async ({ payload, db }) => {
  await db.collection("notes").create({ text: "mail to " + payload.to });
};
export default job;
`,
      "endpoints/mail.ts": `export const POST: Endpoint = async (request, { jobs, user }) => {
  const { at } = (await request.json()) as { at?: string };
  await jobs.enqueue("mail", { to: user?.email ?? "" }, at === undefined ? {} : { at });
  return Response.json([process.env.SECRET, process.env.OTHER, process.env.SERVICE_ADMIN_PASSWORD ?? null]);
};
`,
      "endpoints/all.test.ts": `import { afterEach, expect, filter, service, SocleError, test } from "socle/test";

const texts = async () => {
  const admin = await service.client("admin");
  return (await admin.collection("notes").list()).map(({ text }) => text).sort();
};
const clear = async () => {
  const { collection } = await service.client("admin").then((client) => ({ collection: client.collection("notes") }));
  for (const { id } of await collection.list()) await collection.delete(id);
};
afterEach(clear);

test("a hook refuses", async () => {
  const ada = await service.client("ada@example.com");
  const refused = await ada.collection("notes").create({ text: "bad" }).catch((error) => error);
  expect(refused).toBeInstanceOf(SocleError);
  expect(refused).toMatchObject({ status: 400, details: [{ field: "text", message: "Not that" }] });
  expect(await texts()).toEqual([]);
});

test("an endpoint enqueues, and idle waits for the run", async () => {
  const ada = await service.client("ada@example.com");
  const answer = await ada.function("mail", { body: {} });
  expect(await answer.json()).toEqual(["of the tests", "kept", null]);
  await service.idle();
  expect(await texts()).toEqual(["mail to ada@example.com"]);
});

test("a delayed run waits for its time", async () => {
  const ada = await service.client({ email: "ada@example.com" });
  const at = new Date(service.clock.now().getTime() + 3_600_000).toISOString();
  await ada.function("mail", { body: { at } });
  await service.clock.advance("59m");
  expect(await texts()).not.toContain("mail to ada@example.com");
  await service.clock.advance("1m");
  expect(await texts()).toContain("mail to ada@example.com");
});

test("a job runs at each of its times, and sees them", async () => {
  const next = service.clock.now();
  next.setUTCHours(6, 0, 0, 0);
  if (next <= service.clock.now()) next.setUTCDate(next.getUTCDate() + 1);
  const untilThen = Math.floor((next.getTime() - service.clock.now().getTime()) / 1000);
  await service.clock.advance(untilThen - 5 + "s");
  expect(await texts()).toEqual([]);
  await service.clock.advance("2d");
  const days = [0, 1].map((n) => new Date(next.getTime() + n * 86_400_000).toISOString().slice(0, 10));
  expect(await texts()).toEqual(days.map((day) => "tidy " + day));
  const [note] = await (await service.client("admin")).collection("notes").list();
  expect(note?.createdAt).toStartWith(days[1] + "T06:00:0");
});

test("a function that throws is tried again when the time has come", async () => {
  const ada = await service.client("ada@example.com");
  await ada.collection("notes").create({ text: "flaky" });
  await service.idle();
  expect(await texts()).toEqual(["flaky"]);
  await service.clock.advance("5m");
  expect((await texts()).filter((text) => !text.startsWith("tidy"))).toEqual(["flaky", "third try"]);
});

test("rules see the time of the service", async () => {
  const ada = await service.client("ada@example.com");
  const guest = await service.client();
  const until = new Date(service.clock.now().getTime() + 1_800_000).toISOString();
  const { id, createdAt } = await ada.collection("notes").create({ text: "for a while", until });
  expect(Math.abs(Date.parse(createdAt) - service.clock.now().getTime())).toBeLessThan(60_000);
  expect((await guest.collection("notes").get(id)).text).toBe("for a while");
  await service.clock.advance("31m");
  expect(await guest.collection("notes").get(id).catch(({ status }) => status)).toBe(404);
  const { items } = await ada.collection("notes").page({ filter: filter\`until < @now\` });
  expect(items).toHaveLength(1);
});

test("tokens and sessions expire", async () => {
  const ada = await service.client("ada@example.com");
  const token = ada.accessToken;
  const me = () => fetch(service.url + "/api/auth/me", { headers: { Authorization: "Bearer " + token } });
  expect((await me()).status).toBe(200);
  await service.clock.advance("2h");
  expect((await me()).status).toBe(401);
  // The client renews its token, while the session lasts.
  expect((await ada.me()).email).toBe("ada@example.com");
  await service.clock.advance("31d");
  expect(await ada.me().catch(({ status }) => status)).toBe(401);
  await clear();
});

test("seeds, roles and passwords", async () => {
  await service.seed();
  const user = await service.client({ email: "seed@example.com", password: "a seed's password" });
  expect((await user.collection("notes").list()).map(({ text }) => text)).toEqual(["seeded"]);
  const failure = (user: string | object) => service.client(user as string).then(String, ({ message }) => message);
  expect(await failure("seed@example.com")).toContain("say it in service.client({ email, password })");
  expect(await failure({ email: "seed@example.com", role: "admin" })).toBe(
    "seed@example.com is there already, with the role authenticated.",
  );
  expect((await (await service.client({ email: "root@example.com", role: "admin" })).me()).role).toBe("admin");
  expect((await (await service.client("ada@example.com")).me()).role).toBe("authenticated");
});
`,
    });
    const { code, stderr } = await run();
    expect(stderr).toContain("8 pass\n 0 fail");
    expect(code).toBe(0);
  }, 60_000);

  test("is idle when chains of functions and runs, full queues, hooks and streams of endpoints have come to their end", async () => {
    const { run } = await tested({
      // A run makes a note, and the function of a note enqueues the next run.
      "jobs/link.ts": `export const queue: QueueOptions = { concurrency: 1 };
const job: QueueJob<{ left: number }> = async ({ payload, db }) => {
  await db.collection("notes").create({ text: "link " + payload.left });
};
export default job;
`,
      "functions/notes/link.ts": `export const onCreate: OnCreate<"notes"> = async ({ record, jobs }) => {
  const left = Number(/^link (\\d+)$/.exec(record.text)?.[1] ?? 0);
  if (left > 1) await jobs.enqueue("link", { left: left - 1 });
};
`,
      "jobs/fill.ts": `export const queue: QueueOptions = { concurrency: 1 };
const job: QueueJob<number> = async ({ payload, db }) => {
  await db.collection("notes").create({ text: "fill " + payload });
};
export default job;
`,
      "endpoints/fill.ts": `export const POST: Endpoint = async (_request, { jobs }) => {
  for (let n = 0; n < 100; n++) await jobs.enqueue("fill", n);
  return new Response();
};
`,
      "endpoints/slow.ts": `export const POST: Endpoint = (_request, { db }) =>
  new Response(async function* () {
    yield "begun";
    await Bun.sleep(200);
    await db.collection("notes").create({ text: "slow" });
  } as unknown as ReadableStream);
`,
      "functions/notes/wait.ts": `export const beforeCreate: BeforeCreate<"notes"> = async ({ record }) => {
  if (record.text === "waits") await Bun.sleep(200);
};
`,
      "jobs/idle.test.ts": `import { expect, service, test } from "socle/test";

const admin = await service.client("admin");
const count = async (prefix: string) =>
  (await admin.collection("notes").list()).filter(({ text }) => text.startsWith(prefix)).length;

test("chains", async () => {
  await admin.collection("notes").create({ text: "link 12" });
  await service.idle();
  expect(await count("link")).toBe(12);
});

test("a queue that takes one run at a time", async () => {
  await admin.function("fill", { method: "POST" });
  await service.idle();
  expect(await count("fill")).toBe(100);
});

test("the stream of an endpoint", async () => {
  const reader = (await admin.function("slow", { method: "POST" })).body?.getReader();
  await reader?.read();
  const rest = reader?.read();
  await service.idle();
  expect(await count("slow")).toBe(1);
  await rest;
});

test("a hook", async () => {
  const creating = admin.collection("notes").create({ text: "waits" });
  // The service has the request, which came before this one.
  await admin.me();
  await service.idle();
  expect(await count("waits")).toBe(1);
  await creating;
});
`,
    });
    const { code, stderr } = await run();
    expect(stderr).toContain("4 pass\n 0 fail");
    expect(code).toBe(0);
  }, 60_000);

  test("is of one file alone, and the next one finds none of its data", async () => {
    const same = `import { expect, service, test } from "socle/test";
const ada = await service.client("ada@example.com");
test("first", async () => {
  expect(await ada.collection("notes").list()).toEqual([]);
  await ada.collection("notes").create({ text: "one" });
  await service.clock.advance("1d");
});
test("second", async () => {
  expect(await ada.collection("notes").list()).toHaveLength(1);
  await Bun.write("urls/" + service.url.replace(/\\D/g, "") + Date.now(), "");
});
`;
    const { run, cwd, folders } = await tested({ "jobs/a.test.ts": same, "jobs/b.test.ts": same });
    const { code, stderr } = await run();
    expect(stderr).toContain("4 pass\n 0 fail");
    expect([code, folders()]).toEqual([0, []]);
    expect(readdirSync(join(cwd, "urls"))).toHaveLength(2);
  });

  test("shows the errors of the code that a test has run", async () => {
    const { run } = await tested({
      "functions/notes/fails.ts": `export const onCreate: OnCreate<"notes"> = ({ logger }) => {
  logger.info("on the way");
  throw new Error("a mistake");
};
`,
      "functions/notes/fails.test.ts": `import { service, test } from "socle/test";
test("", async () => {
  await (await service.client("admin")).collection("notes").create({ text: "" + 1 });
  await service.idle();
});
`,
    });
    const quiet = await run();
    expect(quiet.stderr).toContain("a mistake (functions/notes/fails.ts:3:");
    expect(quiet.stderr).not.toContain("on the way");
    expect((await run("--log")).stderr).toContain("on the way");
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

describe("a run that is ended", () => {
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

test.each(["blog", "tracker"])(
  "the tests of examples/%s pass",
  async (name) => {
    const cwd = temporaryFolder();
    cpSync(join(root, "examples", name), cwd, { recursive: true, filter: (path) => !path.includes("node_modules") });
    if (name === "blog")
      cpSync(join(root, "node_modules/slugify"), join(cwd, "node_modules/slugify"), { recursive: true });
    const { code, stderr } = await socle(["test"], { cwd });
    expect(stderr).toContain("\n 0 fail");
    expect(code).toBe(0);
    expect(await socle(["check"], { cwd })).toMatchObject({ code: 0 });
  },
  60_000,
);
