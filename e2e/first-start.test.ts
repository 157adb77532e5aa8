/** The first start: the lines that the log prints, and the commands in these lines. */
import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { executable, post, project, serve, socle, temporaryFolder } from "./kit.ts";

/** An address of this machine that `socle dev` does not listen on. */
const otherAddress = process.platform === "linux" ? "127.0.0.2" : "[::1]";

/** Runs lines in a shell, as a user types the lines. */
function sh(lines: string, options: { cwd: string; stdin?: string }): { code: number; stdout: string; stderr: string } {
  const child = Bun.spawnSync(["sh", "-e", "-c", lines], {
    cwd: options.cwd,
    env: { PATH: process.env["PATH"] ?? "" },
    stdin: new Blob([options.stdin ?? ""]),
  });
  return { code: child.exitCode, stdout: child.stdout.toString(), stderr: child.stderr.toString() };
}

/** Starts a shell command, and answers the command's output up to `Listening`. */
async function started(command: string, cwd: string): Promise<string> {
  const child = Bun.spawn(["sh", "-c", `exec ${command}`], { cwd, stdout: "pipe", stderr: "inherit" });
  afterAll(() => child.kill());
  const decoder = new TextDecoder();
  let output = "";
  for await (const chunk of child.stdout) {
    output += decoder.decode(chunk, { stream: true });
    if (/Listening on \S+\n/.test(output)) return output;
  }
  throw new Error(`did not listen:\n${output}`);
}

const adminCommand = / Make one with: (.*)\n/;
const notes = { name: "notes", fields: [{ name: "title", type: "string", required: true }] };

test.each(["DEBUG", "INFO", "WARN", "ERROR"])(
  "log.level %s shows the address and the way to make an admin",
  async (level) => {
    const cwd = await project();
    const { url, output } = await serve(cwd, { env: { SERVICE_LOG_LEVEL: level } });
    expect(output()).toContain(`Listening on ${url}\n`);
    expect(output()).toMatch(adminCommand);
    expect(output()).toContain(`${url}/_/setup?token=`);
    // No other line of this level is shown.
    expect(output().includes("The API is at")).toBe(level === "DEBUG" || level === "INFO");
  },
);

describe("socle dev", () => {
  test("listens only on the loopback address", async () => {
    const { url } = await serve(await project(), { args: ["dev"] });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    // A service that listens on every address would answer here as well.
    await expect(fetch(url.replace("127.0.0.1", otherAddress))).rejects.toThrow();
  });

  test("unless host says otherwise", async () => {
    const env = { SERVICE_HOST: "0.0.0.0" };
    const byVariable = await serve(await project(), { args: ["dev"], env });
    const byFile = await serve(await project({ config: { host: "0.0.0.0" } }), { args: ["dev"] });
    const { url } = await serve(await project());
    for (const each of [byVariable.url, byFile.url, url]) {
      expect(each).toMatch(/^http:\/\/localhost:\d+$/);
      expect(
        (await fetch(each.replace("localhost", process.platform === "linux" ? otherAddress : "127.0.0.1"))).status,
      ).toBe(200);
    }
  });

  test("in a folder without a project names socle init; in a project does not", async () => {
    const empty = await serve(temporaryFolder(), { args: ["dev", "--port", "0"] });
    expect(empty.output()).toContain(`${executable} init my-app`);
    expect((await serve(await project(), { args: ["dev"] })).output()).not.toContain("init my-app");
    expect((await serve(temporaryFolder(), { args: ["--port", "0"] })).output()).not.toContain("init my-app");
  });
});

describe("the command for the first admin", () => {
  test("works from the current folder, for any name of the program and the configuration", async () => {
    const parent = temporaryFolder();
    const cwd = join(parent, "here and now");
    mkdirSync(cwd);
    mkdirSync(join(parent, "bin"));
    mkdirSync(join(parent, "app"));
    copyFileSync(executable, join(parent, "bin/socle"));
    await Bun.write(join(parent, "app/it's.json"), '{ "port": 0 }');
    const output = await started(`../bin/socle --config "../app/it's.json"`, cwd);
    const command = adminCommand.exec(output)?.[1] ?? "";
    expect(command).toBe(`../bin/socle admin create EMAIL --config '../app/it'\\''s.json'`);
    const made = sh(command.replace("EMAIL", "me@example.com"), { cwd, stdin: "a long password\n" });
    expect([made.code, made.stderr]).toEqual([0, ""]);
    const url = /Listening on (\S+)\n/.exec(output)?.[1];
    const login = await post(`${url}/api/auth/login`, { email: "me@example.com", password: "a long password" });
    expect(await login.json()).toMatchObject({ user: { role: "admin" } });
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("without a database, no database is made; the folder and the configuration are named", async () => {
    const cwd = temporaryFolder();
    const args = ["admin", "create", "me@example.com", "--password", "a long password"];
    const bare = await socle(args, { cwd });
    expect(bare).toMatchObject({ code: 2, stdout: "" });
    expect(bare.stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(bare.stderr).toContain(`no database socle.db in ${cwd} (no configuration ${join(cwd, "config.json")}`);
    expect(readdirSync(cwd)).toEqual([]);
    await Bun.write(join(cwd, "config.json"), '{ "database": "data/my.db" }');
    const configured = await socle(args, { cwd });
    expect([configured.code, configured.stderr]).toEqual([
      2,
      expect.stringContaining(`no database my.db in ${join(cwd, "data")} (configuration ${join(cwd, "config.json")})`),
    ]);
    expect(existsSync(join(cwd, "data"))).toBe(false);
  });

  test("other commands beside a service with its database elsewhere are refused with the variable", async () => {
    // As with a unit of systemd: the unit names the database by its environment.
    const cwd = await project({ collections: [{ name: "posts", fields: [{ name: "n", type: "integer" }] }] });
    const place = join(temporaryFolder(), "socle.db");
    await serve(cwd, { env: { SERVICE_DATABASE: place } });
    for (const args of [
      ["backup", "all.tar"],
      ["verify"],
      ["vacuum"],
      ["export", "posts", "out.csv"],
      ["schema", "restore"],
    ]) {
      const { code, stderr } = await socle(args, { cwd });
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining("set SERVICE_DATABASE")]);
      expect(existsSync(join(cwd, "socle.db"))).toBe(false);
      const env = { SERVICE_DATABASE: place };
      if (args[0] === "export") expect((await socle(args, { cwd, env })).code).toBe(0);
    }
  });
});

describe("socle init ends with a command that works", () => {
  const parent = temporaryFolder();
  mkdirSync(join(parent, "inner"));
  copyFileSync(executable, join(parent, "socle"));
  const cases: [string, string, string, string][] = [
    ["./socle", ".", "my-app", "cd my-app && ../socle dev"],
    ["./socle", ".", "my app", "cd 'my app' && ../socle dev"],
    ["./socle", ".", ".", "./socle dev"],
    ["../socle", "inner", "deep/er", "cd deep/er && ../../../socle dev"],
    ["../socle", "inner", ".", "../socle dev"],
    [join(parent, "socle"), "inner", "other", `cd other && ${join(parent, "socle")} dev`],
    ["socle", "inner", "third", "cd third && socle dev"],
  ];
  test.each(cases)("%s in %s, %s", (program, folder, dir, expected) => {
    const cwd = join(parent, folder);
    const path = `PATH=${parent}:$PATH`;
    const { stdout } = sh(`${path}; ${program} init '${dir}'`, { cwd });
    expect(stdout.trimEnd().split("\n").at(-1)).toBe(`  ${expected}`);
    expect(sh(`${path}; ${expected.replace(/dev$/, "version")}`, { cwd })).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("the way to a first record", () => {
  const heading = "No records yet. The way to the first one:\n\n";
  const commandsOf = (output: string): string[] =>
    output
      .slice(output.indexOf(heading) + heading.length)
      .split("\n\n")[0]
      ?.split("\n")
      .map((line) => line.trim()) ?? [];
  const many = {
    name: "many",
    fields: [
      { name: "s", type: "string", required: true, min: 8, max: 9 },
      { name: "t", type: "text", required: true, max: 2 },
      { name: "i", type: "integer", required: true, min: 3.5 },
      { name: "f", type: "float", required: true, max: -0.5 },
      { name: "b", type: "boolean", required: true },
      { name: "d", type: "datetime", required: true },
      { name: "j", type: "json", required: true },
      { name: "o", type: "relation", collection: "users", owner: true, required: true },
    ],
    permissions: { read: "owner" },
  };
  const closed = { ...notes, name: "closed", permissions: { read: "admin" } };
  const pattern = { name: "pattern", fields: [{ name: "a", type: "string", required: true, regex: "^x$" }] };

  test.each([
    ["for everybody", [notes], 2],
    ["for who is signed in", [{ ...notes, permissions: { create: "authenticated" } }], 3],
    ["with every kind of field, beside those that only an admin can fill or read", [closed, many, pattern], 3],
  ])("%s", async (_, collections, length) => {
    const cwd = await project({ collections });
    // The database has a user already.
    const first = await serve(cwd, { single: "development" });
    await post(`${first.url}/api/auth/register`, { email: "me@example.com", password: "long enough" });
    await first.stop();
    const server = await serve(cwd, { args: ["dev"] });
    const { output } = server;
    while (!output().includes(heading)) await Bun.sleep(5);
    const commands = commandsOf(output());
    expect(commands).toHaveLength(length);
    const run = sh(commands.join("\n"), { cwd });
    expect(run.code).toBe(0);
    const [record, list] = run.stdout.split(/(?<=\})(?=\{"items")/);
    expect(JSON.parse(list ?? "")).toEqual({ items: [JSON.parse(record ?? "")] });
    await server.stop();
    // The database has a record now, so the start prints no hint.
    const again = await serve(cwd, { args: ["dev"] });
    await Bun.sleep(50);
    expect(again.output()).not.toContain(heading);
  });

  test("not by socle serve, and not if only an admin could go the way", async () => {
    const served = await serve(await project({ collections: [notes] }));
    const admins = await serve(await project({ collections: [closed, pattern] }), { args: ["dev"] });
    await Bun.sleep(50);
    for (const { output } of [served, admins]) expect(output()).not.toContain(heading);
  });
});
