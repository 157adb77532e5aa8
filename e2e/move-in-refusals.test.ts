/** Refusals of a move: a folder that cannot be moved, and a project that cannot take the folder. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { project, serve, singleService, socle } from "./kit.ts";
import { dataFolder, decisions, move } from "./move-in-kit.ts";

singleService("commands");

/** Changes the database of a data folder. */
function sql(folder: string, ...statements: string[]): void {
  const database = new Database(join(folder, "data.db"));
  for (const statement of statements) database.run(statement);
  database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

describe("a folder that cannot be moved: a single line, and nothing is written", () => {
  /** Changes the folder, moves, and answers the error. */
  async function refusal(
    change: (folder: string) => void,
    { config = {}, more = [] as string[] } = {},
  ): Promise<string> {
    const cwd = await project({ config });
    const folder = dataFolder();
    change(folder);
    const { code, stderr } = await move(cwd, folder, ["--yes", ...decisions, ...more]);
    expect([code, readdirSync(join(cwd, "collections")), existsSync(join(cwd, "storage"))]).toEqual([2, [], false]);
    expect(stderr.trimEnd().split("\n")).toBeArrayOfSize(1);
    expect(readdirSync(cwd).filter((name) => name.includes("move-in"))).toEqual([]);
    return stderr;
  }
  test("no data folder", async () => {
    expect(await refusal((folder) => rmSync(join(folder, "data.db")))).toMatch(
      /is no data folder of PocketBase: there is no data\.db/,
    );
  });

  test("a database that is cut", async () => {
    expect(await refusal((folder) => truncateSync(join(folder, "data.db"), 1_000_000))).toMatch(
      /data\.db.*(damaged|malformed)/,
    );
  });

  test("a database with garbled pages", async () => {
    const message = await refusal((folder) => {
      const path = join(folder, "data.db");
      const bytes = readFileSync(path);
      for (let at = 40_960; at < bytes.length; at += 4_096) bytes.fill(0xa5, at, at + 64);
      writeFileSync(path, bytes);
    });
    expect(message).toMatch(/data\.db.*(damaged|malformed)/);
  });

  test("a file that is no database", async () => {
    expect(await refusal((folder) => writeFileSync(join(folder, "data.db"), "x".repeat(9_000)))).toMatch(
      /data\.db: is not a SQLite database/,
    );
  });

  test("data of a newer version, unless the option says so", async () => {
    const newer = (folder: string): void => sql(folder, "INSERT INTO _migrations VALUES ('1999999999_more.go', 1)");
    expect(await refusal(newer)).toContain("1999999999_more.go, which PocketBase 0.40 does not know");
    const cwd = await project();
    const folder = dataFolder();
    newer(folder);
    expect((await move(cwd, folder, ["--any-version"])).code).toBe(0);
  });

  test("a value that is no JSON", async () => {
    expect(await refusal((folder) => sql(folder, "UPDATE posts SET meta = '{' WHERE id = 'post00000000007'"))).toMatch(
      /posts\/post00000000007: meta is no JSON/,
    );
  });

  test("a type of field that has no counterpart", async () => {
    expect(
      await refusal((folder) =>
        sql(folder, `UPDATE _collections SET fields = replace(fields, '"editor"', '"vector"')`),
      ),
    ).toMatch(/the field posts\.body has the type vector/);
  });

  test("data of a version before 0.23", async () => {
    expect(await refusal((folder) => sql(folder, "ALTER TABLE _collections RENAME COLUMN fields TO schema"))).toContain(
      "before 0.23",
    );
  });

  test("a PocketBase that runs", async () => {
    expect(await refusal((folder) => writeFileSync(join(folder, "data.db-wal"), "x"))).toContain(
      "PocketBase runs, or was killed",
    );
  });

  test("a file that is missing, unless the option says so", async () => {
    const lose = (folder: string): void =>
      rmSync(join(folder, "storage/pbc_1125843985/post00000000003/dot_fqna6zh9v0.gif"));
    expect(await refusal(lose)).toBe("socle: nothing was moved: 1 point of the report must be decided by options\n");
    const cwd = await project();
    const folder = dataFolder();
    lose(folder);
    const done = await move(cwd, folder, ["--yes", "--missing-files", "clear", ...decisions]);
    expect(done.code).toBe(0);
    expect(done.stdout).toContain(
      "posts.cover: 1 value with a file that is missing (post00000000003): the field is cleared",
    );
  });

  test("too little room for the files", async () => {
    expect(await refusal(() => undefined, { config: { limits: { storage: 1_000 } } })).toMatch(
      /limits\.storage is 1000 bytes, and the files to move have \d+/,
    );
  });

  test("a project with a collection of the same name", async () => {
    const cwd = await project({ collections: [{ name: "posts", fields: [{ name: "title", type: "string" }] }] });
    const { code, stderr } = await move(cwd, dataFolder());
    expect([code, stderr]).toEqual([
      2,
      'socle: the project has a collection "posts" already, which no move has made: move into an empty folder\n',
    ]);
    expect(readdirSync(join(cwd, "collections"))).toEqual(["posts.json"]);
  });

  test("a service that runs in the project", async () => {
    const cwd = await project();
    const server = await serve(cwd);
    const { code, stderr } = await move(cwd, dataFolder());
    expect(code).toBe(2);
    expect(stderr).toMatch(/in use|runs/);
    expect(readdirSync(join(cwd, "collections"))).toEqual([]);
    await server.stop();
  });

  test("wrong words", async () => {
    const folder = dataFolder();
    for (const [args, message] of [
      [["move-in", "excel", folder], "move-in knows pocketbase, supabase and firebase, not excel"],
      [["move-in", "pocketbase", folder, "--dangling", "drop"], "--dangling is keep or clear, not drop"],
      [
        ["move-in", "pocketbase", folder, "--email", "nobody"],
        "--email is a name and a value, with = between, not nobody",
      ],
    ] as const) {
      const { code, stderr } = await socle(args, { cwd: await project() });
      expect([code, stderr.includes(message)]).toEqual([2, true]);
    }
  });
});

test("rules that are too long for Socle are closed, and no other rule", async () => {
  const cwd = await project();
  const report = async (folder: string): Promise<string[]> => (await move(cwd, folder, [])).stdout.split("\n");
  const long = Array.from({ length: 1_000 }, (_, n) => `title = ''${n}''`).join(" || ");
  const folder = dataFolder();
  sql(
    folder,
    `UPDATE _collections SET createRule = '${long}' WHERE name = 'specimens'`,
    `UPDATE _collections SET updateRule = '${long}' WHERE name = 'posts'`,
  );
  const usual = new Set(await report(dataFolder()));
  const more = (await report(folder)).filter((line) => !usual.has(line)).map((line) => line.split(" = ")[0]);
  expect(more).toEqual(["  - posts: update: title", "  - specimens: create: title"]);
});
