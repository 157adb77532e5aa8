/** Accounts by the client, against the executable: the links and codes come from the mails that an SMTP server gets. */
import { expect, test } from "bun:test";
import { SecondFactorRequired, SocleClient, SocleError } from "../packages/client/src/index.ts";
import { codeOf } from "../packages/server/test/authenticator.ts";
import { FakeProvider } from "../packages/server/test/fake-provider.ts";
import { bodyOf, SmtpSink } from "../packages/server/test/smtp-sink.ts";
import { project, type Running, serve } from "./kit.ts";

const publicUrl = "https://shop.example.com";
const password = "correct horse";
const next = "battery staple";
const fake = new FakeProvider();
const sink = await SmtpSink.start();

async function start(more: Record<string, unknown> = {}): Promise<Running> {
  const rates = Object.fromEntries(
    ["register", "login", "refresh", "mail", "recipient"].map((name) => [`limits.rate.${name}`, "off"]),
  );
  const cwd = await project({
    collections: [{ name: "users", fields: [{ name: "team", type: "string" }] }],
    config: {
      ...rates,
      publicUrl,
      "mail.from": "shop@example.com",
      "mail.smtp": sink.address,
      "admin.email": "boss@example.com",
      "admin.password": "the boss is here",
      "auth.codes": true,
      "auth.providers": { one: fake.settings },
      ...more,
    },
  });
  return serve(cwd);
}
const server = await start();
const connect = (to: Running = server): SocleClient => new SocleClient({ baseUrl: to.url });

/** The link's token or the code of the newest mail to an address that has not been read; waits for the mail. */
let read = 0;
async function mailed(to: string): Promise<string> {
  const isNew = (at: number): boolean => at >= read && secretIn(at) !== null && sink.taken[at]?.to === to;
  await sink.until(({ taken }) => taken.some((_, at) => isNew(at)));
  const at = sink.taken.findLastIndex((_, place) => isNew(place));
  read = at + 1;
  return secretIn(at) ?? "";
}
function secretIn(at: number): string | null {
  const mail = sink.taken[at];
  const [, token, code] = /\?token=([\w-]+)|^(\d{6})\r?$/m.exec(mail === undefined ? "" : bodyOf(mail)) ?? [];
  return token ?? code ?? null;
}

async function statusOf(promise: Promise<unknown>): Promise<number> {
  const thrown = await promise.then(() => null).catch((error: unknown) => error);
  if (!(thrown instanceof SocleError)) throw new Error(`expected a SocleError, not ${String(thrown)}`);
  return thrown.status;
}

async function attemptOf(client: SocleClient, email: string, given = password): Promise<SecondFactorRequired> {
  const thrown = await client.login({ email, password: given }).catch((error: unknown) => error);
  if (!(thrown instanceof SecondFactorRequired)) throw new Error(`expected a second factor, not ${String(thrown)}`);
  return thrown;
}

/** A registered user, whose mail is read. */
async function join(email: string): Promise<{ client: SocleClient; id: string; token: string }> {
  const client = connect();
  const user = await client.register({ email, password });
  if (user === null) throw new Error(`${email} has to prove the address first`);
  return { client, id: user.id, token: await mailed(email) };
}

async function boss(): Promise<SocleClient> {
  const client = connect();
  await client.login({ email: "boss@example.com", password: "the boss is here" });
  return client;
}

test("verify, forgotten password, another address, and a code", async () => {
  const email = "ann@example.com";
  const { client, token } = await join(email);
  expect((await client.me()).verified).toBe(false);
  await client.auth.requestVerification();
  const second = await mailed(email);
  expect(await statusOf(connect().auth.verify({ token: "x" }))).toBe(400);
  await client.auth.verify({ token: second });
  expect((await client.me()).verified).toBe(true);
  // The session stays, because the token came with the session; the other link has ended.
  expect(await statusOf(client.auth.verify({ token }))).toBe(400);

  await connect().auth.requestVerification("nobody@example.com");
  await connect().auth.forgotPassword(email);
  const reset = await mailed(email);
  await connect().auth.resetPassword({ token: reset, password: next });
  expect(await statusOf(connect().auth.resetPassword({ token: reset, password }))).toBe(400);
  expect(await statusOf(client.me())).toBe(401);
  expect(await statusOf(connect().login({ email, password }))).toBe(401);

  const again = connect();
  await again.login({ email, password: next });
  expect(await statusOf(again.auth.changeEmail({ email: "ann@new.example", password }))).toBe(403);
  await again.auth.changeEmail({ email: "ann@new.example", password: next });
  await again.auth.confirmEmail({ token: await mailed("ann@new.example") });
  expect((await again.me()).email).toBe("ann@new.example");

  const visitor = connect();
  const attempt = await visitor.auth.requestCode("ann@new.example");
  const code = await mailed("ann@new.example");
  const wrong = code === "000000" ? "000001" : "000000";
  expect(await statusOf(visitor.auth.signInWithCode({ attempt, code: wrong }))).toBe(400);
  expect((await visitor.auth.signInWithCode({ attempt, code })).email).toBe("ann@new.example");
  expect((await visitor.me()).email).toBe("ann@new.example");
});

test("a registration that waits for a proof returns null, and the login works after the proof", async () => {
  const strict = await start({ "auth.requireVerified": true });
  const email = "strict@example.com";
  expect(await connect(strict).register({ email, password })).toBeNull();
  const token = await mailed(email);
  expect(await connect(strict).register({ email, password: next })).toBeNull();
  expect(await statusOf(connect(strict).login({ email, password }))).toBe(403);
  await connect(strict).auth.verify({ token, password });
  expect((await connect(strict).login({ email, password })).verified).toBe(true);
});

test("sessions, an authenticator app, recovery codes, and the second factor", async () => {
  const email = "ben@example.com";
  const { client, id } = await join(email);
  const phone = connect();
  await phone.login({ email, password });
  const others = (await client.auth.sessions.list()).filter(({ current }) => !current);
  expect(others).toHaveLength(1);
  for (const session of others) await client.auth.sessions.end(session.id);
  expect(await statusOf(phone.me())).toBe(401);
  expect(await statusOf(client.auth.sessions.end("ses_x"))).toBe(404);

  expect(await statusOf(client.auth.totp.renewRecoveryCodes())).toBe(409);
  const { secret } = await client.auth.totp.create();
  const { recoveryCodes } = await client.auth.totp.confirm(codeOf(secret, -1));
  expect(await client.auth.factors()).toEqual({ totp: true, recoveryCodes: 10, passkeys: [] });

  const { attempt, methods } = await attemptOf(phone, email);
  expect(methods).toEqual(["code", "recoveryCode"]);
  expect(await statusOf(phone.me())).toBe(401);
  expect(await statusOf(phone.auth.secondFactor({ attempt, recoveryCode: "x" }))).toBe(401);
  expect((await phone.auth.secondFactor({ attempt, code: codeOf(secret) })).id).toBe(id);
  const tablet = connect();
  const [first = "", second = ""] = recoveryCodes;
  await tablet.auth.secondFactor({ attempt: (await attemptOf(tablet, email)).attempt, recoveryCode: first });
  expect((await tablet.me()).id).toBe(id);
  expect((await tablet.auth.factors()).recoveryCodes).toBe(9);

  const renewed = await client.auth.totp.renewRecoveryCodes();
  const late = await attemptOf(connect(), email);
  expect(await statusOf(connect().auth.secondFactor({ attempt: late.attempt, recoveryCode: second }))).toBe(401);
  const [fresh = ""] = renewed.recoveryCodes;
  await connect().auth.secondFactor({ attempt: late.attempt, recoveryCode: fresh });
  await client.auth.totp.delete();
  expect(await client.auth.factors()).toEqual({ totp: false, recoveryCodes: 0, passkeys: [] });
  expect((await connect().login({ email, password })).id).toBe(id);
});

test("an invitation, and the account that the invitation makes", async () => {
  const admin = await boss();
  const email = "invited@example.com";
  const invitation = await admin.admin.users.invite({ email, data: { team: "blue" } });
  expect(invitation).toMatchObject({ email, role: "authenticated" });
  const token = await mailed(email);
  const client = connect();
  expect(await statusOf(client.auth.acceptInvitation({ token: "x", password }))).toBe(400);
  const user = await client.auth.acceptInvitation({ token, password });
  expect(user).toMatchObject({ email, verified: true });
  expect(await client.me()).toMatchObject({ id: user.id });
  expect(await client.collection("users").get(user.id)).toMatchObject({ team: "blue" });
  expect(await statusOf(admin.admin.users.invite({ email }))).toBe(409);
});

test("a sign-in at a provider, links, and API keys", async () => {
  const email = "cat@example.com";
  const { client, id, token } = await join(email);
  await client.auth.verify({ token });
  /** The browser of a person, from the app to the provider and back. */
  const browse = async (url: string, sub: string): Promise<string> => {
    const begun = await fetch(url.replace(publicUrl, server.url), { redirect: "manual" });
    const back = fake.approve(begun.headers.get("location") ?? "", { sub, email, email_verified: true });
    const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? "";
    const ended = await fetch(back.replace(publicUrl, server.url), { redirect: "manual", headers: { cookie } });
    return ended.headers.get("location") ?? "";
  };
  const redirect = `${publicUrl}/app`;
  expect(await client.auth.providers()).toMatchObject([{ name: "one" }]);
  const visit = await client.auth.links.add("one", { redirect });
  expect(await visit.finish(await browse(visit.url, "cat"))).toMatchObject({ name: "one", email });
  expect(await client.auth.links.list()).toMatchObject([{ name: "one", email }]);
  const other = connect();
  const signIn = await other.auth.signInWith("one", { redirect });
  expect((await signIn.finish(await browse(signIn.url, "cat"))).id).toBe(id);
  // Outside a browser, no page has come back.
  expect([await other.auth.finishSignIn(), await other.auth.links.finish()]).toEqual([null, null]);
  await client.auth.links.remove("one");
  expect(await client.auth.links.list()).toEqual([]);

  const { key, id: keyId } = await client.auth.keys.create({ name: "script", scopes: ["*:read"] });
  const script = await fetch(`${server.url}/api/auth/me`, { headers: { Authorization: `Bearer ${key}` } });
  expect(script.status).toBe(200);
  expect((await client.auth.keys.list()).map((each) => each.id)).toEqual([keyId]);
  await client.auth.keys.delete(keyId);
  expect((await fetch(`${server.url}/api/auth/me`, { headers: { Authorization: `Bearer ${key}` } })).status).toBe(401);
  expect(await client.auth.passkeys.list()).toEqual([]);
  expect(await statusOf(client.auth.passkeys.delete("psk_x"))).toBe(404);
});

test("an admin sees and removes the credentials of a user, and the user is notified", async () => {
  const admin = (await boss()).admin.users;
  const email = "dan@example.com";
  const { client, id, token } = await join(email);
  await client.auth.verify({ token });
  const { secret } = await client.auth.totp.create();
  await client.auth.totp.confirm(codeOf(secret));
  expect(await admin.factors(id)).toMatchObject({ totp: true, recoveryCodes: 10 });
  await admin.removeFactors(id);
  expect(await admin.factors(id)).toEqual({ totp: false, recoveryCodes: 0, passkeys: [] });
  expect(await admin.links(id)).toEqual([]);
  expect(await statusOf(admin.removeLink(id, "one"))).toBe(404);
  const { id: keyId } = await client.auth.keys.create({ name: "script", scopes: ["*:read"] });
  expect((await admin.keys(id)).items.map((each) => each.id)).toEqual([keyId]);
  await admin.deleteKey(id, keyId);
  expect((await admin.keys(id)).total).toBe(0);

  const { sessions } = await admin.get(id);
  expect(sessions).toHaveLength(1);
  for (const session of sessions) await admin.endSession(id, session.id);
  expect(await statusOf(client.me())).toBe(401);
  await admin.setPassword(id, next);
  expect(await statusOf(connect().login({ email, password }))).toBe(401);
  expect((await connect().login({ email, password: next })).id).toBe(id);
  expect((await admin.setRole(id, "public")).role).toBe("public");
  expect((await admin.list({ search: email })).items).toMatchObject([{ id, role: "public" }]);
  await admin.delete(id);
  expect(await statusOf(admin.get(id))).toBe(404);
  const made = await admin.create({ email, password, team: "red" });
  expect(made).toMatchObject({ email, role: "authenticated" });
  const changes = ["factor and passkeys were removed", "password was changed", "account was deleted"];
  await sink.until(({ taken }) => changes.every((text) => taken.some((mail) => bodyOf(mail).includes(text))));
});
