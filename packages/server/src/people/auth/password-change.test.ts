/** Tests of a user's change of the password: the proof of the present password, the ends of sessions, the notice. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import type { TokenResponse } from "@socle/protocol";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const api = await openApi({
  settings: {
    SERVICE_MAIL_FROM: "shop@example.com",
    SERVICE_AUTH_COMMON_PASSWORDS: "refuse",
    SERVICE_LIMITS_RATE_LOGIN: "off",
    SERVICE_LIMITS_RATE_REFRESH: "off",
  },
});
const { database } = api.service;
const password = "correct horse";
const next = "battery staple";
afterEach(() => setSystemTime());

async function change(token: string | undefined, body: unknown, address = "192.0.2.1") {
  const headers = { "x-test-address": address, "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0" };
  const answer = await api.request("PUT", "/api/auth/password", {
    body,
    headers,
    ...(token !== undefined && { token }),
  });
  const error = answer.body["error"];
  return {
    status: answer.status,
    code: error?.["code"] as unknown,
    rule: error?.["details"]?.["0"]?.["rule"] as unknown,
  };
}

async function login(email: string, given: string, address = "192.0.2.1"): Promise<number> {
  const headers = { "x-test-address": address };
  return (await api.request("POST", "/api/auth/login", { body: { email, password: given }, headers })).status;
}

async function isSignedIn(token: string): Promise<boolean> {
  return (await api.request("GET", "/api/auth/me", { token })).status === 200;
}

function stored(userId: string): { hash: string; mails: string[] } {
  const hash = database.reader.get<{ passwordHash: string }>("SELECT passwordHash FROM _users WHERE id = ?", userId);
  const sql = "SELECT text FROM _mails WHERE recipient = (SELECT email FROM _users WHERE id = ?)";
  const mails = database.reader.all<{ text: string }>(sql, userId);
  return { hash: hash?.passwordHash ?? "", mails: mails.map(({ text }) => text) };
}

/** A user of a provider, for example, has no password. */
async function withoutPassword(email: string): Promise<TokenResponse> {
  const tokens = await api.register(email);
  await database.transact((tx) => tx.run("UPDATE _users SET passwordHash = '' WHERE id = ?", tokens.user.id));
  return tokens;
}

describe("with the present password", () => {
  test("the password changes, the other sessions end, and a notice is mailed", async () => {
    const phone = await api.register("ann@example.com");
    const laptop = await api.login("ann@example.com");
    const stranger = await api.register("eve@example.com");
    const seq = await lastSeq(api.service);
    expect((await change(laptop.token, { current: password, password: next })).status).toBe(204);
    expect(await Promise.all([phone, laptop, stranger].map(({ token }) => isSignedIn(token)))).toEqual([
      false,
      true,
      true,
    ]);
    expect(await login("ann@example.com", password)).toBe(401);
    expect(await login("ann@example.com", next)).toBe(200);
    const [told] = await eventsSince(api.service, seq);
    expect(told).toEqual({ type: "auth.password", payload: { userId: phone.user.id, role: "authenticated" } });
    const { mails } = stored(phone.user.id);
    expect(mails).toHaveLength(1);
    expect(mails[0]).toContain("The password was changed.\n\nThe change came from: 192.0.2.1, Firefox on Linux\n");
    expect(stored(stranger.user.id).mails).toEqual([]);
  });

  test.each([
    ["a short password", { current: password, password: "short" }, "min"],
    ["a long password", { current: password, password: "x".repeat(1_001) }, "max"],
    ["a common password", { current: password, password: "iloveyou1" }, "common"],
    ["no new password", { current: password }, "required"],
    ["no present password", { password: next }, "required"],
    ["a present password of another type", { current: 1, password: next }, "type"],
  ])("%s is refused, and changes nothing", async (name, body, rule) => {
    const { token, user } = await api.register(`${name.replaceAll(" ", "")}@bad.example`);
    const before = stored(user.id);
    expect(await change(token, body)).toEqual({ status: 400, code: "validation_error", rule });
    expect(stored(user.id)).toEqual(before);
  });

  test("a caller without a token changes no password", async () => {
    expect((await change(undefined, { current: password, password: next })).status).toBe(401);
  });

  test("two changes at once: a single change is made", async () => {
    const { token } = await api.register("twice@example.com");
    const both = ["first new one", "second new one"];
    const answers = await Promise.all(both.map((each) => change(token, { current: password, password: each })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 409]);
    const logins = await Promise.all(both.map((each) => login("twice@example.com", each)));
    expect(logins).toEqual(answers.map(({ status }) => (status === 204 ? 200 : 401)));
  });
});

describe("with a wrong password", () => {
  test("the change is refused, and counts as a failed login of the account from the address", async () => {
    const email = "bob@example.com";
    const { token, user } = await api.register(email);
    const before = stored(user.id);
    const wrong = (): Promise<{ status: number }> =>
      change(token, { current: "wrong one", password: next }, "192.0.2.9");
    expect(await wrong()).toEqual({ status: 403, code: "forbidden", rule: undefined } as object as { status: number });
    for (let i = 0; i < 9; i++) expect((await wrong()).status).toBe(403);
    expect((await wrong()).status).toBe(429);
    expect((await change(token, { current: password, password: next }, "192.0.2.9")).status).toBe(429);
    expect(await login(email, password, "192.0.2.9")).toBe(429);
    expect(await login(email, password, "192.0.2.10")).toBe(200);
    expect(stored(user.id)).toEqual(before);
  });
});

describe("without a password", () => {
  test("a recent sign-in sets the password", async () => {
    const { token, user } = await withoutPassword("carl@example.com");
    expect(await login("carl@example.com", "")).toBe(400);
    expect((await change(token, { password: next })).status).toBe(204);
    expect(await login("carl@example.com", next)).toBe(200);
    expect(stored(user.id).mails).toHaveLength(1);
    // From now on, the password is needed.
    expect(await change(token, { password: "another long one" })).toMatchObject({ status: 400, rule: "required" });
  });

  test("an older sign-in is refused, also after a refresh", async () => {
    const { refreshToken, user } = await withoutPassword("dora@example.com");
    const before = stored(user.id);
    setSystemTime(Date.now() + 11 * 60_000);
    const { body } = await api.request<TokenResponse>("POST", "/api/auth/refresh", { body: { refreshToken } });
    for (const current of [undefined, "", "wrong one"])
      expect(await change(body.token, { current, password: next })).toEqual({
        status: 403,
        code: "forbidden",
        rule: "recent_login",
      });
    expect(stored(user.id)).toEqual(before);
  });
});
