/** Tests of second factors over HTTP: the app, codes and recovery codes, used once, guesses bounded, and the removal. */
import { afterEach, beforeEach, describe, expect, setSystemTime, test } from "bun:test";
import { codeOf, wrongCodeOf } from "../../../../test/authenticator.ts";
import { openApi } from "../../../../test/kit.ts";

const api = await openApi({ settings: { SERVICE_LIMITS_RATE_LOGIN: "off", SERVICE_LIMITS_RATE_REGISTER: "off" } });
const { database } = api.service;
const password = "correct horse";
const recentMs = 10 * 60_000;
// In the middle of a step, so that no step ends during a test.
beforeEach(() => void setSystemTime((Math.floor(Date.now() / 30_000) + 0.5) * 30_000));
afterEach(() => void setSystemTime());

let addresses = 0;
/** Wrong factors of one test must not count for the address of another test. */
function newAddress(): string {
  addresses += 1;
  return `address ${addresses}`;
}

function post(route: string, body?: unknown, { token, from }: { token?: string; from?: string } = {}) {
  const headers = { "X-Test-Address": from ?? newAddress() };
  return api.request("POST", `/api/auth/${route}`, {
    headers,
    ...(body !== undefined && { body }),
    ...(token && { token }),
  });
}

interface Enrolled {
  email: string;
  id: string;
  token: string;
  refreshToken: string;
  secret: string;
  recoveryCodes: string[];
}

/** A user with an app, whose codes of the present step and the step before are used. */
async function enrol(email: string): Promise<Enrolled> {
  const { accessToken: token, refreshToken, user } = await api.register(email);
  const secret = String((await post("totp", {}, { token })).body["secret"]);
  const confirmed = await post("totp/confirm", { code: codeOf(secret) }, { token });
  expect(confirmed.status).toBe(200);
  const recoveryCodes: unknown = confirmed.body["recoveryCodes"];
  return { email, id: user.id, token, refreshToken, secret, recoveryCodes: recoveryCodes as string[] };
}

async function attemptOf({ email }: { email: string }): Promise<string> {
  const { body } = await post("login", { email, password });
  expect<unknown>(body["next"]).toBe("second_factor");
  return String(body["attempt"]);
}

async function factorsOf(token: string): Promise<unknown> {
  return (await api.request("GET", "/api/auth/factors", { token })).body;
}

function sessions(id: string): number {
  return database.reader.get<{ n: number }>("SELECT count(*) AS n FROM _sessions WHERE userId = ?", id)?.n ?? -1;
}

describe("an authenticator app", () => {
  test("is no factor before a code confirms the app; then a sign-in needs the app", async () => {
    const { accessToken: token, user } = await api.register("ann@example.com");
    const { status, body } = await post("totp", undefined, { token });
    expect(status).toBe(200);
    expect(body["secret"]).toMatch(/^[A-Z2-7]{32}$/);
    expect<unknown>(body["uri"]).toContain(
      `otpauth://totp/Socle:ann%40example.com?secret=${body["secret"]}&issuer=Socle`,
    );
    const secret = String(body["secret"]);
    const wrong = await post("totp/confirm", { code: wrongCodeOf(secret) }, { token });
    expect(wrong.status).toBe(400);
    expect(await factorsOf(token)).toEqual({ totp: false, recoveryCodes: 0, passkeys: [] });
    expect((await api.login("ann@example.com")).user).toEqual(user);

    const confirmed = await post("totp/confirm", { code: codeOf(secret) }, { token });
    const codes: unknown = confirmed.body["recoveryCodes"];
    expect(new Set(codes as string[]).size).toBe(10);
    for (const code of codes as string[]) expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{6}(-[0-9a-hjkmnp-tv-z]{6}){3}$/);
    expect(await factorsOf(token)).toEqual({ totp: true, recoveryCodes: 10, passkeys: [] });
    // The session of the change and its refresh token go on.
    expect((await api.request("GET", "/api/auth/me", { token })).status).toBe(200);

    const before = sessions(user.id);
    const attempt = await attemptOf({ email: "ann@example.com" });
    expect(sessions(user.id)).toBe(before);
    const login = await post("second-factor", { attempt, code: codeOf(secret, 1) });
    expect(login.status).toBe(200);
    expect(login.body["user"]).toEqual(user as never);
    expect((await api.request("GET", "/api/auth/me", { token: String(login.body["accessToken"]) })).status).toBe(200);
    expect(sessions(user.id)).toBe(before + 1);
  });

  test("and recovery codes are in no readable form in the database", async () => {
    const { id, secret, recoveryCodes } = await enrol("sealed@example.com");
    const tables = ["_totp", "_recovery_codes"].map((table) =>
      JSON.stringify(database.reader.all(`SELECT * FROM ${table} WHERE userId = ?`, id)),
    );
    const rows = tables.join("");
    for (const text of [secret, ...recoveryCodes, ...recoveryCodes.map((code) => code.replaceAll("-", ""))])
      expect(rows).not.toContain(text);
  });

  test("the sealed secret of a user does not count for another user", async () => {
    const ann = await enrol("sealed-ann@example.com");
    const eve = await enrol("sealed-eve@example.com");
    await database.transact((tx) =>
      tx.run("UPDATE _totp SET secret = (SELECT secret FROM _totp WHERE userId = ?) WHERE userId = ?", eve.id, ann.id),
    );
    const attempt = await attemptOf(ann);
    expect((await post("second-factor", { attempt, code: codeOf(eve.secret, 1) })).status).toBe(503);
    expect(api.entries("The secret of an authenticator app cannot be read")).toHaveLength(1);
    // The way out.
    expect((await post("second-factor", { attempt, recoveryCode: ann.recoveryCodes[0] })).status).toBe(200);
  });

  test("is replaced by a new app only after a code of the new app", async () => {
    const ann = await enrol("replace@example.com");
    const { token } = ann;
    const next = String((await post("totp", {}, { token })).body["secret"]);
    expect((await post("totp/confirm", { code: codeOf(ann.secret, 1) }, { token })).status).toBe(400);
    expect((await post("second-factor", { attempt: await attemptOf(ann), code: codeOf(next) })).status).toBe(401);
    expect((await post("second-factor", { attempt: await attemptOf(ann), code: codeOf(ann.secret, 1) })).status).toBe(
      200,
    );
    const confirmed = await post("totp/confirm", { code: codeOf(next) }, { token });
    expect(confirmed.status).toBe(200);
    setSystemTime(Date.now() + 60_000);
    expect((await post("second-factor", { attempt: await attemptOf(ann), code: codeOf(ann.secret) })).status).toBe(401);
    const old = { attempt: await attemptOf(ann), recoveryCode: ann.recoveryCodes[0] };
    expect((await post("second-factor", old)).status).toBe(401);
    expect((await post("second-factor", { attempt: await attemptOf(ann), code: codeOf(next) })).status).toBe(200);
  });

  test("confirmed by two requests at once has the recovery codes of a single request", async () => {
    const { accessToken: token } = await api.register("twice@example.com");
    const secret = String((await post("totp", {}, { token })).body["secret"]);
    const answers = await Promise.all([1, 2, 3].map(() => post("totp/confirm", { code: codeOf(secret) }, { token })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  });

  test("is not needed after its removal", async () => {
    const ann = await enrol("remove@example.com");
    const { token } = ann;
    const attempt = await attemptOf(ann);
    expect((await api.request("DELETE", "/api/auth/totp", { token })).status).toBe(204);
    expect(await factorsOf(token)).toEqual({ totp: false, recoveryCodes: 0, passkeys: [] });
    for (const factor of [{ code: codeOf(ann.secret, 1) }, { recoveryCode: ann.recoveryCodes[0] }])
      expect((await post("second-factor", { attempt, ...factor })).status).toBe(401);
    await api.login(ann.email);
    expect((await api.request("DELETE", "/api/auth/totp", { token })).status).toBe(404);
    expect((await post("recovery-codes", {}, { token })).status).toBe(409);
  });
});

describe("a code", () => {
  test("counts once, also for two attempts at once, and also the code of the confirmation", async () => {
    const ann = await enrol("once@example.com");
    const [first, second, third] = [await attemptOf(ann), await attemptOf(ann), await attemptOf(ann)];
    expect((await post("second-factor", { attempt: first, code: codeOf(ann.secret) })).status).toBe(401);
    const code = codeOf(ann.secret, 1);
    const before = sessions(ann.id);
    const answers = await Promise.all([first, second].map((attempt) => post("second-factor", { attempt, code })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    expect(sessions(ann.id)).toBe(before + 1);
    expect((await post("second-factor", { attempt: third, code })).status).toBe(401);
    setSystemTime(Date.now() + 30_000);
    expect((await post("second-factor", { attempt: third, code: codeOf(ann.secret, 1) })).status).toBe(200);
  });

  test("for an attempt that is used, expired, changed or unknown is 400 with the same message, and is not used up", async () => {
    const ann = await enrol("attempts@example.com");
    const used = await attemptOf(ann);
    expect((await post("second-factor", { attempt: used, code: codeOf(ann.secret, 1) })).status).toBe(200);
    const expired = await attemptOf(ann);
    setSystemTime(Date.now() + recentMs);
    const fresh = await attemptOf(ann);
    const refused = [used, expired, fresh.slice(1), `${fresh}x`, "x", ann.token, ann.refreshToken];
    const answers = await Promise.all(
      refused.map((attempt) => post("second-factor", { attempt, code: codeOf(ann.secret) })),
    );
    for (const { status, body } of answers)
      expect<unknown>({ status, ...body }).toEqual({
        status: 400,
        error: { code: "bad_request", message: "The token or code is unknown, used or expired. Begin again." },
      });
    expect((await post("second-factor", { attempt: fresh, code: codeOf(ann.secret) })).status).toBe(200);
  });

  test("opens a single session for an attempt, also for two right factors at once; the other factor is not used up", async () => {
    const ann = await enrol("single@example.com");
    const attempt = await attemptOf(ann);
    const before = sessions(ann.id);
    const [first, second] = ann.recoveryCodes;
    const factors = [{ recoveryCode: first }, { recoveryCode: second }, { code: codeOf(ann.secret, 1) }];
    const answers = await Promise.all(factors.map((factor) => post("second-factor", { attempt, ...factor })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    expect(sessions(ann.id)).toBe(before + 1);
    const unused = factors.filter((_, i) => answers[i]?.status === 400);
    for (const factor of unused)
      expect((await post("second-factor", { attempt: await attemptOf(ann), ...factor })).status).toBe(200);
  });

  test("from another user does not end the attempt of a user", async () => {
    const ann = await enrol("victim@example.com");
    const eve = await enrol("eve@example.com");
    const attempt = await attemptOf(ann);
    for (const factor of [{ code: codeOf(eve.secret, 1) }, { recoveryCode: eve.recoveryCodes[0] }])
      expect((await post("second-factor", { attempt, ...factor })).status).toBe(401);
    expect((await post("second-factor", { attempt, code: codeOf(ann.secret, 1) })).status).toBe(200);
  });

  test("is guessed five times for an account in ten minutes, over all attempts and addresses; a recovery code still works", async () => {
    const ann = await enrol("guess@example.com");
    const other = await enrol("bystander@example.com");
    const code = wrongCodeOf(ann.secret);
    for (let i = 0; i < 5; i++)
      expect((await post("second-factor", { attempt: await attemptOf(ann), code })).status).toBe(401);
    const right = { attempt: await attemptOf(ann), code: codeOf(ann.secret, 1) };
    const refused = await post("second-factor", right);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(500);
    expect(
      (await post("second-factor", { attempt: await attemptOf(other), code: codeOf(other.secret, 1) })).status,
    ).toBe(200);
    const recovery = { attempt: await attemptOf(ann), recoveryCode: ann.recoveryCodes[3] };
    expect((await post("second-factor", recovery)).status).toBe(200);
    const { body } = await api.request("GET", "/api/admin/events?type=auth.failed", { token: await api.admin() });
    expect(JSON.stringify(body)).toContain("guess@example.com");
    expect(api.log).toContain("INFO Second factors failed");
  });

  test("is guessed twenty times from an address, over all accounts", async () => {
    const from = newAddress();
    const users = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => enrol(`crowd-${n}@example.com`)));
    const statuses: number[] = [];
    for (const user of users)
      for (let i = 0; i < 4; i++) {
        const attempt = await attemptOf(user);
        statuses.push((await post("second-factor", { attempt, code: wrongCodeOf(user.secret) }, { from })).status);
      }
    expect(statuses).toEqual([...Array(20).fill(401), ...Array(4).fill(429)]);
  });

  test("in another form is 400 and no guess", async () => {
    const ann = await enrol("forms@example.com");
    const attempt = await attemptOf(ann);
    const from = newAddress();
    const bad: [object, string][] = [
      [{ attempt }, ":required"],
      [{ code: "123456" }, "attempt:required"],
      [{ attempt: 1, code: "123456" }, "attempt:type"],
      [{ attempt, code: 123456 }, "code:type"],
      [{ attempt, code: "12345" }, "code:regex"],
      [{ attempt, code: "१२३४५६" }, "code:regex"],
      [{ attempt, code: null }, "code:required"],
      [{ attempt, recoveryCode: {} }, "recoveryCode:type"],
      [{ attempt, code: "123456", recoveryCode: "x" }, ":unknown"],
    ];
    for (const [body, problem] of bad) {
      const answer = await post("second-factor", body, { from });
      const [field, rule] = problem.split(":");
      expect<unknown>(answer).toMatchObject({ status: 400, body: { error: { details: [{ field, rule }] } } });
    }
    const code = codeOf(ann.secret, 1);
    const spaced = `${code.slice(0, 3)} ${code.slice(3)}`;
    expect((await post("second-factor", { attempt, code: spaced }, { from })).status).toBe(200);
  });
});

describe("recovery codes", () => {
  test("work once each, also typed in capitals and without dashes", async () => {
    const ann = await enrol("recover@example.com");
    const [first = "", second = ""] = ann.recoveryCodes;
    const login = await post("login", { email: ann.email, password });
    expect<unknown>(login.body["methods"]).toEqual(["code", "recoveryCode"]);
    const typed = first.toUpperCase().replaceAll("-", " ").replaceAll("0", "O").replaceAll("1", "l");
    expect((await post("second-factor", { attempt: await attemptOf(ann), recoveryCode: typed })).status).toBe(200);
    expect((await post("second-factor", { attempt: await attemptOf(ann), recoveryCode: first })).status).toBe(401);
    const attempts = [await attemptOf(ann), await attemptOf(ann)];
    const answers = await Promise.all(
      attempts.map((attempt) => post("second-factor", { attempt, recoveryCode: second })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    expect(await factorsOf(ann.token)).toMatchObject({
      recoveryCodes: 8,
    });
  });

  test("end with new recovery codes", async () => {
    const ann = await enrol("renew@example.com");
    const renewed = await post("recovery-codes", {}, { token: ann.token });
    const codes = renewed.body["recoveryCodes"] as unknown as string[];
    expect(codes).toHaveLength(10);
    const old = { attempt: await attemptOf(ann), recoveryCode: ann.recoveryCodes[0] };
    expect((await post("second-factor", old)).status).toBe(401);
    expect((await post("second-factor", { attempt: await attemptOf(ann), recoveryCode: codes[0] })).status).toBe(200);
  });

  test("that are all used are no factor any more", async () => {
    const ann = await enrol("empty@example.com");
    for (const recoveryCode of ann.recoveryCodes)
      expect((await post("second-factor", { attempt: await attemptOf(ann), recoveryCode })).status).toBe(200);
    const login = await post("login", { email: ann.email, password });
    expect<unknown>(login.body["methods"]).toEqual(["code"]);
  });
});

describe("a change of factors", () => {
  const changes = [
    ["POST", "totp"],
    ["POST", "totp/confirm"],
    ["DELETE", "totp"],
    ["POST", "recovery-codes"],
  ] as const;

  test("needs a sign-in of the last ten minutes, and a refresh is no sign-in", async () => {
    const ann = await enrol("recent@example.com");
    const next = String((await post("totp", {}, { token: ann.token })).body["secret"]);
    setSystemTime(Date.now() + recentMs + 1_000);
    const { body } = await post("refresh", { refreshToken: ann.refreshToken });
    for (const token of [ann.token, String(body["accessToken"])])
      for (const [method, route] of changes) {
        const answer = await api.request(method, `/api/auth/${route}`, {
          token,
          ...(method === "POST" && { body: { code: codeOf(next) } }),
        });
        expect(answer.status).toBe(403);
        expect<unknown>(answer.body["error"]).toMatchObject({
          code: "forbidden",
          details: [{ field: "", rule: "recent_login" }],
        });
      }
    expect(await factorsOf(ann.token)).toEqual({
      totp: true,
      recoveryCodes: 10,
      passkeys: [],
    });
  });

  test("needs a user", async () => {
    for (const [method, route] of [...changes, ["GET", "factors"] as const])
      expect((await api.request(method, `/api/auth/${route}`)).status).toBe(401);
  });
});

test("the deletion of a user deletes the factors", async () => {
  const ann = await enrol("deleted@example.com");
  const stays = await enrol("stays@example.com");
  await attemptOf(ann);
  await api.request("DELETE", `/api/admin/users/${ann.id}`, { token: await api.admin() });
  for (const table of ["_totp", "_recovery_codes", "_sign_in_attempts"])
    expect(database.reader.all(`SELECT userId FROM ${table} WHERE userId = ?`, ann.id)).toEqual([]);
  expect(await factorsOf(stays.token)).toEqual({
    totp: true,
    recoveryCodes: 10,
    passkeys: [],
  });
});

test("a password that the admin sets does not replace the second factor", async () => {
  const ann = await enrol("reset@example.com");
  const body = { password: "another horse" };
  await api.request("POST", `/api/admin/users/${ann.id}/password`, { token: await api.admin(), body });
  const login = await post("login", { email: ann.email, password: "another horse" });
  expect<unknown>(login.body["next"]).toBe("second_factor");
  expect(login.body["accessToken"]).toBeUndefined();
});

test("the app shows the account under the name of the public address", async () => {
  const named = await openApi({ settings: { SERVICE_PUBLIC_URL: "https://app.example.com/base" } });
  const { accessToken: token } = await named.register("ann@example.com");
  const { body } = await named.request("POST", "/api/auth/totp", { token });
  expect<unknown>(body["uri"]).toContain("otpauth://totp/app.example.com:ann%40example.com?");
});
