/** API keys and the account of the owner: recent sign-ins, notices, the first proof of the address, passwords, and the audit. */
import { describe, expect, test } from "bun:test";
import { makeKey } from "../../../../test/keys.ts";
import { openApi, setRole } from "../../../../test/kit.ts";
import { nothingShown, type ShownCredentials } from "../credentials.ts";

const api = await openApi({
  collections: [{ name: "notes", fields: [{ name: "text", type: "string" }] }],
  settings: { SERVICE_MAIL_FROM: "service@example.com", SERVICE_LIMITS_RATE_REGISTER: "off" },
});
const { request } = api;
const { auth, database } = api.service;
const admin = await api.admin();
const scopes = ["notes:read"];

const statusOf = async (token: string): Promise<number> => (await request("GET", "/api/notes", { token })).status;
const notices = (to: string): string[] =>
  database.reader
    .all<{ text: string }>("SELECT text FROM _mails WHERE kind = 'notice' AND recipient = ? ORDER BY id", to)
    .map(({ text }) => text);

describe("a key is made and deleted", () => {
  test("soon after a sign-in, and a refresh is no sign-in", async () => {
    const ann = await api.register("ann@example.com");
    const kept = await makeKey(api, { token: ann.accessToken, scopes });
    const ofService = await makeKey(api, { token: admin, scopes, isOfService: true });
    await database.transact((tx) => tx.run("UPDATE _sessions SET createdAt = createdAt - 601000"));
    const { body } = await request("POST", "/api/auth/refresh", { body: { refreshToken: ann.refreshToken } });
    const token = String(body["accessToken"]);
    const values = { name: "late", scopes };
    const refused = [
      await request("POST", "/api/auth/keys", { token, body: values }),
      await request("DELETE", `/api/auth/keys/${kept.id}`, { token }),
      await request("POST", "/api/admin/keys", { token: admin, body: values }),
    ];
    for (const answer of refused)
      expect<unknown>([answer.status, answer.body["error"]]).toMatchObject([
        403,
        { code: "forbidden", details: [{ field: "", rule: "recent_login" }] },
      ]);
    expect((await request<{ items: object[] }>("GET", "/api/auth/keys", { token })).body.items).toHaveLength(1);
    expect([await statusOf(kept.key), await statusOf(ofService.key)]).toEqual([200, 200]);
    // An admin ends a key that has leaked at once, whatever the age of the sign-in.
    const paths = [`/api/admin/users/${ann.user.id}/keys/${kept.id}`, `/api/admin/keys/${ofService.id}`];
    for (const path of paths) expect((await request("DELETE", path, { token: admin })).status).toBe(204);
    expect([await statusOf(kept.key), await statusOf(ofService.key)]).toEqual([401, 401]);
  });

  test("with a mail to the owner, which does not have the key", async () => {
    const { accessToken: token, user } = await api.register("bea@example.com");
    const mine = await makeKey(api, { token, scopes });
    const other = await makeKey(api, { token, scopes });
    expect((await request("DELETE", `/api/auth/keys/${mine.id}`, { token })).status).toBe(204);
    const { accessToken: root } = await api.login("admin@example.com");
    expect((await request("DELETE", `/api/admin/users/${user.id}/keys/${other.id}`, { token: root })).status).toBe(204);
    const texts = notices("bea@example.com");
    expect(texts.map((text) => /An API key was (\w+)\./.exec(text)?.[1])).toEqual([
      "made",
      "made",
      "deleted",
      "deleted",
    ]);
    expect(texts[3]).toContain("an administrator");
    expect(texts.join()).not.toContain("sk_");
    // A stranger who has registered with the address chooses the name.
    expect(texts.join()).not.toContain('"test"');
    await makeKey(api, { token: root, scopes, isOfService: true });
    expect(notices("admin@example.com")).toEqual([]);
  });
});

describe("the owner's", () => {
  test.each<[string, ShownCredentials, number]>([
    ["without a credential removes the keys", nothingShown, 401],
    ["with the password keeps the keys", { password: true, sessionId: null }, 200],
  ])("first proof of the address %s", async (name, shown, status) => {
    const { accessToken: token, user } = await api.register(`proof-${name.length}@example.com`);
    const { key } = await makeKey(api, { token, scopes });
    expect(await statusOf(key)).toBe(200);
    await database.transact((tx) => auth.users.prove(tx, auth.users.get(user.id, tx), { shown, by: null }));
    expect(await statusOf(key)).toBe(status);
  });

  test("new password keeps the keys", async () => {
    const { accessToken: token, user } = await api.register("cay@example.com");
    const { key } = await makeKey(api, { token, scopes });
    const { accessToken: root } = await api.login("admin@example.com");
    const body = { password: "another good password" };
    expect((await request("POST", `/api/admin/users/${user.id}/password`, { token: root, body })).status).toBe(200);
    expect([await statusOf(token), await statusOf(key)]).toEqual([401, 200]);
  });
});

test("a change by an admin's key names the key in the log and in the audit, and nothing has the text of the key", async () => {
  const { accessToken: token, user } = await api.register("dan@example.com");
  await setRole(api.service, user.id, "admin");
  const { key, id } = await makeKey(api, { token, scopes: ["admin"] });
  const body = { name: "made", fields: [] };
  expect((await request("POST", "/api/admin/collections", { token: key, body })).status).toBe(201);
  expect(api.entries("An admin: collection.created").map(({ fields }) => fields)).toEqual([
    { target: "made", userId: user.id, keyId: id },
  ]);
  const { items } = (await request<{ items: object[] }>("GET", "/api/admin/events?type=admin.*", { token: key })).body;
  expect(items[0]).toMatchObject({ actor: id, payload: { userId: user.id, target: "made" } });
  expect(JSON.stringify([items, api.log, api.entries("An admin: collection.created")])).not.toContain("sk_");
});
