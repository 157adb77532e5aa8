/** Tests of the first proof of an address: which credentials the first proof removes, and which stay. */
import { describe, expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { nothingShown, type ShownCredentials } from "./credentials.ts";
import { insertPasskey } from "./factors/passkey-table.ts";

const api = await openApi({});
const { auth, database } = api.service;
const password = "correct horse";
let users = 0;

async function person(): Promise<{ id: string; email: string; first: string; second: string; sessionId: string }> {
  const email = `first-proof-${users++}@example.com`;
  const { user, accessToken: first } = await api.register(email);
  const { accessToken: second } = await api.login(email);
  return { id: user.id, email, first, second, sessionId: (await auth.callers.authenticate(first)).sessionId };
}

async function statusOf(token: string): Promise<number> {
  return (await api.request("GET", "/api/auth/me", { token })).status;
}

async function loginOf(email: string, given = password): Promise<number> {
  return (await api.request("POST", "/api/auth/login", { body: { email, password: given } })).status;
}

async function prove(id: string, shown: ShownCredentials): Promise<void> {
  await database.transact((tx) => auth.users.prove(tx, auth.users.get(id, tx), { shown, by: null }));
}

describe("the first proof of an address", () => {
  test("without a shown credential removes the password and each session", async () => {
    const other = await person();
    const { id, email, first, second } = await person();
    await prove(id, nothingShown);
    expect(auth.users.get(id).verified).toBe(true);
    expect([await statusOf(first), await statusOf(second), await loginOf(email)]).toEqual([401, 401, 401]);
    expect([await loginOf(email, ""), await loginOf(email, "x")]).toEqual([400, 401]);
    expect(auth.users.get(other.id).verified).toBe(false);
    expect([await statusOf(other.first), await loginOf(other.email)]).toEqual([200, 200]);
  });

  test("keeps a shown password, and no session", async () => {
    const { id, email, first, second } = await person();
    await prove(id, { password: true, sessionId: null });
    expect([await statusOf(first), await statusOf(second), await loginOf(email)]).toEqual([401, 401, 200]);
  });

  test("keeps a shown session with the password, and no other session", async () => {
    const { id, email, first, second, sessionId } = await person();
    await prove(id, { password: false, sessionId });
    expect([await statusOf(first), await statusOf(second), await loginOf(email)]).toEqual([200, 401, 200]);
  });

  test("removes second factors and passkeys, unless the owner has shown a credential", async () => {
    const addFactors = (id: string) =>
      database.transact((tx) => {
        tx.run("INSERT INTO _totp (userId, secret) VALUES (?, 'x')", id);
        tx.run("INSERT INTO _recovery_codes (userId, hash) VALUES (?, 'x')", id);
        const passkey = { userId: id, credentialId: id, publicKey: "x", counter: 0, transports: "[]", name: "x" };
        insertPasskey(tx, { ...passkey, isBackedUp: false });
      });
    const [removed, kept] = [await person(), await person()];
    for (const { id } of [removed, kept]) await addFactors(id);
    await prove(removed.id, nothingShown);
    await prove(kept.id, { password: true, sessionId: kept.sessionId });
    expect(auth.factors.of(removed.id)).toEqual({ totp: false, recoveryCodes: 0, passkeys: [] });
    expect(auth.factors.of(kept.id)).toMatchObject({ totp: true, recoveryCodes: 1, passkeys: [{ name: "x" }] });
  });

  test("a later proof removes nothing", async () => {
    const { id, email, sessionId } = await person();
    await prove(id, { password: false, sessionId });
    const { accessToken } = await api.login(email);
    await prove(id, nothingShown);
    expect([await statusOf(accessToken), await loginOf(email)]).toEqual([200, 200]);
  });
});
