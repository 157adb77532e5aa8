/** Tests of passkeys over HTTP with an authenticator in software: registration, sign-ins, second factors, and each attack. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import type { PasskeyCreation, PasskeyRequest } from "@socle/protocol";
import { codeOf } from "../../../../test/authenticator.ts";
import { type Answer, openApi } from "../../../../test/kit.ts";
import { SoftPasskey } from "../../../../test/soft-authenticator.ts";

const origin = "https://app.example.com";
const api = await openApi({
  settings: {
    SERVICE_PUBLIC_URL: `${origin}/base`,
    SERVICE_LIMITS_PASSKEYS_PER_USER: "3",
    SERVICE_LIMITS_RATE_LOGIN: "off",
    SERVICE_LIMITS_RATE_REGISTER: "off",
  },
});
const { database } = api.service;
afterEach(() => void setSystemTime());

function post<T = Answer["body"]>(route: string, body: object = {}, { token }: { token?: string } = {}) {
  return api.request<T>("POST", `/api/auth/${route}`, { body, ...(token && { token }) });
}

async function creation(token: string): Promise<PasskeyCreation> {
  const { status, body } = await post<PasskeyCreation>("passkeys/options", {}, { token });
  expect(status).toBe(200);
  return body;
}

async function request(attempt?: string): Promise<PasskeyRequest> {
  const { status, body } = await post<PasskeyRequest>(
    "passkeys/login/options",
    attempt === undefined ? {} : { attempt },
  );
  expect(status).toBe(200);
  return body;
}

async function withPasskey(email: string, options: { isUserVerified?: boolean } = {}) {
  const { accessToken: token, user } = await api.register(email);
  const passkey = new SoftPasskey();
  const answer = await post(
    "passkeys",
    { passkey: passkey.register(await creation(token), { origin, ...options }) },
    { token },
  );
  expect(answer.status).toBe(201);
  return { email, token, user, passkey, id: String(answer.body["id"]) };
}

function signIn(passkey: object) {
  return post("passkeys/login", { passkey });
}

function sessions(userId: string): number {
  return database.reader.get<{ n: number }>("SELECT count(*) AS n FROM _sessions WHERE userId = ?", userId)?.n ?? -1;
}

describe("a passkey", () => {
  test("is registered, listed, signs its user in, and is deleted", async () => {
    const { accessToken: token, user } = await api.register("ann@example.com");
    const options = await creation(token);
    expect(options).toMatchObject({
      rp: { id: "app.example.com" },
      user: { id: Buffer.from(user.id).toString("base64url"), name: "ann@example.com" },
      authenticatorSelection: { residentKey: "required" },
      excludeCredentials: [],
    });
    const passkey = new SoftPasskey();
    const body = { name: "  My phone ", passkey: passkey.register(options, { origin }) };
    const made = await post("passkeys", body, { token });
    expect(made.status).toBe(201);
    const entry = {
      id: expect.stringMatching(/^psk_/),
      name: "My phone",
      isBackedUp: false,
      createdAt: expect.any(String),
    };
    expect<unknown>(made.body).toEqual({ ...entry, lastUsedAt: null });
    expect((await creation(token)).excludeCredentials.map(({ id }) => id)).toEqual([passkey.id]);
    // A passkey alone turns no second factor on.
    expect((await api.login("ann@example.com")).user.id).toBe(user.id);

    const asked = await request();
    expect(asked).toMatchObject({ rpId: "app.example.com", allowCredentials: [], userVerification: "required" });
    const login = await signIn(passkey.sign(asked, { origin }));
    expect(login.status).toBe(200);
    expect<unknown>(login.body["user"]).toEqual(user);
    const list = await api.request("GET", "/api/auth/passkeys", { token: String(login.body["accessToken"]) });
    expect<unknown>(list.body).toEqual({ items: [{ ...entry, lastUsedAt: expect.any(String) }] });

    const { id } = made.body;
    const other = await api.register("other@example.com");
    expect((await api.request("DELETE", `/api/auth/passkeys/${id}`, { token: other.accessToken })).status).toBe(404);
    expect((await api.request("DELETE", `/api/auth/passkeys/${id}`, { token })).status).toBe(204);
    expect((await signIn(passkey.sign(await request(), { origin }))).status).toBe(401);
  });

  test("that verifies the user is two factors: no second factor is needed", async () => {
    const { token, passkey, user } = await withPasskey("two@example.com");
    const { body } = await post("totp", {}, { token });
    expect((await post("totp/confirm", { code: codeOf(String(body["secret"])) }, { token })).status).toBe(200);
    const login = await signIn(passkey.sign(await request(), { origin }));
    expect(login.body["accessToken"]).toBeString();
    expect<unknown>(login.body["user"]).toMatchObject({ id: user.id });
  });

  test("that does not verify the user signs in only with a password, as a second factor", async () => {
    const ann = await withPasskey("weak@example.com", { isUserVerified: false });
    const before = sessions(ann.user.id);
    const login = await signIn(ann.passkey.sign(await request(), { origin, isUserVerified: false }));
    expect(login.status).toBe(401);
    expect(sessions(ann.user.id)).toBe(before);
    const { body } = await post("totp", {}, { token: ann.token });
    await post("totp/confirm", { code: codeOf(String(body["secret"])) }, { token: ann.token });
    const first = await post("login", { email: ann.email, password: "correct horse" });
    expect<unknown>(first.body["methods"]).toEqual(["code", "recoveryCode", "passkey"]);
    const attempt = String(first.body["attempt"]);
    const options = await request(attempt);
    expect(options).toMatchObject({ userVerification: "preferred", allowCredentials: [{ id: ann.passkey.id }] });
    const passkey = ann.passkey.sign(options, { origin, isUserVerified: false, userHandle: null });
    const done = await post("second-factor", { attempt, passkey });
    expect(done.status).toBe(200);
    expect(sessions(ann.user.id)).toBe(before + 1);
    expect((await post("second-factor", { attempt, passkey })).status).toBe(400);
  });

  test("that belongs to a deleted user signs no user in", async () => {
    const { passkey, user } = await withPasskey("gone@example.com");
    await api.request("DELETE", `/api/admin/users/${user.id}`, { token: await api.admin() });
    expect((await signIn(passkey.sign(await request(), { origin }))).status).toBe(401);
    expect(database.reader.all("SELECT id FROM _passkeys WHERE userId = ?", user.id)).toEqual([]);
  });
});

test("the last sign-in method is not deleted", async () => {
  const { token, id, user } = await withPasskey("only@example.com");
  await database.transact((tx) => tx.run("UPDATE _users SET passwordHash = '' WHERE id = ?", user.id));
  const remove = async (passkey: unknown) =>
    (await api.request("DELETE", `/api/auth/passkeys/${passkey}`, { token })).status;
  expect(await remove(id)).toBe(400);
  const second = new SoftPasskey().register(await creation(token), { origin });
  const { body } = await post("passkeys", { passkey: second }, { token });
  expect([await remove(id), await remove(body["id"])]).toEqual([204, 400]);
});

describe("a sign-in is refused, and opens no session,", () => {
  type Signed = ReturnType<SoftPasskey["sign"]>;
  type Attack = (passkey: SoftPasskey, options: PasskeyRequest) => Signed;
  const change = (signed: Signed, part: Partial<Signed["response"]>): Signed => ({
    ...signed,
    response: { ...signed.response, ...part },
  });
  const attacks: [string, Attack][] = [
    [
      "from another origin",
      (passkey, options) => passkey.sign(options, { origin: "https://app.example.com.evil.test" }),
    ],
    ["from another port", (passkey, options) => passkey.sign(options, { origin: `${origin}:8443` })],
    ["for another host", (passkey, options) => passkey.sign(options, { origin, rpId: "evil.test" })],
    ["of another type", (passkey, options) => passkey.sign(options, { origin, type: "webauthn.create" })],
    ["without the name of the user", (passkey, options) => passkey.sign(options, { origin, userHandle: null })],
    ["with the name of another user", (passkey, options) => passkey.sign(options, { origin, userHandle: "dXNyX3g" })],
    ["with an old count", (passkey, options) => passkey.sign(options, { origin, counter: 5 })],
    ["with no count after a count", (passkey, options) => passkey.sign(options, { origin, counter: 0 })],
    [
      "with a challenge of nobody",
      (passkey, options) => passkey.sign({ ...options, challenge: "x".repeat(75) }, { origin }),
    ],
    [
      "with a changed challenge",
      (passkey, { challenge, ...options }) =>
        passkey.sign(
          { ...options, challenge: `${challenge.startsWith("A") ? "B" : "A"}${challenge.slice(1)}` },
          { origin },
        ),
    ],
    [
      "with the signature of another passkey",
      (passkey, options) =>
        change(passkey.sign(options, { origin }), {
          signature: new SoftPasskey().sign(options, { origin }).response.signature,
        }),
    ],
    ["of an unknown passkey", (_, options) => new SoftPasskey().sign(options, { origin, userHandle: "dXNyX3g" })],
    [
      "with changed data of the authenticator",
      (passkey, options) => {
        const signed = passkey.sign(options, { origin, isUserVerified: false });
        const data = Buffer.from(signed.response.authenticatorData, "base64url");
        data.writeUInt8(data.readUInt8(32) | 0x04, 32);
        return change(signed, { authenticatorData: data.toString("base64url") });
      },
    ],
    [
      "with text that is no data",
      (passkey, options) => change(passkey.sign(options, { origin }), { authenticatorData: "AAAA" }),
    ],
    [
      "with client data that is no JSON",
      (passkey, options) => change(passkey.sign(options, { origin }), { clientDataJSON: "AAAA" }),
    ],
  ];
  test.each(attacks)("%s", async (name, attack) => {
    const { passkey, user } = await withPasskey(`${name.replaceAll(" ", "-")}@example.com`);
    expect((await signIn(passkey.sign(await request(), { origin, counter: 5 }))).status).toBe(200);
    const before = sessions(user.id);
    passkey.counter = 10;
    const answer = await signIn(attack(passkey, await request()));
    expect(answer.status).toBe(401);
    expect(answer.body["accessToken"]).toBeUndefined();
    expect(sessions(user.id)).toBe(before);
    // The passkey still works.
    expect((await signIn(passkey.sign(await request(), { origin, counter: 20 }))).status).toBe(200);
  });

  test("a second time with the same response, also at once, also by an authenticator that does not count", async () => {
    const { passkey, user } = await withPasskey("replay@example.com");
    const signed = passkey.sign(await request(), { origin, counter: 0 });
    const before = sessions(user.id);
    const answers = await Promise.all([1, 2, 3].map(() => signIn(signed)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    expect((await signIn(signed)).status).toBe(401);
    expect(sessions(user.id)).toBe(before + 1);
    await api.service.auth.sweep();
    expect((await signIn(signed)).status).toBe(401);
    // An authenticator that never counts works again with a new challenge.
    expect((await signIn(passkey.sign(await request(), { origin, counter: 0 }))).status).toBe(200);
  });

  test("five minutes after the options, also when the sweep has removed the used challenge", async () => {
    const { passkey } = await withPasskey("late@example.com");
    const signed = passkey.sign(await request(), { origin, counter: 0 });
    expect((await signIn(signed)).status).toBe(200);
    const late = await request();
    setSystemTime(Date.now() + 5 * 60_000);
    await api.service.auth.sweep();
    expect(database.reader.all("SELECT * FROM _used_challenges WHERE expiresAt <= ?", Date.now())).toEqual([]);
    for (const again of [signed, passkey.sign(late, { origin })]) expect((await signIn(again)).status).toBe(401);
    // A clock that is set back revives nothing that the sweep has forgotten.
    setSystemTime(Date.now() - 15 * 60_000);
    expect((await signIn(signed)).status).toBe(401);
  });

  test("a copy of a passkey is found by the count, and named in the log", async () => {
    const { passkey } = await withPasskey("copied@example.com");
    for (let i = 0; i < 3; i++) expect((await signIn(passkey.sign(await request(), { origin }))).status).toBe(200);
    expect((await signIn(passkey.sign(await request(), { origin, counter: 3 }))).status).toBe(401);
    const [entry] = api.entries("A passkey was refused: its counter has not grown, so there may be a copy").slice(-1);
    expect(entry).toMatchObject({ level: "WARN", fields: { given: 3, stored: 3 } });
  });

  test("from another origin, with the right origin in the message", async () => {
    const { passkey } = await withPasskey("message@example.com");
    const { body } = await signIn(passkey.sign(await request(), { origin: "http://localhost:3000" }));
    const message = "Passkeys of this service are for pages of https://app.example.com (publicUrl), not of this page.";
    expect<unknown>(body["error"]).toEqual({ code: "unauthorized", message });
  });

  test("with a challenge of another purpose", async () => {
    const ann = await withPasskey("purpose@example.com");
    const { body } = await post("totp", {}, { token: ann.token });
    await post("totp/confirm", { code: codeOf(String(body["secret"])) }, { token: ann.token });
    const attemptOf = async () => {
      const answer = await post("login", { email: ann.email, password: "correct horse" });
      return String(answer.body["attempt"]);
    };
    const [first, second] = [await attemptOf(), await attemptOf()];
    const ofCreation = (await creation(ann.token)).challenge;
    const ofFirst = await request(first);
    for (const { challenge } of [ofFirst, { challenge: ofCreation }])
      expect((await signIn(ann.passkey.sign({ ...ofFirst, challenge }, { origin }))).status).toBe(401);
    const { challenge: ofSignIn } = await request();
    for (const challenge of [ofSignIn, ofCreation, (await request(second)).challenge]) {
      const passkey = ann.passkey.sign({ ...ofFirst, challenge }, { origin });
      expect((await post("second-factor", { attempt: first, passkey })).status).toBe(401);
    }
    const passkey = ann.passkey.sign(ofFirst, { origin });
    expect((await post("second-factor", { attempt: first, passkey })).status).toBe(200);
  });
});

describe("the second factor is refused", () => {
  test("with the passkey of another user", async () => {
    const ann = await withPasskey("mine@example.com");
    const eve = await withPasskey("eve@example.com");
    const { body } = await post("totp", {}, { token: ann.token });
    await post("totp/confirm", { code: codeOf(String(body["secret"])) }, { token: ann.token });
    const { body: login } = await post("login", { email: ann.email, password: "correct horse" });
    const attempt = String(login["attempt"]);
    const options = await request(attempt);
    for (const userHandle of [undefined, null, Buffer.from(ann.user.id).toString("base64url")]) {
      const passkey = eve.passkey.sign(options, { origin, ...(userHandle !== undefined && { userHandle }) });
      expect((await post("second-factor", { attempt, passkey })).status).toBe(401);
    }
    const passkey = ann.passkey.sign(options, { origin });
    expect((await post("second-factor", { attempt, passkey })).status).toBe(200);
  });

  test("without an attempt: an unknown attempt has no options", async () => {
    for (const attempt of ["x", "y".repeat(43)]) {
      const { status, body } = await post("passkeys/login/options", { attempt });
      expect<unknown>({ status, ...body }).toMatchObject({ status: 400, error: { code: "bad_request" } });
    }
    expect((await post("passkeys/login/options", { attempt: 1 })).status).toBe(400);
  });
});

describe("a registration is refused", () => {
  test("from another origin or host, for another user, with old or used options, and without a user", async () => {
    const ann = await withPasskey("register@example.com");
    const eve = await api.register("register-eve@example.com");
    const options = await creation(ann.token);
    const register = async (passkey: object, token = ann.token) =>
      (await post("passkeys", { passkey }, { token })).status;
    const fresh = (): SoftPasskey => new SoftPasskey();
    expect(await register(fresh().register(options, { origin: "https://evil.test" }))).toBe(400);
    expect(await register(fresh().register(options, { origin, rpId: "evil.test" }))).toBe(400);
    expect(await register(fresh().register(options, { origin, type: "webauthn.get" }))).toBe(400);
    expect(await register(fresh().register({ ...options, challenge: (await request()).challenge }, { origin }))).toBe(
      400,
    );
    expect(await register(fresh().register(options, { origin }), eve.accessToken)).toBe(400);
    expect((await post("passkeys", { passkey: fresh().register(options, { origin }) })).status).toBe(401);
    expect(await register(fresh().register(options, { origin }))).toBe(201);
    expect(await register(fresh().register(options, { origin }))).toBe(400);
    // The same credential, for another user.
    const taken = ann.passkey.register(await creation(eve.accessToken), { origin });
    expect(await register(taken, eve.accessToken)).toBe(409);
    const late = fresh().register(await creation(ann.token), { origin });
    setSystemTime(Date.now() + 5 * 60_000);
    expect(await register(late)).toBe(400);
    setSystemTime(Date.now() + 6 * 60_000);
    const old = await post("passkeys/options", {}, { token: ann.token });
    expect<unknown>(old.body["error"]).toMatchObject({ code: "forbidden", details: [{ rule: "recent_login" }] });
    const { items } = (await api.request("GET", "/api/auth/passkeys", { token: ann.token })).body;
    expect(items).toHaveLength(2);
    expect((await api.request("DELETE", `/api/auth/passkeys/${ann.id}`, { token: ann.token })).status).toBe(403);
  });

  test("beyond the bound of a user, also for options from before", async () => {
    const { token } = await withPasskey("many@example.com");
    const options = [await creation(token), await creation(token), await creation(token)];
    const answers = await Promise.all(
      options.map((each) => post("passkeys", { passkey: new SoftPasskey().register(each, { origin }) }, { token })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409]);
    expect((await post("passkeys/options", {}, { token })).status).toBe(409);
    expect(new Map(api.service.limits.totals()).get("passkeysPerUser")).toBeGreaterThan(0);
  });

  test("with missing parts, with parts of another type, or with a bad name", async () => {
    const { accessToken: token } = await api.register("forms@example.com");
    const right = new SoftPasskey().register(await creation(token), { origin });
    const bad: [object, string][] = [
      [{}, "passkey:required"],
      [{ passkey: "x" }, "passkey:type"],
      [{ passkey: { ...right, type: "password" } }, "passkey:type"],
      [{ passkey: { ...right, id: "a b" } }, "passkey.id:type"],
      [{ passkey: { ...right, id: "a".repeat(1_365) } }, "passkey.id:max"],
      [
        { passkey: { ...right, response: { ...right.response, attestationObject: 1 } } },
        "passkey.response.attestationObject:type",
      ],
      [{ passkey: { ...right, response: {} } }, "passkey.response.clientDataJSON:required"],
      [{ passkey: right, name: 1 }, "name:type"],
      [{ passkey: right, name: "  " }, "name:regex"],
      [{ passkey: right, name: "a\nb" }, "name:regex"],
      [{ passkey: right, name: "x".repeat(101) }, "name:regex"],
    ];
    for (const [body, problem] of bad) {
      const [field, rule] = problem.split(":");
      const answer = await post("passkeys", body, { token });
      expect<unknown>(answer).toMatchObject({ status: 400, body: { error: { details: [{ field, rule }] } } });
    }
  });
});
