/** A slow provider: sign-ins at the provider wait within the bounds, and nobody else waits. */
import { expect, test } from "bun:test";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import { type Answer, openApi } from "../../../../test/kit.ts";
import {
  fragmentOf,
  home,
  openWithProviders,
  passProvider,
  TestApp,
  TestBrowser,
} from "../../../../test/sign-in-world.ts";

const ann = { sub: "ann", email: "ann@example.com", email_verified: true };

const refusal = (): Response => Response.json({ error: "invalid_grant" }, { status: 400 });

test("sign-ins at a provider that does not respond delay no other sign-in; beyond the bounds the app gets an error at once", async () => {
  const [slow, quick] = [new FakeProvider(), new FakeProvider()];
  const settings = {
    SERVICE_LIMITS_PROVIDER_REQUESTS: "8",
    SERVICE_LIMITS_PROVIDER_TIME: "1m",
    SERVICE_LIMITS_RATE_LOGIN: "off",
  };
  const api = await openWithProviders({ slow, quick }, settings);
  const hanging = Promise.withResolvers<void>();
  let asked = 0;
  slow.faults.answers = {
    "/token": async () => {
      asked += 1;
      await hanging.promise;
      return refusal();
    },
  };
  const callback = async (address: string): Promise<Record<string, string>> => {
    const browser = new TestBrowser(api, { "x-test-address": address });
    const back = slow.approve(await browser.follow(new TestApp().begin("slow")), ann);
    return fragmentOf(await browser.follow(back));
  };
  const outcomes: Record<string, string>[] = [];
  // An address has four places of sixteen and two of the eight that wait; 40 addresses ask.
  const waiting = Array.from({ length: 40 }, async (_, i) => outcomes.push(await callback(`address-${i}`)));
  while (asked < 16 || outcomes.length < 16) await Bun.sleep(1);
  expect(outcomes).toEqual(
    Array.from({ length: 16 }, () => ({
      error: "unavailable",
      error_description: "Too many sign-ins wait for slow; try again in a moment.",
    })),
  );
  const app = new TestApp();
  const { code = "" } = fragmentOf(await passProvider({ api, fake: quick }, app.begin("quick"), ann));
  expect((await app.exchange(api, code)).status).toBe(200);
  hanging.resolve();
  await Promise.all(waiting);
  expect(outcomes.slice(16)).toEqual(Array(24).fill(expect.objectContaining({ error: "unauthorized" })));
});

test("an address has a quarter of the places", async () => {
  const slow = new FakeProvider();
  const settings = { SERVICE_LIMITS_PROVIDER_REQUESTS: "8", SERVICE_LIMITS_PROVIDER_TIME: "1m" };
  const api = await openWithProviders({ slow }, settings);
  const hanging = Promise.withResolvers<void>();
  slow.faults.answers = { "/token": () => hanging.promise.then(refusal) };
  const callback = async (address: string): Promise<string> => {
    const browser = new TestBrowser(api, { "x-test-address": address });
    const back = slow.approve(await browser.follow(new TestApp().begin("slow")), ann);
    return fragmentOf(await browser.follow(back))["error"] ?? "code";
  };
  const mine = Array.from({ length: 10 }, () => callback("eve"));
  const refused = await Promise.race(mine);
  expect(refused).toBe("unavailable");
  const other = callback("ann");
  while (slow.requests.filter((path) => path === "/token").length < 5) await Bun.sleep(1);
  hanging.resolve();
  expect(await other).toBe("unauthorized");
  const all = await Promise.all(mine);
  expect(all.filter((outcome) => outcome === "unauthorized")).toHaveLength(6);
});

test("the responses of a provider count for the time limit", async () => {
  const slow = new FakeProvider();
  const api = await openWithProviders({ slow }, { SERVICE_LIMITS_PROVIDER_TIME: "3s" });
  const hanging = Promise.withResolvers<Response>();
  slow.faults.answers = { "/jwks": () => hanging.promise };
  const back = await passProvider({ api, fake: slow }, new TestApp().begin("slow"), ann);
  expect(back).toStartWith(`${home}#error=unavailable`);
  expect(api.log.findLast((line) => line.startsWith("WARN A sign-in at slow failed"))).toMatch(/\/jwks: .*timed out/);
  hanging.resolve(new Response());
});

test("without providers, the routes respond with 404 and an empty list", async () => {
  const api = await openApi({});
  const answers: Answer<object>[] = [
    await api.request<object>("GET", "/api/auth/providers"),
    await api.request<object>("GET", new TestApp().begin("google")),
    await api.request<object>("GET", "/api/auth/oauth/callback?code=a&state=b"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 400]);
  expect(answers[0]?.body).toEqual({ items: [] });
});
