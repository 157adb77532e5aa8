/**
 * Random sequences of three tabs, two users and a service that loses requests and answers: sign-ins, sign-outs, requests, reloads, sleep and
 * wrong clocks. No session ends without a sign-out, no tab gets the answer of another user, and all tabs agree at the end.
 */
import { expect, test } from "bun:test";
import { createClient, type Socle, SocleError } from "../packages/client/src/index.ts";
import { webStore } from "../packages/client/src/session-stores.ts";
import { isLong } from "../packages/server/test/long.ts";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { Tab, TabBrowser } from "./tab-browser.ts";

const lifetimeMs = 60_000;
const graceMs = 10_000;
const key = "socle model";

/** A session of the service: the generations of its tokens. The last generation is in force. */
interface Served {
  readonly user: string;
  readonly issued: { readonly access: { token: string; at: number }[]; usedAt: number; isSeen: boolean }[];
  end: "sign-out" | "reuse" | null;
}

/** The rules of the service for tokens, as `packages/server/src/people/auth/refresh-model.test.ts` tests the rules. */
class Service {
  readonly sessions: Served[] = [];
  readonly notes: { user: string | null; title: string }[] = [];
  readonly #keys = new Map<string, object>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  answer(path: string, token: string | null, body: Record<string, string>, idempotencyKey: string | null): Response {
    const caller = token === null ? null : this.#callerOf(token);
    if (path === "/api/auth/login") {
      const user = body["email"] ?? "";
      this.sessions.push({ user, issued: [{ access: [], usedAt: 0, isSeen: true }], end: null });
      return this.#tokens(this.sessions.length - 1);
    }
    if (path === "/api/auth/refresh") return this.#refresh(body["refreshToken"] ?? "");
    if (caller === null && token !== null) return refused();
    if (path === "/api/auth/logout") {
      const session = caller ?? this.#sessionOf(body["refreshToken"] ?? "");
      if (session === undefined || session.end !== null) return refused();
      session.end = "sign-out";
      return new Response(null, { status: 204 });
    }
    if (path === "/api/auth/me") return caller === null ? refused() : Response.json({ user: { id: caller.user } });
    const made = this.#keys.get(String(idempotencyKey)) ?? { id: `rec_${this.notes.length}` };
    if (!this.#keys.has(String(idempotencyKey)))
      this.notes.push({ user: caller?.user ?? null, title: body["title"] ?? "" });
    this.#keys.set(String(idempotencyKey), made);
    return Response.json(made, { status: 201 });
  }

  #sessionOf(token: string): Served | undefined {
    return this.sessions[Number(token.split(".")[0])];
  }

  #callerOf(token: string): Served | null {
    const session = this.#sessionOf(token);
    const issued = session?.issued.find(({ access }) => access.some((each) => each.token === token));
    const at = issued?.access.find((each) => each.token === token)?.at ?? 0;
    if (session === undefined || issued === undefined || session.end !== null || this.#now() > at + lifetimeMs)
      return null;
    issued.isSeen = true;
    return session;
  }

  #tokens(n: number): Response {
    const { user, issued } = this.sessions[n] as Served;
    const generation = issued.length - 1;
    const accessToken = `${n}.${generation}.${issued[generation]?.access.length}`;
    issued[generation]?.access.push({ token: accessToken, at: this.#now() });
    return Response.json({ accessToken, refreshToken: `${n}.${generation}`, user: { id: user } });
  }

  #refresh(token: string): Response {
    const session = this.#sessionOf(token);
    const [n, generation] = token.split(".").map(Number);
    const used = session?.issued[generation ?? -1];
    if (session === undefined || used === undefined || session.end !== null) return refused();
    const newest = session.issued.length - 1;
    const isBorne =
      this.#now() - used.usedAt <= graceMs || (generation === newest - 1 && session.issued[newest]?.isSeen === false);
    if (generation !== newest && !isBorne) {
      session.end = "reuse";
      return refused();
    }
    used.usedAt = this.#now();
    if (generation === newest) session.issued.push({ access: [], usedAt: 0, isSeen: false });
    return this.#tokens(n ?? 0);
  }
}

function refused(): Response {
  return Response.json({ error: { code: "unauthorized", message: "no" } }, { status: 401 });
}

/** The user and the session of a stored text. */
function stored(text: string | null): { user: string; n: number } | null {
  if (text === null) return null;
  const { userId, accessToken } = JSON.parse(text);
  return { user: userId, n: Number(accessToken.split(".")[0]) };
}

/** Faults of the network and the service in this sequence: the part of the requests. */
interface Faults {
  rate: number;
}

async function sequence(seed: number): Promise<void> {
  const random = randomNumbers(seed);
  const below = (bound: number): number => Math.floor(random() * bound);
  const trace: string[] = [];
  const faults: Faults = { rate: random() * 0.6 };
  const browser = new TabBrowser({
    random,
    hasLocks: random() < 0.7,
    changing(tab, before, after) {
      const [from, to] = [stored(before), stored(after)];
      trace.push(`${browser.now} ${tab.name} stores ${after?.trim() ?? null}`);
      // A sign-out ends no session that began after the sign-out.
      const mayEnd = [...tab.logouts].some(({ sessions }) => from !== null && from.n < sessions);
      if (to === null && from !== null && !mayEnd && service.sessions[from.n]?.end !== "sign-out")
        problems.push(new Error(`The session of ${from.user} ended without a reason`));
      if (to !== null && from !== null && from.n !== to.n && tab.logins === 0)
        problems.push(new Error("Another session came without a sign-in"));
    },
  });
  const service = new Service(() => browser.now);
  const clients = new Map<Tab, Socle>();
  const problems: unknown[] = [];

  const send = (url: string, { method, headers, body, signal }: RequestInit): Promise<Response> => {
    const { tab } = browser;
    const path = new URL(url).pathname;
    const given = new Headers(headers);
    const token = given.get("authorization")?.slice(7) ?? null;
    const fault = random() < faults.rate ? below(5) : -1;
    const there = 5 + random() * 200;
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
      const fail = (): void => reject(new TypeError("fetch failed"));
      const answers = [503, 429, 502];
      browser.after(there, null, () => {
        const status = answers[fault];
        const answer =
          fault === 3
            ? null
            : status !== undefined
              ? new Response("no", { status })
              : service.answer(path, token, JSON.parse(String(body ?? "{}")), given.get("idempotency-key"));
        trace.push(
          `${browser.now} ${tab.name} ${method} ${path} ${token} ${body} ${answer?.status ?? "lost"}${fault === 4 ? ", the answer is lost" : ""}`,
        );
        browser.after(5 + random() * 200, tab, () => (answer === null || fault === 4 ? fail() : resolve(answer)));
      });
    });
  };
  const realFetch = globalThis.fetch;
  Object.assign(globalThis, { fetch: send });

  const open = (tab: Tab): void => {
    browser.in(tab, () => {
      const session = webStore("local", key, browser.pageOf(tab));
      clients.set(tab, createClient({ baseUrl: `http://${tab.name}.example`, session, retries: 3 }));
    });
  };
  const clientOf = (tab: Tab): Socle => clients.get(tab) as Socle;
  const userOf = (tab: Tab): string | null => clientOf(tab).session.get()?.userId ?? null;
  /** Does something in a tab, and checks the outcome. Refusals and faults are outcomes, too. */
  const run = (tab: Tab, act: () => Promise<void>): void => {
    // A page that is reloaded never hears of its requests.
    void browser.in(tab, act).catch((thrown: unknown) => {
      if (!(thrown instanceof SocleError)) problems.push(thrown);
    });
  };
  let notes = 0;
  const acts: { readonly [name: string]: (tab: Tab) => void } = {
    login: (tab) =>
      run(tab, async () => {
        const user = random() < 0.5 ? "ann" : "bob";
        tab.logins += 1;
        await clientOf(tab)
          .login({ email: user, password: "" })
          .finally(() => {
            tab.logins -= 1;
          });
      }),
    logout: (tab) =>
      run(tab, async () => {
        const begun = { sessions: service.sessions.length };
        tab.logouts.add(begun);
        await clientOf(tab)
          .logout()
          .finally(() => tab.logouts.delete(begun));
      }),
    me: (tab) =>
      run(tab, async () => {
        const asked = userOf(tab);
        const { id } = await clientOf(tab).me();
        if (id !== asked) problems.push(new Error(`${tab.name} asked as ${asked}, and has the answer of ${id}`));
      }),
    create: (tab) =>
      run(tab, async () => {
        notes += 1;
        const title = `${userOf(tab)} ${notes}`;
        await clientOf(tab).collection("notes").create({ title });
      }),
    reload: (tab) => {
      if (tab.logins + tab.logouts.size > 0) return;
      browser.reload(tab);
      browser.leave(tab);
      open(tab);
    },
    sleep: (tab) => {
      tab.isAsleep = true;
    },
    wake: (tab) => {
      tab.isAsleep = false;
    },
    clock: (tab) => {
      tab.clock += (random() - 0.5) * 1e8;
    },
  };
  const choices = [
    "login",
    "logout",
    "reload",
    "sleep",
    "wake",
    "wake",
    "clock",
    ...Array<string>(7).fill("me"),
    "create",
    "create",
  ];
  try {
    for (const name of ["one", "two", "three"]) browser.tabs.push(new Tab(name));
    for (const tab of browser.tabs) open(tab);
    const [first] = browser.tabs;
    if (first) acts["login"]?.(first);
    await browser.pass(2_000);
    for (let step = 0; step < 40; step++) {
      const tab = browser.tabs[below(3)] as Tab;
      const name = choices[below(choices.length)] ?? "";
      if (!tab.isAsleep || name === "wake") {
        trace.push(`${browser.now} ${tab.name} ${name} as ${userOf(tab)}`);
        acts[name]?.(tab);
      }
      await browser.pass(
        random() < 0.5 ? random() * 100 : random() < 0.8 ? random() * 5_000 : random() * 2 * lifetimeMs,
      );
    }
    // Everything is well again: the tabs agree, and the user is the user of the storage.
    faults.rate = 0;
    for (const tab of browser.tabs) tab.isAsleep = false;
    await browser.pass(60_000);
    for (const tab of browser.tabs) acts["me"]?.(tab);
    await browser.pass(60_000);
    if (problems.length > 0) throw problems[0];
    const [text] = browser.tabs.map(({ seen }) => stored(seen.get(key) ?? null)?.user ?? null);
    expect(browser.tabs.map(userOf)).toEqual([text ?? null, text ?? null, text ?? null]);
    expect(service.sessions.filter(({ end }) => end === "reuse")).toEqual([]);
    for (const { user, title } of service.notes)
      expect(`${title.split(" ")[0]} made ${title}`).toBe(`${user} made ${title}`);
  } catch (thrown) {
    throw new Error(`SEED=${seed}\n${trace.slice(-60).join("\n")}`, { cause: thrown });
  } finally {
    browser.close();
    Object.assign(globalThis, { fetch: realFetch });
  }
}

/** Sequences in which a page sleeps during a renewal, and another tab renews with the same token when the page awakes. */
const sleepers = [2144639734, 2028632463];

test("no session ends without a reason, and no tab has the answer of another user", async () => {
  const seed = randomSeed("sessions");
  const given = process.env["SEED"] !== undefined;
  for (const each of sleepers) await sequence(each);
  const sequences = given ? 1 : isLong ? 5_000 : 300;
  for (let n = 0; n < sequences; n++) await sequence(seed + n);
});
