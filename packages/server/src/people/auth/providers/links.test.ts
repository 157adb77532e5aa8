/** Links: a signed-in user adds and removes accounts at providers; nobody adds a link to the account of another user. */
import { expect, test } from "bun:test";
import type { LinkResponse, TokenResponse } from "@socle/protocol";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import {
  fragmentOf,
  home,
  openWithProviders,
  passProvider,
  publicUrl,
  TestApp,
  TestBrowser,
} from "../../../../test/sign-in-world.ts";

const [one, two] = [new FakeProvider(), new FakeProvider()];
const api = await openWithProviders({ one, two });
const { database, auth } = api.service;

type Person = Parameters<FakeProvider["approve"]>[1];

/** Asks for an address that adds a link. */
function ask(token: string | undefined, app: TestApp, name = "one", body: object = {}) {
  const options = {
    body: { redirect: home, challenge: app.challenge, ...body },
    ...(token !== undefined && { token }),
  };
  return api.request<{ url: string }>("POST", `/api/auth/links/${name}`, options);
}

/** Adds a link, to the end. Answers the answer of the exchange, or the error that the app hears. */
async function addLink(token: string, person: Person, name: "one" | "two" = "one") {
  const app = new TestApp();
  const { body } = await ask(token, app, name);
  const back = await passProvider({ api, fake: name === "one" ? one : two }, body.url, person);
  const { code, error = "no code" } = fragmentOf(back);
  return code === undefined ? error : app.exchange<LinkResponse>(api, code);
}

const list = async (token: string) => (await api.request<object>("GET", "/api/auth/links", { token })).body;
const remove = (token: string, name: string) => api.request("DELETE", `/api/auth/links/${name}`, { token });

async function signIn(person: Person, name: "one" | "two" = "one"): Promise<TokenResponse | string> {
  const app = new TestApp();
  const back = await passProvider({ api, fake: name === "one" ? one : two }, app.begin(name), person);
  const { code, error = "no code" } = fragmentOf(back);
  return code === undefined ? error : (await app.exchange<TokenResponse>(api, code)).body;
}

test("a user links an account with any email, signs in by the link, and removes the link", async () => {
  const { user, accessToken: token } = await api.register("ann@example.com");
  const person = { sub: "ann-at-one", email: "other@example.com", email_verified: false };
  expect(await list(token)).toEqual({ items: [] });
  expect(await addLink(token, person)).toMatchObject({
    status: 200,
    body: { link: { name: "one", email: "other@example.com", createdAt: expect.stringMatching(/^\d{4}-/) } },
  });
  expect(await list(token)).toMatchObject({ items: [{ name: "one", email: "other@example.com" }] });
  expect(await signIn(person)).toMatchObject({ user: { id: user.id, email: "ann@example.com", verified: false } });
  // The same link again is no change.
  expect(await addLink(token, person)).toMatchObject({ status: 200 });
  expect((await remove(token, "one")).status).toBe(204);
  expect(await list(token)).toEqual({ items: [] });
  expect((await remove(token, "one")).status).toBe(404);
  const stranger = await signIn(person);
  expect(stranger).toMatchObject({ user: { email: "other@example.com" } });
  expect(stranger).not.toMatchObject({ user: { id: user.id } });
});

test("a linked account is linked to no other user, and a user has a single account of a provider", async () => {
  const bob = await api.register("bob@example.com");
  const eve = await api.register("eve@example.com");
  const person = { sub: "bob-at-one" };
  expect(await addLink(bob.accessToken, person)).toMatchObject({ status: 200 });
  expect(await addLink(eve.accessToken, person)).toBe("conflict");
  expect(await list(eve.accessToken)).toEqual({ items: [] });
  expect(await addLink(bob.accessToken, { sub: "bob-second" })).toBe("conflict");
  expect(await list(bob.accessToken)).toMatchObject({ items: [{ name: "one" }] });
  expect(await addLink(bob.accessToken, { sub: "bob-at-two" }, "two")).toMatchObject({ status: 200 });
});

test("the only sign-in method is not removed", async () => {
  const outcome = await signIn({ sub: "carl", email: "carl@example.com", email_verified: true });
  if (typeof outcome === "string") throw new Error(outcome);
  const { accessToken: token, user } = outcome;
  const refused = await remove(token, "one");
  expect([refused.status, refused.body["error"]?.["code"]]).toEqual([400, "bad_request" as never]);
  expect(await list(token)).toMatchObject({ items: [{ name: "one" }] });
  expect(await addLink(token, { sub: "carl-at-two" }, "two")).toMatchObject({ status: 200 });
  expect((await remove(token, "one")).status).toBe(204);
  expect((await remove(token, "two")).status).toBe(400);
  const { passwordHash } = await auth.users.prepare({ email: String(user.email), password: "correct horse" });
  await database.transact((tx) => tx.run("UPDATE _users SET passwordHash = ? WHERE id = ?", passwordHash, user.id));
  expect((await remove(token, "two")).status).toBe(204);
});

test("with codes by mail, the only link may be removed", async () => {
  const settings = { SERVICE_AUTH_CODES: "true", SERVICE_MAIL_FROM: "shop@example.com" };
  const mailing = await openWithProviders({ one }, settings);
  const app = new TestApp();
  const person = { sub: "lea", email: "lea@example.com", email_verified: true };
  const { code = "" } = fragmentOf(await passProvider({ api: mailing, fake: one }, app.begin("one"), person));
  const { accessToken: token } = (await app.exchange<TokenResponse>(mailing, code)).body;
  expect((await mailing.request("DELETE", "/api/auth/links/one", { token })).status).toBe(204);
});

test("a link of a provider that is no longer configured is no sign-in method", async () => {
  const { user, accessToken: token } = await api.register("dora@example.com");
  await addLink(token, { sub: "dora" });
  await database.transact((tx) => {
    const sql =
      "INSERT INTO _links (issuer, subject, userId, provider, email, createdAt) VALUES ('https://gone', 'd', ?, 'gone', NULL, 0)";
    tx.run(sql, user.id);
    tx.run("UPDATE _users SET passwordHash = '' WHERE id = ?", user.id);
  });
  expect((await remove(token, "one")).status).toBe(400);
  expect((await remove(token, "gone")).status).toBe(204);
});

test("the address to open works once, for its provider and its user, while the session lasts", async () => {
  const { accessToken: token } = await api.register("finn@example.com");
  const app = new TestApp();
  const { url } = (await ask(token, app)).body;
  expect(url).toStartWith(`${publicUrl}/api/auth/oauth/one?ticket=`);
  const browser = new TestBrowser(api);
  expect((await browser.open(url.replace("/one?", "/two?"))).status).toBe(400);
  const atProvider = await browser.follow(url);
  expect((await browser.open(url)).status).toBe(400);
  const { code = "" } = fragmentOf(await browser.follow(one.approve(atProvider, { sub: "finn" })));
  // The code of a link signs nobody in, and adds nothing after the logout.
  await api.request("POST", "/api/auth/logout", { token });
  const answer = await app.exchange<{ accessToken?: string }>(api, code);
  expect([answer.status, answer.body.accessToken]).toEqual([401, undefined]);
  const { accessToken } = await api.login("finn@example.com");
  expect(await list(accessToken)).toEqual({ items: [] });
});

test("an attacker who lets a victim open the address gets no link: the code needs the attacker's verifier, and the browser", async () => {
  const eve = await api.register("eve-2@example.com");
  const app = new TestApp();
  const { url } = (await ask(eve.accessToken, app)).body;
  // The victim's browser passes the provider; the code comes to the app in the victim's browser, which has another verifier.
  const back = await passProvider({ api, fake: one, browser: new TestBrowser(api) }, url, { sub: "victim" });
  const { code = "" } = fragmentOf(back);
  expect((await new TestApp().exchange(api, code)).status).toBe(400);
  expect(await list(eve.accessToken)).toEqual({ items: [] });
  // The attacker passes the first step, and the victim the second: the callback is not of the victim's browser.
  const second = (await ask(eve.accessToken, app)).body.url;
  const atProvider = await new TestBrowser(api).follow(second);
  expect((await new TestBrowser(api).open(one.approve(atProvider, { sub: "victim" }))).status).toBe(400);
  expect(await list(eve.accessToken)).toEqual({ items: [] });
});

test("links need a sign-in, and changes of links a recent sign-in", async () => {
  const app = new TestApp();
  expect((await ask(undefined, app)).status).toBe(401);
  expect((await api.request("GET", "/api/auth/links")).status).toBe(401);
  expect((await api.request("DELETE", "/api/auth/links/one")).status).toBe(401);
  const { accessToken: token } = await api.register("gina@example.com");
  await addLink(token, { sub: "gina" });
  await database.transact((tx) => tx.run("UPDATE _sessions SET createdAt = createdAt - 601000"));
  const refused = [await ask(token, app), await remove(token, "one")];
  for (const { status, body } of refused)
    expect([status, body]).toMatchObject([403, { error: { code: "forbidden", details: [{ rule: "recent_login" }] } }]);
  expect(await list(token)).toMatchObject({ items: [{ name: "one" }] });
});

test("bad requests for a link name the field", async () => {
  const { accessToken: token } = await api.register("hugo@example.com");
  const app = new TestApp();
  for (const [body, field] of [
    [{ redirect: "https://evil.example" }, "redirect"],
    [{ redirect: 5 }, "redirect"],
    [{ redirect: null }, "redirect"],
    [{ challenge: "short" }, "challenge"],
    [{ challenge: null }, "challenge"],
  ] as const) {
    const answer = await ask(token, app, "one", body);
    expect([answer.status, answer.body]).toMatchObject([400, { error: { details: [{ field }] } }]);
  }
  expect((await ask(token, app, "nobody")).status).toBe(404);
});

test("a link with the user's own email, proven at the provider, proves the email and keeps the user's credentials", async () => {
  const email = "ida@example.com";
  const { user, accessToken: token } = await api.register(email);
  const other = await api.login(email);
  expect(await addLink(token, { sub: "ida", email, email_verified: true })).toMatchObject({ status: 200 });
  expect(auth.users.find(user.id)?.verified).toBe(true);
  await api.login(email);
  expect((await api.request("GET", "/api/auth/me", { token })).status).toBe(200);
  // Another session from before the proof is over.
  expect((await api.request("GET", "/api/auth/me", { token: other.accessToken })).status).toBe(401);
});

test("each change of links is mailed to the user, with the caller", async () => {
  const mailing = await openWithProviders({ one }, { SERVICE_MAIL_FROM: "Shop <shop@example.com>" });
  const mails = () =>
    mailing.service.database.reader
      .all<{ recipient: string; text: string }>("SELECT recipient, text FROM _mails WHERE kind = 'notice'")
      .map(({ recipient, text }) => `${recipient}: ${/[^\n]*\b(?:linked|link)\b[^\n]*/.exec(text)?.[0]}`);
  const { accessToken: token } = await mailing.register("kim@example.com");
  const app = new TestApp();
  const { body } = await mailing.request<{ url: string }>("POST", "/api/auth/links/one", {
    body: { redirect: home, challenge: app.challenge },
    token,
  });
  const { code = "" } = fragmentOf(await passProvider({ api: mailing, fake: one }, body.url, { sub: "kim" }));
  expect(mails()).toEqual([]);
  await app.exchange(mailing, code);
  expect(mails()).toEqual(["kim@example.com: An account at one was linked: you can sign in there."]);
  expect((await mailing.request("DELETE", "/api/auth/links/one", { token })).status).toBe(204);
  expect(mails()[1]).toBe("kim@example.com: The link to an account at one was removed.");
  // A link that is made by a proven email is mailed, too.
  const { auth } = mailing.service;
  const user = auth.users.findByEmail("kim@example.com");
  if (user === null) throw new Error("The user is gone");
  await mailing.service.database.transact((tx) => auth.users.change(tx, { user, verified: true }, null));
  const again = new TestApp();
  const person = { sub: "kim", email: "kim@example.com", email_verified: true };
  const next = fragmentOf(await passProvider({ api: mailing, fake: one }, again.begin("one"), person))["code"] ?? "";
  expect((await again.exchange(mailing, next)).status).toBe(200);
  expect(mails()).toHaveLength(3);
});
