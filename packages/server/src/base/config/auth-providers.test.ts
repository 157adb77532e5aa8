/** The refusals of `auth.providers` and `auth.redirects`: one line that names the key, without secrets. */
import { expect, test } from "bun:test";
import { appAddresses, authProviders } from "./auth-providers.ts";

const client = { clientId: "app", clientSecret: "123456" };
const privateKey = "-----BEGIN PRIVATE KEY-----\nMIGT\n-----END PRIVATE KEY-----\n";
const apple = { clientId: "com.example", teamId: "T", keyId: "K", privateKey };
const anyDirectory = "trustEmail needs tenant: the admins of any directory";

test.each<[object, string]>([
  [{ google: {} }, ".google.clientId is missing: the id that the provider gave this client"],
  [{ google: { clientId: "app" } }, ".google.clientSecret is missing"],
  [{ google: { ...client, clientSecret: "" } }, ".google.clientSecret is not valid; allowed: a text"],
  [{ google: { ...client, clientSecret: 123456 } }, ".google.clientSecret is not valid; allowed: a text"],
  [{ google: "123456" }, ".google is not valid; allowed: an object with clientId"],
  [{ google: { ...client, secret: "123456" } }, ".google.secret is unknown; allowed: clientId"],
  [{ google: { ...client, clientSecrte: "123456" } }, ".google.clientSecrte is unknown; did you mean clientSecret?"],
  [{ google: { ...client, tenant: "x" } }, ".google.tenant is unknown"],
  [
    { googel: client },
    ".googel.issuer is missing: the address of the provider, because no preset has this name (presets: google",
  ],
  [{ Google: client }, ': "Google" is not a name of a provider; allowed: a-z'],
  [{ callback: client }, ': "callback" is not a name of a provider'],
  [{ token: client }, ': "token" is not a name'],
  ...[
    "id.example.com",
    "http://id.example.com",
    "ftp://x",
    "https://a:b@id.example.com",
    "https://id.example.com/?x",
    "https://id.example.com#x",
    "https://id\\@x",
    "http://127.0.0.1.evil.com",
    "http://localhost.evil.com",
  ].map((issuer): [object, string] => [{ oidc: { ...client, issuer } }, ".oidc.issuer is not valid: "]),
  [{ google: { ...client, scopes: "openid" } }, ".google.scopes is not valid; allowed: a list of scopes"],
  [{ google: { ...client, scopes: ["openid email"] } }, ".google.scopes is not valid"],
  [{ google: { ...client, scopes: [] } }, ".google.scopes is not valid"],
  [{ google: { ...client, trustEmail: "yes" } }, ".google.trustEmail is not valid; allowed: true or false"],
  [{ microsoft: { ...client, trustEmail: true } }, `.microsoft.${anyDirectory}`],
  [{ microsoft: { ...client, trustEmail: true, tenant: "common" } }, `.microsoft.${anyDirectory}`],
  [{ microsoft: { ...client, trustEmail: true, tenant: "organizations" } }, `.microsoft.${anyDirectory}`],
  [{ microsoft: { ...client, tenant: "a/../b" } }, ".microsoft.tenant is not valid"],
  [{ apple: { ...apple, clientSecret: "123456" } }, ".apple.clientSecret is unknown"],
  [{ apple: { ...apple, teamId: undefined } }, ".apple.teamId is missing: the id of the team at Apple"],
  [{ apple: { ...apple, keyId: undefined } }, ".apple.keyId is missing"],
  [{ apple: { ...apple, privateKey: "123456" } }, ".apple.privateKey is not valid; allowed: the content of a .p8 file"],
])("%j is refused", (providers, message) => {
  expect(() => authProviders.parse(providers)).toThrow(message);
  expect(() => authProviders.parse(providers)).not.toThrow("123456");
});

test("a provider has its settings, and secrets do not show", () => {
  const providers = authProviders.parse({
    github: {
      ...client,
      issuer: "https://git.example.com",
      title: "Our GitHub",
      scopes: ["user:email"],
      trustEmail: false,
    },
    microsoft: { ...client, tenant: "contoso.com", trustEmail: true, ownCallback: true },
    local: { ...client, issuer: "http://127.0.0.1:9000/realms/a" },
    apple,
  });
  expect(JSON.stringify(providers)).not.toMatch(/123456|MIGT/);
  expect(providers).toMatchObject([
    {
      name: "github",
      issuer: "https://git.example.com",
      title: "Our GitHub",
      scopes: ["user:email"],
      trustEmail: false,
    },
    { name: "microsoft", issuer: null, tenant: "contoso.com", trustEmail: true, ownCallback: true },
    { name: "local", issuer: "http://127.0.0.1:9000/realms/a", trustEmail: null },
    { name: "apple", appleKey: { teamId: "T", keyId: "K" } },
  ]);
  expect(providers?.map(({ clientSecret }) => clientSecret.reveal())).toEqual(["123456", "123456", "123456", ""]);
});

test.each([["a text"], [[]], [Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`p${i}`, {}]))]])(
  "%j is no object of providers",
  (value) => expect(authProviders.parse(value)).toBeUndefined(),
);

test.each([
  "app.example.com",
  "https://*.example.com",
  "https://a@b.example",
  "javascript:alert(1)",
  "data:text/html,x",
  "https://x/?a",
  "https://x/#a",
  "https://x\\@y",
  " https://x",
  "https://x/a b",
  5,
  "",
])("%j is no address of an app", (address) =>
  expect(() => appAddresses.parse(["https://ok.example", address])).toThrow("[1]: "),
);
