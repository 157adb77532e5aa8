/** `socle schema pull` and `push`: a schema goes from one installation to the next. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../packages/server/test/authenticator.ts";
import { type Finished, post, project, serve, socle } from "./kit.ts";

const env = { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: "correct horse" };
const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
const posts = { name: "posts", fields: [text("title"), text("teaser")], permissions: { read: "public" } };
const comments = { name: "comments", fields: [{ name: "post", type: "relation", collection: "posts" }] };

async function there(...collections: object[]) {
  const cwd = await project({ collections });
  const server = await serve(cwd, { env });
  const login = await post(`${server.url}/api/auth/login`, { email: "admin@example.com", password: "correct horse" });
  const { accessToken } = (await login.json()) as { accessToken: string };
  return {
    ...server,
    token: accessToken,
    async schema(): Promise<{ collections: { name: string }[] }> {
      const headers = { Authorization: `Bearer ${accessToken}` };
      return (await (await fetch(`${server.url}/api/admin/schema.json`, { headers })).json()) as never;
    },
  };
}

function push(cwd: string, url: string, args: readonly string[], stdin = "correct horse\n"): Promise<Finished> {
  return socle(["schema", "push", url, ...args], { cwd, stdin });
}

const email = ["--email", "admin@example.com"];

describe("push", () => {
  test("shows the changes, asks before anything is dropped, and applies the changes", async () => {
    const remote = await there(posts, { name: "old", fields: [] });
    for (const teaser of ["a", "b", null]) await post(`${remote.url}/api/posts`, { title: "t", teaser });
    const cwd = await project({
      collections: [
        { name: "posts", fields: [text("headline", { renamedFrom: "title" }), text("slug", { renamedFrom: null })] },
        comments,
      ],
    });
    const before = await remote.schema();
    const diff = [
      "old (0 records)\n  - the collection; the records go to the dropped values\n",
      "comments\n  + the collection\n",
      "posts (3 records)\n  > title becomes headline\n  - teaser: 2 records have a value, which goes to the dropped values\n  + slug\n  ~ permissions\n",
    ].join("");
    const shown = await push(cwd, remote.url, [...email, "--dry-run"]);
    expect(shown).toEqual({ code: 0, stdout: diff, stderr: "" });
    expect(await remote.schema()).toEqual(before);
    for (const answer of ["n\n", "\n", ""]) {
      const refused = await push(cwd, remote.url, email, `correct horse\n${answer}`);
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("Nothing was changed")]);
      expect(await remote.schema()).toEqual(before);
    }
    const done = await push(cwd, remote.url, email, "correct horse\ny\n");
    expect([done.code, done.stdout]).toEqual([0, `${diff}Done\n`]);
    expect((await remote.schema()).collections.map(({ name }) => name)).toEqual(["comments", "posts"]);
    const { items } = (await (await fetch(`${remote.url}/api/posts`)).json()) as { items: { headline: string }[] };
    expect(items.map(({ headline }) => headline)).toEqual(["t", "t", "t"]);
    // A second push has nothing to do, although the file still names the rename.
    const again = await push(cwd, remote.url, email);
    expect([again.code, again.stdout]).toEqual([0, "Nothing to do: the collections are the same\n"]);
  });

  test("finished renames of the files are not repeated, whatever names have been swapped", async () => {
    const remote = await there({ name: "posts", fields: [text("a")] });
    await post(`${remote.url}/api/posts`, { a: "precious" });
    const cwd = await project({
      collections: [{ name: "posts", fields: [text("b", { renamedFrom: "a" }), text("a", { renamedFrom: null })] }],
    });
    for (let n = 0; n < 3; n++) {
      expect((await push(cwd, remote.url, ["--token", remote.token, "--yes"])).code).toBe(0);
      const { items } = (await (await fetch(`${remote.url}/api/posts`)).json()) as { items: object[] };
      expect(items).toMatchObject([{ b: "precious", a: null }]);
    }
  });

  test("a file with a finished rename has nothing guessed", async () => {
    const remote = await there({ name: "posts", fields: [text("b"), text("secret")] });
    await post(`${remote.url}/api/posts`, { b: "kept", secret: "private" });
    const cwd = await project({
      collections: [{ name: "posts", fields: [text("b", { renamedFrom: "a" }), text("teaser")] }],
    });
    expect((await push(cwd, remote.url, ["--token", remote.token, "--yes"])).code).toBe(0);
    const { items } = (await (await fetch(`${remote.url}/api/posts`)).json()) as { items: object[] };
    expect(items).toMatchObject([{ b: "kept", teaser: null }]);
  });

  test("a renamed value goes along once, with the records", async () => {
    const remote = await there({ name: "tasks", fields: [text("s", { values: ["wip"] })] });
    await post(`${remote.url}/api/tasks`, { s: "wip" });
    const renamed = { name: "tasks", fields: [text("s", { values: [{ name: "doing", renamedFrom: "wip" }, "wip"] })] };
    const cwd = await project({ collections: [renamed] });
    const done = await push(cwd, remote.url, ["--token", remote.token]);
    expect([done.code, done.stdout]).toEqual([
      0,
      "tasks (1 record)\n  ~ s has other values; wip becomes doing\nDone\n",
    ]);
    await post(`${remote.url}/api/tasks`, { s: "wip" });
    expect((await push(cwd, remote.url, ["--token", remote.token])).stdout).toContain("Nothing to do");
    const { items } = (await (await fetch(`${remote.url}/api/tasks`)).json()) as { items: object[] };
    expect(items).toMatchObject([{ s: "wip" }, { s: "doing" }]);
  });

  test("indexes go along; a removed index is no loss, and needs no confirmation", async () => {
    const remote = await there({ ...posts, indexes: [["title", "teaser"]] });
    const indexes = [["teaser"], { fields: ["title", "createdAt"], unique: true }];
    const cwd = await project({ collections: [{ ...posts, indexes }] });
    const done = await push(cwd, remote.url, ["--token", remote.token]);
    const diff = [
      "  ~ title, teaser: the index goes\n",
      "  ~ teaser: an index comes\n",
      "  ~ title, createdAt: a unique index comes\n",
    ].join("");
    expect(done).toEqual({ code: 0, stdout: `posts (0 records)\n${diff}Done\n`, stderr: "" });
    expect<unknown>(await remote.schema()).toEqual({ collections: [{ ...posts, indexes }] });
    const other = await project({ collections: [posts] });
    await socle(["schema", "pull", remote.url, "--token", remote.token], { cwd: other });
    const file = readdirSync(join(other, "collections")).map((name) => join(other, "collections", name));
    expect(file.map((path) => JSON.parse(readFileSync(path, "utf8")))).toEqual([{ ...posts, indexes }]);
    expect((await push(other, remote.url, ["--token", remote.token])).stdout).toContain("Nothing to do");
  });

  test("a refusal of the service is shown, and nothing is changed", async () => {
    const remote = await there(posts);
    for (let n = 0; n < 2; n++) await post(`${remote.url}/api/posts`, { title: "same" });
    const before = await remote.schema();
    const cwd = await project({
      collections: [{ ...posts, fields: [text("title", { unique: true }), text("teaser")] }, comments],
    });
    const refused = await push(cwd, remote.url, ["--token", remote.token]);
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toMatch(/^Refused: collection "posts": field "title" cannot be unique: 2 records .*rec_/);
    expect(await remote.schema()).toEqual(before);
  });

  test.each([
    [["--token", "nonsense"], 1, "invalid, expired or revoked"],
    [["--email", "nobody@example.com"], 1, "email or the password is wrong"],
    [[], 2, "missing --token TOKEN or --email EMAIL"],
  ] as const)("%p is refused", async (args, code, message) => {
    const remote = await there(posts);
    const cwd = await project({ collections: [posts] });
    const answer = await push(cwd, remote.url, args);
    expect([answer.code, answer.stdout]).toEqual([code, ""]);
    expect(answer.stderr).toContain(message);
    expect(answer.stderr).not.toContain("    at ");
  });

  test("an admin with a second factor types a code after the password, or a recovery code", async () => {
    const remote = await there(posts);
    const send = async (route: string, body: object) =>
      (
        await post(`${remote.url}/api/auth/${route}`, body, { Authorization: `Bearer ${remote.token}` })
      ).json() as Promise<Record<string, string>>;
    const { secret = "" } = await send("totp", {});
    const { recoveryCodes = "" } = await send("totp/confirm", { code: codeOf(secret, -1) });
    const cwd = await project({ collections: [posts] });
    const outcomes: [string, number, string][] = [
      ["", 2, "no second factor was given"],
      ["no code\n", 1, "The second factor is wrong"],
      [`${codeOf(secret)}\n`, 0, ""],
      [`${recoveryCodes[0]}\n`, 0, ""],
      [`${recoveryCodes[0]}\n`, 1, "The second factor is wrong"],
    ];
    for (const [typed, code, message] of outcomes) {
      const answer = await push(cwd, remote.url, email, `correct horse\n${typed}`);
      expect([answer.code, answer.stderr]).toEqual([code, expect.stringContaining(message)]);
    }
  });

  test("a wrong address, an unreachable service, and an empty folder", async () => {
    const cwd = await project({ collections: [posts] });
    const failures = [
      await push(cwd, "localhost:8080", ["--token", "x"]),
      await push(cwd, "http://127.0.0.1:9", ["--token", "x"]),
    ];
    expect(failures.map(({ code }) => code)).toEqual([2, 1]);
    expect(failures[1]?.stderr).toContain("cannot be reached");
    const remote = await there(posts);
    const empty = await push(await project({}), remote.url, ["--token", remote.token, "--yes"]);
    expect([empty.code, (await remote.schema()).collections.length]).toEqual([2, 1]);
  });

  test("the configuration's own password goes only to this machine, and without a prompt", async () => {
    const remote = await there(posts);
    const cwd = await project({
      collections: [posts],
      config: { admin: { email: "admin@example.com", password: "correct horse" } },
    });
    expect((await push(cwd, remote.url, [], "")).stdout).toContain("Nothing to do");
  });
});

describe("pull", () => {
  test("writes missing files, changes differing files, and leaves the rest alone", async () => {
    const remote = await there(posts, comments);
    const cwd = await project({
      collections: [
        { ...comments, fields: [] },
        { name: "own", fields: [] },
      ],
    });
    await Bun.write(
      join(cwd, "collections/renamed.json"),
      JSON.stringify({ ...posts, permissions: { read: "admin" } }),
    );
    const pulled = await socle(["schema", "pull", remote.url, ...email], { cwd, stdin: "correct horse\n" });
    expect(pulled.code).toBe(0);
    const read = (file: string): unknown => JSON.parse(readFileSync(join(cwd, "collections", file), "utf8"));
    expect(read("comments.json")).toEqual(comments);
    expect(read("renamed.json")).toEqual(posts);
    expect(existsSync(join(cwd, "collections/posts.json"))).toBe(false);
    expect(read("own.json")).toEqual({ name: "own", fields: [] });
    expect(pulled.stdout).toMatch(/Changed .*comments\.json\nChanged .*renamed\.json\n.*own\.json is only here/);
    const again = await socle(["schema", "pull", remote.url, "--token", remote.token], { cwd });
    expect(again.stdout).not.toContain("Changed");
    // A service that starts with the pulled files has the same schema.
    const here = await serve(cwd, { env });
    expect((await (await fetch(`${here.url}/api/posts`)).json()) as object).toEqual({ items: [] });
  });
});
