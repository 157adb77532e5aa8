/** Users with fields, with the executable: from accounts alone to fields, by files, the client, the command line and a crash. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SocleClient, SocleError, type Tokens } from "../packages/client/src/index.ts";
import { patience, project, type Running, serve, singleService, socle, until } from "./kit.ts";

const posts = {
  name: "posts",
  fields: [
    { name: "title", type: "string" },
    { name: "author", type: "relation", collection: "users", owner: true },
  ],
  permissions: { read: 'author.level = "writer"', create: "authenticated" },
};
const users = {
  name: "users",
  fields: [
    { name: "name", type: "string", required: true, max: 30, default: "somebody" },
    {
      name: "level",
      type: "string",
      values: ["reader", "writer"],
      default: "reader",
      permissions: { update: "admin" },
    },
    { name: "manager", type: "relation", collection: "users", onDelete: "clear" },
  ],
  permissions: { read: "authenticated" },
};
interface UserRecord {
  id: string;
  createdAt: string;
  updatedAt: string;
  email?: string;
  name: string | null;
  level: string | null;
}
const password = "correct horse";

async function signedIn(server: Running, email: string, fields?: object): Promise<{ client: SocleClient; id: string }> {
  const client = new SocleClient({ baseUrl: server.url });
  const credentials = { email, password };
  await (fields === undefined ? client.login(credentials) : client.register({ ...credentials, ...fields }));
  return { client, id: (await client.me()).id };
}

async function refusal(promise: Promise<unknown>): Promise<unknown[]> {
  const thrown = await promise.then(() => null).catch((error: unknown) => error);
  if (!(thrown instanceof SocleError)) throw new Error(`expected a SocleError, not ${String(thrown)}`);
  return [thrown.status, ...(thrown.details ?? []).map(({ field, rule }) => `${field} ${rule}`)];
}

describe("users", () => {
  test("get fields later, and the fields behave like the fields of records", async () => {
    const cwd = await project({ config: { "admin.email": "admin@example.com" } });
    const first = await serve(cwd);
    const before = await signedIn(first, "ann@example.com", { name: "ignored" });
    expect((await fetch(`${first.url}/api/users`)).status).toBe(404);
    await first.stop();

    await Bun.write(join(cwd, "collections/users.json"), JSON.stringify(users));
    await Bun.write(join(cwd, "collections/posts.json"), JSON.stringify(posts));
    const types = await socle(["types"], { cwd });
    expect(types.code).toBe(0);
    const declared = await Bun.file(join(cwd, ".socle/types.d.ts")).text();
    expect(declared).toMatch(
      / {2}users: \{\n {4}record: \{\n[^}]*email: SocleEmail;[^}]*verified: boolean;[^}]*name: string;/,
    );
    expect(declared).not.toContain("passwordHash");
    const server = await serve(cwd);
    const ann = await signedIn(server, "ann@example.com");
    expect(ann.id).toBe(before.id);
    expect(await ann.client.collection<UserRecord>("users").get(ann.id)).toMatchObject({
      email: "ann@example.com",
      name: "somebody",
      level: null,
    });
    expect(await refusal(ann.client.register({ email: "x", password: "x", nam: "B", manager: "usr_1" }))).toEqual([
      400,
      "nam unknown",
      "email type",
      "password min",
      "manager relation",
    ]);
    const heard: string[] = [];
    const stop = ann.client.collection<UserRecord>("users").subscribe(({ type, record }) => {
      heard.push(`${type} ${record?.name ?? "-"} ${record?.email ?? "-"}`);
    });
    const { client: other } = await signedIn(server, "end@example.com", { name: "End" });
    await until(() => heard.length > 0, patience);
    const ben = await signedIn(server, "ben@example.com", { name: "Ben", manager: ann.id });
    await ben.client.collection("users").update(ben.id, { name: "Benno" });
    await until(() => heard.includes("updated Benno -"));
    expect(heard).toContain("created Ben -");
    expect(heard.join()).not.toContain("ben@");
    stop();

    const { client: admin } = await signedIn(server, "admin@example.com", { name: "Admin" });
    for (const { client } of [ann, ben]) await client.collection("posts").create({ title: "x" });
    expect(await other.collection("posts").list()).toEqual([]);
    await admin.collection("users").update(ben.id, { level: "writer" });
    const shown = await other
      .collection("posts")
      .page<object>({ expand: "author.manager", filter: "author.name = 'Benno'" });
    expect(shown.items).toMatchObject([
      { expand: { author: { name: "Benno", expand: { manager: { name: "somebody" } } } } },
    ]);
    expect(JSON.stringify(shown)).not.toContain("@example.com");
    expect(await refusal(other.collection("users").page({ filter: "email ~ 'ann'" }))).toEqual([400]);
    expect(await refusal(other.collection("users").update(ann.id, { name: "x" }))).toEqual([403]);
    expect(await refusal(ben.client.collection("users").update(ben.id, { level: "reader" }))).toEqual([
      403,
      "level readonly",
    ]);
    expect(await refusal(admin.collection("users").create({ name: "x" }))).toEqual([405]);
    expect(await refusal(admin.collection("users").delete(ben.id))).toEqual([405]);
    await admin.admin.users.delete(ann.id);
    expect(await ben.client.collection("users").get(ben.id)).toMatchObject({ manager: null });
    for (const { client } of [ann, ben, { client: other }, { client: admin }]) client.close();
    expect((await socle(["export", "users", "users.ndjson"], { cwd })).code).toBe(0);
    const exported = await Bun.file(join(cwd, "users.ndjson")).text();
    const rows = exported
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as UserRecord);
    expect(rows.map(({ email }) => email)).toEqual(["end@example.com", "ben@example.com", "admin@example.com"]);
    expect(exported).not.toContain("argon2");
    const imported = await socle(["import", "users", "users.ndjson"], { cwd });
    expect([imported.code, imported.stderr]).toEqual([2, expect.stringContaining("Users are created by POST")]);
    const seed = { users: [{ $as: "cay", email: "cay@example.com", password, name: "Cay", manager: { $ref: "dot" } }] };
    const dot = { $as: "dot", email: "dot@example.com", password, name: "Dot", level: "writer" };
    await Bun.write(join(cwd, "seed.json"), JSON.stringify({ ...seed, users: [dot, ...seed.users] }));
    expect(await socle(["seed", "seed.json"], { cwd })).toMatchObject({ code: 0, stdout: "users: 2 users added\n" });
    await Bun.write(join(cwd, "bad.json"), JSON.stringify({ users: [{ email: "e@example.com", password, name: 5 }] }));
    const bad = await socle(["seed", "bad.json"], { cwd });
    expect([bad.code, bad.stderr]).toEqual([2, expect.stringMatching(/users\[0\]: name must be a string/)]);
    const { client: cay, id } = await signedIn(server, "cay@example.com");
    const found = await cay.collection("users").get<object>(id, { expand: "manager" });
    expect(found).toMatchObject({ name: "Cay", expand: { manager: { name: "Dot", level: "writer" } } });
    cay.close();
    await server.stop();
  });

  test("a definition that users contradict stops the start; renames and drops migrate; an admin is made without fields", async () => {
    singleService("commands");
    const name = { name: "name", type: "string", required: true };
    const cwd = await project();
    const first = await serve(cwd);
    const ann = await signedIn(first, "ann@example.com", {});
    await first.stop();
    const define = (...fields: object[]) =>
      Bun.write(join(cwd, "collections/users.json"), JSON.stringify({ name: "users", fields }));
    await define(name);
    const refused = await socle([], { cwd });
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining(
        `users.json: field "name" cannot be required: it is new and 1 record has no value in it (${ann.id})`,
      ),
    ]);
    await define({ ...name, default: "somebody" }, { name: "old", type: "string" });
    const second = await serve(cwd);
    const { client } = await signedIn(second, "ann@example.com");
    await client.collection("users").update(ann.id, { name: "Ann", old: "x" });
    client.close();
    await second.stop();
    await define({ name: "title", type: "string", required: true, renamedFrom: "name" });
    expect((await socle(["admin", "create", "boss@example.com", "--password", password], { cwd })).code).toBe(0);
    const third = await serve(cwd);
    const { client: boss } = await signedIn(third, "boss@example.com");
    const list = await boss.collection<UserRecord & { title: string | null }>("users").list();
    expect(list).toMatchObject([
      { email: "boss@example.com", role: "admin", title: "somebody" },
      { email: "ann@example.com", role: "authenticated", title: "Ann" },
    ]);
    expect(Object.keys(list[0] ?? {})).not.toContain("old");
    boss.close();
    await third.stop();
    expect((await socle(["admin", "create", "chief@example.com", "--password", password], { cwd })).code).toBe(0);
    const fourth = await serve(cwd);
    const { client: chief, id } = await signedIn(fourth, "chief@example.com");
    expect(await chief.collection("users").get(id)).toMatchObject({ email: "chief@example.com", title: null });
    chief.close();
  });

  test("a user and the record are in the same transaction: after kill -9, each user has the record", async () => {
    const cwd = await project({ collections: [users], config: { "admin.email": "admin@example.com" } });
    const server = await serve(cwd);
    const kept: (Tokens | null)[] = [];
    const registering = Array.from({ length: 40 }, (_, i) =>
      new SocleClient({ baseUrl: server.url, retries: 0 })
        .register({ email: `u${i}@example.com`, password, name: `U${i}` })
        .then(() => kept.push(null))
        .catch(() => undefined),
    );
    await until(() => kept.length >= 5);
    server.signal("SIGKILL");
    await Promise.all(registering);
    const again = await serve(cwd);
    const { client } = await signedIn(again, "admin@example.com", { name: "Admin" });
    const { items, total } = await client.admin.users.list({ limit: 100 });
    const records = await client.collection<UserRecord>("users").list();
    expect(total).toBeGreaterThan(kept.length);
    expect(records.map(({ id, email }) => [id, email])).toEqual(items.map(({ id, email }) => [id, String(email)]));
    client.close();
  });
});
