/** Definition files beside changes of admins, over restarts of the executable: merges, kept values, restores, plans. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { post, project, serve, singleService, socle, until } from "./kit.ts";

const env = { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: "correct horse" };
const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });

/** A project that is served again and again, with an admin. */
async function world(collections: object[]) {
  singleService("commands");
  const cwd = await project({ collections });
  let server = await serve(cwd, { env });
  const headers = async (): Promise<Record<string, string>> => {
    const login = await post(`${server.url}/api/auth/login`, { email: "admin@example.com", password: "correct horse" });
    const { accessToken } = (await login.json()) as { accessToken: string };
    return { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" };
  };
  return {
    cwd,
    url: () => server.url,
    output: () => server.output(),
    stop: () => server.stop(),
    write: (name: string, definition: object) =>
      Bun.write(join(cwd, "collections", `${name}.json`), JSON.stringify(definition)),
    async restart(): Promise<void> {
      await server.stop();
      server = await serve(cwd, { env });
    },
    async admin(method: string, path: string, body?: object) {
      const answer = await fetch(`${server.url}/api/admin${path}`, {
        method,
        headers: await headers(),
        ...(body && { body: JSON.stringify(body) }),
      });
      const answered = await answer.text();
      expect([answer.ok, answered]).toEqual([true, answered]);
      return (answered === "" ? {} : JSON.parse(answered)) as { [key: string]: unknown };
    },
    async items(collection = "posts"): Promise<object[]> {
      return ((await (await fetch(`${server.url}/api/${collection}`)).json()) as { items: object[] }).items;
    },
  };
}

test("v2, v1, v2 of the files beside a field, a rule and an index of the dashboard: nothing is lost or shown", async () => {
  const v2 = { name: "posts", fields: [text("title"), text("phone")] };
  const v1 = { name: "posts", fields: [text("title")] };
  const w = await world([v2]);
  for (const n of [1, 2]) await post(`${w.url()}/api/posts`, { title: `t${n}`, phone: `+${n}` });
  await w.admin("PUT", "/collections/posts", {
    fields: [text("title"), text("phone"), text("note", { permissions: { read: "admin" } })],
    indexes: [{ fields: ["title"], unique: true }],
  });
  await w.write("posts", v1);
  await w.restart();
  expect(await w.items()).toMatchObject([{ title: "t2" }, { title: "t1" }]);
  expect(JSON.stringify(await w.items())).not.toMatch(/phone|note/);
  await w.write("posts", { ...v2, fields: [...v2.fields, text("city")] });
  await w.restart();
  expect(await w.items()).toMatchObject([
    { phone: null, city: null },
    { phone: null, city: null },
  ]);
  const { definition } = await w.admin("GET", "/collections/posts");
  expect(definition).toMatchObject({
    indexes: [{ fields: ["title"], unique: true }],
    fields: [{ name: "title" }, { name: "phone" }, { name: "city" }, { name: "note", permissions: { read: "admin" } }],
  });
  // The command asks the running service, and works alone on the data of a stopped service.
  const listed = await socle(["schema", "restore"], { cwd: w.cwd });
  const [, id = ""] = /^(\d+) {2}posts\.phone \(2 values\), dropped \S+ by file\n$/.exec(listed.stdout) ?? [];
  expect([listed.code, id]).toEqual([0, expect.stringMatching(/^\d+$/)]);
  expect(w.output()).toContain(`socle schema restore ${id}`);
  await w.stop();
  expect(await socle(["schema", "restore", id], { cwd: w.cwd })).toEqual({
    code: 0,
    stdout: "2 restored, 0 left\n",
    stderr: "",
  });
  const again = await socle(["schema", "restore", id], { cwd: w.cwd });
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining(`There are no dropped values "${id}"`)]);
  await w.restart();
  expect(await w.items()).toMatchObject([{ phone: "+2" }, { phone: "+1" }]);
  expect((await socle(["schema", "restore"], { cwd: w.cwd })).stdout).toBe("There are no dropped values\n");
});

test("schema pull makes the pulled texts the base of the service of this folder", async () => {
  const w = await world([{ name: "posts", fields: [text("a")] }]);
  await w.admin("PUT", "/collections/posts", { fields: [text("a"), text("b")] });
  const pulled = await socle(["schema", "pull", w.url(), "--email", "admin@example.com"], {
    cwd: w.cwd,
    stdin: "correct horse\n",
  });
  expect([pulled.code, pulled.stderr]).toEqual([0, ""]);
  await w.admin("PUT", "/collections/posts", { fields: [text("a")] });
  await w.write("posts", { name: "posts", fields: [text("a"), text("b"), text("c")] });
  await w.restart();
  const { fields } = await w.admin("GET", "/collections/posts");
  // The file has not changed `b` since the pull.
  expect(fields).toMatchObject([{ name: "a" }, { name: "c" }]);
});

test("check --as a user shows the records that the user gains and loses by the files beside the database, and changes nothing", async () => {
  const rules = { read: "public", create: "public", update: "admin", delete: "admin" };
  const fields = [text("title"), text("state")];
  const w = await world([
    { name: "posts", fields, permissions: rules },
    { name: "other", fields: [text("a")] },
  ]);
  const user = await w.admin("POST", "/users", { email: "ann@example.com", password: "correct horse" });
  const ids: string[] = [];
  for (const state of ["open", "done"]) {
    const made = await post(`${w.url()}/api/posts`, { title: "t", state });
    ids.push(((await made.json()) as { id: string }).id);
  }
  const check = (as: string) => socle(["check", "--as", as], { cwd: w.cwd });
  const head = "Rules of the files beside the database, for ann@example.com (authenticated):\n";
  expect((await check("ann@example.com")).stdout).toEndWith(`${head}  no collection has other rules\n`);
  const changed = {
    name: "posts",
    fields: [text("title"), { ...text("state"), permissions: { read: "admin" } }],
    permissions: { ...rules, read: 'state = "open"', create: "admin", update: "authenticated" },
  };
  await Bun.write(join(w.cwd, "collections/posts.json"), JSON.stringify(changed));
  const before = await w.admin("GET", "/schema.json");
  const expected = `${head}posts (2 records)
  read: state = "open", which was public
    2 records before, 1 after
    loses 1:
      ${ids[1]}, by state = "open"
  create: admin, which was public
    all before, none after
  update: authenticated, which was admin
    0 records before, 2 after
    gains 2:
      ${ids[1]}, by admin
      ${ids[0]}, by admin
  field state: shown in all of the records before, in none after
`;
  for (const as of ["ann@example.com", String(user["id"])]) {
    const { code, stdout, stderr } = await check(as);
    expect([code, stdout.slice(stdout.indexOf("Rules")), stderr]).toEqual([0, expected, ""]);
  }
  const unknown = await check("eve@example.com");
  expect([unknown.code, unknown.stderr]).toEqual([1, 'There is no user "eve@example.com" in the database\n']);
  expect(await w.admin("GET", "/schema.json")).toEqual(before);
  await w.stop();
  expect((await check("ann@example.com")).stdout).toEndWith(expected);
  const empty = await project({ collections: [changed] });
  const none = await socle(["check", "--as", "ann@example.com"], { cwd: empty });
  expect([none.code, none.stdout]).toEqual([
    0,
    expect.stringMatching(/There is no database at .* yet, so --as has no rules/),
  ]);
});

test("check --against a folder and a service, and schema diff, show the plan and end with 3 when values would be dropped", async () => {
  const w = await world([{ name: "posts", fields: [text("title"), text("phone")] }]);
  await post(`${w.url()}/api/posts`, { title: "t", phone: "+1" });
  await w.admin("PUT", "/collections/posts", { fields: [text("title"), text("phone"), text("mine")] });
  const { key } = await w.admin("POST", "/../auth/keys", { name: "ci", scopes: ["admin"] });
  const cwd = await project({ collections: [{ name: "posts", fields: [text("title"), text("city")] }] });
  const ofFiles = "posts (1 record)\n  - phone: 1 record has a value, which goes to the dropped values\n  + city\n";
  const check = (target: string) => socle(["check", "--against", target], { cwd, env: { SOCLE_KEY: String(key) } });
  const before = await w.admin("GET", "/schema.json");
  for (const target of [w.cwd, w.url()]) {
    const planned = await check(target);
    expect([planned.code, planned.stdout.endsWith(ofFiles), planned.stderr]).toEqual([3, true, ""]);
  }
  const diff = await socle(["schema", "diff", w.url(), "--email", "admin@example.com"], {
    cwd,
    stdin: "correct horse\n",
  });
  expect([diff.code, diff.stdout]).toEqual([3, expect.stringContaining("- mine: 0 records have a value")]);
  // A field without values loses nothing.
  await Bun.write(
    join(cwd, "collections/posts.json"),
    JSON.stringify({ name: "posts", fields: [text("title"), text("phone")] }),
  );
  for (const target of [w.cwd, w.url()]) expect((await check(target)).code).toBe(0);
  expect((await check(join(cwd, "missing"))).code).toBe(2);
  expect(await w.admin("GET", "/schema.json")).toEqual(before);
  await w.stop();
  expect((await check(w.cwd)).code).toBe(0);
});

test("socle check ends with 1 for a key of the configuration without a meaning, and serve warns", async () => {
  const cwd = await project({ config: { auth: { registraton: false } } });
  const checked = await socle(["check"], { cwd });
  expect([checked.code, checked.stderr]).toEqual([
    1,
    expect.stringContaining('unknown key "auth.registraton"; did you mean'),
  ]);
  const byVariable = await socle(["check"], { cwd: await project(), env: { SERVICE_PROT: "1" } });
  expect([byVariable.code, byVariable.stderr]).toEqual([1, expect.stringContaining("unknown variable SERVICE_PROT")]);
  expect((await socle(["check"], { cwd: await project() })).code).toBe(0);
});

test("socle dev merges a saved file with the changes of the dashboard", async () => {
  const cwd = await project({ collections: [{ name: "posts", fields: [text("a")] }] });
  const server = await serve(cwd, { env, args: ["dev"] });
  const login = await post(`${server.url}/api/auth/login`, { email: "admin@example.com", password: "correct horse" });
  const { accessToken } = (await login.json()) as { accessToken: string };
  const headers = { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" };
  const path = `${server.url}/api/admin/collections/posts`;
  const body = JSON.stringify({ fields: [text("a"), text("mine")] });
  expect((await fetch(path, { method: "PUT", headers, body })).status).toBe(200);
  await Bun.write(
    join(cwd, "collections/posts.json"),
    JSON.stringify({ name: "posts", fields: [text("a"), text("b")] }),
  );
  await until(() => server.output().includes("add b"));
  const { fields } = (await (await fetch(path, { headers })).json()) as { fields: { name: string }[] };
  expect(fields.map(({ name }) => name)).toEqual(["a", "b", "mine"]);
});
