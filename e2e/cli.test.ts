import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { executable, post, project, serve, singleService, socle, temporaryFolder } from "./kit.ts";

test.each([["version"], ["--version"], ["-v"]])("socle %s", async (word) => {
  const { code, stdout, stderr } = await socle([word]);
  expect([code, stderr]).toEqual([0, ""]);
  // The commit of the source, if the source is a repository.
  expect(stdout).toMatch(/^[\d.]+(\+[0-9a-f]{7,}(\.changed)?)?\n$/);
  expect(stdout).toStartWith(packageJson.version);
});

test.each([[["help"]], [["--help"]], [["-h"]]])("socle %j names every command", async (words) => {
  const { code, stdout } = await socle(words);
  expect(code).toBe(0);
  for (const name of ["serve", "dev", "init [DIR]", "admin create EMAIL", "seed FILE", "version", "help"])
    expect(stdout).toContain(`socle ${name}`);
});

test.each([[["help", "serve"]], [["serve", "--help"]]])("socle %j shows the options", async (words) => {
  const { code, stdout } = await socle(words);
  expect(code).toBe(0);
  expect(stdout).toContain("--config FILE");
});

test.each([[["help", "cluster"]], [["cluster", "--help"]], [["cluster", "-h"]]])(
  "socle %j shows all commands that begin so",
  async (words) => {
    const { code, stdout, stderr } = await socle(words);
    expect([code, stderr]).toEqual([0, ""]);
    for (const name of ["init", "status"]) expect(stdout).toContain(`Usage: socle cluster ${name}`);
  },
);

describe("wrong usage: a single line, exit code 2, no stack", () => {
  const cases: [string[], RegExp][] = [
    [["serv"], /there is no command "serv"; did you mean "serve"\?/],
    [["serve", "--prot", "1"], /Unknown option '--prot'; did you mean --port\?/],
    [["serve", "--nonsense-of-mine"], /Unknown option '--nonsense-of-mine'; allowed: --help, --config, --port/],
    [["serve", "-x"], /Unknown option '-x'; allowed: /],
    [["serve", "now"], /unexpected "now"; usage: socle serve/],
    [["serve", "--port"], /--port/],
    [["--port", "http"], /--port: "http" is not valid for "port"/],
    [["admin", "create"], /missing EMAIL; usage: socle admin create EMAIL/],
    [["init", "a", "b"], /unexpected "b"/],
    [["--config", "none.json"], /none\.json: cannot be read/],
  ];
  test.each(cases)("socle %j", async (words, message) => {
    const { code, stdout, stderr } = await socle(words);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
    expect(
      stderr
        .trim()
        .split("\n")
        .filter((line) => line !== "Try: socle help"),
    ).toHaveLength(1);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

describe("socle init", () => {
  test("the written project starts without a change, and a second init is refused", async () => {
    const folder = temporaryFolder();
    const { code, stdout } = await socle(["init", "app"], { cwd: folder });
    expect(code).toBe(0);
    for (const file of ["config.json", "collections/notes.json", "tsconfig.json", ".gitignore"])
      expect(stdout).toContain(join("app", file));
    const server = await serve(join(folder, "app"), { args: ["dev", "--port", "0"] });
    expect(await (await fetch(`${server.url}/api/notes`)).json()).toEqual({ items: [] });
    expect(server.output()).not.toContain("unknown key");
    const common = { email: "ann@example.com", password: "password123" };
    expect((await post(`${server.url}/api/auth/register`, common)).status).toBe(400);
    expect(await server.stop()).toBe(0);
    const here = temporaryFolder();
    expect((await socle(["init"], { cwd: here })).stdout).toContain("config.json");
    expect(existsSync(join(here, "config.json"))).toBe(true);
    const again = await socle(["init", "app"], { cwd: folder });
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("config.json")]);
    writeFileSync(join(folder, "file"), "");
    for (const path of ["file", "file/app"]) {
      const refused = await socle(["init", path], { cwd: folder });
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/^socle: .*file.* cannot be made: /)]);
    }
  });
});

test("the executable alone, in an empty folder on another path, serves with defaults", async () => {
  const [home, cwd] = [temporaryFolder(), temporaryFolder()];
  cpSync(executable, join(home, "backend"));
  const server = await serve(cwd, { executable: join(home, "backend"), args: ["--port", "0"] });
  expect(server.output()).toContain("defaults apply");
  expect(server.output()).toContain(`Make one with: ${join(home, "backend")} admin create EMAIL\n`);
  expect(await (await fetch(server.url)).json()).toEqual({ status: "ok", version: packageJson.version });
  expect(await server.stop()).toBe(0);
});

describe("socle admin create", () => {
  const login = async (url: string, email: string, password: string) => {
    const response = await post(`${url}/api/auth/login`, { email, password });
    return response.ok ? ((await response.json()) as { user: { role: string } }).user.role : response.status;
  };

  test("after the first start, while the service runs, and by standard input", async () => {
    singleService("commands");
    const cwd = await project();
    await (await serve(cwd)).stop();
    const first = await socle(["admin", "create", "One@example.com", "--password", "a long password"], { cwd });
    expect([first.code, first.stdout]).toEqual([
      0,
      expect.stringMatching(/^Made the admin One@example.com in .*socle.db\n$/),
    ]);
    const server = await serve(cwd);
    expect(server.output()).not.toContain("no admin yet");
    const second = await socle(["admin", "create", "two@example.com"], { cwd, stdin: "another password\n" });
    expect(second.code).toBe(0);
    expect(await login(server.url, "one@example.com", "a long password")).toBe("admin");
    expect(await login(server.url, "two@example.com", "another password")).toBe("admin");
    const session = (await (
      await post(`${server.url}/api/auth/login`, { email: "two@example.com", password: "another password" })
    ).json()) as { accessToken: string };
    const changed = await socle(["admin", "create", "two@example.com", "--password", "a third password"], { cwd });
    expect(changed.stdout).toContain("is an admin now");
    expect(await login(server.url, "two@example.com", "another password")).toBe(401);
    const headers = { Authorization: `Bearer ${session.accessToken}` };
    while ((await fetch(`${server.url}/api/auth/me`, { headers })).status !== 401) await Bun.sleep(5);
    expect(await login(server.url, "two@example.com", "a third password")).toBe("admin");
    // The service goes on writing beside the command.
    expect(
      (await post(`${server.url}/api/auth/register`, { email: "x@example.com", password: "long enough" })).status,
    ).toBe(201);
  });

  test.each([
    ["nobody", "a long password", "email must be an email address"],
    ["a@example.com", "short", "password must be at least 8 characters long"],
  ])("refuses %s with %s", async (email, password, message) => {
    singleService("commands");
    const cwd = await project();
    await (await serve(cwd)).stop();
    const { code, stderr } = await socle(["admin", "create", email, "--password", password], { cwd });
    expect([code, stderr]).toEqual([2, `socle: ${message}\n`]);
  });
});

test.each([
  [
    { SERVICE_ADMIN_EMAIL: "a@lo_cal", SERVICE_ADMIN_PASSWORD: "long enough" },
    /admin\.email "a@lo_cal": email must be/,
  ],
  [{ SERVICE_ADMIN_EMAIL: "a@b.co", SERVICE_ADMIN_PASSWORD: "short" }, /admin\.password: password must be at least 8/],
])("an admin that cannot be made stops the start: %j", async (env, message) => {
  const { code, stderr } = await socle(["--port", "0"], { env });
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
});

test("an admin from the environment is made once", async () => {
  const cwd = await project();
  const env = { SERVICE_ADMIN_EMAIL: "boss@example.com", SERVICE_ADMIN_PASSWORD: "a long password" };
  const first = await serve(cwd, { env });
  expect(first.output()).toContain("Made the admin boss@example.com");
  expect(first.output()).not.toContain("a long password");
  await first.stop();
  const second = await serve(cwd, { env: { ...env, SERVICE_ADMIN_PASSWORD: "another password" } });
  expect(second.output()).not.toContain("Made the admin");
  const answer = await post(`${second.url}/api/auth/login`, { email: "boss@example.com", password: "a long password" });
  expect(answer.status).toBe(200);
});

test("socle check names two users of an earlier version with the same address", async () => {
  singleService("database");
  const cwd = await project();
  const server = await serve(cwd);
  for (const email of ["info@dömäin.example", "other@example.com"])
    expect((await post(`${server.url}/api/auth/register`, { email, password: "correct horse" })).status).toBe(201);
  expect((await socle(["check"], { cwd })).stdout).not.toContain("Two users");
  await server.stop();
  const database = new Database(join(cwd, "socle.db"));
  database.run("UPDATE _users SET email = 'info@xn--dmin-moa0i.example' WHERE email = 'other@example.com'");
  database.close();
  const line = "Two users have one address, written info@xn--dmin-moa0i.example and info@dömäin.example.";
  expect((await socle(["check"], { cwd })).stdout).toContain(line);
  const again = await serve(cwd);
  expect(again.output()).toContain(`WARN  ${line}`);
  expect((await socle(["check"], { cwd })).stdout).toContain(line);
});

describe("a common password of an admin whom the operator makes is a WARN", () => {
  test("admin.password", async () => {
    const cwd = await project();
    const warning = "WARN  admin.password is one of the most common passwords: choose another password";
    const env = { SERVICE_ADMIN_EMAIL: "boss@example.com", SERVICE_ADMIN_PASSWORD: "Password123" };
    const server = await serve(cwd, { env });
    expect(server.output()).toContain("Made the admin boss@example.com");
    expect(server.output()).toContain(warning);
    expect(server.output()).not.toContain("Password123");
    const body = { email: "boss@example.com", password: "Password123" };
    expect((await post(`${server.url}/api/auth/login`, body)).status).toBe(200);
    await server.stop();
    const other = { SERVICE_ADMIN_EMAIL: "boss@example.com", SERVICE_ADMIN_PASSWORD: "correct horse" };
    expect((await serve(await project(), { env: other })).output()).not.toContain("most common");
  });

  test("socle admin create", async () => {
    singleService("commands");
    const cwd = await project();
    const server = await serve(cwd, { env: { SERVICE_AUTH_COMMON_PASSWORDS: "refuse" } });
    const words = ["admin", "create", "one@example.com", "--password"];
    const weak = await socle([...words, "qwertyuiop"], { cwd });
    expect([weak.code, weak.stdout]).toEqual([0, expect.stringMatching(/^Made the admin one@example.com/)]);
    expect(weak.stderr).toBe("WARN  The password is one of the most common passwords: choose another password\n");
    expect((await socle([...words, "correct horse"], { cwd })).stderr).toBe("");
    const body = { email: "two@example.com", password: "qwertyuiop" };
    expect((await post(`${server.url}/api/auth/register`, body)).status).toBe(400);
  });
});

test("the link of the start log makes the first admin, once; after a restart no link is printed", async () => {
  const cwd = await project({});
  const first = await serve(cwd);
  const link = /link, once and within 30 minutes: (http:\S+)\n/.exec(first.output())?.[1] ?? "";
  expect(link.startsWith(`${first.url}/_/setup?token=`)).toBe(true);
  expect((await fetch(link)).headers.get("content-type")).toBe("text/html; charset=utf-8");
  // The page sends the requests that any client can send with the token.
  const address = link.replace("/_/setup", "/api/auth/setup");
  expect((await fetch(address)).status).toBe(200);
  const made = await post(address, { email: "first@example.com", password: "correct horse" });
  expect(made.status).toBe(201);
  const { accessToken } = (await made.json()) as { accessToken: string };
  const headers = { Authorization: `Bearer ${accessToken}` };
  expect((await fetch(`${first.url}/api/admin/users`, { headers })).status).toBe(200);
  expect((await post(address, { email: "second@example.com", password: "correct horse" })).status).toBe(404);
  await first.stop();
  const second = await serve(cwd);
  expect(second.output()).not.toContain("setup");
  expect((await fetch(address.replace(first.url, second.url))).status).toBe(404);
});
