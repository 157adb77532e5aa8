import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable, post, project, serve, socle, temporaryFolder, until } from "./kit.ts";

const posts = { name: "posts", fields: [{ name: "title", type: "string" }] };

/** Expects one line, exit code 2, and no file of the service left behind but the database and the lock. */
async function refused(cwd: string, env: Record<string, string> = {}): Promise<string> {
  const { code, stderr, stdout } = await socle(["serve", "--port", "0"], { cwd, env });
  expect([code, stdout.includes("Listening")]).toEqual([2, false]);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect(stderr).not.toMatch(/\n\s+at /);
  return stderr;
}

describe("a definition file that is wrong stops the start and applies no other", () => {
  const cases: [string, string, RegExp][] = [
    ["is not JSON", '{ "name": "bad", }}', /zbad\.json: is not JSON: .* in line 1/],
    [
      "names an unknown type",
      '{ "name": "bad", "fields": [{ "name": "x", "type": "varchar" }] }',
      /zbad\.json: field "x": "type" must be string/,
    ],
    [
      "points to a missing collection",
      '{ "name": "bad", "fields": [{ "name": "x", "type": "relation", "collection": "pots" }] }',
      /zbad\.json: field "x": there is no collection "pots" to point to; did you mean "posts"/,
    ],
    ["is named auth", '{ "name": "auth", "fields": [] }', /zbad\.json: "auth" is a reserved collection name/],
    [
      "defines a collection again",
      '{ "name": "Posts", "fields": [] }',
      /zbad\.json: the collection "Posts" is already defined by .*posts\.json/,
    ],
    ["is empty", "", /zbad\.json: is not JSON/],
  ];
  test.each(cases)("%s", async (_name, content, message) => {
    const cwd = await project({ collections: [posts] });
    await Bun.write(join(cwd, "collections", "zbad.json"), content);
    expect(await refused(cwd)).toMatch(message);
    await Bun.file(join(cwd, "collections", "zbad.json")).delete();
    await Bun.file(join(cwd, "collections", "posts.json")).delete();
    const server = await serve(cwd);
    expect((await fetch(`${server.url}/api/posts`)).status).toBe(404);
  });
});

describe("a database that cannot be used", () => {
  test("is a folder", async () => {
    const cwd = await project({ config: { database: "./here" } });
    mkdirSync(join(cwd, "here"));
    expect(await refused(cwd)).toMatch(/here: is a folder/);
  });

  test("is not a database", async () => {
    const cwd = await project({ config: { database: "./text" } });
    writeFileSync(join(cwd, "text"), "no database".repeat(1_000));
    expect(await refused(cwd)).toMatch(/text: is not a SQLite database/);
    expect(await Bun.file(join(cwd, "text")).text()).toStartWith("no database");
  });

  test("is read-only", async () => {
    const cwd = await project({ config: { database: "./data.db" } });
    await (await serve(cwd)).stop();
    chmodSync(join(cwd, "data.db"), 0o444);
    chmodSync(join(cwd, "data.db-lock"), 0o666);
    chmodSync(cwd, 0o777);
    // Root may write everything, so another user starts the service.
    const isRoot = process.getuid?.() === 0;
    const prefix = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
    const child = Bun.spawnSync([...prefix, executable, "--port", "0"], { cwd });
    expect(child.stderr.toString()).toMatch(/data\.db: is read-only/);
    expect(child.exitCode).toBe(2);
  });

  test("is open in another service", async () => {
    const cwd = await project({ collections: [posts] });
    const server = await serve(cwd);
    expect(await refused(cwd)).toContain(`is in use by another socle process (pid ${server.pid})`);
    expect((await fetch(`${server.url}/api/posts`)).status).toBe(200);
  });
});

describe("commands and signals around a start", () => {
  test("socle seed waits for a service that starts, and works by the service", async () => {
    const cwd = await project({ collections: [posts] });
    await Bun.$`mkdir -p ${join(cwd, "functions/posts")}`;
    // The start holds the lock, and answers commands at the end of the start.
    await Bun.write(
      join(cwd, "functions/posts/slow.ts"),
      'await Bun.write("loading.txt", "");\nawait Bun.sleep(2_000);\nexport const onCreate = () => {};\n',
    );
    await Bun.write(join(cwd, "seed.json"), JSON.stringify({ posts: [{ title: "a" }] }));
    const starting = serve(cwd);
    await until(() => existsSync(join(cwd, "loading.txt")));
    const { code, stdout } = await socle(["seed", "seed.json"], { cwd });
    expect([code, stdout]).toEqual([0, expect.stringContaining("1 record added")]);
    const server = await starting;
    const { items } = (await (await fetch(`${server.url}/api/posts`)).json()) as { items: unknown[] };
    expect(items).toHaveLength(1);
  });

  test("socle dev ends when its terminal goes, and socle serve does not", async () => {
    for (const [command, isEnded] of [
      ["dev", true],
      ["serve", false],
    ] as const) {
      const cwd = await project({ collections: [posts] });
      const server = await serve(cwd, { args: [command] });
      server.signal("SIGHUP");
      if (isEnded) expect(await server.exited).toBe(0);
      else {
        await until(() => server.output().includes("Reloaded functions and jobs"));
        expect((await fetch(`${server.url}/health`)).status).toBe(200);
      }
    }
  });

  test("a stop accepts no more connections, and finishes a request that runs", async () => {
    const server = await serve(await project({ collections: [posts] }), { single: "process" });
    const body = JSON.stringify({ title: "kept" });
    let answer = "";
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: Number(new URL(server.url).port),
      socket: {
        data(_, data) {
          answer += data.toString();
        },
      },
    });
    const head = `POST /api/posts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(head + body.slice(0, 5));
    // The request is under way when another connection has been answered.
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    server.signal("SIGTERM");
    await until(() => server.output().includes("SIGTERM: stopping"));
    const connect = (): Promise<unknown> => fetch(`${server.url}/health`, { headers: { Connection: "close" } });
    const outcome = (): Promise<unknown> => connect().catch((error: unknown) => Reflect.get(Object(error), "code"));
    // Each process closes the port when the process has heard of the stop.
    await until(async () => /refused/i.test(String(await outcome())));
    socket.write(body.slice(5));
    await until(() => answer.includes("kept"));
    expect(answer).toStartWith("HTTP/1.1 201 ");
    socket.end();
    expect(await server.exited).toBe(0);
  });

  test("socle dev says which rule refuses a request", async () => {
    const cwd = await project({
      collections: [
        { ...posts, permissions: { read: "public", create: "admin", update: 'title = "mine"', delete: "admin" } },
      ],
    });
    const server = await serve(cwd, { args: ["dev"] });
    const { accessToken } = (await (
      await post(`${server.url}/api/auth/register`, { email: "a@example.com", password: "correct horse" })
    ).json()) as { accessToken: string };
    const refusedPost = await post(
      `${server.url}/api/posts`,
      { title: "a" },
      { Authorization: `Bearer ${accessToken}` },
    );
    expect(refusedPost.status).toBe(403);
    await until(() => server.output().includes("A rule refused a request"));
    expect(server.output()).toMatch(
      /INFO .*A rule refused a request: Only an admin may create records of "posts"\. .*rule=.*create.*admin/,
    );
    expect(await refusedPost.text()).not.toContain("rule");
  });
});

test("a write-ahead log that is already too long, as after a crash, does not prevent the start", async () => {
  const cwd = await project({ collections: [posts] });
  await (await serve(cwd)).stop();
  const database = new Database(join(cwd, "socle.db"));
  database.run("PRAGMA wal_autocheckpoint = 0");
  const insert = database.prepare("INSERT INTO posts (id, createdAt, updatedAt, title) VALUES (?, ?, ?, ?)");
  for (let n = 0; n < 900; n++) insert.run(`rec_${n}`, "2026-01-01", "2026-01-01", "x".repeat(100_000));
  // The reader keeps the log from being copied while the writer closes.
  const reader = new Database(join(cwd, "socle.db"), { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM posts").get();
  expect(statSync(join(cwd, "socle.db-wal")).size).toBeGreaterThan(64 * 1024 ** 2);
  const server = await serve(cwd);
  expect((await post(`${server.url}/api/posts`, { title: "after" })).status).toBe(201);
  reader.close();
  expect(await server.stop()).toBe(0);
});

test("a port in use", async () => {
  const server = await serve(await project());
  const port = new URL(server.url).port;
  const { code, stderr } = await socle(["--port", port], { cwd: temporaryFolder() });
  expect(code).toBe(2);
  expect(stderr).toBe(`socle: port ${port} is in use; choose another with --port or SERVICE_PORT (0 = any)\n`);
});

test("a bad value in the environment", async () => {
  expect(await refused(temporaryFolder(), { SERVICE_DASHBOARD_ENABLED: "maybe" })).toMatch(
    /SERVICE_DASHBOARD_ENABLED: "maybe" is not valid for "dashboard.enabled"; allowed: true or false/,
  );
});

test("the database and its folder are made at the configured path, counted from the folder of the configuration", async () => {
  const cwd = temporaryFolder();
  const folder = await project({ config: { database: "./deep/er/data.db" } });
  const server = await serve(cwd, { args: ["--config", join(folder, "config.json")] });
  expect(await Bun.file(join(folder, "deep/er/data.db")).exists()).toBe(true);
  expect(server.output()).toMatch(/Listening on http:\/\/localhost:\d+\n/);
});
