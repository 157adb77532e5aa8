/** Runs of a move: the report alone, a move after kill -9, and later runs. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { executable, post, project, serve, singleService, temporaryFolder, until } from "./kit.ts";
import { dataFolder, decisions, move, moved, newName } from "./move-in-kit.ts";

singleService("commands");

/** The number of lines of a database's log of events: a run without a change adds none. */
function events(cwd: string): number {
  const database = new Database(join(cwd, "socle.db"));
  try {
    return Number(Object.values(database.query("SELECT count(*) FROM _events").get() as object)[0]);
  } finally {
    database.close();
  }
}

/** The project after a move without a kill; tests that go on from a moved project take a copy. */
const whole = await project();
expect(await move(whole, dataFolder())).toMatchObject({ code: 0, stderr: "" });

function movedProject(): string {
  const cwd = join(temporaryFolder(), "moved");
  cpSync(whole, cwd, { recursive: true });
  return cwd;
}

/** Changes the data folder of PocketBase. */
function change(folder: string, ...statements: (readonly [sql: string, ...values: string[]])[]): void {
  const source = new Database(join(folder, "data.db"));
  for (const [sql, ...values] of statements) source.run(sql, values);
  source.run("PRAGMA wal_checkpoint(TRUNCATE)");
  source.close();
}

test("a report alone writes nothing, and a move waits for the decisions", async () => {
  const cwd = await project();
  const folder = dataFolder();
  const before = readdirSync(folder).toSorted();
  const report = await move(cwd, folder, []);
  expect(report.code).toBe(0);
  expect(report.stdout).toContain("Nothing was moved. Decide first, then add --yes to move.");
  for (const line of [
    "ida@harbour.example is the address of users/user00000000008 and of staff/staff0000000002",
    "comments.post: 2 values with an id of no record",
  ])
    expect(report.stdout).toContain(line);
  const early = await move(cwd, folder, ["--yes"]);
  expect([early.code, early.stderr]).toEqual([
    2,
    "socle: nothing was moved: 8 points of the report must be decided by options\n",
  ]);
  expect(readdirSync(cwd).toSorted()).toEqual(["collections", "config.json"]);
  expect(readdirSync(join(cwd, "collections"))).toEqual([]);
  expect(readdirSync(folder).toSorted()).toEqual(before);
});

test("ids that lead nowhere are cleared where the field may be empty", async () => {
  const cwd = await project();
  const done = await move(cwd, dataFolder(), ["--yes", "--dangling", "clear", "--emails", "first"]);
  expect(done.code).toBe(0);
  expect(done.stdout).toContain("posts.parent: 1 value with an id of no record (post00000000020): cleared");
  expect(done.stdout).toContain("posts.author: 1 value with an id of no record (post00000000025): kept");
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  expect(database.query("SELECT parent FROM posts WHERE sourceId = 'post00000000020'").get()).toEqual({
    parent: null,
  });
  expect(database.query("SELECT count(*) AS n FROM _users WHERE email = 'ida@harbour.example'").get()).toEqual({
    n: 1,
  });
  database.close();
});

test("a password that is no hash of a known kind stays behind, and a value that two auth collections have takes the rule unique away", async () => {
  const cwd = await project();
  const folder = dataFolder();
  change(
    folder,
    ["UPDATE users SET password = 'no hash' WHERE id = 'user00000000005'"],
    [
      "UPDATE _collections SET fields = json_insert(fields, '$[#]', json(?)) WHERE name = 'staff'",
      JSON.stringify({ name: "handle", type: "text" }),
    ],
    ["ALTER TABLE staff ADD COLUMN handle TEXT DEFAULT '' NOT NULL"],
    ["UPDATE staff SET handle = (SELECT handle FROM users WHERE id = 'adalindgren0001') WHERE id = 'staff0000000002'"],
  );
  const done = await move(cwd, folder);
  expect(done).toMatchObject({ code: 0, stderr: "" });
  expect(done.stdout).toContain(
    "Users whose password is no hash that Socle compares, and who move without a password: users/user00000000005\n",
  );
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  expect(database.query("SELECT passwordHash FROM _users WHERE email = 'emil@harbour.example'").get()).toEqual({
    passwordHash: "",
  });
  database.close();
  expect(done.stdout).toContain('users and staff.handle: the rule "unique" does not hold for staff0000000002');
  const users = JSON.parse(
    readFileSync(join(cwd, "collections", "users.json"), "utf8").replaceAll(/^\/\/.*$/gm, ""),
  ) as { fields: { name: string; unique?: unknown }[] };
  expect(users.fields.find(({ name }) => name === "handle")?.unique).toBeUndefined();
  expect(users.fields.find(({ name }) => name === "badge")?.unique).toBeDefined();
});

test("a move goes on after kill -9, and a run without a change changes nothing", async () => {
  const cwd = await project();
  const folder = dataFolder();
  for (const stored of [1, 6]) {
    const child = Bun.spawn([executable, "move-in", "pocketbase", folder, "--yes", ...decisions], {
      cwd,
      stdout: "ignore",
      stderr: "ignore",
    });
    const files = (): number =>
      existsSync(join(cwd, "storage"))
        ? readdirSync(join(cwd, "storage")).filter((name) => !name.startsWith(".")).length
        : 0;
    await until(() => files() >= stored || child.exitCode !== null);
    child.kill("SIGKILL");
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
  }
  const rest = await move(cwd, folder);
  expect(rest).toMatchObject({ code: 0, stderr: "" });
  const made = Number(/(\d+) records? made/.exec(rest.stdout)?.[1]);
  expect(made).toBeGreaterThan(0);
  const rows = (of: string): unknown[] => {
    const database = new Database(join(of, "socle.db"), { readonly: true });
    const tables = moved.map(({ name }) => newName(name));
    const all = [...new Set(tables), "_users", "_links"].map((name) =>
      database
        .query(`SELECT * FROM "${name}"`)
        .all()
        .map((row) => ({ ...(row as object), _seq: 0 })),
    );
    const files = database
      .query("SELECT id, filename, mimeType, size, visibility, userId FROM _files ORDER BY id")
      .all();
    database.close();
    return [...all, files];
  };
  const stable = (list: unknown[]): unknown =>
    JSON.parse(JSON.stringify(list, (key, value) => (key === "createdAt" && typeof value === "number" ? 0 : value)));
  expect(stable(rows(cwd))).toEqual(stable(rows(whole)));
  const before = events(cwd);
  const again = await move(cwd, folder);
  expect(again.stdout).toContain(
    "0 records made, 0 changed, 402 as before, 0 gone at the source and kept (--delete deletes them); 0 files stored",
  );
  expect(events(cwd)).toBe(before);
}, 120_000);

test("a second run brings over what has changed since, and deletes when asked", async () => {
  const cwd = movedProject();
  const folder = dataFolder();
  change(
    folder,
    ["UPDATE posts SET title = 'Another title', updated = '2026-11-29 10:00:00.000Z' WHERE id = 'post00000000003'"],
    [
      "INSERT INTO tags (id, name, slug, created, parent) VALUES ('tag000000000099', 'New', 'new', '2026-11-29 09:00:00.000Z', '')",
    ],
    ["DELETE FROM guestbook WHERE id = (SELECT min(id) FROM guestbook)"],
    ["DELETE FROM users WHERE id = 'user00000000014'"],
  );
  const kept = await move(cwd, folder);
  expect(kept.stdout).toContain(
    "1 record made, 1 changed, 399 as before, 2 gone at the source and kept (--delete deletes them)",
  );
  const deleted = await move(cwd, folder, ["--yes", "--delete", ...decisions]);
  expect(deleted.stdout).toContain("0 records made, 0 changed, 401 as before, 2 deleted");
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  expect(database.query("SELECT title, updatedAt FROM posts WHERE sourceId = 'post00000000003'").get()).toEqual({
    title: "Another title",
    updatedAt: "2026-11-29T10:00:00.000Z",
  });
  expect(database.query("SELECT count(*) AS n FROM guestbook").get()).toEqual({ n: 4 });
  expect(database.query("SELECT count(*) AS n FROM _users WHERE email LIKE 'hana%'").get()).toEqual({ n: 0 });
  database.close();
});

test("an address that another user has here stops a later run with one line, and an option goes on", async () => {
  const cwd = movedProject();
  const folder = dataFolder();
  const server = await serve(cwd);
  const registered = await post(`${server.url}/api/auth/register`, {
    email: "visitor@harbour.example",
    password: "a new member 1",
  });
  expect(registered.status).toBe(201);
  await server.stop();
  change(folder, ["UPDATE users SET email = 'VISITOR@harbour.example' WHERE id = 'user00000000005'"]);
  const stopped = await move(cwd, folder);
  expect([stopped.code, stopped.stderr]).toEqual([
    2,
    "socle: users and staff/user00000000005: another user here has the address visitor@harbour.example: give another address with --email user00000000005=ADDRESS\n",
  ]);
  const on = await move(cwd, folder, ["--yes", ...decisions, "--email", "user00000000005=five@harbour.example"]);
  expect(on).toMatchObject({ code: 0, stderr: "" });
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  const emails = database.query("SELECT email, verifiedAt FROM _users WHERE email GLOB '[fv]*@harbour.example'").all();
  database.close();
  expect(emails).toEqual(expect.arrayContaining([{ email: "five@harbour.example", verifiedAt: null }]));
  expect(emails).toEqual(expect.arrayContaining([{ email: "visitor@harbour.example", verifiedAt: null }]));
});
