/** Functions and hooks of users with fields. */
import { describe, expect, test } from "bun:test";
import type { StoredRecord } from "@socle/protocol";
import { setRole } from "../../../test/kit.ts";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";

const users = {
  name: "users",
  fields: [
    { name: "name", type: "string", required: true },
    { name: "tags", type: "string", multiple: true },
    { name: "number", type: "integer", sequence: true },
  ],
};
const password = "long enough";

function seenIn(api: TestScripts): unknown[] {
  return api.log.flatMap((line) => line.split("seen ")[1] ?? []).map((text) => JSON.parse(text) as unknown);
}

async function call(api: TestScripts): Promise<unknown> {
  return (await api.answer("GET", "/api/function/a")).json();
}

describe("functions/users/", () => {
  test("handlers see the fields of a registration, an update, a change of the account and a deletion", async () => {
    const api = await openScripts({
      collections: [users],
      files: {
        "functions/users/a.ts": `
          const tell = (word, { record, previous }) => console.log("seen", JSON.stringify([word, record.name, record.email, previous?.name, record.role]));
          export const onCreate = (context) => tell("created", context);
          export const onUpdate = (context) => tell("updated", context);
          export const onDelete = (context) => tell("deleted", context);`,
      },
    });
    const { user } = (
      await api.request("POST", "/api/auth/register", { body: { email: "a@example.com", password, name: "Ann" } })
    ).body;
    const id = String(user?.["id"]);
    await api.scripts.settled();
    const credentials = { email: "a@example.com", password };
    const { accessToken: token } = (
      await api.request<{ accessToken: string }>("POST", "/api/auth/login", { body: credentials })
    ).body;
    await api.request("PUT", `/api/users/${id}`, { token, body: { name: "Anna" } });
    await api.scripts.settled();
    await setRole(api.service, id, "public");
    await api.scripts.settled();
    await api.request("DELETE", `/api/admin/users/${id}`, { token: await api.admin() });
    await api.scripts.settled();
    const email = "a@example.com";
    expect(seenIn(api).filter((each) => (each as string[])[2] === email)).toEqual([
      ["created", "Ann", email, null, "authenticated"],
      ["updated", "Anna", email, "Ann", "authenticated"],
      ["updated", "Anna", email, "Anna", "public"],
      ["deleted", "Anna", email, "Anna", "public"],
    ]);
  });

  test("hooks see the fields of a form that is valid, and change or refuse an update", async () => {
    const api = await openScripts({
      collections: [users],
      files: {
        "functions/users/a.ts": `
          export const beforeRegister = ({ record }) => {
            console.log("seen", JSON.stringify(record));
            if (record.name === "nobody") throw new Refusal("not you", { field: "name" });
            return record;
          };
          export const beforeUpdate = ({ record, previous }) => {
            if (record.name === "nobody") throw new Refusal("not you", { field: "name" });
            return { name: record.name.trim(), role: "admin", email: "x@example.com" };
          };`,
      },
    });
    const register = (body: object) =>
      api.request<{ user: { id: string }; accessToken: string }>("POST", "/api/auth/register", {
        body: { email: "a@example.com", password, ...body },
      });
    expect((await register({ name: 5 })).status).toBe(400);
    expect((await register({ name: "nobody" })).status).toBe(400);
    expect(api.service.auth.users.findByEmail("a@example.com")).toBeNull();
    const made = await register({ name: "Ann", tags: ["x"] });
    expect(made.status).toBe(201);
    const account = { email: "a@example.com", role: "authenticated", verified: false };
    expect(seenIn(api)).toEqual([
      { ...account, name: "nobody", tags: [] },
      { ...account, name: "Ann", tags: ["x"] },
    ]);
    const { user, accessToken: token } = made.body;
    const put = (name: string) => api.request<StoredRecord>("PUT", `/api/users/${user.id}`, { token, body: { name } });
    expect((await put("nobody")).status).toBe(400);
    const changed = await put("  Anna ");
    expect(changed.body).toMatchObject({ ...account, name: "Anna" });
    expect(api.service.auth.users.find(user.id)).toMatchObject(account);
  });

  test("a hook that counts users before a registration is exact, however many register at once", async () => {
    const api = await openScripts({
      collections: [users],
      files: {
        "functions/users/a.ts": `export const beforeRegister = async ({ db }) => {
          const { total } = await db.collection("users").list({ count: "exact", limit: 1 });
          if (total >= 3) throw new Refusal("No place is left.");
        };`,
      },
    });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        api.request("POST", "/api/auth/register", { body: { email: `p${n}@example.com`, password, name: `P${n}` } }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, ...Array<number>(9).fill(400)]);
    expect(api.service.auth.users.search({ limit: 20, offset: 0 }).total).toBe(3);
  });

  test("user code makes users with fields, and reads and changes the fields", async () => {
    const api = await openScripts({
      collections: [users],
      files: {
        "endpoints/a.ts": `export const access = "public"; export const GET = async (_, { auth, db }) => {
          const user = await auth.users.create({ email: "b@example.com", password: "long enough", name: "Ben" });
          const updated = await db.collection("users").update(user.id, { name: "Benno", role: "admin" });
          const errors = [];
          for (const work of [
            () => auth.users.create({ email: "c@example.com", password: "long enough" }),
            () => db.collection("users").create({ name: "x" }),
            () => db.collection("users").delete(user.id),
          ]) await work().catch(({ code, details }) => errors.push([code, details?.[0]?.field]));
          const rows = await db.query("SELECT name, email, number FROM users");
          const hash = await db.query("SELECT passwordHash FROM users").catch(({ code }) => code);
          return Response.json({ updated, errors, rows, hash });
        };`,
      },
    });
    expect(await call(api)).toEqual({
      updated: expect.objectContaining({ name: "Benno", email: "b@example.com", role: "authenticated" }),
      errors: [
        ["validation_error", "name"],
        ["method_not_allowed", null],
        ["method_not_allowed", null],
      ],
      rows: [{ name: "Benno", email: "b@example.com", number: 1 }],
      hash: "bad_request",
    });
  });

  test("onUpdate without a definition is a warning, and the view of users exists", async () => {
    const api = await openScripts({
      files: {
        "functions/users/a.ts": "export const onUpdate = () => {}; export const onCreate = () => {};",
        "endpoints/a.ts": `export const access = "public"; export const GET = async (_, { db }) => Response.json(await db.query("SELECT email FROM users"));`,
      },
    });
    expect(api.log.filter((line) => line.startsWith("WARN"))).toEqual([
      "WARN functions/users/a.ts: without collections/users.json, onUpdate never runs",
    ]);
    await api.register("a@example.com");
    expect(await call(api)).toEqual([{ email: "a@example.com" }]);
    const token = await api.admin();
    await api.request("PUT", "/api/admin/collections/users", {
      token,
      body: { fields: [{ name: "bio", type: "text" }] },
    });
    await api.save({
      "endpoints/a.ts": `export const access = "public"; export const GET = async (_, { db }) => Response.json(await db.query("SELECT email, bio FROM users ORDER BY _seq LIMIT 1"));`,
    });
    expect(await call(api)).toEqual([{ email: "a@example.com", bio: null }]);
    await api.request("DELETE", "/api/admin/collections/users", { token });
    await api.save({
      "endpoints/a.ts": `export const access = "public"; export const GET = async (_, { db }) => Response.json(await db.query("SELECT email FROM users ORDER BY id LIMIT 1"));`,
    });
    expect(await call(api)).toEqual([{ email: "a@example.com" }]);
  });
});
