/** Tests of the end of a sign-in: what a user with a second factor gets, when the hooks are asked, which attempts end. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";
import type { AuthHooks } from "./sign-ins.ts";

const api = await openApi({
  settings: { SERVICE_LIMITS_SESSIONS_PER_USER: "3", SERVICE_LIMITS_RATE_LOGIN: "off" },
});
const { auth, database } = api.service;
const password = "correct horse";
const asked: string[] = [];
let onLogin = async (): Promise<void> => undefined;
const hooks: AuthHooks = {
  async before(step, user) {
    asked.push(`${step} ${user["email"]}`);
    if (step === "login") await onLogin();
    return null;
  },
};
auth.signIns.hookWith(hooks);
afterEach(() => {
  setSystemTime();
  asked.length = 0;
  onLogin = async () => undefined;
});

function count(table: string, userId: string): number {
  return database.reader.get<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE userId = ?`, userId)?.n ?? -1;
}

async function withFactor(email: string): Promise<string> {
  const { user } = await api.register(email);
  await database.transact((tx) => {
    tx.run("INSERT INTO _totp (userId, secret) VALUES (?, 'x')", user.id);
    auth.sessions.endAll(tx, user.id);
  });
  return user.id;
}

describe("a user with a second factor", () => {
  test("gets an attempt, and neither tokens, nor a session, nor an event", async () => {
    const id = await withFactor("ann@example.com");
    const seq = await lastSeq(api.service);
    asked.length = 0;
    const { status, body } = await api.request("POST", "/api/auth/login", {
      body: { email: "ann@example.com", password },
    });
    expect(status).toBe(200);
    expect<unknown>(body).toEqual({ next: "second_factor", attempt: expect.any(String), methods: ["code"] });
    expect(Buffer.from(String(body["attempt"]), "base64url")).toHaveLength(32);
    expect(count("_sessions", id)).toBe(0);
    expect(await eventsSince(api.service, seq)).toEqual([]);
    expect(asked).toEqual([]);
    // The database has no form of the attempt that signs in.
    const rows = database.reader.all("SELECT * FROM _sign_in_attempts WHERE userId = ?", id);
    expect(JSON.stringify(rows)).not.toContain(String(body["attempt"]));
    for (const token of [String(body["attempt"]), `${id}.${body["attempt"]}`]) {
      expect((await api.request("GET", "/api/auth/me", { token })).status).toBe(401);
      const refreshed = await api.request("POST", "/api/auth/refresh", { body: { refreshToken: token } });
      expect(refreshed.status).toBe(401);
    }
  });

  test("gets no attempt for a wrong password", async () => {
    const id = await withFactor("eve@example.com");
    const { status, body } = await api.request("POST", "/api/auth/login", {
      body: { email: "eve@example.com", password: "wrong horse" },
    });
    expect(status).toBe(401);
    expect(body["attempt"]).toBeUndefined();
    expect(count("_sign_in_attempts", id)).toBe(0);
  });

  test("a pending secret is no second factor", async () => {
    const { user } = await api.register("pending@example.com");
    await database.transact((tx) => tx.run("INSERT INTO _totp (userId, pending) VALUES (?, 'x')", user.id));
    expect((await api.login("pending@example.com")).user).toEqual(user);
    expect(asked).toEqual(["register pending@example.com", "login pending@example.com"]);
  });

  test("a factor that is added during the hooks counts; a factor that is removed opens no session without the hooks", async () => {
    const { user } = await api.register("late@example.com");
    const login = () => auth.login({ email: "late@example.com", password }, { key: "test" });
    onLogin = async () => {
      await database.transact((tx) => tx.run("INSERT INTO _totp (userId, secret) VALUES (?, 'x')", user.id));
    };
    const sessions = count("_sessions", user.id);
    expect(await login()).toMatchObject({ next: "second_factor" });
    expect(count("_sessions", user.id)).toBe(sessions);
    const signIn = auth.signIns.signIn({
      user,
      caller: { key: "test" },
      prove: (tx) => {
        tx.run("DELETE FROM _totp WHERE userId = ?", user.id);
        return user;
      },
    });
    await expect(signIn).rejects.toMatchObject({ code: "conflict" });
    expect(count("_sessions", user.id)).toBe(sessions);
  });
});

describe("attempts", () => {
  test("a user has a bounded number; the oldest is dropped", async () => {
    const id = await withFactor("many@example.com");
    for (let i = 0; i < 5; i++) await auth.login({ email: "many@example.com", password }, { key: "test" });
    expect(count("_sign_in_attempts", id)).toBe(3);
  });

  test("end with the sessions, also when the admin sets the password", async () => {
    const admin = await api.admin();
    const id = await withFactor("reset@example.com");
    const other = await withFactor("bystander@example.com");
    for (const email of ["reset@example.com", "bystander@example.com"])
      await auth.login({ email, password }, { key: "test" });
    await api.request("POST", `/api/admin/users/${id}/password`, { token: admin, body: { password: "a new horse" } });
    expect(count("_sign_in_attempts", id)).toBe(0);
    expect(count("_sign_in_attempts", other)).toBe(1);
  });

  test("the sweep removes expired attempts, and no others", async () => {
    const id = await withFactor("sweep@example.com");
    await auth.login({ email: "sweep@example.com", password }, { key: "test" });
    await auth.sweep();
    expect(count("_sign_in_attempts", id)).toBe(1);
    setSystemTime(Date.now() + 10 * 60_000);
    await auth.sweep();
    expect(count("_sign_in_attempts", id)).toBe(0);
  });
});
