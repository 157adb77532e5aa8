/** The presets: requests to the addresses of each provider, and the identity of the provider's answers. */
import { expect, test } from "bun:test";
import { decodeJwt, decodeProtectedHeader, exportPKCS8, generateKeyPair, jwtVerify } from "jose";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import { authProviders } from "../../../base/config/auth-providers.ts";
import { AppError } from "../../../base/kernel/index.ts";
import type { ProviderIdentity } from "./presets.ts";
import { Provider } from "./provider.ts";

const caller = { key: "test" };
const flow = {
  callback: "https://app.example/api/auth/oauth/callback",
  state: "state",
  nonce: "nonce",
  verifier: "verifier".padEnd(43, "-"),
};

function open(name: string, settings: object = {}): { fake: FakeProvider; provider: Provider } {
  const fake = new FakeProvider();
  const { clientSecret, ...others } = fake.settings;
  const all = name === "apple" ? others : { ...others, clientSecret };
  const [parsed] = authProviders.parse({ [name]: { ...all, ...settings } }) ?? [];
  if (parsed === undefined) throw new Error("The settings are not valid");
  return { fake, provider: new Provider(parsed, { timeLimitMs: 60_000, maxWaiting: 64 }) };
}

/** Signs in, and answers the identity and the path of the address that the browser opened. */
async function signIn({ fake, provider }: ReturnType<typeof open>, claims: object = {}) {
  const address = new URL(await provider.address(flow));
  const back = fake.approve(address.href, { sub: "1", ...claims });
  const identity = await provider.identify(flow, new URL(back).searchParams, caller);
  return { identity, address };
}

const verified = { primary: true, verified: true };

test.each<[string, unknown, Partial<ProviderIdentity>]>([
  [
    "the primary email",
    [
      { email: "x@b.c", verified: true },
      { email: "ann@b.c", ...verified },
    ],
    { email: "ann@b.c", isVerified: true },
  ],
  [
    "an unverified primary email",
    [{ email: "ann@b.c", primary: true, verified: false }],
    { email: null, isVerified: false },
  ],
  ["another verified email", [{ email: "x@b.c", primary: false, verified: true }], { email: null, isVerified: false }],
  ["no email", [], { email: null, isVerified: false }],
  ["odd entries", [null, 5, "x", { ...verified }], { email: null, isVerified: false }],
])("GitHub: %s", async (_name, emails, expected) => {
  const opened = open("github");
  // The email of the profile does not count: anybody may write any email there.
  opened.fake.resources = { "/api/v3/user": { id: 42, login: "ann", email: "eve@b.c" }, "/api/v3/user/emails": emails };
  const { identity, address } = await signIn(opened);
  expect(identity).toEqual({ issuer: opened.fake.issuer, subject: "42", email: null, isVerified: false, ...expected });
  expect(address.pathname).toBe("/login/oauth/authorize");
  expect(address.searchParams.get("scope")).toBe("read:user user:email");
});

test.each<[string, Record<string, unknown>]>([
  ["no id", { "/api/v3/user": {}, "/api/v3/user/emails": [] }],
  ["an id that is no whole number", { "/api/v3/user": { id: 1e21 }, "/api/v3/user/emails": [] }],
  ["a user that is no object", { "/api/v3/user": [], "/api/v3/user/emails": [] }],
  ["emails that are no list", { "/api/v3/user": { id: 1 }, "/api/v3/user/emails": { email: "a@b.c" } }],
  ["no right to the emails", { "/api/v3/user": { id: 1 } }],
])("GitHub: %s is refused", async (_name, resources) => {
  const opened = open("github");
  opened.fake.resources = resources;
  await expect(signIn(opened)).rejects.toThrow(AppError);
});

test.each<[object, Partial<ProviderIdentity>]>([
  [
    { email: "ann@b.c", verified: true },
    { email: "ann@b.c", isVerified: true },
  ],
  [
    { email: "ann@b.c", verified: false },
    { email: "ann@b.c", isVerified: false },
  ],
  [
    { email: null, verified: true },
    { email: null, isVerified: false },
  ],
])("Discord: %j", async (user, expected) => {
  const opened = open("discord");
  opened.fake.resources = { "/api/users/@me": { id: "80351110224678912", ...user } };
  const { identity, address } = await signIn(opened);
  expect(identity).toMatchObject({ issuer: opened.fake.issuer, subject: "80351110224678912", ...expected });
  expect(address.pathname).toBe("/oauth2/authorize");
});

test("Facebook: an email is not verified", async () => {
  const opened = open("facebook");
  opened.fake.resources = { "/me": { id: "7", email: "ann@b.c" } };
  const { identity } = await signIn(opened);
  expect(identity).toEqual({ issuer: opened.fake.issuer, subject: "7", email: "ann@b.c", isVerified: false });
});

test.each<[object, boolean]>([
  [{}, false],
  [{ email_verified: true }, false],
  [{ xms_edov: true }, true],
  [{ xms_edov: "1" }, true],
  [{ xms_edov: 1 }, true],
  [{ xms_edov: false }, false],
  [{ xms_edov: "0" }, false],
])("Microsoft: the email is verified only by xms_edov: %j", async (claims, isVerified) => {
  const opened = open("microsoft");
  const { identity } = await signIn(opened, { tid: "t-1", oid: "o-1", email: "ann@b.c", ...claims });
  expect(identity).toEqual({ issuer: opened.fake.issuer, subject: "t-1.o-1", email: "ann@b.c", isVerified });
});

test("Microsoft: a token without directory or user is refused", async () => {
  for (const claims of [{ tid: "t-1" }, { oid: "o-1" }, {}])
    await expect(signIn(open("microsoft"), claims)).rejects.toThrow("was not accepted");
});

test("Apple: the secret is a JWT of the key, and the response is a form", async () => {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const apple = open("apple", { teamId: "TEAM", keyId: "KEY", privateKey: await exportPKCS8(privateKey) });
  const secrets: string[] = [];
  apple.fake.onToken = (parameters) => secrets.push(parameters.get("client_secret") ?? "");
  const { identity, address } = await signIn(apple, { email: "ann@privaterelay.appleid.com", email_verified: "true" });
  expect(identity).toMatchObject({ subject: "1", email: "ann@privaterelay.appleid.com", isVerified: true });
  expect(address.pathname).toBe("/auth/authorize");
  expect(address.searchParams.get("response_mode")).toBe("form_post");
  const [secret = ""] = secrets;
  await jwtVerify(secret, publicKey, { issuer: "TEAM", subject: apple.fake.clientId, audience: apple.fake.issuer });
  expect(decodeProtectedHeader(secret)).toEqual({ alg: "ES256", kid: "KEY" });
  const { iat = 0, exp = 0 } = decodeJwt(secret);
  expect(exp - iat).toBe(300);
});

test.each([
  ["google", "https://accounts.google.com"],
  ["github", "https://github.com"],
  ["apple", "https://appleid.apple.com"],
  ["microsoft", "https://login.microsoftonline.com/common/v2.0"],
  ["gitlab", "https://gitlab.com"],
  ["discord", "https://discord.com"],
  ["facebook", "https://www.facebook.com"],
])("%s without issuer is %s", async (name, issuer) => {
  const { presetOf } = await import("./presets.ts");
  const [settings] =
    authProviders.parse({ oidc: { clientId: "a", clientSecret: "b", issuer: "https://x.example" } }) ?? [];
  if (settings === undefined) throw new Error("The settings are not valid");
  expect(presetOf(name)?.issuer(settings)).toBe(issuer);
  expect(presetOf(name)?.issuer({ ...settings, tenant: "contoso.com" })).toBe(issuer.replace("common", "contoso.com"));
});
