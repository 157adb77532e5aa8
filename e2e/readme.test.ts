import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { post, root, serve, socle, temporaryFolder, until } from "./kit.ts";

/** A copy of the example, so that the test touches no real data. */
function copyOfBlog(): string {
  const folder = temporaryFolder();
  for (const part of ["config.json", "seed.json", "collections"])
    cpSync(join(root, "examples/blog", part), join(folder, part), { recursive: true });
  return folder;
}

test("the README's requests work as printed, also a second time", async () => {
  const readme = await Bun.file(join(root, "README.md")).text();
  const section = readme.slice(readme.indexOf("## First requests"));
  const script = /```sh\n([\s\S]*?)```/.exec(section)?.[1] ?? "";
  expect(script.trim().split("\n")).toHaveLength(7);
  const server = await serve(copyOfBlog(), { args: ["--port", "0"] });
  for (const round of ["first", "second"]) {
    const child = Bun.spawnSync(["sh", "-e", "-c", script.replaceAll("localhost:8080", new URL(server.url).host)]);
    expect(child.exitCode).toBe(0);
    const [registered, list, updated, deleted] = child.stdout.toString().split(/(?<=\})(?=\{)|(?<=\})(?=204)/);
    expect(JSON.parse(registered ?? "")).toMatchObject(
      round === "first" ? { user: { email: "me@example.com" } } : { error: { code: "conflict" } },
    );
    expect(JSON.parse(list ?? "")).toMatchObject({ items: [{ name: "Me", bio: null }] });
    expect(JSON.parse(updated ?? "")).toMatchObject({ name: "Me", bio: "Hello" });
    expect(deleted?.trim()).toBe("204");
  }
});

test("the README's function works in the project that socle init writes", async () => {
  const readme = await Bun.file(join(root, "README.md")).text();
  const [, path = "", code = ""] = /```ts\n\/\/ (functions\/\S+)\n([\s\S]*?)```/.exec(readme) ?? [];
  const cwd = temporaryFolder();
  expect((await socle(["init", "."], { cwd })).code).toBe(0);
  await Bun.write(join(cwd, path), code);
  expect(await socle(["check"], { cwd })).toMatchObject({ code: 0 });
  const server = await serve(cwd, { args: ["--port", "0"] });
  const body = { email: "me@example.com", password: "long enough" };
  const { token } = (await (await post(`${server.url}/api/auth/register`, body)).json()) as { token: string };
  expect((await post(`${server.url}/api/notes`, { title: "quiet" })).status).toBe(401);
  await post(`${server.url}/api/notes`, { title: "quiet" }, { Authorization: `Bearer ${token}` });
  const titles = async (): Promise<unknown> => (await fetch(`${server.url}/api/notes?fields=title`)).json();
  await until(async () => JSON.stringify(await titles()).includes("QUIET"));
  expect(await titles()).toEqual({ items: [{ title: "QUIET" }], nextCursor: null });
});

test("the blog is seeded once, by the executable", async () => {
  const cwd = copyOfBlog();
  const first = await socle(["seed", "seed.json"], { cwd });
  expect([first.code, first.stdout]).toEqual([
    0,
    "users: 2 users added\nprofiles: 2 records added\nposts: 3 records added\ncomments: 2 records added\n",
  ]);
  const second = await socle(["seed", "seed.json"], { cwd });
  expect(second.stdout).toContain("posts: has records already, nothing added");
  const server = await serve(cwd, { args: ["--port", "0"] });
  const { items } = (await (await fetch(`${server.url}/api/posts`)).json()) as { items: { title: string }[] };
  expect(items.map(({ title }) => title)).toEqual(["A draft about loops", "A moth in the relay", "Hello, world"]);
});

test("a seed that is wrong names the place", async () => {
  const cwd = copyOfBlog();
  const seeds: [object, RegExp][] = [
    [
      { profiles: [{ name: "x", $owner: "who@example.com" }] },
      /bad\.json: profiles\[0\]: "\$owner" "who@example\.com" is not one of the "users"/,
    ],
    [{ posts: [{ title: "x" }] }, /posts\[0\]: .*body is required/],
    [{ comments: [{ text: "x", post: { $ref: "none" } }] }, /comments\[0\]: no user or record is called "none"/],
    [{ nothing: [] }, /there is no collection "nothing"/],
    [{ posts: {} }, /"posts" must be an array/],
  ];
  for (const [seed, message] of seeds) {
    await Bun.write(join(cwd, "bad.json"), JSON.stringify(seed));
    const { code, stderr } = await socle(["seed", "bad.json"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  }
});
