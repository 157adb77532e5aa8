/** Tests of the deletion of an account by the user: the proof, the relations, and the end of every credential. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import type { TokenResponse } from "@socle/protocol";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const relation = (onDelete: string) => ({ name: "user", type: "relation", collection: "users", onDelete });
const api = await openApi({
  collections: [
    { name: "notes", fields: [relation("cascade")], permissions: { read: "public", create: "authenticated" } },
    { name: "marks", fields: [relation("clear")], permissions: { read: "public", create: "authenticated" } },
    { name: "bills", fields: [relation("restrict")], permissions: { read: "admin", create: "authenticated" } },
  ],
  settings: {
    SERVICE_MAIL_FROM: "shop@example.com",
    SERVICE_LIMITS_RATE_LOGIN: "off",
    SERVICE_LIMITS_RATE_REFRESH: "off",
  },
});
const { database, auth } = api.service;
const password = "correct horse";
afterEach(() => setSystemTime());

async function remove(token: string, body?: unknown) {
  const headers = { "x-test-address": "192.0.2.1" };
  const answer = await api.request("DELETE", "/api/auth/me", { token, headers, ...(body !== undefined && { body }) });
  const error = answer.body["error"];
  return { status: answer.status, rule: error?.["details"]?.["0"]?.["rule"] as unknown };
}

async function point(collection: string, { token, user }: TokenResponse): Promise<string> {
  const answer = await api.request("POST", `/api/${collection}`, { token, body: { user: user.id } });
  return String(answer.body["id"]);
}

function mailsTo(email: string): string[] {
  const mails = database.reader.all<{ text: string }>("SELECT text FROM _mails WHERE recipient = ?", email);
  return mails.map(({ text }) => text);
}

/** All rows of the private tables in which the id stands, by table. */
function rowsWith(id: string): string[] {
  const tables = database.reader.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
  return tables
    .map(({ name }) => name)
    .filter((name) => database.reader.all(`SELECT * FROM "${name}"`).some((row) => JSON.stringify(row).includes(id)));
}

describe("with the password", () => {
  test("the user, the sessions and the credentials are gone, a notice is mailed, and the records stay", async () => {
    const email = "ann@example.com";
    const ann = await api.register(email);
    const phone = await api.login(email);
    const note = await point("marks", { ...ann, user: (await api.register("other@example.com")).user });
    const seq = await lastSeq(api.service);
    expect((await remove(ann.token, { password })).status).toBe(204);
    for (const { token, refreshToken } of [ann, phone]) {
      expect((await api.request("GET", "/api/auth/me", { token })).status).toBe(401);
      expect((await api.request("POST", "/api/auth/refresh", { body: { refreshToken } })).status).toBe(401);
    }
    expect((await api.request("POST", "/api/auth/login", { body: { email, password } })).status).toBe(401);
    const payload = { userId: ann.user.id, role: "authenticated" };
    expect((await eventsSince(api.service, seq))[0]).toEqual({ type: "auth.deleted", payload });
    const mails = mailsTo(email);
    expect(mails).toHaveLength(1);
    expect(mails[0]).toContain("The account was deleted.\n\nThe change came from: 192.0.2.1, an unknown program\n");
    expect((await api.request("GET", `/api/marks/${note}`)).status).toBe(200);
    // The address is free, for another user.
    expect((await api.register(email)).user.id).not.toBe(ann.user.id);
  });

  test("no table has a row of the user any more, but the events; files stay, too", async () => {
    const { token, user } = await api.register("bob@example.com");
    // A row in each table of credentials, also in the tables of later features.
    const tables = database.reader.all<{ name: string }>(
      "SELECT m.name AS name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'userId' WHERE m.type = 'table' AND m.name NOT IN ('_files')",
    );
    await database.transact((tx) => {
      for (const { name } of tables) insertRow(tx, name, user.id);
    });
    expect(rowsWith(user.id)).toEqual(expect.arrayContaining(["_users", "_sessions", "_totp"]));
    expect((await remove(token, { password })).status).toBe(204);
    expect(rowsWith(user.id).filter((name) => name !== "_events")).toEqual([]);
  });

  test("relations follow onDelete: cascade and clear", async () => {
    const carl = await api.register("carl@example.com");
    const [note, mark] = [await point("notes", carl), await point("marks", carl)];
    expect((await remove(carl.token, { password })).status).toBe(204);
    expect((await api.request("GET", `/api/notes/${note}`)).status).toBe(404);
    expect((await api.request("GET", `/api/marks/${mark}`)).body).toMatchObject({ user: null });
    expect(mailsTo("carl@example.com")).toHaveLength(1);
  });

  test("relations follow onDelete: restrict refuses, and changes nothing", async () => {
    const dora = await api.register("dora@example.com");
    const note = await point("notes", dora);
    await point("bills", dora);
    const seq = await lastSeq(api.service);
    expect(await remove(dora.token, { password })).toEqual({ status: 400, rule: "relation" });
    expect((await api.request("GET", "/api/auth/me", { token: dora.token })).status).toBe(200);
    expect((await api.request("GET", `/api/notes/${note}`)).status).toBe(200);
    expect(await eventsSince(api.service, seq)).toEqual([]);
    expect(mailsTo("dora@example.com")).toEqual([]);
  });

  test("the last admin stays, and a further admin may go", async () => {
    const token = await api.admin();
    expect((await remove(token, { password })).status).toBe(400);
    expect((await api.request("GET", "/api/auth/me", { token })).status).toBe(200);
    expect(mailsTo("admin@example.com")).toEqual([]);
    const { user } = await api.register("second@example.com");
    await database.transact((tx) => auth.users.setRole(tx, { id: user.id, role: "admin" }, null));
    const second = await api.login("second@example.com");
    expect((await remove(second.token, { password })).status).toBe(204);
    expect((await remove(token, { password })).status).toBe(400);
  });
});

describe("without the proof", () => {
  test("a wrong password is refused, and counts as a failed login; a missing password is reported", async () => {
    const { token, user } = await api.register("fred@example.com");
    expect(await remove(token)).toEqual({ status: 400, rule: "required" });
    expect(await remove(token, {})).toEqual({ status: 400, rule: "required" });
    expect(await remove(token, { password: ["x"] })).toEqual({ status: 400, rule: "type" });
    for (let i = 0; i < 10; i++) expect((await remove(token, { password: "wrong one" })).status).toBe(403);
    expect((await remove(token, { password })).status).toBe(429);
    expect(auth.users.find(user.id)).not.toBeNull();
  });

  test("a user without a password needs a recent sign-in", async () => {
    const { refreshToken, user } = await api.register("gina@example.com");
    await database.transact((tx) => tx.run("UPDATE _users SET passwordHash = '' WHERE id = ?", user.id));
    setSystemTime(Date.now() + 11 * 60_000);
    const { body } = await api.request<TokenResponse>("POST", "/api/auth/refresh", { body: { refreshToken } });
    expect(await remove(body.token, { password })).toEqual({ status: 403, rule: "recent_login" });
    setSystemTime();
    expect((await remove(body.token)).status).toBe(204);
    expect(auth.users.find(user.id)).toBeNull();
  });

  test("a password that is replaced during the check does not delete", async () => {
    const { token, user } = await api.register("hugo@example.com");
    const deleting = remove(token, { password });
    await database.transact((tx) => tx.run("UPDATE _users SET passwordHash = 'x' WHERE id = ?", user.id));
    expect((await deleting).status).not.toBe(204);
    expect(auth.users.find(user.id)).not.toBeNull();
  });
});

test("an admin deletes an account in the same way, and the user is notified", async () => {
  const iris = await api.register("iris@example.com");
  const note = await point("notes", iris);
  const path = `/api/admin/users/${iris.user.id}`;
  expect((await api.request("DELETE", path, { token: await api.admin() })).status).toBe(204);
  expect((await api.request("GET", `/api/notes/${note}`)).status).toBe(404);
  expect(mailsTo("iris@example.com")[0]).toContain(
    "The account was deleted.\n\nThe change came from: an administrator\n",
  );
});

/** Inserts a row with the id as `userId`; the other columns that need a value get a value of the type. */
function insertRow(tx: Parameters<Parameters<typeof database.transact>[0]>[0], table: string, userId: string): void {
  const columns = tx.all<{ name: string; type: string; notnull: number; dflt_value: string | null; pk: number }>(
    `SELECT * FROM pragma_table_info('${table}')`,
  );
  const needed = columns.filter(({ name, notnull, pk, type, dflt_value }) => {
    const isRowId = pk === 1 && type === "INTEGER";
    return name === "userId" || (!isRowId && dflt_value === null && (notnull === 1 || pk > 0));
  });
  const values = needed.map(({ name, type }) => (name === "userId" ? userId : type === "TEXT" ? `row of ${table}` : 1));
  const places = needed.map(() => "?").join(", ");
  tx.run(
    `INSERT OR IGNORE INTO "${table}" (${needed.map(({ name }) => `"${name}"`).join(", ")}) VALUES (${places})`,
    ...values,
  );
}
