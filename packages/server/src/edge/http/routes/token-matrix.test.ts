/**
 * Every family of tokens at every route that takes a token: a token works at its own route alone, and a try at another route does
 * not use the token up. (CVE-2026-114607 of another project: the `state` of a sign-in counted as the token of a mail.)
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { codeOf } from "../../../../test/authenticator.ts";
import { monotonicClock } from "../../../../test/clock.ts";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import { makeKey } from "../../../../test/keys.ts";
import { Mailbox } from "../../../../test/mailbox.ts";
import {
  fragmentOf,
  home,
  openWithProviders,
  publicUrl,
  TestApp,
  TestBrowser,
} from "../../../../test/sign-in-world.ts";

const pass = monotonicClock();
const fake = new FakeProvider();
const rates = ["REGISTER", "LOGIN", "REFRESH", "MAIL", "RECIPIENT"].map((name) => [
  `SERVICE_LIMITS_RATE_${name}`,
  "off",
]);
const api = await openWithProviders(
  { one: fake },
  { ...Object.fromEntries(rates), SERVICE_MAIL_FROM: "shop@example.com", SERVICE_AUTH_CODES: "true" },
);
const mailbox = new Mailbox(api.service);
const admin = await api.admin();
const password = "another password";

/** A live token, and the requests that the token is for. */
interface Live {
  readonly token: string;
  /** The name of the route that takes the token. */
  readonly route: RouteName;
  /** Sends the token to its own route. Answers the status. */
  readonly use: () => Promise<number>;
}

let addresses = 0;
function send(method: string, path: string, options: { body?: object; token?: string; cookie?: string } = {}) {
  addresses += 1;
  const { cookie, ...rest } = options;
  const headers = { "x-test-address": `network-${addresses}`, ...(cookie !== undefined && { cookie }) };
  return api.request(method, path, { ...rest, headers });
}
const post = (path: string, body: object) => send("POST", `/api/auth/${path}`, { body });
const cookieOf = (secret: string): string => `__Host-socle_sign_in=${secret}`;

const app = new TestApp();
/** A sign-in that waits for the answer of the provider. */
async function begun() {
  const browser = new TestBrowser(api);
  const atProvider = await browser.follow(app.begin("one"));
  const person = { sub: atProvider, email: `p${addresses++}@example.com`, email_verified: true };
  const back = new URL(fake.approve(atProvider, person));
  return { browser, back, state: back.searchParams.get("state") ?? "", secret: browser.cookie.split("=")[1] ?? "" };
}
let waiting = await begun();

/** A browser comes back from the provider. Answers 302 only with a code for the app. */
async function comeBack(back: URL, secret: string): Promise<number> {
  const answer = await send("GET", `/api/auth/oauth/callback${back.search}`, { cookie: cookieOf(secret) });
  return answer.headers.get("location")?.includes("#code=") === true ? answer.status : 0;
}

/** Requests with a token of another family. The status of a refusal is 400 with the one message, or 401. */
const routes = {
  verify: (token: string) => post("verify", { token }),
  reset: (token: string) => post("password/reset", { token, password }),
  email: (token: string) => post("email/confirm", { token }),
  invitation: (token: string) => post("invitation", { token, password }),
  code(token: string) {
    // Five wrong codes in ten minutes are the bound, for all texts that are no attempts of the service.
    pass(11 * 60_000);
    return post("code", { attempt: token, code: "123456" });
  },
  "second factor": (token: string) => post("second-factor", { attempt: token, recoveryCode: "x" }),
  "options of a passkey": (token: string) => post("passkeys/login/options", { attempt: token }),
  "code of a provider": (token: string) => post("oauth/token", { code: token, verifier: app.verifier }),
  state: (token: string) =>
    send("GET", `/api/auth/oauth/callback?${new URLSearchParams({ state: token, code: "x" })}`, {
      cookie: cookieOf(waiting.secret),
    }),
  cookie: (token: string) => send("GET", `/api/auth/oauth/callback${waiting.back.search}`, { cookie: cookieOf(token) }),
  "link of a user": (token: string) => send("GET", `/api/auth/oauth/one?${new URLSearchParams({ ticket: token })}`),
  refresh: (token: string) => post("refresh", { refreshToken: token }),
  logout: (token: string) => post("logout", { refreshToken: token }),
  bearer: (token: string) => send("GET", "/api/auth/me", { token }),
} as const;
type RouteName = keyof typeof routes;

async function mailed(route: "verify" | "reset" | "email" | "invitation"): Promise<Live> {
  const email = `${route}@matrix.example`;
  if (route === "invitation") await send("POST", "/api/admin/invitations", { token: admin, body: { email } });
  else {
    const { accessToken: token } = await api.register(route === "email" ? `old-${email}` : email);
    if (route === "reset") await post("password/forgot", { email });
    if (route === "email") await send("POST", "/api/auth/email", { token, body: { email, password: "correct horse" } });
  }
  const token = await mailbox.secret(email, route);
  return { token, route, use: async () => (await routes[route](token)).status };
}

async function secondFactor(): Promise<Live> {
  const email = "factor@matrix.example";
  const { accessToken: bearer } = await api.register(email);
  const secret = String((await send("POST", "/api/auth/totp", { token: bearer, body: {} })).body["secret"]);
  await send("POST", "/api/auth/totp/confirm", { token: bearer, body: { code: codeOf(secret) } });
  const token = String((await post("login", { email, password: "correct horse" })).body["attempt"]);
  const use = async () => (await post("second-factor", { attempt: token, code: codeOf(secret, 1) })).status;
  return { token, route: "second factor", use };
}

const families: { readonly [family: string]: () => Promise<Live> } = {
  "a token of a verification": () => mailed("verify"),
  "a token for a new password": () => mailed("reset"),
  "a token of a move": () => mailed("email"),
  "an invitation": () => mailed("invitation"),
  async "an attempt of a code"() {
    const { user } = await api.register("code@matrix.example");
    const attempt = String((await post("code/request", { email: user.email })).body["attempt"]);
    const code = await mailbox.secret(String(user.email), "code");
    return { token: attempt, route: "code", use: async () => (await post("code", { attempt, code })).status };
  },
  "an attempt of a second factor": secondFactor,
  async "a state of a provider"() {
    const { state, secret, back } = await begun();
    return { token: state, route: "state", use: () => comeBack(back, secret) };
  },
  async "a secret of a cookie"() {
    const { secret, back } = await begun();
    return { token: secret, route: "cookie", use: () => comeBack(back, secret) };
  },
  async "a code of a provider"() {
    const { browser, back } = await begun();
    const token = fragmentOf(await browser.follow(back.href))["code"] ?? "";
    return { token, route: "code of a provider", use: async () => (await app.exchange(api, token)).status };
  },
  async "a code of a sign-in page"() {
    const tokens = await api.register("page@matrix.example");
    const target = { redirect: home, challenge: app.challenge };
    const token = fragmentOf(await api.service.providers.apps.leave(target, tokens, { key: "test" }))["code"] ?? "";
    return { token, route: "code of a provider", use: async () => (await app.exchange(api, token)).status };
  },
  async "a link of a user"() {
    const { accessToken: bearer } = await api.register("link@matrix.example");
    const body = { redirect: home, challenge: app.challenge };
    const url = new URL(String((await send("POST", "/api/auth/links/one", { token: bearer, body })).body["url"]));
    const token = url.searchParams.get("ticket") ?? "";
    return {
      token,
      route: "link of a user",
      use: async () => (await send("GET", url.href.slice(publicUrl.length))).status,
    };
  },
  async "a refresh token"() {
    const { refreshToken: token } = await api.register("refresh@matrix.example");
    return { token, route: "refresh", use: async () => (await routes.refresh(token)).status };
  },
  async "an access token"() {
    const { accessToken: token } = await api.register("access@matrix.example");
    return { token, route: "bearer", use: async () => (await routes.bearer(token)).status };
  },
  async "an API key"() {
    const { accessToken } = await api.register("key@matrix.example");
    const { key: token } = await makeKey(api, { token: accessToken, scopes: ["*:read"] });
    return { token, route: "bearer", use: async () => (await routes.bearer(token)).status };
  },
};

/** Routes that take the token of another route, too: the options of a passkey are for an attempt, and a logout for a refresh token. */
const kin: { readonly [route in RouteName]?: readonly RouteName[] } = {
  "second factor": ["options of a passkey"],
  refresh: ["logout"],
};
const refused = {
  error: { code: "bad_request", message: "The token or code is unknown, used or expired. Begin again." },
};
const is401: readonly RouteName[] = ["refresh", "logout", "bearer"];

describe.each(Object.keys(families))("%s", (family) => {
  let live: Live;
  beforeAll(async () => {
    waiting = await begun();
    const make = families[family];
    if (make === undefined) throw new Error(`There is no family ${family}`);
    live = await make();
  });

  test("is refused by every route of another family, also cut and changed by its own route, and works at its own route then", async () => {
    const own = [live.route, ...(kin[live.route] ?? [])];
    const others = (Object.keys(routes) as RouteName[]).filter((route) => !own.includes(route));
    expect(others.length).toBeGreaterThan(10);
    const count = (): unknown =>
      api.service.database.reader.get(
        "SELECT (SELECT count(*) FROM _sessions) AS sessions, (SELECT count(*) FROM _users) AS users, (SELECT count(*) FROM _users WHERE verifiedAt IS NOT NULL) AS proven",
      );
    const before = count();
    const tryAt = async (route: RouteName, token: string): Promise<void> => {
      const { status, body } = await routes[route](token);
      if (is401.includes(route)) expect([route, token, status]).toEqual([route, token, 401]);
      else expect<unknown>([route, token, status, body]).toEqual([route, token, 400, refused]);
    };
    for (const route of others) await tryAt(route, live.token);
    // A part of the token, more than the token, and another letter.
    const last = live.token.at(-1) === "A" ? "B" : "A";
    for (const token of [live.token.slice(0, -1), `${live.token}A`, `${live.token.slice(0, -1)}${last}`])
      await tryAt(live.route, token);
    expect(count()).toEqual(before);
    expect([200, 204, 302]).toContain(await live.use());
  });
});
