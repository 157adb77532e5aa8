/** `log.format=json`: each line that `socle serve` prints is JSON, from the first to the last, also after a failure. */
import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { post, project, serve, socle, temporaryFolder } from "./kit.ts";
import { write } from "./scripts-kit.ts";

const env = { SERVICE_LOG_FORMAT: "json" };

interface Line {
  timestamp: string;
  level: string;
  message: string;
  source: string;
}

/** The lines of an output, each line of which must be an entry. */
function entriesOf(output: string): Line[] {
  const lines = output.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const entry: Line = JSON.parse(line);
    expect(entry).toEqual(
      expect.objectContaining({
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        level: expect.stringMatching(/^(DEBUG|INFO|WARN|ERROR)$/),
        message: expect.any(String),
        source: expect.any(String),
      }),
    );
    return entry;
  });
}

/** The last entry of a failed start, on standard error; standard error has no other line. */
async function failure(words: string[], options: { cwd: string; env?: Record<string, string> }): Promise<Line> {
  const { code, stdout, stderr } = await socle(words, options);
  expect(code).toBe(2);
  entriesOf(stdout);
  const [entry, ...others] = entriesOf(stderr);
  if (entry === undefined || others.length > 0) throw new Error(`not one line: ${stderr}`);
  expect([entry.level, entry.source]).toEqual(["ERROR", "socle"]);
  return entry;
}

describe("a failed start gives the reason in a single entry", () => {
  test.each<[name: string, words: string[], more: Record<string, string>, message: RegExp]>([
    ["a value that is not allowed", ["--port", "http"], {}, /^--port: "http" is not valid for "port"/],
    ["an unknown option", ["serve", "--prot", "1"], {}, /'--prot'/],
    ["a word too many", ["serve", "now"], {}, /^unexpected "now"/],
    ["a configuration file that is not there", ["--config", "none.json"], {}, /none\.json: cannot be read/],
    ["a missing database", [], { SERVICE_DATABASE_MUST_EXIST: "1" }, /is missing/],
    ["a bad value in the environment", [], { SERVICE_LIMITS_BODY: "much" }, /^SERVICE_LIMITS_BODY: "much"/],
  ])("%s", async (_name, words, more, message) => {
    const cwd = temporaryFolder();
    expect((await failure(words, { cwd, env: { ...env, SERVICE_PORT: "0", ...more } })).message).toMatch(message);
  });

  test("a port in use", async () => {
    const server = await serve(await project());
    const words = ["--port", new URL(server.url).port];
    expect((await failure(words, { cwd: temporaryFolder(), env })).message).toMatch(/^port \d+ is in use/);
  });
});

describe("an invalid configuration still decides the format", () => {
  test("the format of the file, unless the environment has another", async () => {
    const cwd = await project({ config: { port: "http", log: { format: "json" } } });
    expect((await failure([], { cwd })).message).toMatch(/"http" is not valid for "port"/);
    const text = await socle([], { cwd, env: { SERVICE_LOG_FORMAT: "text" } });
    expect(text.stderr).toStartWith("socle: ");
  });

  test("an unreadable file has no format: the environment decides", async () => {
    const cwd = temporaryFolder();
    await Bun.write(join(cwd, "config.json"), '{ "log": { "format": "json" }, "port" }');
    expect((await socle([], { cwd })).stderr).toMatch(/^socle: .*config\.json: is not JSON: [^\n]*\n$/);
    expect((await failure([], { cwd, env })).message).toMatch(/config\.json: is not JSON/);
  });

  test("commands that print no log print text", async () => {
    const { code, stderr } = await socle(["check", "--nothing"], { cwd: temporaryFolder(), env });
    expect([code, stderr.split("\n")[1]]).toEqual([2, "Try: socle help"]);
  });
});

test("a service from its start to SIGTERM, with an unknown variable and code that prints", async () => {
  const cwd = await project();
  await write(cwd, {
    "jobs/noise.ts": `
      export const schedule = "0 0 1 1 *";
      console.log("a line\\nand another");
      process.stderr.write("direct\\n");
      export default () => undefined;`,
    "jobs/broken.ts": "throw new Error('at once');",
  });
  const server = await serve(cwd, { env: { ...env, SERVICE_PROT: "1" } });
  expect(await server.stop()).toBe(0);
  const entries = entriesOf(server.output());
  const messages = entries.map(({ message }) => message);
  expect(messages).toContain("unknown variable SERVICE_PROT; did you mean SERVICE_PORT?");
  expect(messages).toContain("direct");
  expect(messages.at(-1)).toBe("Stopped");
});

test("a database that is deleted: the log names the cause", async () => {
  const cwd = await project();
  const server = await serve(cwd, { env });
  rmSync(join(cwd, "socle.db"));
  expect(await server.exited).toBe(1);
  const errors = entriesOf(server.output()).filter(({ level }) => level === "ERROR");
  expect(errors.map(({ message }) => message)).toContain(
    `database ${join(cwd, "socle.db")}: was deleted or replaced while it was open; nothing more is accepted`,
  );
  expect(server.output()).not.toContain("disk");
});

test.each([
  ["an error", "throw new Error('a defect')"],
  ["a promise", "Promise.reject(new Error('a defect'))"],
])("%s that is not caught ends the service with an entry, and acknowledged writes stay", async (_name, code) => {
  const cwd = await project({ collections: [{ name: "posts", fields: [{ name: "title", type: "string" }] }] });
  const go = join(cwd, "go");
  await Bun.write(
    join(cwd, "defect.ts"),
    `import { existsSync } from "node:fs";
    // Reader processes, which have the same options, would have a defect of their own.
    const timer = setInterval(() => {
      if (process.argv.includes("reader")) clearInterval(timer);
      else if (!existsSync(${JSON.stringify(go)})) return;
      else {
        clearInterval(timer);
        ${code};
      }
    }, 20);`,
  );
  const server = await serve(cwd, { env: { ...env, BUN_OPTIONS: `--preload=${join(cwd, "defect.ts")}` } });
  expect((await post(`${server.url}/api/posts`, { title: "kept" })).status).toBe(201);
  await Bun.write(go, "");
  expect(await server.exited).toBe(1);
  // In a cluster, the instances that still run are stopped meanwhile, with entries of their own.
  const errors = entriesOf(server.output()).filter(({ level }) => level === "ERROR");
  expect(new Set(errors.map(({ message }) => message))).toEqual(
    new Set(["A defect ended the service; please report it"]),
  );
  const again = await serve(cwd, { env });
  expect(await (await fetch(`${again.url}/api/posts`)).json()).toMatchObject({ items: [{ title: "kept" }] });
});
