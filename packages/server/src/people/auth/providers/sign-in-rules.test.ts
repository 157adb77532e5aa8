/** Rules of every sign-in that also hold at providers: the second factor, hooks, API keys, and what admins may do. */
import { expect, test } from "bun:test";
import type { LoginResponse, TokenResponse } from "@socle/protocol";
import { codeOf } from "../../../../test/authenticator.ts";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import { eventsSince, lastSeq } from "../../../../test/kit.ts";
import { fragmentOf, home, openWithProviders, passProvider, TestApp } from "../../../../test/sign-in-world.ts";
import { AppError } from "../../../base/kernel/index.ts";

const one = new FakeProvider();
const api = await openWithProviders({ one }, { SERVICE_MAIL_FROM: "shop@example.com" });
const { database, auth } = api.service;

type Person = Parameters<FakeProvider["approve"]>[1];

async function signIn<T = TokenResponse>(person: Person) {
  const app = new TestApp();
  const { code = "" } = fragmentOf(await passProvider({ api, fake: one }, app.begin("one"), person));
  return { answer: await app.exchange<T>(api, code), again: () => app.exchange<T>(api, code) };
}

const personOf = (name: string): Person => ({ sub: name, email: `${name}@example.com`, email_verified: true });
const sessionsOf = (userId: string) =>
  database.reader.get<{ n: number }>("SELECT count(*) AS n FROM _sessions WHERE userId = ?", userId)?.n;

test("a user with a second factor gets an attempt, and no session before the factor", async () => {
  const { accessToken: token, user } = (await signIn(personOf("factor"))).answer.body;
  const { secret } = (await api.request<{ secret: string }>("POST", "/api/auth/totp", { token })).body;
  await api.request("POST", "/api/auth/totp/confirm", { token, body: { code: codeOf(secret, -1) } });
  const before = sessionsOf(user.id);
  const { answer, again } = await signIn<LoginResponse>(personOf("factor"));
  expect([answer.status, answer.body]).toMatchObject([
    200,
    { next: "second_factor", methods: ["code", "recoveryCode"] },
  ]);
  expect(JSON.stringify(answer.body)).not.toContain("accessToken");
  expect(sessionsOf(user.id)).toBe(before ?? -1);
  expect((await again()).status).toBe(400);
  const attempt = "attempt" in answer.body ? answer.body.attempt : "";
  const body = { attempt, code: codeOf(secret) };
  const ended = await api.request<TokenResponse>("POST", "/api/auth/second-factor", { body });
  expect([ended.status, ended.body.user?.id]).toEqual([200, user.id]);
});

test("the hooks of registrations and logins are called with the user, and a refusal leaves nothing", async () => {
  const asked: [string, unknown][] = [];
  let refusal: AppError | null = null;
  auth.signIns.hookWith({
    async before(step, user) {
      asked.push([step, user]);
      if (refusal !== null) throw refusal;
      return null;
    },
  });
  refusal = new AppError("forbidden", "Not on Sundays.");
  const seq = await lastSeq(api.service);
  const refused = await signIn(personOf("hooked"));
  expect([refused.answer.status, refused.answer.body]).toMatchObject([403, { error: { message: "Not on Sundays." } }]);
  expect(auth.users.findByEmail("hooked@example.com")).toBeNull();
  expect(await eventsSince(api.service, seq)).toEqual([]);
  refusal = null;
  // The refused code is not used up.
  expect((await refused.again()).body).toMatchObject({ user: { email: "hooked@example.com" } });
  const { user } = (await signIn(personOf("hooked"))).answer.body;
  expect(asked).toEqual([
    ["register", { email: "hooked@example.com", role: "authenticated" }],
    ["register", { email: "hooked@example.com", role: "authenticated" }],
    ["login", { ...user, anonymous: false }],
  ]);
  auth.signIns.hookWith({ before: async () => null });
});

test("an API key neither sees nor changes links", async () => {
  const { accessToken: token } = (await signIn(personOf("keyed"))).answer.body;
  const made = await api.request<{ key: string }>("POST", "/api/auth/keys", {
    token,
    body: { name: "k", scopes: ["*:read"] },
  });
  const { key } = made.body;
  const body = { redirect: home, challenge: new TestApp().challenge };
  const answers = [
    await api.request("GET", "/api/auth/links", { token: key }),
    await api.request("POST", "/api/auth/links/one", { token: key, body }),
    await api.request("DELETE", "/api/auth/links/one", { token: key }),
  ];
  expect([made.status, ...answers.map(({ status }) => status)]).toEqual([201, 403, 403, 403]);
  expect((await api.request<object>("GET", "/api/auth/links", { token })).body).toMatchObject({
    items: [{ name: "one" }],
  });
});

test("admins see the links of a user, and remove a link, with the audit and a notice; others do not", async () => {
  const { accessToken, user } = (await signIn(personOf("seen"))).answer.body;
  const token = await api.admin();
  const path = `/api/admin/users/${user.id}/links`;
  expect((await api.request("GET", path, { token: accessToken })).status).toBe(403);
  expect((await api.request("DELETE", `${path}/one`, { token: accessToken })).status).toBe(403);
  expect((await api.request<object>("GET", path, { token })).body).toMatchObject({
    items: [{ name: "one", email: "seen@example.com" }],
  });
  expect((await api.request("GET", "/api/admin/users/usr_x/links", { token })).status).toBe(404);
  expect((await api.request("DELETE", `${path}/two`, { token })).status).toBe(404);
  const seq = await lastSeq(api.service);
  expect((await api.request("DELETE", `${path}/one`, { token })).status).toBe(204);
  expect(await eventsSince(api.service, seq)).toMatchObject([
    { type: "admin.user.unlinked", payload: { target: user.id, before: { name: "one", email: "seen@example.com" } } },
  ]);
  expect((await api.request<object>("GET", path, { token })).body).toEqual({ items: [] });
  const mails = database.reader.all<{ text: string }>("SELECT text FROM _mails WHERE recipient = 'seen@example.com'");
  expect(mails.at(-1)?.text).toContain("The link to an account at one was removed.");
});
