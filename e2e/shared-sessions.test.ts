/** A session in a real browser: reloads, tabs, other users, storage that is full or forbidden, two services, wrong clocks, sleep. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { SocleClient } from "../packages/client/src/index.ts";
import { openWindow } from "./browser.ts";
import { project, serve, until } from "./kit.ts";

const html = `<!doctype html><title>page</title><script type="module">
import { createClient, live } from "/_/client.js";
const address = new URL(location.href).searchParams;
globalThis.client = (options) => createClient({ live, ...options });
globalThis.socle = client({
  ...(address.has("service") && { baseUrl: address.get("service") }),
  ...(address.has("session") && { session: address.get("session") }),
});
globalThis.told = [];
socle.session.subscribe((session) => told.push(session?.userId ?? null));
document.title = "ready";
</script>`;

async function service() {
  const notes = { name: "notes", fields: [{ name: "title", type: "string" }], permissions: { read: "authenticated" } };
  const cwd = await project({ collections: [notes], config: { public: "public", auth: { accessTokenTtl: "2s" } } });
  mkdirSync(join(cwd, "public"));
  writeFileSync(join(cwd, "public/index.html"), html);
  return serve(cwd, { single: "numbers" });
}
const [server, second] = [await service(), await service()];

const password = "a long password";
async function register(name: string, url = server.url): Promise<string> {
  const user = await new SocleClient({ baseUrl: url }).register({ email: `${name}@example.com`, password });
  return user?.id ?? "";
}
const [ann, bob] = [await register("ann"), await register("bob")];
const annThere = await register("ann", second.url);

/** A tab, with the messages and requests of the tab. */
interface Tab {
  readonly page: Page;
  readonly warnings: string[];
  readonly problems: string[];
  refreshes: number;
}

async function open(context: BrowserContext, search = "", url = server.url): Promise<Tab> {
  const page = await context.newPage();
  const tab: Tab = { page, warnings: [], problems: [], refreshes: 0 };
  page.on("pageerror", (error) => tab.problems.push(String(error)));
  page.on("console", (message) => message.type() === "warning" && tab.warnings.push(message.text()));
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith("/api/auth/refresh")) tab.refreshes += 1;
  });
  await page.goto(`${url}/${search}`);
  await page.waitForFunction("document.title === 'ready'");
  return tab;
}

const signIn = (tab: Tab, name: string): Promise<unknown> =>
  tab.page.evaluate(`socle.login({ email: "${name}@example.com", password: "${password}" })`);
/** The id of the user, or the status of the refusal. */
const me = (tab: Tab): Promise<unknown> =>
  tab.page.evaluate("socle.me().then(({ id }) => id, ({ status, code, name }) => status || code || name)");
const session = (tab: Tab): Promise<unknown> => tab.page.evaluate("socle.session.get()?.userId ?? null");
const told = (tab: Tab): Promise<unknown> => tab.page.evaluate("told");
const tokenOf = (tab: Tab): Promise<string> => tab.page.evaluate("socle.accessToken");

/** Waits until the access token of a tab has expired. */
async function expired(tab: Tab): Promise<void> {
  const headers = { Authorization: `Bearer ${await tokenOf(tab)}` };
  await until(async () => (await fetch(`${server.url}/api/auth/me`, { headers })).status === 401);
}

function quiet(...tabs: Tab[]): void {
  expect(tabs.map(({ problems, warnings }) => [problems, warnings])).toEqual(tabs.map(() => [[], []]));
}

test("a session survives a reload, and another tab has the session", async () => {
  const context = await openWindow();
  const tab = await open(context);
  expect(await session(tab)).toBe(null);
  await signIn(tab, "ann");
  await tab.page.reload();
  await tab.page.waitForFunction("document.title === 'ready'");
  expect([await session(tab), await me(tab)]).toEqual([ann, ann]);
  const other = await open(context);
  expect([await session(other), await me(other)]).toEqual([ann, ann]);
  // The browser is started anew.
  const again = await openWindow({ storageState: await context.storageState() });
  await context.close();
  expect(await me(await open(again))).toBe(ann);
  quiet(tab, other);
});

test.each([
  ["with the locks of the browser", ""],
  [
    "without HTTPS, where a browser has no locks",
    "Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })",
  ],
])("two tabs that refresh at once send one refresh: %s", async (_, script) => {
  const context = await openWindow();
  await context.addInitScript(script);
  const [one, two] = [await open(context), await open(context)];
  await signIn(one, "ann");
  await two.page.waitForFunction("socle.session.get() !== null");
  await expired(one);
  const waiting = [me(one), me(two), me(one), me(two)];
  expect(await Promise.all(waiting)).toEqual([ann, ann, ann, ann]);
  expect(one.refreshes + two.refreshes).toBe(1);
  expect(await tokenOf(one)).toBe(await tokenOf(two));
  expect([await told(one), await told(two)]).toEqual([[ann], [ann]]);
  quiet(one, two);
});

test("a sign-out in a tab signs out all tabs, and ends the session at the service", async () => {
  const context = await openWindow();
  const [one, two] = [await open(context), await open(context)];
  await signIn(one, "ann");
  await two.page.waitForFunction("socle.session.get() !== null");
  const token = await tokenOf(one);
  await two.page.evaluate("socle.logout()");
  await one.page.waitForFunction("socle.session.get() === null");
  expect([await me(one), await me(two), await told(one), await told(two)]).toEqual([
    401,
    401,
    [ann, null],
    [ann, null],
  ]);
  expect(await one.page.evaluate("localStorage.length")).toBe(0);
  const headers = { Authorization: `Bearer ${token}` };
  expect((await fetch(`${server.url}/api/auth/me`, { headers })).status).toBe(401);
  quiet(one, two);
});

test("a sign-out everywhere ends the sessions of other browsers, in one call", async () => {
  const [here, there] = [await open(await openWindow()), await open(await openWindow())];
  for (const tab of [here, there]) await signIn(tab, "bob");
  await here.page.evaluate("socle.logout({ everywhere: true })");
  expect([await session(here), await me(there), await told(there)]).toEqual([null, 401, [bob, null]]);
  quiet(here, there);
});

test("a sign-out is one also without the network, and says that the service was not told", async () => {
  const context = await openWindow();
  const [one, two] = [await open(context), await open(context)];
  await signIn(one, "ann");
  await two.page.waitForFunction("socle.session.get() !== null");
  await context.setOffline(true);
  const refused = "socle.logout().then(() => null, ({ code, message }) => [code, message])";
  expect(await one.page.evaluate(refused)).toEqual(["offline", expect.stringContaining(server.url)]);
  await two.page.waitForFunction("socle.session.get() === null");
  expect(await session(one)).toBe(null);
});

test("another user in another tab is told, and no request is sent as another user", async () => {
  const context = await openWindow();
  const [one, two] = [await open(context), await open(context)];
  await signIn(one, "ann");
  await two.page.waitForFunction("socle.session.get() !== null");
  await expired(two);
  // The request of Ann is refused when Bob is signed in already.
  await two.page.route(
    "**/api/auth/me",
    async (route) => {
      await signIn(one, "bob");
      await route.continue();
    },
    { times: 1 },
  );
  expect(await me(two)).toBe(401);
  await two.page.waitForFunction(`socle.session.get()?.userId === "${bob}"`);
  expect([await me(two), await me(one), await told(two), await told(one)]).toEqual([bob, bob, [ann, bob], [ann, bob]]);
  quiet(one, two);
});

test("two clients of a page, and a second copy of the client, share the session", async () => {
  const tab = await open(await openWindow());
  await tab.page.evaluate("globalThis.other = client({}); void 0");
  await tab.page.evaluate(
    "import('/_/client.js?copy').then(({ createClient }) => { globalThis.copy = createClient(); })",
  );
  await signIn(tab, "ann");
  const users = "[other, copy].map(({ session }) => session.get()?.userId ?? null)";
  expect(await tab.page.evaluate(users)).toEqual([ann, ann]);
  await tab.page.evaluate("copy.logout()");
  expect([await tab.page.evaluate(users), await session(tab)]).toEqual([[null, null], null]);
  quiet(tab);
});

test("the session of a tab is the tab's alone; a copy of the tab goes on with the session", async () => {
  const context = await openWindow();
  const [one, two] = [await open(context, "?session=tab"), await open(context, "?session=tab")];
  await signIn(one, "ann");
  const before = one.page.context().waitForEvent("page");
  await one.page.evaluate("window.open(location.href) && null");
  const page = await before;
  await page.waitForFunction("document.title === 'ready'");
  const copy: Tab = { page, warnings: [], problems: [], refreshes: 0 };
  expect([await session(copy), await session(two), await me(two)]).toEqual([ann, null, 401]);
  expect(await one.page.evaluate("localStorage.length")).toBe(0);
  await expired(one);
  expect(await me(one)).toBe(ann);
  await page.waitForFunction(`socle.accessToken === "${await tokenOf(one)}"`);
  await one.page.reload();
  await one.page.waitForFunction("document.title === 'ready'");
  expect([await me(one), await session(two)]).toEqual([ann, null]);
  await page.evaluate("socle.logout()");
  await one.page.waitForFunction("socle.session.get() === null");
  quiet(one, two);
});

const fill = `{
  let text = "x".repeat(2 ** 20);
  for (let n = 0; text !== ""; n++)
    try { localStorage.setItem("full " + n, text); } catch { text = text.slice(0, text.length >> 1); }
}`;

test("a storage that is full: the session stays in memory, and the page says so once", async () => {
  const context = await openWindow();
  const tab = await open(context);
  await tab.page.evaluate(fill);
  await signIn(tab, "ann");
  expect(await me(tab)).toBe(ann);
  await expired(tab);
  expect(await me(tab)).toBe(ann);
  expect(tab.warnings).toEqual([expect.stringContaining("The session is kept in memory alone: QuotaExceededError")]);
  expect(tab.problems).toEqual([]);
  expect(await session(await open(context))).toBe(null);
});

test("a storage that is filled after the sign-in takes renewed tokens", async () => {
  const context = await openWindow();
  const tab = await open(context);
  await signIn(tab, "ann");
  await tab.page.evaluate(fill);
  await expired(tab);
  expect(await me(tab)).toBe(ann);
  const other = await open(context);
  expect([await tokenOf(other), await me(other)]).toEqual([await tokenOf(tab), ann]);
  quiet(tab, other);
});

const forbid = `Object.defineProperty(globalThis, "localStorage", {
  get() { throw new DOMException("Access is denied for this document.", "SecurityError"); },
})`;

test.each([
  ["the storage", forbid],
  [
    "the storage and the locks",
    `${forbid}; if (globalThis.LockManager) LockManager.prototype.request = () => Promise.reject(new DOMException("no"));`,
  ],
])("a page that forbids %s: the session stays in memory, and the page says so once", async (_, script) => {
  const context = await openWindow();
  await context.addInitScript(script);
  const tab = await open(context);
  await signIn(tab, "ann");
  await expired(tab);
  expect([await me(tab), await session(tab)]).toEqual([ann, ann]);
  await tab.page.evaluate("socle.logout()");
  expect(tab.warnings).toEqual([expect.stringContaining("The session is kept in memory alone: SecurityError")]);
  expect(tab.problems).toEqual([]);
});

test("a text in the storage that is damaged is as if nobody was signed in", async () => {
  const context = await openWindow();
  const tab = await open(context);
  for (const text of ["", "{", "null", "7", '{"accessToken":7}', "[]"]) {
    await tab.page.evaluate(`localStorage.setItem("socle ${server.url}", ${JSON.stringify(text)})`);
    await tab.page.reload();
    await tab.page.waitForFunction("document.title === 'ready'");
    expect([text, await session(tab), await me(tab)]).toEqual([text, null, 401]);
  }
  quiet(tab);
});

test("two services of an origin do not mix", async () => {
  const context = await openWindow();
  const there = `?service=${encodeURIComponent(second.url)}`;
  const [own, other] = [await open(context), await open(context, there)];
  await signIn(own, "bob");
  expect(await session(other)).toBe(null);
  await signIn(other, "ann");
  expect([await me(own), await me(other), annThere === ann]).toEqual([bob, annThere, false]);
  await own.page.evaluate("socle.logout()");
  const again = await open(context, there);
  expect([await me(again), await me(other), await session(await open(context))]).toEqual([annThere, annThere, null]);
  quiet(own, other, again);
});

const year = 365 * 86_400_000;
test.each([year, -year])("a clock that is %d ms wrong, and is set, ends no session", async (wrong) => {
  const context = await openWindow();
  await context.addInitScript(`{
    globalThis.wrong = ${wrong};
    const Right = Date;
    globalThis.Date = class extends Right {
      constructor(...given) { super(...(given.length === 0 ? [Right.now() + wrong] : given)); }
      static now() { return Right.now() + wrong; }
    };
    Object.defineProperty(Navigator.prototype, 'locks', { value: undefined });
  }`);
  const [one, two] = [await open(context), await open(context)];
  await signIn(one, "ann");
  await two.page.waitForFunction("socle.session.get() !== null");
  for (const further of [wrong, -2 * wrong, 0]) {
    await one.page.evaluate(`wrong += ${further}`);
    await two.page.evaluate(`wrong += ${further}`);
    await expired(one);
    expect(await Promise.all([me(one), me(two)])).toEqual([ann, ann]);
  }
  expect([await told(one), await told(two)]).toEqual([[ann], [ann]]);
  quiet(one, two);
});

test("refreshes without an answer of the service end no session; the refusal of the service ends the session", async () => {
  const tab = await open(await openWindow());
  await signIn(tab, "ann");
  await expired(tab);
  const page = { status: 401, contentType: "text/html", body: "<html>Sign in to the network</html>" };
  for (const answer of [{ status: 500 }, { status: 503 }, { status: 429, headers: { "Retry-After": "9" } }, page]) {
    await tab.page.route("**/api/auth/refresh", (route) => route.fulfill(answer), { times: 1 });
    expect([answer.status, await me(tab), await session(tab)]).toEqual([answer.status, answer.status, ann]);
  }
  // The service has renewed the tokens, and the answer is lost; the service then has waited longer than two tabs need.
  await tab.page.route(
    "**/api/auth/refresh",
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  expect([await me(tab), await session(tab)]).toEqual(["offline", ann]);
  await Bun.sleep(10_500);
  expect([await me(tab), await session(tab)]).toEqual([ann, ann]);
  const headers = { Authorization: `Bearer ${await tokenOf(tab)}` };
  expect((await fetch(`${server.url}/api/auth/logout`, { method: "POST", headers })).status).toBe(204);
  expect([await me(tab), await session(tab), await told(tab)]).toEqual([401, null, [ann, null]]);
  expect(tab.problems).toEqual([]);
});

test("a tab that sleeps while another tab renews, signs out and signs in goes on as the others", async () => {
  const context = await openWindow();
  const [awake, asleep] = [await open(context), await open(context)];
  await signIn(awake, "ann");
  await asleep.page.waitForFunction("socle.session.get() !== null");
  const life = await context.newCDPSession(asleep.page);
  const sleep = (state: "frozen" | "active") => life.send("Page.setWebLifecycleState", { state });
  await sleep("frozen");
  for (let times = 0; times < 2; times++) {
    await expired(awake);
    expect(await me(awake)).toBe(ann);
  }
  await sleep("active");
  expect([await me(asleep), await told(asleep)]).toEqual([ann, [ann]]);
  await sleep("frozen");
  await awake.page.evaluate("socle.logout()");
  await signIn(awake, "bob");
  await sleep("active");
  await asleep.page.waitForFunction(`socle.session.get()?.userId === "${bob}"`);
  expect([await me(asleep), await me(awake)]).toEqual([bob, bob]);
  quiet(awake, asleep);
});

test("a device without a network keeps the session, and is connected again at once when the network is back", async () => {
  const context = await openWindow();
  const tab = await open(context);
  await signIn(tab, "ann");
  await tab.page.evaluate("socle.notes.live(() => undefined); void 0");
  await tab.page.waitForFunction("socle.connection.get() === 'open'");
  await expired(tab);
  await context.setOffline(true);
  expect([await me(tab), await session(tab)]).toEqual(["offline", ann]);
  await context.setOffline(false);
  expect([await me(tab), await session(tab)]).toEqual([ann, ann]);
  await tab.page.waitForFunction("socle.connection.get() === 'open'");
});
