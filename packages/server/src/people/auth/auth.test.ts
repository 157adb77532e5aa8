import { describe, expect, test } from "bun:test";
import { SignJWT } from "jose";
import { monotonicClock } from "../../../test/clock.ts";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const secret = "a secret of the tests, forty characters.";
const members = { name: "members", fields: [], permissions: { read: "authenticated" } };
const api = await openApi({
  collections: [members],
  settings: { SERVICE_AUTH_JWT_SECRET: secret, SERVICE_ADMIN_EMAIL: "Boss@Example.com" },
});
const { request } = api;
const password = "correct horse";
const pass = monotonicClock();

async function post(route: string, body: unknown, token?: string) {
  return request("POST", `/api/auth/${route}`, { body, ...(token === undefined ? {} : { token }) });
}

/** A token with any claims, signed with any key. */
async function forge(claims: Record<string, unknown>, options: { key?: string; exp?: number } = {}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256" })
    .setIssuedAt()
    .setExpirationTime(options.exp ?? Math.floor(Date.now() / 1_000) + 3_600)
    .sign(new TextEncoder().encode(options.key ?? secret));
}

/** A well-signed token whose `exp` is this text, which no number of JavaScript prints. */
async function forgeText(claims: Record<string, unknown>, exp: string): Promise<string> {
  const encode = (text: string): string => Buffer.from(text).toString("base64url");
  const payload = JSON.stringify({ ...claims, exp: 0 }).replace('"exp":0', `"exp":${exp}`);
  const signed = `${encode('{"alg":"HS256"}')}.${encode(payload)}`;
  return `${signed}.${new Bun.CryptoHasher("sha256", secret).update(signed).digest("base64url")}`;
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

describe("register", () => {
  test("responds with tokens and the user, without the password in any form", async () => {
    const seq = await lastSeq(api.service);
    const answer = await post("register", { email: "  Ann@Example.COM ", password, role: "admin" });
    expect(answer.status).toBe(201);
    const body: Record<string, unknown> = answer.body;
    expect(Object.keys(body).sort()).toEqual([
      "accessToken",
      "expiresIn",
      "refreshToken",
      "token",
      "tokenType",
      "user",
    ]);
    expect(body).toMatchObject({ token: body["accessToken"], tokenType: "Bearer", expiresIn: 3600 });
    const user = body["user"] as Record<string, unknown>;
    expect(Object.keys(user).sort()).toEqual(["createdAt", "email", "id", "role"]);
    expect(user).toMatchObject({ email: "ann@example.com", role: "authenticated" });
    expect(user["id"]).toMatch(/^usr_/);
    expect(await eventsSince(api.service, seq)).toEqual([
      { type: "auth.register", payload: { userId: user["id"], role: "authenticated" } },
    ]);
    const me = await request("GET", "/api/auth/me", { token: String(body["accessToken"]) });
    expect<unknown>(me.body).toEqual({ user });
    expect(claimsOf(String(body["accessToken"]))).toMatchObject({ sub: user["id"], role: "authenticated" });
  });

  const bad: [string, unknown, number, string[]][] = [
    ["nothing", {}, 400, ["email:required", "password:required"]],
    ["no address", { email: "nobody", password }, 400, ["email:type"]],
    ["no domain", { email: "a@", password }, 400, ["email:type"]],
    ["two signs", { email: "a@b@c.com", password }, 400, ["email:type"]],
    ["a space", { email: "a b@c.com", password }, 400, ["email:type"]],
    ["NUL", { email: "a\u0000@c.com", password }, 400, ["email:type"]],
    ["long", { email: `${"a".repeat(300)}@c.com`, password }, 400, ["email:type"]],
    ["short password", { email: "x@example.com", password: "short" }, 400, ["password:min"]],
    ["long password", { email: "x@example.com", password: "x".repeat(1_001) }, 400, ["password:max"]],
    ["numbers", { email: 1, password: 2 }, 400, ["email:type", "password:type"]],
    ["both", { email: "x", password: "y" }, 400, ["email:type", "password:min"]],
    ["an array", [], 400, []],
    ["taken", { email: "ANN@example.com", password }, 409, []],
    ["taken, in letters of full width", { email: "ａｎｎ＠ｅｘａｍｐｌｅ．ｃｏｍ", password }, 409, []],
    ["taken, in mathematical letters", { email: "𝐚𝐧𝐧@example.com", password }, 409, []],
    ["a character that no font shows", { email: "an\u034fn@example.com", password }, 400, ["email:type"]],
    ["a filler in the domain", { email: "ann@exam\u115fple.com", password }, 400, ["email:type"]],
  ];
  test("an i with a second dot is an i, as the lower case of its capital", async () => {
    expect((await post("register", { email: "isik@example.com", password })).status).toBe(201);
    for (const email of ["\u0130sik@example.com", "i\u0307sik@example.com", "I\u0307SIK@EXAMPLE.COM"]) {
      expect((await post("register", { email, password })).status).toBe(409);
      expect((await post("login", { email, password })).status).toBe(200);
    }
  });

  test.each(bad)("refuses %s", async (_name, body, status, expected) => {
    const answer = await post("register", body);
    expect(answer.status).toBe(status);
    const details: unknown = answer.body["error"]?.["details"] ?? [];
    expect(Array.isArray(details) && details.map((detail) => `${detail.field}:${detail.rule}`)).toEqual(expected);
  });

  test("only the configured address becomes admin", async () => {
    expect<unknown>((await post("register", { email: "boss@example.com", password })).body["user"]).toMatchObject({
      role: "admin",
    });
    expect<unknown>((await post("register", { email: "boss2@example.com", password })).body["user"]).toMatchObject({
      role: "authenticated",
    });
  });

  test("two at the same moment: one registration wins", async () => {
    const body = { email: "race@example.com", password };
    const statuses = (await Promise.all([1, 2, 3].map(() => post("register", body)))).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, 409, 409]);
  });

  test("can be switched off", async () => {
    const closed = await openApi({ settings: { SERVICE_AUTH_REGISTRATION: "off" } });
    const body = { email: "x@example.com", password };
    expect((await closed.request("POST", "/api/auth/register", { body })).status).toBe(403);
  });
});

describe("login", () => {
  test("the same response for a wrong password and for an unknown user", async () => {
    const wrong = await post("login", { email: "ann@example.com", password: "wrong horse" });
    const nobody = await post("login", { email: "nobody@example.com", password: "wrong horse" });
    expect([wrong.status, nobody.status]).toEqual([401, 401]);
    expect(wrong.body).toEqual(nobody.body);
  });

  test("works with the address in any case, and publishes an event", async () => {
    const seq = await lastSeq(api.service);
    const answer = await post("login", { email: "ANN@example.com ", password });
    expect(answer.status).toBe(200);
    expect((await eventsSince(api.service, seq)).map(({ type }) => type)).toEqual(["auth.login"]);
  });

  test("ten failures of an email from an address refuse the eleventh login from that address, and nothing else", async () => {
    await api.register("target@example.com");
    await api.register("other@example.com");
    const attempt = (email: string, secretWord: string, address: string) =>
      request("POST", "/api/auth/login", {
        body: { email, password: secretWord },
        headers: { "x-test-address": address },
      });
    const guesses = await Promise.all(
      Array.from({ length: 14 }, (_, i) => attempt("target@example.com", `guess ${i}`, "office")),
    );
    expect(guesses.map(({ status }) => status).sort()).toEqual([...Array(10).fill(401), ...Array(4).fill(429)]);
    const right = await attempt("target@example.com", password, "office");
    expect(right.status).toBe(429);
    expect(Number(right.headers.get("retry-after"))).toBeGreaterThan(500);
    expect((await attempt("other@example.com", password, "office")).status).toBe(200);
    expect((await attempt("target@example.com", password, "home")).status).toBe(200);
    expect(new Map(api.service.limits.totals()).get("logins")).toBe(5);
  });
});

describe("refresh", () => {
  test("rotates; the old token works for ten seconds more, later its use ends the session", async () => {
    const first = await api.register("rotating@example.com");
    const second = await post("refresh", { refreshToken: first.refreshToken });
    expect(second.status).toBe(200);
    expect<unknown>(second.body["refreshToken"]).not.toBe(first.refreshToken);
    const otherTab = await post("refresh", { refreshToken: first.refreshToken });
    expect(otherTab.status).toBe(200);

    // The other tab has the successor.
    expect((await request("GET", "/api/auth/me", { token: String(otherTab.body["accessToken"]) })).status).toBe(200);
    pass(10_001);
    expect((await post("refresh", { refreshToken: first.refreshToken })).status).toBe(401);
    for (const token of [first.accessToken, String(second.body["accessToken"])])
      expect((await request("GET", "/api/auth/me", { token })).status).toBe(401);
    for (const refreshToken of [second.body["refreshToken"], otherTab.body["refreshToken"]])
      expect((await post("refresh", { refreshToken })).status).toBe(401);
    expect(api.log.join("\n")).toContain("used twice");
    expect(api.log.join("\n")).not.toContain(first.refreshToken);
  });

  const bad: [string, unknown, number][] = [
    ["nothing", {}, 400],
    ["a number", { refreshToken: 5 }, 400],
    ["an unknown one", { refreshToken: "unknown" }, 401],
    ["NUL", { refreshToken: "\u0000" }, 401],
  ];
  test.each(bad)("refuses %s", async (_name, body, status) => {
    expect((await post("refresh", body)).status).toBe(status);
  });

  test("an access token is no refresh token, and a bad bearer does not matter here", async () => {
    const tokens = await api.register("mixed@example.com");
    expect((await post("refresh", { refreshToken: tokens.accessToken })).status).toBe(401);
    expect((await post("refresh", { refreshToken: tokens.refreshToken }, "bad")).status).toBe(200);
  });

  test("refresh tokens are stored hashed", async () => {
    const { refreshToken } = await api.register("hashed@example.com");
    const rows = await api.service.database.reader.all<{ hash: string }>("SELECT hash FROM _refresh_tokens");
    expect(rows.map(({ hash }) => hash)).not.toContain(refreshToken);
  });
});

describe("logout", () => {
  test("with the access token: all tokens of the session are over, another session goes on", async () => {
    const one = await api.register("leaving@example.com");
    const other = (await post("login", { email: "leaving@example.com", password })).body;
    const seq = await lastSeq(api.service);
    expect((await request("POST", "/api/auth/logout", { token: one.accessToken })).status).toBe(204);
    expect((await request("GET", "/api/members", { token: one.accessToken })).status).toBe(401);
    expect((await post("refresh", { refreshToken: one.refreshToken })).status).toBe(401);
    expect((await request("GET", "/api/members", { token: String(other["accessToken"]) })).status).toBe(200);
    expect(await eventsSince(api.service, seq)).toEqual([
      { type: "auth.logout", payload: { userId: one.user.id, role: "authenticated" } },
    ]);
    expect((await request("POST", "/api/auth/logout", { token: one.accessToken })).status).toBe(401);
  });

  test("with the refresh token alone", async () => {
    const tokens = await api.register("leaving2@example.com");
    expect((await post("logout", { refreshToken: tokens.refreshToken })).status).toBe(204);
    expect((await request("GET", "/api/auth/me", { token: tokens.accessToken })).status).toBe(401);
  });

  test("with the access token and an invalid refresh token: the session ends all the same", async () => {
    const tokens = await api.register("leaving3@example.com");
    expect((await post("logout", { refreshToken: "junk" }, tokens.accessToken)).status).toBe(204);
    expect((await request("GET", "/api/auth/me", { token: tokens.accessToken })).status).toBe(401);
  });

  test("with a refresh token that has expired", async () => {
    const tokens = await api.register("leaving4@example.com");
    await api.service.database.transact((tx) =>
      tx.run("UPDATE _sessions SET expiresAt = 1 WHERE userId = ?", tokens.user.id),
    );
    expect((await post("logout", { refreshToken: tokens.refreshToken })).status).toBe(401);
  });

  test("with neither", async () => {
    expect((await request("POST", "/api/auth/logout")).status).toBe(401);
    expect((await post("logout", {})).status).toBe(401);
  });
});

describe("invalid tokens", () => {
  test("each is 401 on a route that reads tokens, and is ignored on a route of sign-in", async () => {
    const { user, accessToken } = await api.register("victim@example.com");
    const other = await api.register("attacker@example.com");
    const { sid } = claimsOf(accessToken);
    const [header, payload] = accessToken.split(".");
    const none = Buffer.from('{"alg":"none"}').toString("base64url");
    const past = Math.floor(Date.now() / 1_000) - 1;
    const tokens = {
      "alg none": `${none}.${payload}.`,
      "alg none, signed": `${none}.${payload}.${accessToken.split(".")[2]}`,
      "no signature": `${header}.${payload}.`,
      "another key": await forge({ sub: user.id, sid, role: "admin" }, { key: "x".repeat(40) }),
      "another user's session": await forge({ sub: other.user.id, sid, role: "authenticated" }),
      "a session that never was": await forge({ sub: user.id, sid: "ses_none", role: "admin" }),
      expired: await forge({ sub: user.id, sid, role: "authenticated" }, { exp: past }),
      "no session": await forge({ sub: user.id, role: "admin" }),
      "no end": await forgeText({ sub: user.id, sid, role: "authenticated" }, "1e400"),
      "an end that is no whole number": await forgeText({ sub: user.id, sid, role: "authenticated" }, "1e300"),
      "no subject": await forge({ sid, role: "admin" }),
      "no JWT": "abc",
      "a refresh token": other.refreshToken,
      "another last character":
        accessToken.slice(0, -1) + String.fromCharCode(accessToken.charCodeAt(accessToken.length - 1) + 1),
      "a padded one": `${accessToken}=`,
    };
    for (const [name, token] of Object.entries(tokens)) {
      for (const [method, path] of [
        ["GET", "/api/members"],
        ["GET", "/api/auth/me"],
        ["POST", "/api/auth/logout"],
      ] as const) {
        const answer = await request(method, path, { token });
        expect([name, path, answer.status]).toEqual([name, path, 401]);
        expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      }
      expect((await request("GET", "/health", { token })).status).toBe(200);
    }
    expect((await request("GET", "/api/members", { headers: { Authorization: "Basic YTpi" } })).status).toBe(401);
    expect((await request("GET", "/api/members", { headers: { Authorization: "Bearer" } })).status).toBe(401);
    expect((await request("GET", "/api/members", { headers: { Authorization: `bearer ${accessToken}` } })).status).toBe(
      200,
    );
  });

  test("the role is the user's present role, not the token's", async () => {
    const { user, accessToken } = await api.register("promoted@example.com");
    const claimed = await forge({ sub: user.id, sid: claimsOf(accessToken)["sid"], role: "admin" });
    expect((await api.service.auth.callers.authenticate(claimed)).role).toBe("authenticated");
  });
});

test("a promoted user has a new password and no session", async () => {
  const { accessToken } = await api.register("chosen@example.com");
  const { auth, database } = api.service;
  const values = await auth.users.prepare({ email: "chosen@example.com", password: "another one" });
  expect((await database.transact((tx) => auth.users.makeAdmin(tx, values))).before?.role).toBe("authenticated");
  expect((await request("GET", "/api/auth/me", { token: accessToken })).status).toBe(401);
  expect((await post("login", { email: "chosen@example.com", password })).status).toBe(401);
  expect<unknown>(
    (await post("login", { email: "chosen@example.com", password: "another one" })).body["user"],
  ).toMatchObject({
    role: "admin",
  });
});

test("a login with a password that is changed during the check fails", async () => {
  const email = "racing@example.com";
  const { user } = await api.register(email);
  const { auth, database } = api.service;
  const passwordHash = await auth.users.preparePassword("battery staple", { key: "test" });
  const login = post("login", { email, password });
  // Checking takes longer than this.
  await database.transact((tx) => auth.users.setPassword(tx, user.id, { passwordHash, keptSession: null }));
  expect((await login).status).toBe(401);
  expect(await auth.users.sessions(user.id)).toEqual([]);
  expect((await post("login", { email, password: "battery staple" })).status).toBe(200);
});

test("without a configured secret, tokens live through a restart", async () => {
  const first = await openApi({});
  const { accessToken } = await first.register("stay@example.com");
  await first.close();
  const second = await openApi({ folder: first.config.folder });
  expect((await second.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(200);
});

test("a user of an earlier version, whose email has another form, logs in after a start; a double is reported until its end", async () => {
  const first = await openApi({});
  const { user } = await first.register("ann@example.com");
  const { user: other } = await first.register("bob@example.com");
  const { user: double } = await first.register("carl@example.com");
  const store = (id: string, email: string) =>
    first.service.database.transact((tx) => tx.run("UPDATE _users SET email = ? WHERE id = ?", email, id));
  await store(user.id, "ａｎｎ@example.com");
  await store(double.id, "ｂｏｂ@example.com");
  await first.close();
  const second = await openApi({ folder: first.config.folder });
  for (const email of ["ann@example.com", "ａｎｎ@example.com", "bob@example.com"])
    expect((await second.request("POST", "/api/auth/login", { body: { email, password } })).status).toBe(200);
  expect(second.service.auth.users.findByEmail("bob@example.com")?.id).toBe(other.id);
  expect(second.service.auth.users.findByEmail("ｂｏｂ@example.com")?.id).toBe(double.id);
  const told = "WARN Two users have one address, written ｂｏｂ@example.com and bob@example.com.";
  expect(second.log.filter((line) => line.startsWith(told))).toHaveLength(1);
  await second.service.database.transact((tx) => second.service.auth.users.delete(tx, other.id, null));
  await second.close();
  const third = await openApi({ folder: first.config.folder });
  const login = await third.request("POST", "/api/auth/login", { body: { email: "bob@example.com", password } });
  expect<unknown>(login.body["user"]).toMatchObject({ id: double.id, email: "bob@example.com" });
  expect(third.log.filter((line) => line.includes("Two users"))).toEqual([]);
});

test("a password is the same password in each form of Unicode; a hash of another form works, and is replaced", async () => {
  const { database } = api.service;
  const [composed, apart] = ["pässwörter".normalize("NFC"), "pässwörter".normalize("NFD")];
  const status = async (given: string) => (await post("login", { email: "forms@example.com", password: given })).status;
  expect((await post("register", { email: "forms@example.com", password: apart })).status).toBe(201);
  expect([await status(composed), await status(apart), await status("passworter")]).toEqual([200, 200, 401]);
  const hash = Bun.password.hashSync(apart, { algorithm: "argon2id", memoryCost: 8, timeCost: 1 });
  await database.transact((tx) => tx.run("UPDATE _users SET passwordHash = ? WHERE email = 'forms@example.com'", hash));
  const stored = () =>
    database.reader.get<{ hash: string }>("SELECT passwordHash AS hash FROM _users WHERE email = 'forms@example.com'")
      ?.hash;
  expect(await status(composed)).toBe(401);
  expect(stored()).toBe(hash);
  expect(await status(apart)).toBe(200);
  expect(stored()).not.toBe(hash);
  expect([await status(composed), await status(apart)]).toEqual([200, 200]);
  // Four letters, written as eight characters.
  const short = await post("register", { email: "short@example.com", password: "äöüä".normalize("NFD") });
  expect(short.status).toBe(400);
});
