/** Tests of password threads: their start and end, their number, and their queue. */
// Promises: A2.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { openApi, type TestApi } from "../../../test/kit.ts";
import type { PasswordTask } from "./password-worker.ts";
import { Passwords } from "./passwords.ts";

const RealWorker = globalThis.Worker;
let started: string[] = [];
let ended = 0;
/** The work that the threads got. */
let tasks: PasswordTask[] = [];

class CountedWorker extends RealWorker {
  constructor(...[entry, options]: ConstructorParameters<typeof Worker>) {
    super(entry, options);
    started.push(String(entry));
  }

  override postMessage(message: ["call", number, string, PasswordTask]): void {
    tasks.push(message[3]);
    super.postMessage(message);
  }

  override terminate(): void {
    ended += 1;
    super.terminate();
  }
}

beforeEach(() => {
  started = [];
  ended = 0;
  tasks = [];
  globalThis.Worker = CountedWorker;
});
afterEach(() => {
  globalThis.Worker = RealWorker;
});

const maxThreads = Math.max(1, navigator.hardwareConcurrency - 1);
const from = { key: "test" };

/** The error of a promise. `expect(…).rejects` blocks the runner during the wait, and hears no further thread. */
function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
}

describe("threads", () => {
  test("start with the first password, are fewer than the cores, and end with the service", async () => {
    const api = await openApi({ hasFullPasswords: true });
    await api.request("POST", "/api/auth/register", { body: { email: "not an address", password: "x" } });
    expect(started).toEqual([]);
    const body = (n: number) => ({ email: `u${n}@example.com`, password: "correct horse" });
    const register = (n: number) => api.request("POST", "/api/auth/register", { body: body(n) });
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => register(n)));
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(201));
    expect((await api.request("POST", "/api/auth/login", { body: body(1) })).status).toBe(200);
    expect(started.length).toBeGreaterThan(0);
    expect(started.length).toBeLessThanOrEqual(maxThreads);
    for (const entry of started) expect(entry).toContain("auth/password-worker");
    expect(ended).toBe(0);
    await api.close();
    expect(ended).toBe(started.length);
  });

  test("hash with argon2id and 19 MiB, and distinguish right and wrong passwords", async () => {
    const passwords = new Passwords(64, "allow");
    const hash = await passwords.hash("correct horse", from);
    expect(hash).toStartWith("$argon2id$v=19$m=19456,t=2,p=1$");
    expect(await passwords.verify("correct horse", { hash: hash }, from)).toBe(true);
    expect(await passwords.verify("correct horsf", { hash: hash }, from)).toBe(false);
    expect(await passwords.verify("correct horse", { hash: null }, from)).toBe(false);
    const broken = await failure(passwords.verify("correct horse", { hash: "no hash" }, from));
    expect(broken).toMatchObject({ message: expect.stringContaining("The password was not hashed") });
    expect(await passwords.verify("correct horse", { hash: hash }, from)).toBe(true);
    passwords.close();
    expect(await failure(passwords.hash("correct horse", from))).toMatchObject({ code: "unavailable" });
  });

  test("passwords under way at the end of the service are refused, not lost", async () => {
    const passwords = new Passwords(64, "allow");
    const running = Promise.allSettled([1, 2, 3].map(() => passwords.hash("correct horse", from)));
    await Bun.sleep(0);
    passwords.close();
    for (const outcome of await running)
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
  });
});

describe("the work for a known and for an unknown user is alike", () => {
  const parameters = "$argon2id$v=19$m=19456,t=2,p=1$";
  const post = (api: TestApi, route: string, email: string, password: string) =>
    api.request("POST", `/api/auth/${route}`, { body: { email, password } });
  /** The passwords that were compared with a hash of the full cost, and the passwords that were hashed. */
  const work = (): string[] =>
    tasks.splice(0).map(({ password, hash }) => {
      const cost = hash?.startsWith(parameters) === true ? "full" : "another";
      return hash === null ? `hashed ${password}` : `compared ${password} at ${cost} cost`;
    });

  test("at a login: the password of an unknown user, of a user without a password, and of no address is compared, too", async () => {
    const api = await openApi({ hasFullPasswords: true });
    const { database } = api.service;
    for (const email of ["ann@example.com", "bare@example.com"]) await post(api, "register", email, "correct horse");
    await database.transact((tx) => tx.run("UPDATE _users SET passwordHash = '' WHERE email = 'bare@example.com'"));
    tasks = [];
    for (const email of ["ann@example.com", "ben@example.com", "bare@example.com", "no address"]) {
      expect((await post(api, "login", email, "wrong guess")).status).toBe(401);
      expect(work()).toEqual(["compared wrong guess at full cost"]);
    }
  });

  test("at a login beside users of other services: each kind of hash is compared, whichever kind an account has", async () => {
    const api = await openApi({ hasFullPasswords: true });
    const { database, auth } = api.service;
    const bcrypt = (cost: number) => Bun.password.hashSync("moved password", { algorithm: "bcrypt", cost });
    const times = { createdAt: "2020-01-01T00:00:00.000Z", updatedAt: "2020-01-01T00:00:00.000Z", verifiedAt: null };
    const moved = (name: string, passwordHash: string) => ({
      ...{ email: `${name}@example.com`, passwordHash, moved: { ...times, id: `usr_${crypto.randomUUID()}` } },
    });
    await post(api, "register", "ann@example.com", "correct horse");
    await database.transact((tx) => {
      for (const [name, cost] of [
        ["ben", 4],
        ["cem", 5],
        ["eve", 6],
      ] as const)
        auth.movedUsers.moveIn(tx, moved(name, bcrypt(cost)), []);
    });
    tasks = [];
    const kinds = (): string[] => {
      const found = tasks
        .splice(0)
        .map(({ hash }) => hash?.slice(0, hash.lastIndexOf("$")).replace(/^\$argon2id.*/, "argon2id"));
      return found.map(String).sort();
    };
    for (const name of ["ann", "ben", "cem", "dora", "eve"]) {
      expect((await post(api, "login", `${name}@example.com`, "wrong guess")).status).toBe(401);
      expect([name, kinds()]).toEqual([name, ["$2b$04", "$2b$05", "$2b$06", "argon2id"]]);
    }
    // The password of another user is no password.
    expect((await post(api, "login", "ann@example.com", "moved password")).status).toBe(401);
    expect((await post(api, "login", "dora@example.com", "moved password")).status).toBe(401);
    for (const name of ["ben", "cem", "eve"]) {
      expect((await post(api, "login", `${name}@example.com`, "moved password")).status).toBe(200);
      const hash = database.reader.get<{ passwordHash: string }>(
        "SELECT passwordHash FROM _users WHERE email = ?",
        `${name}@example.com`,
      );
      expect(hash?.passwordHash).toStartWith(parameters);
    }
    tasks = [];
    expect((await post(api, "login", "cem@example.com", "moved password")).status).toBe(200);
    expect((await post(api, "login", "cem@example.com", "wrong guess")).status).toBe(401);
    expect(kinds()).toEqual(["argon2id", "argon2id"]);
  });

  test("at a registration that waits for a proof: the password for a taken address is hashed, too", async () => {
    const mail = { SERVICE_MAIL_FROM: "shop@example.com", SERVICE_PUBLIC_URL: "https://shop.example.com" };
    const api = await openApi({ hasFullPasswords: true, settings: { ...mail, SERVICE_AUTH_REQUIRE_VERIFIED: "true" } });
    for (const password of ["first choice", "second choice"]) {
      expect((await post(api, "register", "ann@example.com", password)).status).toBe(202);
      expect(work()).toEqual([`hashed ${password}`]);
    }
  });
});

describe("queue", () => {
  test("is bounded for all, at half of the bound for a caller, and released by callers that disconnect", async () => {
    const passwords = new Passwords(4, "allow");
    const gone = new AbortController();
    const hash = (key: string, signal?: AbortSignal) => passwords.hash("correct horse", { key, signal });
    const width = Math.min(4, maxThreads);
    const running = Array.from({ length: width }, () => hash("busy"));
    const waiting = [hash("a"), hash("a"), hash("b")];
    const full = { code: "unavailable", limit: "passwords", retryAfter: 1 };
    expect(await failure(hash("a"))).toMatchObject(full);
    const left = hash("b", gone.signal);
    expect(await failure(hash("c"))).toMatchObject(full);
    gone.abort();
    expect(await failure(left)).toMatchObject({ message: "The client has disconnected." });
    const late = hash("c");
    expect(new Set(await Promise.all([...running, ...waiting, late])).size).toBe(width + 4);
    passwords.close();
  });

  test("beyond the queue, a registration is 503 with Retry-After", async () => {
    const api = await openApi({ hasFullPasswords: true, settings: { SERVICE_LIMITS_PASSWORDS: "1" } });
    const register = (n: number) =>
      api.request("POST", "/api/auth/register", { body: { email: `u${n}@example.com`, password: "correct horse" } });
    const answers = await Promise.all(Array.from({ length: maxThreads + 5 }, (_, n) => register(n)));
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers, body } of refused) {
      expect(headers.get("retry-after")).toBe("1");
      expect<unknown>(body["error"]?.["code"]).toBe("unavailable");
    }
    expect(answers.filter(({ status }) => status === 201).length).toBe(answers.length - refused.length);
    expect(new Map(api.service.limits.totals()).get("passwords")).toBe(refused.length);
  });
});
