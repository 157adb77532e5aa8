/** A provider: identities of right answers, and answers that an attacker or a broken provider gives. */
import { describe, expect, test } from "bun:test";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import { authProviders } from "../../../base/config/auth-providers.ts";
import { AppError, messageOf } from "../../../base/kernel/index.ts";
import { type Flow, Provider } from "./provider.ts";

const caller = { key: "test" };
const ann = { sub: "ann-1", email: "ann@example.com", email_verified: true };
const limits = { timeLimitMs: 60_000, maxWaiting: 64 };

function flowOf(name: string): Flow {
  const [state, nonce, verifier] = ["state", "nonce", "verifier"].map((part) => `${part}-of-${name}`.padEnd(43, "-"));
  return { callback: "https://app.example/api/auth/oauth/callback", state, nonce, verifier } as Flow;
}
const flow = flowOf("ann");

function providerOf(fake: FakeProvider, settings: object = {}, name = "my-oidc"): Provider {
  const [parsed] = authProviders.parse({ [name]: { ...fake.settings, ...settings } }) ?? [];
  if (parsed === undefined) throw new Error("The settings are not valid");
  return new Provider(parsed, limits);
}

async function signIn(provider: Provider, fake: FakeProvider, person: typeof ann | { sub: string } = ann) {
  const back = fake.approve(await provider.address(flow), person);
  return provider.identify(flow, new URL(back).searchParams, caller);
}

/** The code of the error and the reason, which only the log shows. */
async function failureOf(work: Promise<unknown>): Promise<string> {
  const thrown = await work.then(
    (value) => new Error(`No failure: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  return thrown instanceof AppError ? `${thrown.code}: ${messageOf(thrown.cause)}` : String(thrown);
}

describe("right responses", () => {
  const fake = new FakeProvider();

  test("the email is in the ID token, or at the user endpoint", async () => {
    const provider = providerOf(fake);
    const identity = { issuer: fake.issuer, subject: "ann-1", email: "ann@example.com", isVerified: true };
    expect(await signIn(provider, fake)).toEqual(identity);
    fake.faults = { emailAt: "userinfo" };
    expect(await signIn(provider, fake)).toEqual(identity);
    fake.faults = {};
    expect(fake.requests.filter((path) => path === "/.well-known/openid-configuration")).toHaveLength(1);
    expect(fake.requests.filter((path) => path === "/jwks")).toHaveLength(1);
  });

  test.each<[told: unknown, trustEmail: boolean | undefined, isVerified: boolean]>([
    [true, undefined, true],
    ["true", undefined, true],
    [false, undefined, false],
    ["false", undefined, false],
    [1, undefined, false],
    [undefined, undefined, false],
    [undefined, true, true],
    [false, true, true],
    [true, false, false],
  ])("email_verified %p with trustEmail %p", async (told, trustEmail, isVerified) => {
    const provider = providerOf(fake, { trustEmail });
    expect(await signIn(provider, fake, { ...ann, email_verified: told as true })).toMatchObject({ isVerified });
  });

  test("without an email, trustEmail proves nothing", async () => {
    const identity = await signIn(providerOf(fake, { trustEmail: true }), fake, { sub: "ann-1" });
    expect(identity).toMatchObject({ email: null, isVerified: false });
  });

  test("the request has PKCE, state, nonce and scopes", async () => {
    const address = await providerOf(fake, { scopes: ["email", "groups"] }).address(flow);
    const { origin, pathname, searchParams } = new URL(address);
    expect(origin + pathname).toBe(`${fake.issuer}/authorize`);
    const { code_challenge, ...others } = Object.fromEntries(searchParams);
    expect(others).toEqual({
      client_id: fake.clientId,
      response_type: "code",
      redirect_uri: flow.callback,
      scope: "email groups openid",
      state: flow.state,
      nonce: flow.nonce,
      code_challenge_method: "S256",
    });
    expect(code_challenge).toBe(new Bun.CryptoHasher("sha256").update(flow.verifier).digest("base64url"));
  });
});

describe("ID tokens that do not hold", () => {
  const fake = new FakeProvider();
  const provider = providerOf(fake);
  const past = Math.floor(Date.now() / 1_000) - 3_600;

  test.each<[string, FakeProvider["faults"], RegExp]>([
    ["another issuer", { claims: { iss: "https://accounts.google.com" } }, /"iss"/],
    ["an issuer with a slash more", { claims: { iss: `${fake.issuer}/` } }, /"iss"/],
    ["no issuer", { claims: { iss: undefined, x: 1 } }, /"iss"/],
    ["another audience", { claims: { aud: "another-client" } }, /"aud"/],
    ["several audiences without azp", { claims: { aud: ["client-of-socle", "another-client"] } }, /"aud"/],
    ["another nonce", { claims: { nonce: "of-another-sign-in" } }, /"nonce"/],
    ["no nonce", { claims: { nonce: null } }, /"nonce"/],
    ["expired", { claims: { exp: past } }, /"exp"/],
    ["no subject", { claims: { sub: null } }, /"sub"/],
    ["no signature", { sign: "none" }, /"alg"/],
    ["signed with the client's secret", { sign: "HS256" }, /JWS algorithm/],
    ["signed with another key", { sign: "foreign" }, /signature/],
  ])("%s", async (_name, faults, reason) => {
    fake.faults = faults;
    const failure = await failureOf(signIn(provider, fake));
    expect(failure).toStartWith("unauthorized: ");
    expect(failure).toMatch(reason);
    fake.faults = {};
    expect(await signIn(provider, fake)).toMatchObject({ subject: "ann-1" });
  });

  test("no ID token at all", async () => {
    const answer = { access_token: "a", token_type: "bearer" };
    fake.faults = { answers: { "/token": () => Response.json(answer) } };
    expect(await failureOf(signIn(provider, fake))).toMatch(/^unauthorized: .*id_token/);
  });

  test("the user endpoint returns another person", async () => {
    fake.faults = { emailAt: "userinfo", answers: { "/userinfo": () => Response.json({ ...ann, sub: "eve-1" }) } };
    expect(await failureOf(signIn(provider, fake))).toMatch(/^unauthorized: .*"sub"/);
  });
});

describe("responses by the browser", () => {
  test("a code of another sign-in has another PKCE challenge, and a code works once", async () => {
    const fake = new FakeProvider();
    const provider = providerOf(fake);
    const other = flowOf("eve");
    const stolen = new URL(fake.approve(await provider.address(flow), ann)).searchParams;
    stolen.set("state", other.state);
    expect(await failureOf(provider.identify(other, stolen, caller))).toMatch(/^unauthorized: /);
    const back = new URL(fake.approve(await provider.address(flow), ann)).searchParams;
    expect(await provider.identify(flow, back, caller)).toMatchObject({ subject: "ann-1" });
    expect(await failureOf(provider.identify(flow, back, caller))).toMatch(/^unauthorized: /);
  });

  test("mix-up: the response names another issuer, or does not name the issuer", async () => {
    const [honest, evil] = [new FakeProvider(), new FakeProvider()];
    const provider = providerOf(evil);
    // The evil provider sends the browser on to the honest provider.
    const address = await provider.address(flow);
    const back = new URL(honest.approve(address, ann)).searchParams;
    evil.requests.length = 0;
    expect(await failureOf(provider.identify(flow, back, caller))).toMatch(/^unauthorized: .*"iss"/);
    back.delete("iss");
    expect(await failureOf(provider.identify(flow, back, caller))).toMatch(/^unauthorized: .*"iss"/);
    back.append("iss", evil.issuer);
    back.append("iss", honest.issuer);
    expect(await failureOf(provider.identify(flow, back, caller))).toMatch(/^unauthorized: .*"iss"/);
    // The evil provider must not get the code of the honest provider.
    expect(evil.requests).toEqual([]);
  });

  test("another state", async () => {
    const fake = new FakeProvider();
    const provider = providerOf(fake);
    const back = new URL(fake.approve(await provider.address(flow), ann)).searchParams;
    back.set("state", "other");
    expect(await failureOf(provider.identify(flow, back, caller))).toMatch(/^unauthorized: .*"state"/);
    expect(fake.requests).not.toContain("/token");
  });
});

test("discovery must name the issuer of the configuration, and is repeated after a failure", async () => {
  const fake = new FakeProvider();
  const path = "/.well-known/openid-configuration";
  const text = await (await fetch(fake.issuer + path)).text();
  const another = JSON.parse(text.replace(`"issuer":"${fake.issuer}"`, '"issuer":"https://accounts.google.com"'));
  fake.faults = { answers: { [path]: () => Response.json(another) } };
  const provider = providerOf(fake);
  const failure = await failureOf(provider.address(flow));
  expect(failure).toStartWith("unavailable: ");
  expect(failure).toEndWith(
    `auth.providers.my-oidc.issuer is "${fake.issuer}", and the provider calls itself "https://accounts.google.com"; set issuer to "https://accounts.google.com"`,
  );
  fake.faults = {};
  expect(await signIn(provider, fake)).toMatchObject({ subject: "ann-1" });
});

test("an issuer with a slash too many: the reason names both values and the remedy", async () => {
  const fake = new FakeProvider();
  const path = "/.well-known/openid-configuration";
  const text = await (await fetch(fake.issuer + path)).text();
  const realm = `${fake.issuer}/realm`;
  const document = text.replace(`"issuer":"${fake.issuer}"`, `"issuer":"${realm}"`);
  fake.faults = { answers: { [`/realm${path}`]: () => Response.json(JSON.parse(document)) } };
  const failure = await failureOf(providerOf(fake, { issuer: `${realm}/` }).address(flow));
  expect(failure).toContain(
    `issuer is "${realm}/", and the provider calls itself "${realm}"; set issuer to "${realm}"`,
  );
});

test.each<[name: string, value: unknown]>([
  ["authorization_endpoint", undefined],
  ["authorization_endpoint", "/authorize"],
  ["authorization_endpoint", "javascript:alert(1)"],
  ["authorization_endpoint", 5],
  ["authorization_endpoint", "http://id.example/authorize"],
  ["token_endpoint", undefined],
  ["token_endpoint", "token"],
  ["token_endpoint", "file:///etc/passwd"],
  ["jwks_uri", undefined],
  ["jwks_uri", ""],
  ["jwks_uri", "data:application/json,{}"],
  ["userinfo_endpoint", "//id.example/userinfo"],
])("a discovery document with %s %j is a single clear error, and is requested again", async (name, value) => {
  const fake = new FakeProvider();
  const path = "/.well-known/openid-configuration";
  const document = { ...((await (await fetch(fake.issuer + path)).json()) as object), [name]: value };
  fake.faults = { answers: { [path]: () => Response.json(document) } };
  const provider = providerOf(fake);
  const failure = await failureOf(provider.address(flow));
  expect(failure).toStartWith("unavailable: ");
  if (typeof value !== "number") expect(failure).toContain(`${name} of the discovery document of ${fake.issuer} is `);
  fake.faults = {};
  expect(await signIn(provider, fake)).toMatchObject({ subject: "ann-1" });
});

test("a key that the provider has just changed is read once, and the code is exchanged once", async () => {
  const fake = new FakeProvider();
  const provider = providerOf(fake);
  let exchanges = 0;
  fake.onToken = () => {
    exchanges += 1;
  };
  expect(await signIn(provider, fake)).toMatchObject({ subject: "ann-1" });
  await fake.rotate("k2");
  expect(await signIn(provider, fake)).toMatchObject({ subject: "ann-1" });
  expect([exchanges, fake.requests.filter((path) => path === "/jwks").length]).toEqual([2, 2]);
  expect(await signIn(provider, fake)).toMatchObject({ subject: "ann-1" });
  expect(fake.requests.filter((path) => path === "/jwks")).toHaveLength(2);
  // A key that the provider does not publish: one more look, and a refusal.
  const before = fake.requests.filter((path) => path === "/jwks").length;
  const old = await (await fetch(`${fake.issuer}/jwks`)).json();
  fake.faults = { answers: { "/jwks": () => Response.json(old) } };
  await fake.rotate("k3");
  expect(await failureOf(signIn(provider, fake))).toMatch(/^unauthorized: /);
  expect(fake.requests.filter((path) => path === "/jwks").length - before).toBe(2);
  expect(exchanges).toBe(4);
});

test("an ID token for another client (azp) is refused, and an ID token for this client is not", async () => {
  const fake = new FakeProvider();
  fake.faults = { claims: { azp: "another-client" } };
  expect(await failureOf(signIn(providerOf(fake), fake))).toMatch(/^unauthorized: .*azp "another-client"/);
  fake.faults = { claims: { azp: fake.clientId } };
  expect(await signIn(providerOf(fake), fake)).toMatchObject({ subject: "ann-1" });
});
