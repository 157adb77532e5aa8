/** Tests of the notice of a first proof: the notice names the removed credentials, and a proof that removes nothing sends no notice. */
import { expect, test } from "bun:test";
import { FakeProvider } from "../../../test/fake-provider.ts";
import { makeKey } from "../../../test/keys.ts";
import { Mailbox } from "../../../test/mailbox.ts";
import { fragmentOf, openWithProviders, passProvider, TestApp } from "../../../test/sign-in-world.ts";
import { insertPasskey } from "./factors/passkey-table.ts";
import { insertLink } from "./providers/provider-table.ts";

const fake = new FakeProvider();
const api = await openWithProviders(
  { one: fake },
  { SERVICE_MAIL_FROM: "shop@example.com", SERVICE_AUTH_CODES: "true", SERVICE_LIMITS_RATE_REGISTER: "off" },
);
const { database } = api.service;
const mailbox = new Mailbox(api.service);
const post = (route: string, body: object, token?: string) =>
  api.request("POST", `/api/auth/${route}`, { body, ...(token !== undefined && { token }) });
const idOf = (email: string): string => api.service.auth.users.findByEmail(email)?.id ?? "";
let users = 0;

/** A user with each kind of credentials, whose address is not proven. */
async function loaded() {
  const email = `loaded-${users++}@example.com`;
  const { user, accessToken: token } = await api.register(email);
  await makeKey(api, { token, scopes: ["*:read"] });
  await database.transact((tx) => {
    tx.run("INSERT INTO _totp (userId, secret) VALUES (?, 'sealed')", user.id);
    const passkey = { userId: user.id, credentialId: email, publicKey: "x", counter: 0, transports: "[]", name: "x" };
    insertPasskey(tx, { ...passkey, isBackedUp: false });
    insertLink(tx, { issuer: fake.issuer, subject: email, userId: user.id, provider: "one", email, createdAt: 0 });
  });
  return { email, token };
}

/** The sentences of the notices about removed credentials. */
async function removals(email: string): Promise<string[]> {
  const notices = (await mailbox.to(email)).map(({ text }) => /^The address was proven .*$/m.exec(text)?.[0] ?? "");
  return notices.filter((text) => text !== "");
}

const all = "the password, the authenticator app, the passkeys, the API keys, the links to accounts elsewhere";
const sentence = (list: string): string =>
  `The address was proven for the first time. Somebody else may have made these credentials, which were removed: ${list}.`;

test("a link alone removes every credential, with a single notice, and a later proof has no notice", async () => {
  const { email } = await loaded();
  await post("verify/request", { email });
  const token = await mailbox.secret(email, "verify");
  expect((await post("verify", { token })).status).toBe(204);
  expect(await removals(email)).toEqual([sentence(all)]);
  await post("password/forgot", { email });
  const reset = { token: await mailbox.secret(email, "reset"), password: "another password" };
  expect((await post("password/reset", reset)).status).toBe(204);
  expect(await removals(email)).toEqual([sentence(all)]);
});

test("a new password by a link, and a code, have the notice", async () => {
  const first = await loaded();
  await post("password/forgot", { email: first.email });
  const token = await mailbox.secret(first.email, "reset");
  expect((await post("password/reset", { token, password: "another password" })).status).toBe(204);
  expect(await removals(first.email)).toEqual([sentence(all)]);
  const second = await loaded();
  const { attempt } = (await post("code/request", { email: second.email })).body;
  const code = await mailbox.secret(second.email, "code");
  expect((await post("code", { attempt, code })).status).toBe(200);
  expect(await removals(second.email)).toEqual([sentence(all)]);
});

test("a move sends the notice to the new address, which is proven", async () => {
  const { email, token } = await loaded();
  await post("email", { email: `new-${email}`, password: "correct horse" }, token);
  const proof = await mailbox.secret(`new-${email}`, "email");
  expect((await post("email/confirm", { token: proof })).status).toBe(204);
  expect([await removals(email), await removals(`new-${email}`)]).toEqual([[], [sentence(all)]]);
});

test("a sign-in at a provider keeps the link, and names the removed credentials", async () => {
  const { email } = await loaded();
  const app = new TestApp();
  const back = await passProvider({ api, fake }, app.begin("one"), { sub: email, email, email_verified: true });
  expect((await app.exchange(api, fragmentOf(back)["code"] ?? null)).status).toBe(200);
  expect(await removals(email)).toEqual([sentence(all.replace(", the links to accounts elsewhere", ""))]);
});

test("a proof beside the password or the session removes no credential, and has no notice", async () => {
  const [shown, signedIn] = [await loaded(), await loaded()];
  const first = await mailbox.secret(shown.email, "verify");
  const second = await mailbox.secret(signedIn.email, "verify");
  expect((await post("verify", { token: first, password: "correct horse" })).status).toBe(204);
  expect((await post("verify", { token: second }, signedIn.token)).status).toBe(204);
  expect([await removals(shown.email), await removals(signedIn.email)]).toEqual([[], []]);
});

test("a user with only sessions loses no credential, and gets no notice", async () => {
  const email = "bare@example.com";
  const { user } = await api.register(email);
  await database.transact((tx) => tx.run("UPDATE _users SET passwordHash = '' WHERE id = ?", user.id));
  expect((await post("verify", { token: await mailbox.secret(email, "verify") })).status).toBe(204);
  expect(await removals(email)).toEqual([]);
});

test("a password from an admin stays, and keeps no credential that a stranger may have made", async () => {
  const admin = await api.admin();
  const give = async (email: string): Promise<void> => {
    const path = `/api/admin/users/${idOf(email)}/password`;
    const answer = await api.request("POST", path, { token: admin, body: { password: "a new password" } });
    expect(answer.status).toBe(200);
  };
  const left = (email: string): unknown => {
    const { totp, passkeys } = api.service.auth.factors.of(idOf(email));
    return [totp, passkeys.length, api.service.auth.keys.list(idOf(email)).length];
  };
  const [unproven, proven] = [await loaded(), await loaded()];
  const verify = { token: await mailbox.secret(proven.email, "verify"), password: "correct horse" };
  expect((await post("verify", verify)).status).toBe(204);
  for (const { email } of [unproven, proven]) await give(email);
  // The second factor stays until the proof, also for an unproven user.
  expect([left(unproven.email), left(proven.email)]).toEqual([
    [true, 1, 1],
    [true, 1, 1],
  ]);
  const token = await mailbox.secret(unproven.email, "verify");
  expect((await post("verify", { token, password: "a new password" })).status).toBe(204);
  expect(left(unproven.email)).toEqual([false, 0, 0]);
  expect(await removals(unproven.email)).toEqual([sentence(all.replace("the password, ", ""))]);
  const login = await post("login", { email: unproven.email, password: "a new password" });
  expect(login.body["accessToken"]).toBeString();
});
