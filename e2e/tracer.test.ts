/** The tracer below the reliability suites: the record, the injected faults, and the moved clock. */
import { expect, test } from "bun:test";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { post, project, singleService, temporaryFolder } from "./kit.ts";
import type { TracerConfig } from "./reliability/tracer/config.ts";
import { Control } from "./reliability/tracer/control.ts";
import { type LogEntry, readLog, Spool } from "./reliability/tracer/log.ts";
import { serveTraced, tracedCommand } from "./reliability/tracer/traced.ts";

interface Place {
  readonly data: string;
  readonly output: string;
}

function place(): Place {
  const folder = realpathSync(temporaryFolder());
  const [data, output] = [join(folder, "data"), join(folder, "output")];
  mkdirSync(data);
  return { data, output };
}

/** Runs a script of Bun in a folder below the tracer. */
async function run({ data }: Place, config: TracerConfig, script: string): Promise<{ code: number; stdout: string }> {
  writeFileSync(join(config.output, "..", "script.ts"), script);
  const command = tracedCommand(config, [process.execPath, join(config.output, "..", "script.ts")]);
  const child = Bun.spawn(command, { cwd: data, stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const [stdout, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  return { code, stdout };
}

test("records writes, names and flushes in their order, of threads and children too", async () => {
  const where = place();
  writeFileSync(join(where.data, "old"), "before");
  const { code } = await run(
    where,
    { output: where.output, record: where.data },
    `
      import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync, writevSync, ftruncateSync } from "node:fs";
      import { appendFile, mkdir, rename, rm, copyFile } from "node:fs/promises";
      const file = openSync("a", "w");
      writeSync(file, "one", 4);
      writevSync(file, [Buffer.from("two"), Buffer.from("three")]);
      fdatasyncSync(file);
      ftruncateSync(file, 2);
      await appendFile("old", "!");
      await mkdir("sub/folder", { recursive: true });
      await rename("a", "sub/b");
      const folder = openSync("sub", "r");
      fsyncSync(folder);
      await copyFile("old", "copy");
      await rm("old");
      await Bun.spawn(["sh", "-c", "echo child >> sub/b"]).exited;
      process.exit(7);
    `,
  );
  expect(code).toBe(7);
  const entries = readLog(where.output);
  expect(new Control(where.output).entries).toBe(entries.length);
  const spool = new Spool(where.output);
  const names = new Map<number, string>();
  const told = entries.map((entry): string => {
    if ("inode" in entry && "path" in entry) names.set(entry.inode, entry.path);
    const name = "inode" in entry ? names.get(entry.inode) : "";
    const bytes = "spool" in entry ? Buffer.from(spool.read(entry.spool, entry.length)).toString() : "";
    return tell(entry, name ?? "?", bytes);
  });
  spool.close();
  expect(told).toEqual([
    "base  ",
    "base old before",
    "create a",
    "resize a 0",
    "write a 4 one",
    "write a 0 twothree",
    "flush a 6",
    "resize a 2",
    "create old",
    "write old 6 !",
    "mkdir sub",
    "mkdir sub/folder",
    "rename a sub/b",
    "flush sub 13",
    "create copy",
    ...told.filter((line) => line === "resize copy 0"),
    "write copy 0 before!",
    ...told.filter((line) => line === "resize copy 7"),
    "unlink old",
    "create sub/b",
    "write sub/b 2 child\n",
  ]);
});

function tell(entry: LogEntry, name: string, bytes: string): string {
  switch (entry.op) {
    case "base":
      return `base ${entry.path} ${bytes}`;
    case "write":
      return `write ${name} ${entry.offset} ${bytes}`;
    case "resize":
    case "grow":
      return `${entry.op} ${name} ${entry.size}`;
    case "flush":
      return `flush ${name} ${entry.since}`;
    case "rename":
    case "link":
      return `${entry.op} ${entry.from} ${entry.to}`;
    case "unknown":
      return `unknown ${entry.what}`;
    default:
      return `${entry.op} ${entry.path}`;
  }
}

test("refuses and delays the calls that a rule names, as often as the rule names", async () => {
  const where = place();
  const { stdout } = await run(
    where,
    {
      output: where.output,
      rules: [
        { calls: ["fdatasync"], path: "/flushed$", after: 1, times: 1, errno: "EIO" },
        { calls: ["rename", "renameat", "renameat2"], path: "/never$", errno: "ENOSPC" },
        { calls: ["pwrite64"], path: "/slow$", delayMs: 50 },
        { calls: ["fsync"], errno: "EIO", armed: false },
      ],
    },
    `
      import { fdatasyncSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
      const attempt = (work: () => void) => { try { work(); return "fine"; } catch (error: any) { return error.code; } };
      const [flushed, other, slow] = ["flushed", "other", "slow"].map((name) => openSync(name, "w"));
      const start = performance.now();
      writeSync(slow, "x", 0);
      const took = performance.now() - start;
      console.log(JSON.stringify([
        attempt(() => fdatasyncSync(other)),
        attempt(() => fdatasyncSync(flushed)),
        attempt(() => fdatasyncSync(flushed)),
        attempt(() => fdatasyncSync(flushed)),
        attempt(() => renameSync("other", "never")),
        attempt(() => renameSync("other", "always")),
        attempt(() => fsyncSync(other)),
        took >= 50,
      ]));
    `,
  );
  expect(JSON.parse(stdout)).toEqual(["fine", "fine", "EIO", "fine", "ENOSPC", "fine", "fine", true]);
  const control = new Control(where.output);
  expect([0, 1, 2, 3].map((rule) => control.hits(rule))).toEqual([1, 1, 1, 0]);
});

test("moves the time of day while the service runs, and not its waits", async () => {
  singleService("faults");
  const { output } = place();
  const cwd = await project({ collections: [{ name: "notes", fields: [{ name: "text", type: "text" }] }] });
  const server = await serveTraced(cwd, { output, clock: true });
  const created = async (): Promise<number> => {
    const answer = await post(`${server.url}/api/notes`, { text: "x" });
    expect(answer.status).toBe(201);
    return Date.parse(((await answer.json()) as { createdAt: string }).createdAt);
  };
  const now = Date.now();
  const first = await created();
  const day = 86_400_000;
  server.control.clockOffsetMs = 10 * day;
  const second = await created();
  expect(first).toBeGreaterThanOrEqual(now - 1);
  expect(first).toBeLessThan(now + day);
  expect(second).toBeGreaterThanOrEqual(now + 10 * day - 1);
  expect(second).toBeLessThan(now + 11 * day);
  expect(await server.stop()).toBe(0);
});

test("the command ends with a tracer that is killed", async () => {
  const { output } = place();
  const command = tracedCommand({ output }, ["sleep", "60"]);
  const tracer = Bun.spawn(command, { stdio: ["ignore", "inherit", "inherit"] });
  const control = new Control(output);
  while (control.pid === 0) await Bun.sleep(5);
  const { pid } = control;
  tracer.kill("SIGKILL");
  await tracer.exited;
  const isThere = (): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };
  while (isThere()) await Bun.sleep(5);
});
