/** Tests of an account: the list of the caller's sessions and the ends of sessions. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import type { OwnSession, TokenResponse } from "@socle/protocol";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";
import { checkRecent } from "./own-change.ts";

const api = await openApi({
  settings: {
    SERVICE_LIMITS_RATE_LOGIN: "off",
    SERVICE_LIMITS_RATE_REGISTER: "off",
    SERVICE_LIMITS_RATE_REFRESH: "off",
  },
});
const { database } = api.service;
const password = "correct horse";
afterEach(() => setSystemTime());

/** Registers or logs in over HTTP, from an address and a browser. */
async function signIn(route: "login" | "register", email: string, headers: Record<string, string> = {}) {
  const { body } = await api.request<TokenResponse>("POST", `/api/auth/${route}`, {
    body: { email, password },
    headers,
  });
  return body;
}

async function sessionsOf(token: string): Promise<OwnSession[]> {
  return (await api.request<{ items: OwnSession[] }>("GET", "/api/auth/sessions", { token })).body.items;
}

async function statusOf(method: string, path: string, token?: string): Promise<number> {
  return (await api.request(method, path, token === undefined ? {} : { token })).status;
}

describe("the list of sessions", () => {
  test("has the caller's sessions, with address and browser of the sign-in, newest first", async () => {
    await signIn("register", "ann@list.example", { "User-Agent": "Phone/1", "x-test-address": "192.0.2.1" });
    const long = "Ä".repeat(1_000);
    const { token } = await signIn("login", "ann@list.example", {
      "User-Agent": long,
      "x-test-address": "2001:db8::/64",
    });
    await signIn("register", "eve@list.example");
    const sessions = await sessionsOf(token);
    const time = expect.stringMatching(/^\d{4}-.*Z$/);
    const shape = { id: expect.stringMatching(/^ses_/), createdAt: time, lastUsedAt: time, expiresAt: time };
    expect<unknown>(sessions).toEqual([
      { ...shape, address: "2001:db8::/64", userAgent: long.slice(0, 300), current: true },
      { ...shape, address: "192.0.2.1", userAgent: "Phone/1", current: false },
    ]);
    expect(sessions.every(({ createdAt, lastUsedAt }) => createdAt === lastUsedAt)).toBe(true);
  });

  test("the admin sees the same entries of another user", async () => {
    const { token, user } = await signIn("register", "bob@list.example", { "User-Agent": "Phone/2" });
    const { body } = await api.request("GET", `/api/admin/users/${user.id}`, { token: await api.admin() });
    const [own] = await sessionsOf(token);
    const { current: _, ...entry } = own as OwnSession;
    expect<unknown>(body["sessions"]).toEqual([entry]);
  });

  test("a refresh moves the last use, and neither the sign-in nor the address; a request moves nothing", async () => {
    const { token, refreshToken } = await signIn("register", "carl@list.example", { "x-test-address": "192.0.2.1" });
    const [before] = await sessionsOf(token);
    setSystemTime(Date.now() + 60_000);
    expect(await statusOf("GET", "/api/auth/me", token)).toBe(200);
    expect(await sessionsOf(token)).toEqual([before as OwnSession]);
    const headers = { "x-test-address": "192.0.2.2" };
    await api.request("POST", "/api/auth/refresh", { body: { refreshToken }, headers });
    const [after] = await sessionsOf(token);
    expect(Date.parse(String(after?.lastUsedAt)) - Date.parse(String(before?.lastUsedAt))).toBeGreaterThanOrEqual(
      60_000,
    );
    expect(after).toEqual({
      ...(before as OwnSession),
      lastUsedAt: String(after?.lastUsedAt),
      expiresAt: String(after?.expiresAt),
    });
  });

  test("an address of a proxy that is set up wrongly is cut", async () => {
    const { token } = await signIn("register", "long@list.example", { "x-test-address": "x".repeat(10_000) });
    expect((await sessionsOf(token))[0]?.address).toBe("x".repeat(100));
  });

  test("a session of an earlier version shows the sign-in as the last use", async () => {
    const { token, user } = await signIn("register", "dora@list.example");
    await database.transact((tx) =>
      tx.run("UPDATE _sessions SET lastUsedAt = NULL, address = NULL, userAgent = NULL WHERE userId = ?", user.id),
    );
    const [session] = await sessionsOf(token);
    expect(session).toMatchObject({ lastUsedAt: String(session?.createdAt), address: null, userAgent: null });
  });

  test("is for signed-in users", async () => {
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["DELETE", "/ses_1"],
    ] as const)
      expect(await statusOf(method, `/api/auth/sessions${path}`)).toBe(401);
  });
});

describe("the end of sessions", () => {
  test("a user ends another session, which is over at once, and receives the logout", async () => {
    const phone = await signIn("register", "ann@end.example");
    const laptop = await signIn("login", "ann@end.example");
    const other = (await sessionsOf(laptop.token)).find(({ current }) => !current);
    const seq = await lastSeq(api.service);
    expect(await statusOf("DELETE", `/api/auth/sessions/${other?.id}`, laptop.token)).toBe(204);
    expect(await statusOf("GET", "/api/auth/me", phone.token)).toBe(401);
    expect(await statusOf("GET", "/api/auth/me", laptop.token)).toBe(200);
    const body = { refreshToken: phone.refreshToken };
    expect((await api.request("POST", "/api/auth/refresh", { body })).status).toBe(401);
    const payload = { userId: phone.user.id, role: "authenticated" };
    expect(await eventsSince(api.service, seq)).toEqual([{ type: "auth.logout", payload }]);
    // A session that is over is unknown.
    expect(await statusOf("DELETE", `/api/auth/sessions/${other?.id}`, laptop.token)).toBe(404);
  });

  test("a user ends the current session", async () => {
    const { token } = await signIn("register", "bob@end.example");
    const [own] = await sessionsOf(token);
    expect(await statusOf("DELETE", `/api/auth/sessions/${own?.id}`, token)).toBe(204);
    expect(await statusOf("GET", "/api/auth/sessions", token)).toBe(401);
  });

  test("the session of another user is unknown, also to an admin", async () => {
    const victim = await signIn("register", "carl@end.example");
    const [session] = await sessionsOf(victim.token);
    const eve = await signIn("register", "eve@end.example");
    for (const token of [eve.token, await api.admin()])
      expect(await statusOf("DELETE", `/api/auth/sessions/${session?.id}`, token)).toBe(404);
    expect(await sessionsOf(victim.token)).toHaveLength(1);
  });

  test("a user ends the other sessions and the sign-ins that wait, and no session of another user", async () => {
    const first = await signIn("register", "dora@end.example");
    await signIn("login", "dora@end.example");
    const current = await signIn("login", "dora@end.example");
    const stranger = await signIn("register", "fred@end.example");
    const insert = "INSERT INTO _sign_in_attempts (hash, userId, expiresAt) VALUES (?, ?, ?)";
    await database.transact((tx) => tx.run(insert, "waits", first.user.id, Date.now() + 60_000));
    const seq = await lastSeq(api.service);
    expect(await statusOf("DELETE", "/api/auth/sessions", current.token)).toBe(204);
    expect((await sessionsOf(current.token)).map((session) => session.current)).toEqual([true]);
    expect(await statusOf("GET", "/api/auth/me", first.token)).toBe(401);
    expect(await statusOf("GET", "/api/auth/me", stranger.token)).toBe(200);
    expect((await eventsSince(api.service, seq)).map(({ type }) => type)).toEqual(["auth.logout", "auth.logout"]);
    expect(database.reader.get("SELECT 1 FROM _sign_in_attempts WHERE userId = ?", first.user.id)).toBeNull();
  });
});

describe("a recent sign-in", () => {
  test.each([
    [0, true],
    [9 * 60_000, true],
    [11 * 60_000, false],
    // The clock was set back.
    [-11 * 60_000, false],
  ])("%d ms after the sign-in, %p, also after a refresh", async (age, isRecent) => {
    const { token, refreshToken } = await signIn("register", `age${age}@recent.example`);
    const [session] = await sessionsOf(token);
    setSystemTime(Date.now() + age);
    expect((await api.request("POST", "/api/auth/refresh", { body: { refreshToken } })).status).toBe(200);
    const check = (): void => checkRecent(database.reader, { sessionId: String(session?.id) });
    if (isRecent) expect(check).not.toThrow();
    else
      expect(check).toThrow(
        expect.objectContaining({ code: "forbidden", details: [expect.objectContaining({ rule: "recent_login" })] }),
      );
  });

  test("a session that is over is not recent", () => {
    expect(() => checkRecent(database.reader, { sessionId: "ses_none" })).toThrow("sign in again");
  });
});
