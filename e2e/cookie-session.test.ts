/** The session of a browser in a cookie, as a server that renders pages keeps the session, against a service. */
import { afterAll, afterEach, expect, test } from "bun:test";
import { type Cookies, cookieName, cookieOf, sessionInCookie as sessionIn } from "../packages/client/src/cookies.ts";
import {
  type CookieAttributes,
  cookieSession,
  noSession,
  requestSession,
  sessionHandler,
} from "../packages/client/src/entries/server.ts";
import { createClient, type Socle } from "../packages/client/src/index.ts";
import { project, serve, until } from "./kit.ts";

const notes = {
  name: "notes",
  fields: [{ name: "title", type: "string", required: true }],
  permissions: { read: "public", create: "authenticated" },
};
const config = { auth: { accessTokenTtl: "2s" } };
const server = await serve(await project({ collections: [notes], config }), { single: "numbers" });
const second = await serve(await project({ collections: [notes] }), { single: "numbers" });
const password = "a long password";
for (const { url } of [server, second])
  await createClient({ baseUrl: url }).register({ email: "ann@example.com", password });

/** The requests that this process sends, by path. */
const sent: string[] = [];
let isAway = false;
/** The next request for this path has no answer. */
let lostPath = "";
const { fetch } = globalThis;
const watched: typeof fetch = Object.assign(
  (input: string | URL | Request, init?: RequestInit) => {
    const { pathname } = new URL(String(input));
    sent.push(pathname);
    const isLost = pathname === lostPath;
    if (isLost) lostPath = "";
    return isAway || isLost ? Promise.reject(new TypeError("no network")) : fetch(input, init);
  },
  { preconnect: fetch.preconnect },
);
globalThis.fetch = watched;
afterAll(() => {
  globalThis.fetch = fetch;
});
afterEach(() => {
  sent.length = 0;
  isAway = false;
  lostPath = "";
});
const refreshes = (): number => sent.filter((path) => path === "/api/auth/refresh").length;

/** The cookies of a browser; each request sees the cookies of its begin, and the browser gets the cookies of each response. */
class Jar {
  readonly cookies = new Map<string, string>();
  readonly set: { name: string; value: string; attributes: CookieAttributes }[] = [];

  /** A request of the browser. */
  request(baseUrl = server.url, isSent = false): Socle {
    const before = new Map(this.cookies);
    const cookies: Cookies = {
      get: (name) => before.get(name),
      set: (name, value, attributes) => {
        if (isSent) throw new Error("The response is on its way");
        this.set.push({ name, value, attributes });
        if (attributes.maxAge > 0) this.cookies.set(name, value);
        else this.cookies.delete(name);
      },
    };
    return createClient({ baseUrl, session: cookieSession(cookies, { url: "https://shop.example.com/basket" }) });
  }

  get value(): string {
    return this.cookies.get(cookieName(server.url)) ?? "";
  }

  put(value: string): Jar {
    this.cookies.set(cookieName(server.url), value);
    return this;
  }
}

async function signedIn(): Promise<Jar> {
  const jar = new Jar();
  await jar.request().login({ email: "ann@example.com", password });
  return jar;
}

/** Waits until the access token of a cookie has expired. */
async function expired(jar: Jar): Promise<void> {
  const headers = { Authorization: `Bearer ${sessionIn(server.url, jar.value)?.accessToken}` };
  await until(async () => (await fetch(`${server.url}/api/auth/me`, { headers })).status === 401);
}

test("a sign-in sets a cookie, and the next request is signed in", async () => {
  const jar = new Jar();
  await jar.request(second.url).login({ email: "ann@example.com", password });
  const attributes: CookieAttributes = { httpOnly: true, secure: true, sameSite: "lax", path: "/", maxAge: 34_560_000 };
  const value = jar.cookies.get(cookieName(second.url)) ?? "";
  expect(jar.set).toEqual([{ name: cookieName(second.url), value, attributes }]);
  expect([value.length > 100, value.length < 1_500, encodeURIComponent(value) === value]).toEqual([true, true, true]);
  const socle = jar.request(second.url);
  const { id, email } = await socle.me();
  expect([email, socle.session.get()]).toEqual(["ann@example.com", { userId: id }]);
  expect((await socle.collection("notes").create({ title: "a" }))["title"]).toBe("a");
  expect([jar.set.length, refreshes()]).toEqual([1, 0]);
});

test.each([
  ["https://example.com", true],
  ["http://example.com/a?b", true],
  ["http://localhost:3000/", false],
  ["http://app.localhost", false],
  ["http://127.0.0.1:3000", false],
  ["http://[::1]:3000", false],
  ["https://localhost.example.com", true],
])("at %s the cookie is secure: %p", async (url, secure) => {
  const set: boolean[] = [];
  const cookies: Cookies = { get: () => null, set: (_name, _value, attributes) => set.push(attributes.secure) };
  const socle = createClient({ baseUrl: server.url, session: cookieSession(cookies, { url }) });
  await socle.login({ email: "ann@example.com", password });
  expect(set).toEqual([secure]);
});

test("parallel requests renew the tokens once, and a browser that lost the response goes on", async () => {
  const jar = await signedIn();
  const former = jar.value;
  await expired(jar);
  const clients = Array.from({ length: 20 }, () => jar.request());
  const users = await Promise.all(clients.map((socle) => socle.me()));
  expect(new Set(users.map(({ email }) => email))).toEqual(new Set(["ann@example.com"]));
  expect(refreshes()).toBe(1);
  const values = jar.set.slice(1).map(({ value }) => value);
  expect([values.length, new Set(values).size, values[0] === former]).toEqual([20, 1, false]);
  // The next request comes with the former cookie.
  const late = new Jar().put(former);
  expect((await late.request().me()).email).toBe("ann@example.com");
  expect([late.value === jar.value, refreshes()]).toEqual([true, 1]);
  // A response that is on its way sets no cookie; the next response does.
  await expired(jar);
  expect((await jar.request(server.url, true).me()).email).toBe("ann@example.com");
  expect(jar.value).toBe(late.value);
  await jar.request().me();
  expect([jar.value === late.value, refreshes()]).toEqual([false, 2]);
});

/** The outcome of a request that everybody may make, and of the cookie. */
async function outcome(jar: Jar, baseUrl = server.url): Promise<unknown> {
  const socle = jar.request(baseUrl);
  const { items } = await socle.collection("notes").limit(1);
  return [
    items.length,
    socle.session.get(),
    [...jar.cookies.keys()],
    jar.set.map(({ attributes }) => attributes.maxAge),
  ];
}
const ignored = [0, null, [], [0]];

test("a cookie that was cut is removed, and nobody is signed in", async () => {
  const { value } = await signedIn();
  for (let length = 1; length < value.length; length += 7)
    expect([length, await outcome(new Jar().put(value.slice(0, length)))]).toEqual([length, ignored]);
});

test("a cookie that was forged, changed, or that nobody has made is removed, and nobody is signed in", async () => {
  const { value } = await signedIn();
  const real = sessionIn(server.url, value);
  const forged = [
    ...[
      "~",
      "1~",
      "~~~~~~",
      "%",
      "1~%~%~%~%~%~%",
      "x".repeat(4_000),
      "{}",
      '"',
      value.toUpperCase(),
      `${value}x`,
      `x${value}`,
    ],
    cookieOf(server.url, { accessToken: "a.b.c", refreshToken: "d.e.f" }),
    cookieOf(server.url, { accessToken: `${real?.accessToken}x`, refreshToken: `${real?.refreshToken}x` }),
    cookieOf(server.url, { accessToken: "é\r\nSet-Cookie: a=b", refreshToken: "~" }),
  ];
  for (const text of forged) expect([text, await outcome(new Jar().put(text))]).toEqual([text, ignored]);
});

test("a cookie of another service is removed, and the session there goes on", async () => {
  const jar = await signedIn();
  const there = new Jar();
  there.cookies.set(cookieName(second.url), jar.value);
  const socle = there.request(second.url);
  await socle.me().catch(() => null);
  expect([socle.session.get(), there.cookies.size, there.set.map(({ attributes }) => attributes.maxAge)]).toEqual([
    null,
    0,
    [0],
  ]);
  // Both services of a host have cookies of their own.
  await jar.request(second.url).login({ email: "ann@example.com", password });
  expect([jar.cookies.size, (await jar.request().me()).id === (await jar.request(second.url).me()).id]).toEqual([
    2,
    false,
  ]);
});

test("a session that has ended elsewhere is as if nobody was signed in", async () => {
  const jar = await signedIn();
  const { accessToken } = sessionIn(server.url, jar.value) ?? {};
  await fetch(`${server.url}/api/auth/logout`, { method: "POST", headers: { Authorization: `Bearer ${accessToken}` } });
  jar.set.length = 0;
  expect(await outcome(jar)).toEqual(ignored);
});

test("a sign-out ends the session at the service and removes the cookie, also with an expired token", async () => {
  const jar = await signedIn();
  const former = jar.value;
  await expired(jar);
  await jar.request().logout();
  expect([jar.cookies.size, jar.set.at(-1)?.attributes.maxAge]).toEqual([0, 0]);
  expect(await outcome(new Jar().put(former))).toEqual(ignored);
});

test("a sign-out while the service is away removes the cookie, rejects, and leaves nobody signed in", async () => {
  const jar = await signedIn();
  isAway = true;
  const socle = jar.request();
  expect(await socle.logout().catch(({ code }) => code)).toBe("offline");
  expect([jar.cookies.size, jar.set.at(-1)?.attributes.maxAge, socle.session.get()]).toEqual([0, 0, null]);
  const other = await isAwayFor(() => signedIn());
  const own = { method: "DELETE", headers: { "Socle-Session": "page" } };
  const answer = await sessionHandler(other.request(), new Request("https://shop.example.com/session", own));
  expect([answer.status, other.cookies.size]).toEqual([503, 0]);
  // A sign-out on all devices keeps the cookie, for another try.
  const all = await isAwayFor(() => signedIn());
  expect(
    await all
      .request()
      .logout({ everywhere: true })
      .catch(({ code }) => code),
  ).toBe("offline");
  expect(all.cookies.size).toBe(1);
});

/** Does something while the service is there. */
async function isAwayFor<T>(work: () => Promise<T>): Promise<T> {
  isAway = false;
  try {
    return await work();
  } finally {
    isAway = true;
  }
}

test("a sign-out whose look at the session has no answer tells the service the refresh token", async () => {
  const jar = await signedIn();
  const former = jar.value;
  lostPath = "/api/auth/me";
  await jar.request().logout();
  expect([jar.cookies.size, sent.filter((path) => path === "/api/auth/logout").length]).toEqual([0, 1]);
  expect(await outcome(new Jar().put(former))).toEqual(ignored);
});

test("a process remembers a renewal for a day, and no refusal", async () => {
  const jar = await signedIn();
  const former = jar.value;
  await expired(jar);
  await jar.request().me();
  const late = new Jar().put(former);
  await late.request().me();
  expect(refreshes()).toBe(1);
  const { now } = Date;
  Date.now = () => now() + 25 * 60 * 60 * 1_000;
  try {
    // The service itself judges the former token now.
    await outcome(new Jar().put(former));
    expect(refreshes()).toBe(2);
  } finally {
    Date.now = now;
  }
  const ended = await signedIn();
  const { accessToken } = sessionIn(server.url, ended.value) ?? {};
  await fetch(`${server.url}/api/auth/logout`, { method: "POST", headers: { Authorization: `Bearer ${accessToken}` } });
  sent.length = 0;
  for (let asked = 1; asked <= 2; asked++) {
    expect(await outcome(new Jar().put(ended.value))).toEqual(ignored);
    expect(refreshes()).toBe(asked);
  }
});

test("while the service is away, requests reject and the cookie stays", async () => {
  const jar = await signedIn();
  isAway = true;
  const socle = jar.request();
  expect(await socle.me().catch(({ code }) => code)).toBe("offline");
  expect([jar.set.length, jar.cookies.size]).toEqual([1, 1]);
  isAway = false;
  expect((await socle.me()).email).toBe("ann@example.com");
});

test("the handler gives a page the access token alone, and signs out; not to other sites", async () => {
  const jar = await signedIn();
  const call = (method: string, headers: Record<string, string>) =>
    sessionHandler(jar.request(), new Request("https://shop.example.com/session", { method, headers }));
  const own = { "Socle-Session": "page" };
  const given = await call("GET", own);
  const session = (await given.json()) as { accessToken: string };
  expect([given.status, given.headers.get("cache-control"), Object.keys(session).sort()]).toEqual([
    200,
    "no-store",
    ["accessToken", "id", "userId"],
  ]);
  expect(session.accessToken).toBe(sessionIn(server.url, jar.value)?.accessToken ?? "");
  expect([(await call("GET", {})).status, (await call("DELETE", {})).status, (await call("PUT", own)).status]).toEqual([
    403, 403, 405,
  ]);
  isAway = true;
  expect((await call("GET", own)).status).toBe(503);
  isAway = false;
  expect(jar.cookies.size).toBe(1);
  expect((await call("DELETE", own)).status).toBe(204);
  expect([jar.cookies.size, await (await call("GET", own)).json()]).toEqual([0, null]);
});

test("a client that all requests share signs nobody in, and sends nothing", async () => {
  const socle = createClient({ baseUrl: second.url, session: noSession });
  for (const act of ["login", "register"] as const)
    expect(await socle[act]({ email: "ann@example.com", password }).catch(String)).toContain("clientFor(request)");
  expect(() => socle.adoptTokens({ accessToken: "a", refreshToken: "b" })).toThrow("clientFor(request)");
  expect([sent, socle.accessToken]).toEqual([[], null]);
  expect((await socle.collection("notes").limit(1)).items.length).toBe(1);
});

test("a request has the session of its token or its cookie, and a response gets the cookie", async () => {
  const headers = new Headers();
  const open = (sentHeaders: Record<string, string>, response?: Headers) =>
    createClient({
      baseUrl: server.url,
      session: requestSession(new Request("http://localhost:3000/a", { headers: sentHeaders }), response),
    });
  await open({}, headers).login({ email: "ann@example.com", password });
  const [cookie = ""] = headers.getSetCookie();
  expect(cookie).toMatch(/^socle-\w+=[^;]+; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Lax$/);
  const [pair = ""] = cookie.split(";");
  const socle = open({ Cookie: `a=b; ${pair}; c="d"` });
  expect((await socle.me()).email).toBe("ann@example.com");
  const bearer = open({ Authorization: `Bearer ${socle.accessToken}`, Cookie: "a" });
  expect((await bearer.me()).email).toBe("ann@example.com");
  expect(
    await open({ Authorization: "Bearer nonsense" })
      .me()
      .catch(({ status }) => status),
  ).toBe(401);
  expect(
    (
      await createClient({ baseUrl: server.url, session: requestSession() }).login({
        email: "ann@example.com",
        password,
      })
    ).email,
  ).toBe("ann@example.com");
});
