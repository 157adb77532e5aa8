/** A provider that misbehaves: each odd answer refuses the sign-in with a clear error and a line of the log, and creates nothing. */
import { expect, test } from "bun:test";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import { eventsSince, lastSeq } from "../../../../test/kit.ts";
import { fragmentOf, openWithProviders, passProvider, TestApp } from "../../../../test/sign-in-world.ts";

const odd = new FakeProvider();
const api = await openWithProviders({ odd });
const { database } = api.service;
const ann = { sub: "ann", email: "ann@example.com", email_verified: true };
const now = Math.floor(Date.now() / 1_000);
const kid = "a new key";
const oct = { kty: "oct", kid, alg: "HS256", use: "sig", k: Buffer.from(odd.clientSecret).toString("base64url") };

const counts = () => database.reader.get("SELECT (SELECT count(*) FROM _users), (SELECT count(*) FROM _sessions)");
const answers = (path: string, body: unknown, status = 200): FakeProvider["faults"] => ({
  answers: { [path]: () => Response.json(body, { status }) },
});

test.each<[name: string, faults: FakeProvider["faults"], error: string, reason: RegExp]>([
  ["exp absent", { claims: { exp: undefined } }, "unauthorized", /"exp"/],
  ["exp as text", { claims: { exp: String(now + 60) } }, "unauthorized", /"exp"/],
  ["nbf ahead", { claims: { nbf: now + 3_600 } }, "unauthorized", /"nbf"/],
  ["nbf as text", { claims: { nbf: "0" } }, "unauthorized", /"nbf"/],
  ["iat as text", { claims: { iat: String(now) } }, "unauthorized", /"iat"/],
  ["aud an empty list", { claims: { aud: [] } }, "unauthorized", /"aud"/],
  ["aud a number", { claims: { aud: 5 } }, "unauthorized", /"aud"/],
  ["sub empty", { claims: { sub: "" } }, "unauthorized", /no sub/],
  ["sub a number", { claims: { sub: 7 } }, "unauthorized", /"sub"/],
  ["four dots", { token: (text) => `${text}.AAAA.BBBB` }, "unauthorized", /JWE/],
  ["two parts", { token: (text) => text.split(".").slice(0, 2).join(".") }, "unauthorized", /JWT/],
  ["a critical header", { header: { crit: ["x-must"], "x-must": 1 } }, "unauthorized", /"crit"/],
  ["no keys", answers("/jwks", { keys: [] }), "unauthorized", /key/],
  ["keys that are no list", answers("/jwks", { keys: "none" }), "unauthorized", /"keys"/],
  ["keys of another form", answers("/jwks", ["none"]), "unauthorized", /object/],
  ["a symmetric key", answers("/jwks", { keys: [oct] }), "unauthorized", /key/],
  ["HS256 by a published key", { ...answers("/jwks", { keys: [oct] }), sign: "HS256" }, "unauthorized", /algorithm/],
  ["an error with 200", answers("/token", { error: "server_error" }), "unauthorized", /the error "server_error"/],
  [
    "tokens with status 201",
    answers("/token", { access_token: "a", token_type: "bearer" }, 201),
    "unauthorized",
    /201/,
  ],
  ["user endpoint 500", { emailAt: "userinfo", ...answers("/userinfo", {}, 500) }, "unavailable", /userinfo.*500/],
  ["user endpoint 403", { emailAt: "userinfo", ...answers("/userinfo", {}, 403) }, "unauthorized", /403/],
  ["user endpoint a list", { emailAt: "userinfo", ...answers("/userinfo", []) }, "unauthorized", /object/],
  ["email a number", { claims: { email: 5 } }, "unauthorized", /email .* 5/],
  ["email a list", { claims: { email: ["ann@example.com"] } }, "unauthorized", /email/],
  [
    "email of the user endpoint an object",
    { emailAt: "userinfo", ...answers("/userinfo", { ...ann, email: { is: "ann@example.com" } }) },
    "unauthorized",
    /email/,
  ],
])("%s", async (_name, faults, error, reason) => {
  odd.faults = faults;
  // The keys are read again for an ID token by an unknown key.
  if (faults.answers?.["/jwks"] !== undefined) await odd.rotate(kid);
  const seq = await lastSeq(api.service);
  const before = counts();
  const app = new TestApp();
  const back = await passProvider({ api, fake: odd }, app.begin("odd"), ann);
  odd.faults = {};
  expect(fragmentOf(back)).toMatchObject({ error });
  const line = api.log.findLast((each) => each.startsWith("WARN A sign-in at odd failed")) ?? "";
  expect(line).toMatch(reason);
  api.log.length = 0;
  expect(counts()).toEqual(before);
  expect(await eventsSince(api.service, seq)).toEqual([]);
});

test("after all, the provider that behaves signs the person in", async () => {
  const app = new TestApp();
  const { code = "" } = fragmentOf(await passProvider({ api, fake: odd }, app.begin("odd"), ann));
  expect((await app.exchange(api, code)).status).toBe(200);
});
