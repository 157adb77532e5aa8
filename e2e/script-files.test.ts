/** Files of functions and jobs: a file that does not load says why, and `socle dev` takes over changed files. */
import { describe, expect, test } from "bun:test";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { inParallel, post, type Running, serve, until } from "./kit.ts";
import { collection, RunEvents, scriptProject, waiting, write } from "./scripts-kit.ts";

const good = (word: string): string => `export const onCreate = ({ logger }: any) => logger.info("says ${word}");\n`;

/** A file, and the reason in the log. */
const broken: { readonly [path: string]: readonly [content: string, reason: string] } = {
  "functions/a/syntax.ts": ["export const onCreate = () => {\n  const = 5;\n};\n", "(functions/a/syntax.ts:2:9)"],
  "functions/a/missing.ts": [
    'import { x } from "./_nowhere.ts";\nexport const onCreate = () => x;\n',
    "Cannot find module './_nowhere.ts' (functions/a/missing.ts:1)",
  ],
  "functions/a/package.ts": [
    '\nimport x from "not-installed";\nexport const onCreate = () => x;\n',
    "Cannot find package 'not-installed' (functions/a/package.ts:2); install it with: socle add not-installed",
  ],
  "functions/a/cycle.ts": [
    'import { two } from "./_cycle.ts";\nexport const one = two + 1;\nexport const onCreate = () => one;\n',
    "Cannot access 'one' before initialization. (functions/a/_cycle.ts:2:",
  ],
  "functions/a/default.ts": [
    "export default () => 1;\n",
    "exports none of onCreate, onUpdate, onDelete, beforeCreate, beforeUpdate or beforeDelete; its default export is not one of them",
  ],
  "functions/a/misspelt.ts": [
    "export const onCreated = () => 1;\n",
    "exports none of onCreate, onUpdate, onDelete, beforeCreate, beforeUpdate or beforeDelete; did you mean onCreate instead of onCreated?",
  ],
  "functions/a/value.ts": ["export const onCreate = 5;\n", "onCreate must be a function, not of type number"],
  "functions/a/login.ts": [
    "export const onLogin = () => 1;\n",
    "onLogin does not work in functions/a/, where a file may export onCreate, onUpdate, onDelete, beforeCreate, beforeUpdate or beforeDelete",
  ],
  "functions/users/create.ts": [
    "export const beforeCreate = () => 1;\n",
    "beforeCreate does not work in functions/users/, where a file may export ",
  ],
  "functions/a/throws.ts": ['\nthrow new Error("at the top");\n', "at the top (functions/a/throws.ts:2:11)"],
  "functions/a/exits.ts": [
    "process.exit(3);\n",
    "process.exit() is not available in functions, jobs, endpoints and queries",
  ],
  // The file keeps the thread without computing: e2e/loops.test.ts has loops that compute.
  "functions/a/waits.ts": [
    "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);\n",
    "did not finish loading within 5 s",
  ],
  "functions/a/dies.ts": ["require('bun:ffi').read.u8(0);\n", "functions/a/dies.ts does not load"],
  "functions/a/timeout.ts": [
    "export const options = { timeout: 5 };\nexport const onCreate = () => 1;\n",
    'options.timeout: 5 is not valid; allowed: milliseconds from 100, or a text such as "5s" or "2m", 24h at most',
  ],
  "functions/a/retries.ts": [
    "export const options = { retries: -1 };\nexport const onCreate = () => 1;\n",
    "options.retries: -1 is not valid; allowed: a whole number from 0 to 100",
  ],
  "functions/a/option.ts": [
    "export const options = { retrys: 1 };\nexport const onCreate = () => 1;\n",
    "options.retrys is unknown; did you mean retries?",
  ],
  "jobs/text.ts": [
    'export const schedule = "every day";\nexport default () => 1;\n',
    'schedule: "every day" is not cron (expected 5 space-separated fields (minute hour day month weekday)); allowed: minute',
  ],
  "jobs/seconds.ts": [
    'export const schedule = "* * * * * *";\nexport default () => 1;\n',
    "is not cron (too many fields",
  ],
  "jobs/range.ts": [
    'export const schedule = "61 * * * *";\nexport default () => 1;\n',
    "is not cron (value out of range",
  ],
  "jobs/february.ts": [
    'export const schedule = "0 0 30 2 *";\nexport default () => 1;\n',
    'schedule: "0 0 30 2 *" never comes',
  ],
  "jobs/zone.ts": [
    'export const schedule = "0 0 * * *";\nexport const options = { timezone: "Mars/Base" };\nexport default () => 1;\n',
    'options.timezone: "Mars/Base" is no time zone; allowed: an IANA name such as "Europe/Berlin"',
  ],
  "jobs/none.ts": ["export default () => 1;\n", "must export schedule, five fields of cron"],
  "jobs/number.ts": ["export const schedule = 5;\nexport default () => 1;\n", 'such as "0 3 * * *", not 5'],
  "jobs/handler.ts": ['export const schedule = "0 0 * * *";\n', "has no default export that is a function"],
};

const loaded = {
  "functions/a/good.ts": good("good"),
  "functions/a/empty.ts": "const a = 1;\n",
  "functions/a/_cycle.ts": 'import { one } from "./cycle.ts";\nexport const two = one + 1;\n',
  "functions/a/deep/inner.ts": "this is not looked at",
  "functions/a/good.test.ts": "nor is this",
  "functions/a/types.d.ts": "declare const x: number;\n",
  "jobs/nightly.ts": 'export const schedule = "0 3 * * *";\nexport default () => 1;\n',
};

describe("files that do not load", async () => {
  const files = {
    ...loaded,
    ...Object.fromEntries(Object.entries(broken).map(([path, [content]]) => [path, content])),
  };
  const server = await serve(await scriptProject({ collections: [collection("a")], files }));

  test.each(Object.entries(broken))("%s is named with its reason", (path, [, reason]) => {
    const line = server
      .output()
      .split("\n")
      .find((each) => each.includes(` ERROR ${path} does not load, it has no effect: `));
    expect(line).toContain(reason);
    expect(line).not.toContain("/tmp/");
    expect(line).not.toContain("script-host");
  });

  test("a file without a handler is a warning", () => {
    expect(server.output()).toContain(" WARN  functions/a/empty.ts has no handler");
    expect(server.output()).not.toContain("inner.ts");
  });

  test("keep no other file from running", async () => {
    expect(server.output()).toContain('functions=["functions/a/good.ts:onCreate"] jobs=["nightly"]');
    const events = await RunEvents.of(server.url);
    await post(`${server.url}/api/a`, { n: 1 });
    await events.first("function.completed", "functions/a/good.ts");
    expect(server.output()).toContain("says good");
    expect(await server.stop()).toBe(0);
  });
});

/** The text that the function logs for a new record. */
async function says(server: Running): Promise<string> {
  const before = server.output().length;
  await post(`${server.url}/api/a`, { n: 1 });
  await until(() => /says \w+/.test(server.output().slice(before)));
  return /says (\w+)/.exec(server.output().slice(before))?.[1] ?? "";
}

function reloads(server: Running): number {
  return server.output().split("Reloaded functions and jobs").length - 1;
}

async function afterReload(server: Running, change: () => Promise<unknown>): Promise<void> {
  const before = reloads(server);
  await change();
  await until(() => reloads(server) > before);
}

describe("socle dev", async () => {
  const cwd = await scriptProject({ collections: [collection("a")], files: {}, scripts: { timeout: "1s" } });
  const server = await serve(cwd, { args: ["dev"] });
  const path = "functions/a/talk.ts";

  test("finds a file in a new folder", async () => {
    await afterReload(server, () => write(cwd, { [path]: good("first") }));
    expect(await says(server)).toBe("first");
  });

  test("takes over a saved file, also by a rename, and its imports", async () => {
    await afterReload(server, () => write(cwd, { [path]: good("second") }));
    expect(await says(server)).toBe("second");
    await write(cwd, { "functions/a/talk.ts.tmp": good("third") });
    await afterReload(server, () => rename(join(cwd, "functions/a/talk.ts.tmp"), join(cwd, path)));
    expect(await says(server)).toBe("third");
    const importing =
      'import { word } from "./_word.ts";\nexport const onCreate = ({ logger }: any) => logger.info("says " + word);\n';
    await afterReload(server, () =>
      write(cwd, { "functions/a/_word.ts": 'export const word = "fourth";\n', [path]: importing }),
    );
    await until(() => reloads(server) >= 4);
    expect(await says(server)).toBe("fourth");
    await afterReload(server, () => write(cwd, { "functions/a/_word.ts": 'export const word = "fifth";\n' }));
    expect(await says(server)).toBe("fifth");
  });

  test("keeps the version before of a file that does not load, and reports the problem", async () => {
    await afterReload(server, () =>
      write(cwd, { [path]: "export const onCreate = () => {\n  oh no\n};\n", "functions/a/other.ts": good("other") }),
    );
    expect(server.output()).toMatch(
      /ERROR functions\/a\/talk\.ts does not load, its last version keeps running: .*\(functions\/a\/talk\.ts:2:\d+\)/,
    );
    const before = server.output().length;
    await post(`${server.url}/api/a`, { n: 1 });
    await until(
      () => /says fifth/.test(server.output().slice(before)) && /says other/.test(server.output().slice(before)),
    );
    await afterReload(server, () => rm(join(cwd, "functions/a/other.ts")));
    expect(await says(server)).toBe("fifth");
    await afterReload(server, () => write(cwd, { [path]: good("mended") }));
    expect(await says(server)).toBe("mended");
  });

  test("drops no request and no socket meanwhile", async () => {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime`);
    let isClosed = false;
    socket.onclose = () => {
      isClosed = true;
    };
    let isSaving = true;
    const statuses = new Set<number>();
    const requests = inParallel(
      Array.from({ length: 8 }, (_, n) => n),
      8,
      async () => {
        for (; isSaving; await Bun.sleep(20)) statuses.add((await post(`${server.url}/api/a`, { n: 1 })).status);
      },
    );
    for (let n = 0; n < 5; n++) await afterReload(server, () => write(cwd, { [path]: good(`round${n}`) }));
    isSaving = false;
    await requests;
    expect([...statuses]).toEqual([201]);
    expect(isClosed).toBe(false);
    await until(() => server.output().includes("says round4"));
    // Runs that are left would run with the next test's code.
    while (waiting(cwd) > 0) await Bun.sleep(20);
    socket.close();
  });

  test("takes over also if the version before loops for ever", async () => {
    await afterReload(server, () => write(cwd, { [path]: "export const onCreate = () => { for (;;); };\n" }));
    await post(`${server.url}/api/a`, { n: 1 });
    await afterReload(server, () => write(cwd, { [path]: good("out") }));
    expect(await says(server)).toBe("out");
  });

  test("leaves a single process behind, and no process after its end", async () => {
    const children = (): string[] =>
      Bun.spawnSync(["ps", "-o", "pid=", "--ppid", String(server.pid)])
        .stdout.toString()
        .split("\n")
        .filter((line) => line.trim() !== "");
    await until(() => children().length === 1);
    const [child = ""] = children();
    server.signal("SIGKILL");
    await server.exited;
    await until(() => Bun.spawnSync(["ps", "-p", child.trim()]).exitCode !== 0);
  });
});

test("a service loads again at SIGHUP, and not before", async () => {
  const path = "functions/a/talk.ts";
  const cwd = await scriptProject({ collections: [collection("a")], files: { [path]: good("old") } });
  const server = await serve(cwd);
  await write(cwd, { [path]: good("new") });
  for (let n = 0; n < 10; n++) expect(await says(server)).toBe("old");
  await afterReload(server, async () => server.signal("SIGHUP"));
  expect(await says(server)).toBe("new");
  await write(cwd, { [path]: "export const onCreate = 5;\n" });
  await afterReload(server, async () => server.signal("SIGHUP"));
  expect(await says(server)).toBe("new");
  expect(server.output()).toContain("its last version keeps running: onCreate must be a function");
  expect(await server.stop()).toBe(0);
});

test("an admin has the service load the code again; under socle dev, the request is refused with the reason", async () => {
  const path = "functions/a/talk.ts";
  const env = { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: "correct horse" };
  const reload = async ({ url }: Running): Promise<Response> => {
    const login = await post(`${url}/api/auth/login`, { email: "admin@example.com", password: "correct horse" });
    const { accessToken } = (await login.json()) as { accessToken: string };
    return post(`${url}/api/admin/scripts/reload`, "", { Authorization: `Bearer ${accessToken}` });
  };
  const cwd = await scriptProject({ collections: [collection("a")], files: { [path]: good("old") } });
  const server = await serve(cwd, { env });
  await write(cwd, { [path]: good("new") });
  expect(await says(server)).toBe("old");
  await afterReload(server, async () => expect((await reload(server)).status).toBe(204));
  expect(await says(server)).toBe("new");
  expect((await post(`${server.url}/api/admin/scripts/reload`, "")).status).toBe(401);
  expect(await server.stop()).toBe(0);
  const development = await serve(cwd, { env, args: ["dev"] });
  const refused = await reload(development);
  expect([refused.status, await refused.text()]).toEqual([
    409,
    expect.stringContaining("loads each changed file by itself"),
  ]);
  expect(await says(development)).toBe("new");
});
