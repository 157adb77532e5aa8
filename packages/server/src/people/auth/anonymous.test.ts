/** Tests of anonymous users: the account that a claim makes, what a stranger gets from a claim, and the end of unused users. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import type { TokenResponse } from "@socle/protocol";
import { FakeProvider } from "../../../test/fake-provider.ts";
import { type Answer, eventsSince, lastSeq, openApi, type TestApi, temporaryFolder } from "../../../test/kit.ts";
import { Mailbox } from "../../../test/mailbox.ts";
import { fragmentOf, home, passProvider, publicUrl, TestApp } from "../../../test/sign-in-world.ts";

const day = 86_400_000;
const provider = new FakeProvider();
const settings = {
  SERVICE_AUTH_ANONYMOUS: "true",
  SERVICE_AUTH_CODES: "true",
  SERVICE_AUTH_PROVIDERS: JSON.stringify({ one: provider.settings }),
  SERVICE_MAIL_FROM: "shop@example.com",
  SERVICE_PUBLIC_URL: publicUrl,
  ...Object.fromEntries(
    ["MAIL", "LOGIN", "REGISTER", "RECIPIENT"].map((group) => [`SERVICE_LIMITS_RATE_${group}`, "off"]),
  ),
};
const collections = [
  { name: "carts", fields: [{ name: "n", type: "integer" }], permissions: { read: "owner", create: "authenticated" } },
  { name: "full", fields: [{ name: "n", type: "integer" }], permissions: { create: "@user.anonymous = false" } },
  { name: "only", fields: [{ name: "n", type: "integer" }], permissions: { create: "@user.anonymous = true" } },
  {
    name: "items",
    fields: [{ name: "who", type: "relation", collection: "users", onDelete: "cascade" }],
    permissions: { read: "public", create: "authenticated" },
  },
  {
    name: "orders",
    fields: [{ name: "who", type: "relation", collection: "users", onDelete: "restrict" }],
    permissions: { read: "public", create: "authenticated" },
  },
];
const api = await openApi({ collections, settings });
const { request, service } = api;
const mailbox = new Mailbox(service);
const root = await api.admin();
let people = 0;
const newEmail = (): string => `person-${++people}@example.com`;
const password = "correct horse";
afterEach(() => setSystemTime());

const post = (path: string, body?: object, token?: string): Promise<Answer> =>
  request("POST", `/api/${path}`, { ...(body && { body }), ...(token !== undefined && { token }) });
async function anonymous(on: TestApi = api): Promise<TokenResponse> {
  const answer = await on.request<TokenResponse>("POST", "/api/auth/anonymous");
  expect(answer.status).toBe(200);
  return answer.body;
}
const me = async (token: string): Promise<unknown> => {
  const { status, body } = await request("GET", "/api/auth/me", { token });
  return status === 200 ? body["user"] : status;
};
const errorOf = ({ status, body }: Answer): unknown[] => [status, body["error"]?.["code"]];
const claim = (token: string, email: string, given = password): Promise<Answer> =>
  post("auth/anonymous/claim", { email, password: given }, token);
const verify = (email: string, more: object = {}, token?: string): Promise<Answer> =>
  mailbox.secret(email, "verify").then((secret) => post("auth/verify", { token: secret, ...more }, token));
const login = (email: string, given = password): Promise<Answer> => post("auth/login", { email, password: given });

describe("an anonymous user", () => {
  test("is signed in without an email, keeps records, and refreshes", async () => {
    const seq = await lastSeq(service);
    const { user, accessToken, refreshToken } = await anonymous();
    expect(user).toEqual({
      id: expect.stringMatching(/^usr_/),
      email: null,
      role: "authenticated",
      createdAt: expect.any(String),
      verified: false,
      anonymous: true,
    });
    expect(await me(accessToken)).toEqual(user);
    expect((await post("carts", { n: 1 }, accessToken)).status).toBe(201);
    const renewed = await post("auth/refresh", { refreshToken });
    expect(renewed.body["user"]).toEqual(user as never);
    expect((await eventsSince(service, seq)).map(({ type }) => type)).toEqual(["auth.register", "carts.created"]);
    const other = (await anonymous()).user;
    expect(other.id).not.toBe(user.id);
    const listed = await request<{ items: object[] }>("GET", "/api/admin/users?limit=2", { token: root });
    expect(listed.body.items).toEqual([other, user]);
  });

  test("is anonymous for rules, and a full user and nobody are not", async () => {
    const { accessToken } = await anonymous();
    const { accessToken: full } = await api.register(newEmail());
    for (const [collection, token, status] of [
      ["full", accessToken, 403],
      ["only", accessToken, 201],
      ["full", full, 201],
      ["only", full, 403],
      ["full", undefined, 401],
      ["only", undefined, 401],
    ] as const)
      expect([collection, (await post(collection, { n: 1 }, token)).status]).toEqual([collection, status]);
    const filtered = await request("GET", "/api/items?filter=@user.anonymous = true", { token: full });
    expect(filtered.status).toBe(200);
  });

  test("makes no credential but by a claim: no key, passkey, authenticator app, password, address or link in a mail", async () => {
    const { accessToken: token } = await anonymous();
    for (const [method, path, body] of [
      ["POST", "keys", { name: "k", scopes: ["carts:read"] }],
      ["POST", "passkeys/options", {}],
      ["POST", "totp", {}],
      ["PUT", "password", { current: null, password }],
      ["POST", "email", { email: newEmail() }],
      ["POST", "verify/request", undefined],
    ] as const) {
      const answer = await request(method, `/api/auth/${path}`, { token, ...(body && { body }) });
      expect([path, ...errorOf(answer)]).toEqual([path, 403, "forbidden"]);
      expect(answer.body["error"]?.["message"]).toContain("anonymous" as never);
    }
  });

  test("is no admin, gets no mail of an admin, and deletes the own account at any age", async () => {
    const { accessToken: token, user } = await anonymous();
    const path = `/api/admin/users/${user.id}`;
    expect(errorOf(await request("PATCH", path, { token: root, body: { role: "admin" } }))).toEqual([
      400,
      "bad_request",
    ]);
    for (const mail of ["reset", "verification"])
      expect(errorOf(await request("POST", `${path}/${mail}`, { token: root }))).toEqual([400, "bad_request"]);
    setSystemTime(Date.now() + 20 * 60_000);
    expect((await request("DELETE", "/api/auth/me", { token })).status).toBe(204);
    expect(await me(token)).toBe(401);
    expect(service.auth.users.find(user.id)).toBeNull();
  });

  test("does not exist where anonymous users are off", async () => {
    const off = await openApi({});
    expect(errorOf(await off.request("POST", "/api/auth/anonymous"))).toEqual([403, "forbidden"]);
    expect(Object.keys((await off.register("a@example.com")).user)).toEqual(["id", "email", "role", "createdAt"]);
  });
});

describe("a claim", () => {
  test("makes a full user with the same id, records and session, by the mail's token with the session", async () => {
    const { user, accessToken: token, refreshToken } = await anonymous();
    const { body: cart } = await post("carts", { n: 7 }, token);
    const email = newEmail();
    expect((await claim(token, ` ${email.toUpperCase()} `)).status).toBe(202);
    expect(await me(token)).toEqual(user);
    expect((await login(email)).status).toBe(401);
    expect((await verify(email, {}, token)).status).toBe(204);
    const full = { ...user, email, verified: true, anonymous: false };
    expect(await me(token)).toEqual(full);
    expect((await post("auth/refresh", { refreshToken })).body["user"]).toEqual(full as never);
    expect((await login(email)).body["user"]).toEqual(full as never);
    expect((await request("GET", `/api/carts/${cart["id"]}`, { token })).status).toBe(200);
    expect([(await post("full", {}, token)).status, (await post("only", {}, token)).status]).toEqual([201, 403]);
    const made = await post("auth/keys", { name: "k", scopes: ["carts:read"] }, token);
    expect(made.status).toBe(201);
    expect(errorOf(await claim(token, newEmail()))).toEqual([409, "conflict"]);
  });

  test("keeps password and session with the password beside the token, and ends the user's other sessions", async () => {
    const { user, accessToken: token } = await anonymous();
    const opened = await service.auth.signIns.signIn({
      user: service.auth.users.get(user.id),
      caller: { key: "other" },
      prove: (tx) => service.auth.users.get(user.id, tx),
    });
    const other = "next" in opened ? "" : opened.accessToken;
    expect(await me(other)).toEqual(user);
    const email = newEmail();
    await claim(token, email);
    expect(errorOf(await verify(email, { password: "wrong horse" }))).toEqual([403, "forbidden"]);
    expect((await verify(email, { password })).status).toBe(204);
    expect([await me(other), (await login(email)).status]).toEqual([401, 200]);
    expect(await me(token)).toMatchObject({ id: user.id, email });
  });

  test("gives a stranger nothing who has claimed the address of another person: the token alone ends session and password", async () => {
    const { user, accessToken: stranger, refreshToken } = await anonymous();
    const email = newEmail();
    await claim(stranger, email);
    expect((await verify(email)).status).toBe(204);
    expect([await me(stranger), (await login(email)).status]).toEqual([401, 401]);
    expect((await post("auth/refresh", { refreshToken })).status).toBe(401);
    expect(service.auth.users.findByEmail(email)).toMatchObject({ id: user.id, verified: true });
  });

  test("with the session of another user keeps nothing of the stranger", async () => {
    const { accessToken: stranger } = await anonymous();
    const { accessToken: victim } = await anonymous();
    const email = newEmail();
    await claim(stranger, email);
    expect((await verify(email, {}, victim)).status).toBe(204);
    expect([await me(stranger), (await login(email)).status]).toEqual([401, 401]);
    expect(await me(victim)).toMatchObject({ email: null, anonymous: true });
  });

  test("of a taken address is 409 and merges nothing, also when the address is taken before the proof", async () => {
    const email = newEmail();
    const { user: owner } = await api.register(email);
    const { user, accessToken: token } = await anonymous();
    expect(errorOf(await claim(token, email))).toEqual([409, "conflict"]);
    const free = newEmail();
    await claim(token, free);
    const secret = await mailbox.secret(free, "verify");
    await api.register(free);
    expect(errorOf(await post("auth/verify", { token: secret }, token))).toEqual([409, "conflict"]);
    expect(await me(token)).toEqual(user);
    expect(service.auth.users.findByEmail(email)?.id).toBe(owner.id);
  });

  test("of one address by two users makes a single account, of the first proof", async () => {
    const [one, two] = [await anonymous(), await anonymous()];
    const email = newEmail();
    await claim(one.accessToken, email);
    const first = await mailbox.secret(email, "verify");
    await claim(two.accessToken, email);
    const second = await mailbox.secret(email, "verify");
    const answers = await Promise.all([
      post("auth/verify", { token: first }, one.accessToken),
      post("auth/verify", { token: second }, two.accessToken),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409]);
    const users = [await me(one.accessToken), await me(two.accessToken)] as { anonymous: boolean }[];
    expect(users.filter((user) => user.anonymous)).toHaveLength(1);
  });

  test("again ends the token of the claim before", async () => {
    const { accessToken: token } = await anonymous();
    const [wrong, right] = [newEmail(), newEmail()];
    await claim(token, wrong);
    const former = await mailbox.secret(wrong, "verify");
    await claim(token, right, "battery staple");
    expect(errorOf(await post("auth/verify", { token: former }, token))).toEqual([400, "bad_request"]);
    expect((await verify(right, {}, token)).status).toBe(204);
    expect([(await login(right)).status, (await login(right, "battery staple")).status]).toEqual([401, 200]);
  });

  test("needs a session, an address, a password, and no API key", async () => {
    const { accessToken: token } = await anonymous();
    expect((await post("auth/anonymous/claim", { email: newEmail(), password })).status).toBe(401);
    expect(errorOf(await claim(token, "no address"))).toEqual([400, "validation_error"]);
    expect(errorOf(await claim(token, newEmail(), "short"))).toEqual([400, "validation_error"]);
    const { accessToken: full } = await api.register(newEmail());
    expect(errorOf(await claim(full, newEmail()))).toEqual([409, "conflict"]);
  });

  test("is 503 without mail, and 403 while registration is off", async () => {
    const { SERVICE_MAIL_FROM: _, ...silent } = settings;
    const unmailed = await openApi({ settings: silent });
    const { accessToken: token } = await anonymous(unmailed);
    const body = { email: newEmail(), password };
    const refused = await unmailed.request("POST", "/api/auth/anonymous/claim", { token, body });
    expect([...errorOf(refused), refused.body["error"]?.["message"]]).toEqual([
      503,
      "unavailable",
      "This service sends no mails." as never,
    ]);
    const closed = await openApi({ settings: { ...settings, SERVICE_AUTH_REGISTRATION: "false" } });
    const { accessToken: other } = await anonymous(closed);
    expect(errorOf(await closed.request("POST", "/api/auth/anonymous/claim", { token: other, body }))).toEqual([
      403,
      "forbidden",
    ]);
  });

  test("of a taken address is answered as of a new address, where registrations are", async () => {
    const strict = await openApi({ settings: { ...settings, SERVICE_AUTH_REQUIRE_VERIFIED: "true" } });
    const { accessToken: token } = await anonymous(strict);
    const [known, fresh] = [newEmail(), newEmail()];
    await strict.service.auth.registrations.register({ email: known, password });
    const box = new Mailbox(strict.service);
    for (const email of [known, fresh]) {
      const body = { email, password };
      expect((await strict.request("POST", "/api/auth/anonymous/claim", { token, body })).status).toBe(202);
    }
    expect([(await box.kinds(known)).at(-1), (await box.kinds(fresh)).at(-1)]).toEqual(["taken", "verify"]);
  });
});

const otherPassword = "the password of another claim";

/** Claims an address that nobody proves: the password is that of whoever has the session. */
async function claimOther(token: string): Promise<void> {
  const claim = { email: newEmail(), password: otherPassword };
  expect((await post("auth/anonymous/claim", claim, token)).status).toBe(202);
}

describe("a code", () => {
  const ask = async (email: string, token?: string): Promise<string> =>
    String((await post("auth/code/request", { email }, token)).body["attempt"]);

  test.each([true, false])(
    "makes a full user of an anonymous user, who keeps the session; with the session: %p",
    async (isShown) => {
      const { user, accessToken: token } = await anonymous();
      const email = newEmail();
      await claimOther(token);
      const attempt = await ask(email, token);
      const code = await mailbox.secret(email, "code");
      const answer = await post("auth/code", { attempt, code }, isShown ? token : undefined);
      const full = { ...user, email, verified: true, anonymous: false };
      expect([answer.status, answer.body["user"]]).toEqual([200, full] as never);
      expect([await me(token), await me(String(answer.body["accessToken"]))]).toEqual([full, full]);
      expect((await post("auth/login", { email, password: otherPassword })).status).toBe(401);
    },
  );

  test("of an account is 409 with the session of an anonymous user, and signs in without the session", async () => {
    const email = newEmail();
    const { user: owner } = await api.register(email);
    const { user, accessToken: token } = await anonymous();
    const attempt = await ask(email, token);
    const code = await mailbox.secret(email, "code");
    expect(errorOf(await post("auth/code", { attempt, code }, token))).toEqual([409, "conflict"]);
    expect(await me(token)).toEqual(user);
    expect((await post("auth/code", { attempt, code })).body["user"]?.["id"]).toBe(owner.id as never);
  });

  test("of an unknown address is mailed to nobody without an anonymous user", async () => {
    const email = newEmail();
    await ask(email);
    await ask(email, (await api.register(newEmail())).accessToken);
    expect(await mailbox.kinds(email)).toEqual([]);
  });
});

describe("a provider", () => {
  const visit = async (beginning: string, person: object): Promise<string> => {
    const back = fragmentOf(await passProvider({ api, fake: provider }, beginning, person as never));
    return back["code"] ?? String(back["error"]);
  };
  const exchange = (app: TestApp, code: string, token?: string): Promise<Answer> =>
    post("auth/oauth/token", { code, verifier: app.verifier }, token);

  test.each([true, false])(
    "makes a full user of an anonymous user, with the provider's proof: %p",
    async (isProven) => {
      const { user, accessToken: token } = await anonymous();
      const app = new TestApp();
      const email = newEmail();
      const person = { sub: email, email, email_verified: isProven };
      const answer = await exchange(app, await visit(app.begin("one"), person), token);
      const full = { ...user, email, verified: isProven, anonymous: false };
      expect([answer.status, answer.body["user"]]).toEqual([200, full] as never);
      expect(await me(token)).toEqual(full);
      const again = new TestApp();
      const signedIn = await exchange(again, await visit(again.begin("one"), person));
      expect(signedIn.body["user"]?.["id"]).toBe(user.id as never);
    },
  );

  test("makes a full user by a link, also of a session that is not recent", async () => {
    const { user, accessToken: token } = await anonymous();
    setSystemTime(Date.now() + 20 * 60_000);
    await claimOther(token);
    const app = new TestApp();
    const email = newEmail();
    const begun = await request<{ url: string }>("POST", "/api/auth/links/one", {
      token,
      body: { redirect: home, challenge: app.challenge },
    });
    const code = await visit(begun.body.url, { sub: email, email, email_verified: true });
    expect((await exchange(app, code, token)).body).toMatchObject({ link: { name: "one", email } } as never);
    expect(await me(token)).toEqual({ ...user, email, verified: true, anonymous: false });
    expect((await post("auth/login", { email, password: otherPassword })).status).toBe(401);
  });

  test("of an account is 409 with the session of an anonymous user, and nothing merges", async () => {
    const { user, accessToken: token } = await anonymous();
    const taken = newEmail();
    await api.register(taken);
    const known = { sub: "known", email: newEmail(), email_verified: true };
    const first = new TestApp();
    expect((await exchange(first, await visit(first.begin("one"), known))).status).toBe(200);
    for (const [person, error] of [
      [known, [409, "conflict"]],
      [{ sub: taken, email: taken, email_verified: true }, "conflict"],
    ] as const) {
      const app = new TestApp();
      const code = await visit(app.begin("one"), person);
      // The provider's side refuses an address of an account before there is a code.
      expect(code === "conflict" ? code : errorOf(await exchange(app, code, token))).toEqual(error as never);
    }
    expect(await me(token)).toEqual(user);
  });
});

describe("an unused user", () => {
  test("is deleted after auth.anonymousKeep, with onDelete; a refresh, a claim and records that refuse keep the user", async () => {
    const [unused, used, claimed, refused] = [
      await anonymous(),
      await anonymous(),
      await anonymous(),
      await anonymous(),
    ];
    const item = await post("items", { who: unused.user.id }, unused.accessToken);
    await post("items", { who: used.user.id }, used.accessToken);
    expect((await post("orders", { who: refused.user.id }, refused.accessToken)).status).toBe(201);
    const email = newEmail();
    await claim(claimed.accessToken, email);
    await verify(email, {}, claimed.accessToken);
    const begun = Date.now();
    setSystemTime(begun + 20 * day);
    expect((await post("auth/refresh", { refreshToken: used.refreshToken })).status).toBe(200);
    await service.auth.sweep();
    expect(service.auth.users.find(unused.user.id)).not.toBeNull();
    setSystemTime(begun + 31 * day);
    await service.auth.sweep();
    const left = [unused, used, claimed, refused].map(({ user }) => service.auth.users.find(user.id) !== null);
    expect(left).toEqual([false, true, true, true]);
    expect((await request("GET", `/api/items/${item.body["id"]}`)).status).toBe(404);
    expect((await request<{ items: object[] }>("GET", "/api/items")).body.items).toHaveLength(1);
    // The refused user is tried again after the time, not at each sweep.
    const tried = api.entries("An anonymous user without a use was not deleted").length;
    await service.auth.sweep();
    expect(api.entries("An anonymous user without a use was not deleted")).toHaveLength(tried);
  });

  test("more than a step of users are deleted in one sweep", async () => {
    const made = await Promise.all(Array.from({ length: 60 }, () => anonymous()));
    setSystemTime(Date.now() + 90 * day);
    await service.auth.sweep();
    expect(made.filter(({ user }) => service.auth.users.find(user.id) !== null)).toEqual([]);
  });
});

test("users with fields have a record without an email, which a claim changes", async () => {
  const users = { name: "users", fields: [{ name: "nick", type: "string", required: true }] };
  const named = await openApi({ collections: [users], settings, folder: temporaryFolder() });
  const { user, accessToken: token } = await anonymous(named);
  const path = `/api/users/${user.id}`;
  expect((await named.request("GET", path, { token })).body).toMatchObject({
    email: null,
    verified: false,
    nick: null,
  } as never);
  expect((await named.request("PUT", path, { token, body: { nick: "ann" } })).status).toBe(200);
  const email = newEmail();
  await named.request("POST", "/api/auth/anonymous/claim", { token, body: { email, password } });
  const secret = await new Mailbox(named.service).secret(email, "verify");
  expect((await named.request("POST", "/api/auth/verify", { token, body: { token: secret } })).status).toBe(204);
  expect((await named.request("GET", path, { token })).body).toMatchObject({
    email,
    verified: true,
    nick: "ann",
  } as never);
});
