/** Tests of sessions: simultaneous exchanges of one refresh token, the bound per user, the sweep. */
import { describe, expect, setSystemTime, test } from "bun:test";
import { monotonicClock } from "../../../test/clock.ts";
import { openApi } from "../../../test/kit.ts";

const api = await openApi({ settings: { SERVICE_LIMITS_SESSIONS_PER_USER: "3", SERVICE_LIMITS_RATE_REFRESH: "off" } });
const { auth, database } = api.service;
const pass = monotonicClock();

async function refresh(refreshToken: string): Promise<{ status: number; token: string }> {
  const { status, body } = await api.request("POST", "/api/auth/refresh", { body: { refreshToken } });
  return { status, token: String(body["refreshToken"]) };
}

async function count(sql: string, ...values: (string | number)[]): Promise<number> {
  return (await database.reader.get<{ n: number }>(`SELECT count(*) AS n FROM ${sql}`, ...values))?.n ?? -1;
}

function passTenSeconds(): Promise<unknown> {
  pass(10_001);
  return database.transact((tx) => tx.run("UPDATE _refresh_tokens SET usedAt = usedAt - 10001"));
}

describe("refresh", () => {
  test("fifty exchanges of the same token at once give a single successor, and the successor works", async () => {
    const { refreshToken, user } = await api.register("tabs@example.com");
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(refreshToken)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const [successor = "", ...others] = new Set(answers.map(({ token }) => token));
    expect(others).toEqual([]);
    expect(successor).not.toBe(refreshToken);
    expect(await count("_sessions WHERE userId = ?", user.id)).toBe(1);
    const live = "_refresh_tokens WHERE usedAt IS NULL AND sessionId IN (SELECT id FROM _sessions WHERE userId = ?)";
    expect(await count(live, user.id)).toBe(1);
    await passTenSeconds();
    expect((await refresh(successor)).status).toBe(200);
  });

  test("within ten seconds a used token gets the token in force, however many exchanges were made between", async () => {
    const { refreshToken } = await api.register("chain@example.com");
    let latest = refreshToken;
    for (let i = 0; i < 20; i++) latest = (await refresh(latest)).token;
    expect(await refresh(refreshToken)).toEqual({ status: 200, token: latest });
    await passTenSeconds();
    expect((await refresh(latest)).status).toBe(200);
  });

  test("reuse ends the session also when the sweep has removed the token", async () => {
    const { refreshToken, accessToken } = await api.register("stolen@example.com");
    const { token } = await refresh(refreshToken);
    const next = (await refresh(token)).token;
    await passTenSeconds();
    await auth.sweep();
    expect(await count("_refresh_tokens WHERE usedAt IS NOT NULL")).toBe(0);
    expect((await refresh(refreshToken)).status).toBe(401);
    expect((await refresh(next)).status).toBe(401);
    expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(401);
  });

  test("a token that was never issued ends no session", async () => {
    const { refreshToken, accessToken } = await api.register("safe@example.com");
    const [session, random, signature] = refreshToken.split(".");
    const forged = [
      `${session}.${"A".repeat(43)}.${signature}`,
      `${session}.${random}`,
      `${session}.${random}.`,
      `${session}..${signature}`,
      `${session}`,
      `${refreshToken}=`,
      "..",
    ];
    for (const token of forged) {
      expect((await refresh(token)).status).toBe(401);
      const out = await api.request("POST", "/api/auth/logout", { body: { refreshToken: token } });
      expect(out.status).toBe(401);
    }
    expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(200);
    expect((await refresh(refreshToken)).status).toBe(200);
  });

  test.each([
    ["back", -30_000],
    ["forward", 30_000],
  ])("a clock that is set %s is no reuse, and hides no reuse", async (direction, change) => {
    const { refreshToken } = await api.register(`clock-${direction}@example.com`);
    const second = (await refresh(refreshToken)).token;
    const third = (await refresh(second)).token;
    try {
      setSystemTime(Date.now() + change);
      expect(await refresh(refreshToken)).toEqual({ status: 200, token: third });
      await auth.sweep();
      expect(await refresh(refreshToken)).toEqual({ status: 200, token: third });
      expect(await refresh(second)).toEqual({ status: 200, token: third });
      pass(10_001);
      const last = (await refresh(third)).token;
      // The stored time alone would say that the use was just now.
      await database.transact((tx) =>
        tx.run("UPDATE _refresh_tokens SET usedAt = ? WHERE usedAt IS NOT NULL", Date.now()),
      );
      expect((await refresh(second)).status).toBe(401);
      expect((await refresh(last)).status).toBe(401);
    } finally {
      setSystemTime();
    }
  });

  test("the stored tokens of a session do not grow with its exchanges", async () => {
    const { refreshToken, user } = await api.register("long@example.com");
    let latest = refreshToken;
    for (let i = 0; i < 130; i++) latest = (await refresh(latest)).token;
    await passTenSeconds();
    await auth.sweep();
    const kept = "_refresh_tokens WHERE sessionId IN (SELECT id FROM _sessions WHERE userId = ?)";
    expect(await count(kept, user.id)).toBe(1);
    expect((await refresh(latest)).status).toBe(200);
  });

  test("logout works with a token that was used and removed", async () => {
    const { refreshToken, accessToken } = await api.register("leaving@example.com");
    await refresh(refreshToken);
    await passTenSeconds();
    await auth.sweep();
    expect((await api.request("POST", "/api/auth/logout", { body: { refreshToken } })).status).toBe(204);
    expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(401);
  });
});

describe("sessions of a user", () => {
  test("a session beyond the bound ends the oldest, and no session of another user", async () => {
    const other = await api.register("bystander@example.com");
    const email = "many@example.com";
    const all = [await api.register(email)];
    for (let i = 0; i < 4; i++) all.push(await api.login(email));
    const statuses = await Promise.all(
      [...all, other].map(
        async ({ accessToken: token }) => (await api.request("GET", "/api/auth/me", { token })).status,
      ),
    );
    expect(statuses).toEqual([401, 401, 200, 200, 200, 200]);
    expect((await refresh(all[0]?.refreshToken ?? "")).status).toBe(401);
    expect(new Map(api.service.limits.totals()).get("sessionsPerUser")).toBe(2);
  });

  test("the newest stays when the others seem to be younger", async () => {
    const email = "ahead@example.com";
    const { user } = await api.register(email);
    for (let i = 0; i < 3; i++) await api.login(email);
    await database.transact((tx) =>
      tx.run("UPDATE _sessions SET createdAt = createdAt + 3600000 WHERE userId = ?", user.id),
    );
    const { accessToken: token } = await api.login(email);
    expect((await api.request("GET", "/api/auth/me", { token })).status).toBe(200);
    expect(await count("_sessions WHERE userId = ?", user.id)).toBe(3);
  });
});

test("the sweep removes all expired rows, and nothing more", async () => {
  const { user } = await api.register("expired@example.com");
  const stays = await api.register("stays@example.com");
  await database.transactLong("test", async (tx) => {
    await tx.run("DELETE FROM _sessions WHERE userId = ?", user.id);
    for (let i = 0; i < 170; i++) {
      await tx.run(
        "INSERT INTO _sessions (id, userId, createdAt, expiresAt) VALUES (?, ?, 1, 2)",
        `ses_old_${i}`,
        user.id,
      );
      await tx.run(
        "INSERT INTO _refresh_tokens (hash, sessionId, createdAt) VALUES (?, ?, 1)",
        `hash ${i}`,
        `ses_old_${i}`,
      );
    }
  });
  await auth.sweep();
  expect(await count("_sessions WHERE userId = ?", user.id)).toBe(0);
  expect(await count("_refresh_tokens WHERE sessionId LIKE 'ses_old_%'")).toBe(0);
  expect((await refresh(stays.refreshToken)).status).toBe(200);
});
