/** Tests of the login throttle: its bounds, its queue, and the joint effect of both bounds of logins. */
import { describe, expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { LoginGuard, Throttle } from "./login-guard.ts";

const settings = { bound: 10, maxWaiting: 64, now: () => 0 };
const wrong = async (): Promise<boolean> => false;
const right = async (): Promise<boolean> => true;

/** A login that is checked until `end`, and two logins that wait behind it; the caller of the second can disconnect. */
async function queued(throttle: Throttle) {
  const { promise, resolve: end } = Promise.withResolvers<boolean>();
  const first = throttle.guard("key", () => promise);
  const gone = new AbortController();
  const second = throttle.guard("key", right, { signal: gone.signal });
  const third = throttle.guard("key", right);
  await Bun.sleep(0);
  return { first, second, third, end, gone };
}

describe("throttle", () => {
  test("logins at the same moment that succeed are never refused", async () => {
    const throttle = new Throttle(settings);
    const runs = Array.from({ length: 50 }, () => throttle.guard("key", () => Bun.sleep(1).then(() => true)));
    expect(await Promise.all(runs)).toEqual(Array(50).fill(true));
  });

  test("failures are forgotten after ten minutes", async () => {
    let now = 0;
    const throttle = new Throttle({ ...settings, now: () => now });
    const fail = () => throttle.guard("key", wrong);
    for (let i = 0; i < 10; i++) await fail();
    await expect(fail()).rejects.toMatchObject({ code: "rate_limited", retryAfter: 600, limit: "logins" });
    now = 600_000;
    expect(await fail()).toBe(false);
  });

  test("a check that throws is no failure and blocks no user", async () => {
    const throttle = new Throttle(settings);
    for (let i = 0; i < 20; i++)
      await expect(throttle.guard("key", () => Promise.reject(new Error("disk")))).rejects.toThrow("disk");
    expect(await throttle.guard("key", right)).toBe(true);
  });

  test("logins that count nowhere push no locked key out", async () => {
    const throttle = new Throttle({ ...settings, bound: 1 });
    await throttle.guard("locked", wrong);
    for (let i = 0; i < 10_001; i++)
      await throttle.guard(`n${i}`, () => Promise.reject(new Error("aborted"))).catch(() => undefined);
    for (let i = 0; i < 10_001; i++) await throttle.guard(`n${i}`, right);
    for (let i = 0; i < 10_001; i++) throttle.forgive(`n${i}`);
    await expect(throttle.guard("locked", right)).rejects.toMatchObject({ code: "rate_limited" });
  });

  test("the queue is bounded, and a login whose caller disconnects leaves the queue", async () => {
    const throttle = new Throttle({ ...settings, bound: 1, maxWaiting: 2 });
    const { first, second, third, end, gone } = await queued(throttle);
    await expect(throttle.guard("key", right)).rejects.toMatchObject({ code: "unavailable", limit: "passwords" });
    expect(await throttle.guard("another key", right)).toBe(true);
    gone.abort();
    await expect(second).rejects.toMatchObject({ message: "The client has disconnected." });
    const fourth = throttle.guard("key", right);
    end(true);
    expect(await Promise.all([first, third, fourth])).toEqual([true, true, true]);
  });

  test("a caller who disconnects in the turn in which a login ends leaves the place to the next login", async () => {
    const throttle = new Throttle({ ...settings, bound: 1 });
    const { first, second, third, end, gone } = await queued(throttle);
    end(true);
    gone.abort();
    await expect(second).rejects.toMatchObject({ message: "The client has disconnected." });
    expect(await Promise.all([first, third])).toEqual([true, true]);
  });

  test("guesses that wait for others are refused once the others have failed", async () => {
    const throttle = new Throttle({ ...settings, bound: 2 });
    let checked = 0;
    const guess = () =>
      throttle.guard("key", async () => {
        checked += 1;
        await Bun.sleep(1);
        return false;
      });
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, guess));
    expect(outcomes.filter(({ status }) => status === "rejected").length).toBe(18);
    expect(checked).toBe(2);
  });
});

describe("both bounds", async () => {
  const api = await openApi({});
  const bounds = { account: 10, address: 100 };
  const options = { ...api.service, logger: api.parts.logger, maxWaiting: 64, bounds, failures: "Logins" };
  const guardOf = () => new LoginGuard(options);

  test("an address is refused after a hundred failures, whatever the emails, and no other address", async () => {
    const guard = guardOf();
    const caller = { key: "192.0.2.1" };
    for (let i = 0; i < 99; i++) await guard.guard({ email: `n${i}@example.com`, caller }, wrong);
    expect(await guard.guard({ email: "honest@example.com", caller }, right)).toBe(true);
    await guard.guard({ email: null, caller }, wrong);
    await expect(guard.guard({ email: "honest@example.com", caller }, right)).rejects.toMatchObject({
      code: "rate_limited",
    });
    expect(await guard.guard({ email: "honest@example.com", caller: { key: "192.0.2.2" } }, right)).toBe(true);
  });

  test("refusals of an email do not count for its address", async () => {
    const guard = guardOf();
    const caller = { key: "192.0.2.3" };
    const login = () => guard.guard({ email: "target@example.com", caller }, wrong).catch(() => "refused");
    for (let i = 0; i < 10; i++) expect(await login()).toBe(false);
    for (let i = 0; i < 200; i++) expect(await login()).toBe("refused");
    expect(await guard.guard({ email: "honest@example.com", caller }, right)).toBe(true);
  });

  test("a success forgives only the failures of its email from its address", async () => {
    const guard = guardOf();
    const fail = async (email: string, key: string, times: number) => {
      for (let i = 0; i < times; i++) await guard.guard({ email, caller: { key } }, wrong);
    };
    await fail("ann@example.com", "here", 9);
    await fail("ann@example.com", "there", 9);
    await guard.guard({ email: "ann@example.com", caller: { key: "here" } }, right);
    await fail("ann@example.com", "here", 9);
    expect(await guard.guard({ email: "ann@example.com", caller: { key: "here" } }, right)).toBe(true);
    await fail("ann@example.com", "there", 1);
    await expect(fail("ann@example.com", "there", 1)).rejects.toMatchObject({ code: "rate_limited" });
  });
});

test("the bounds of an address do not count this machine; the bounds of an account do", async () => {
  const api = await openApi({
    settings: { SERVICE_MAIL_FROM: "shop@example.com", SERVICE_PUBLIC_URL: "https://a.example" },
  });
  await api.register("ann@example.com");
  const send = async (path: string, body: object, address: string) =>
    (await api.request("POST", `/api/auth/${path}`, { body, headers: { "x-test-address": address } })).status;
  for (const [i, address] of ["127.0.0.1", "127.8.9.10", "0:0:0:0::/64"].entries()) {
    for (let n = 0; n < 130; n++) expect(await send("login", { email: "", password: "x" }, address)).toBe(400);
    for (let n = 0; n < 101; n++)
      expect(await send("login", { email: `${i}-${n}@example.com`, password: "wrong one" }, address)).toBe(401);
    expect(await send("login", { email: "ann@example.com", password: "correct horse" }, address)).toBe(200);
    for (let n = 0; n < 10; n++)
      expect(await send("login", { email: "ann@example.com", password: "wrong one" }, address)).toBe(401);
    expect(await send("login", { email: "ann@example.com", password: "correct horse" }, address)).toBe(429);
  }
  const statuses = [];
  for (let n = 0; n < 130; n++) statuses.push(await send("login", { email: "", password: "x" }, "192.0.2.7"));
  expect(statuses).toContain(429);
});
