/** The session of a client with stores that answer late, wrongly, or not: no session ends without a reason, and nothing is heard after `close`. */
import { afterEach, expect, test } from "bun:test";
import { live } from "./entries/live.ts";
import { createClient, pageSession, type SessionStore, type Socle, SocleError } from "./index.ts";
import { webStore } from "./session-stores.ts";
import { LiveServer } from "./testing/live-server.ts";

const { fetch, addEventListener } = globalThis as typeof globalThis & { addEventListener: unknown };
const held = { accessToken: "a", userId: "ann" };
const clients: Socle[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  Object.assign(globalThis, { fetch, addEventListener });
  Reflect.deleteProperty(globalThis, "document");
});

/** Answers the requests of this process; the last answer stays. */
function answerWith(...answers: (() => Response | Promise<Response>)[]): void {
  const next = (): (() => Response | Promise<Response>) | undefined =>
    answers.length > 1 ? answers.shift() : answers[0];
  Object.assign(globalThis, { fetch: async () => next()?.() ?? Response.error() });
}

/** Answers the requests of this process by their paths. */
function answerPaths(answers: { readonly [path: string]: () => Response | Promise<Response> }): void {
  Object.assign(globalThis, { fetch: async (url: string) => answers[new URL(url).pathname]?.() ?? Response.error() });
}

function clientOf(session: SessionStore, baseUrl = "http://s"): Socle {
  const client = createClient({ baseUrl, session, live });
  clients.push(client);
  return client;
}

const away = (): Promise<Response> => Promise.reject(new TypeError("no network"));
const signedIn = (userId: string) => Response.json({ accessToken: userId, refreshToken: "r", user: { id: userId } });
/** The code of an error of the client, or what else has come. */
const codeOf = (outcome: Promise<unknown>): Promise<unknown> =>
  outcome.catch((thrown: unknown) => (thrown instanceof SocleError ? thrown.code : thrown));

/** A promise, and the function that ends the wait for the promise. */
function waiting(): { over: Promise<void>; end: () => void } {
  let end = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { over, end: () => end() };
}

const brokenBody = (): Response =>
  new Response(new ReadableStream({ start: (controller) => controller.error(new TypeError("the body broke")) }));
test.each([
  ["nothing", away],
  ["a page", () => new Response("<!doctype html><title>Sign in to the network</title>")],
  ["a text", () => new Response("Welcome to the network")],
  ["half a session", () => new Response('{"accessToken":"a')],
  ["a body that breaks", brokenBody],
])(
  "a page whose server answers %s first is not signed out, and live queries wait for the session",
  async (_, first) => {
    const server = new LiveServer();
    Object.assign(globalThis, { document: {} });
    answerWith(first, first, () => Response.json(held));
    const client = clientOf(pageSession("/session"), server.url);
    expect(await codeOf(client.ready())).toBe("offline");
    expect(client.session.get()).toBeUndefined();
    const stop = client.collection("tasks").live(() => undefined);
    await server.next(0);
    expect([server.tokens, client.session.get()]).toEqual([["a"], { userId: "ann" }]);
    stop();
    server.stop();
  },
);

test("a sign-out whose answer comes late does not end the session of the next user", async () => {
  for (const end of ["logout", "signOut"] as const) {
    const slow = waiting();
    let kept: string | null = JSON.stringify({ ...held, refreshToken: "r" });
    const client = clientOf({
      load: () => kept,
      save(text) {
        kept = text;
      },
    });
    answerPaths({
      "/api/auth/logout": () => slow.over.then(() => new Response(null, { status: 204 })),
      "/api/auth/login": () => signedIn("bob"),
    });
    const { transport } = client.$source;
    const ending = end === "logout" ? client.logout() : transport.signOut("POST", "/api/auth/logout", {});
    await client.login({ email: "bob@example.com", password: "x" });
    slow.end();
    await ending;
    expect([end, client.session.get(), client.accessToken]).toEqual([end, { userId: "bob" }, "bob"]);
    expect(kept).toContain("bob");
  }
});

test("a sign-out ends the session of its user also when the service is away", async () => {
  const client = clientOf({ load: () => JSON.stringify({ ...held, refreshToken: "r" }), save: () => undefined });
  answerWith(away);
  expect(await codeOf(client.logout())).toBe("offline");
  expect(client.session.get()).toBeNull();
});

test("saves of a store that answers late follow each other, and a look at the store waits for the save", async () => {
  const saves: (() => void)[] = [];
  let kept: string | null = null;
  let changed = (): void => undefined;
  const client = clientOf({
    load: async () => kept,
    save(text) {
      const { over, end } = waiting();
      saves.push(end);
      return over.then(() => {
        kept = text;
      });
    },
    watch(listener) {
      changed = listener;
    },
  });
  await client.ready();
  answerPaths({
    "/api/auth/logout": () => new Response(null, { status: 204 }),
    "/api/auth/login": () => signedIn("ann"),
  });
  const signingIn = client.login({ email: "ann@example.com", password: "x" });
  while (saves.length === 0) await Bun.sleep(1);
  changed();
  await Bun.sleep(5);
  expect([client.accessToken, kept]).toEqual(["ann", null]);
  const signingOut = client.logout();
  await Bun.sleep(5);
  expect(saves.length).toBe(1);
  saves[0]?.();
  await signingIn;
  while (saves.length === 1) await Bun.sleep(1);
  saves[1]?.();
  await signingOut;
  expect([client.session.get(), kept, saves.length]).toEqual([null, null, 2]);
});

test("a store that fails once keeps the later sessions; a store that fails at first is left, and the session stays in memory", async () => {
  const warned: unknown[] = [];
  const { warn } = console;
  console.warn = (text: unknown) => warned.push(text);
  try {
    let kept: string | null = JSON.stringify({ ...held, refreshToken: "r" });
    let isBroken = false;
    const client = clientOf({
      load: async () => {
        if (isBroken) throw new Error("the store is busy");
        return kept;
      },
      save: async (text) => {
        kept = text;
      },
    });
    expect(await client.ready()).toEqual({ userId: "ann" });
    const expired = (): Response =>
      Response.json({ error: { code: "unauthorized", message: "expired" } }, { status: 401 });
    isBroken = true;
    answerWith(expired);
    expect(String(await client.me().catch((thrown: unknown) => thrown))).toContain("the store is busy");
    isBroken = false;
    answerWith(
      expired,
      () => signedIn("renewed"),
      () => Response.json({ user: { id: "ann" } }),
    );
    expect((await client.me()).id).toBe("ann");
    expect([String(kept).includes("renewed"), warned]).toEqual([true, []]);
    isBroken = true;
    const other = clientOf({ load: () => Promise.reject(new Error("no store")), save: () => Promise.reject("no") });
    expect(await other.ready()).toBeNull();
    expect(warned.length).toBe(1);
    answerWith(() => signedIn("ann"));
    await other.login({ email: "ann@example.com", password: "x" });
    expect(other.session.get()).toEqual({ userId: "ann" });
  } finally {
    console.warn = warn;
  }
});

test("a client that is closed, and a connection that nobody needs, leave no listener at the page", async () => {
  const server = new LiveServer();
  const heard = new Map<string, AbortSignal | undefined>();
  let added = 0;
  const storage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
  const page = {
    localStorage: storage,
    sessionStorage: storage,
    addEventListener(type: string, _listener: unknown, options?: { signal?: AbortSignal }) {
      added += 1;
      heard.set(`${type} ${added}`, options?.signal);
    },
    dispatchEvent: () => undefined,
  };
  Object.assign(globalThis, { addEventListener: page.addEventListener });
  const left = (): string[] => [...heard].filter(([, signal]) => signal?.aborted !== true).map(([name]) => name);
  const client = clientOf(webStore("local", "key", page), server.url);
  expect(left().length).toBe(2);
  const stop = client.collection("tasks").live(() => undefined);
  await server.next(0);
  expect(left().length).toBe(4);
  stop();
  expect(left().length).toBe(2);
  client.collection("tasks").live(() => undefined);
  await server.next(1);
  const paged = clientOf(pageSession("/session"));
  expect(left().length).toBe(6);
  client.close();
  paged.close();
  expect([left(), added]).toEqual([[], 8]);
  server.stop();
});
