import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { root, serve, socle, temporaryFolder } from "./kit.ts";

/** The example in a folder of its own, so that nobody's data is touched. */
function copyOfBlog(): string {
  const folder = temporaryFolder();
  for (const part of ["config.json", "seed.json", "collections"])
    cpSync(join(root, "examples/blog", part), join(folder, part), { recursive: true });
  return folder;
}

test("the README's five requests work as they stand", async () => {
  const readme = await Bun.file(join(root, "README.md")).text();
  const section = readme.slice(readme.indexOf("## Five requests"));
  const script = /```sh\n([\s\S]*?)```/.exec(section)?.[1] ?? "";
  expect(script.trim().split("\n")).toHaveLength(5);
  const server = await serve(copyOfBlog(), { args: ["--port", "0"] });
  const child = Bun.spawnSync(["sh", "-e", "-c", script.replaceAll("localhost:8080", new URL(server.url).host)]);
  const [list, updated, deleted] = child.stdout.toString().split(/(?<=\})(?=\{)|(?<=\})(?=204)/);
  expect(JSON.parse(list ?? "")).toMatchObject({ items: [{ name: "Me", bio: null }] });
  expect(JSON.parse(updated ?? "")).toMatchObject({ name: "Me", bio: "Hello" });
  expect(deleted?.trim()).toBe("204");
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
      /bad\.json: profiles\[0\]: "\$owner" "who@example\.com" is none/,
    ],
    [{ posts: [{ title: "x" }] }, /posts\[0\]: .*body is required/],
    [{ comments: [{ text: "x", post: { $ref: "none" } }] }, /no earlier record has "\$as": "none"/],
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
