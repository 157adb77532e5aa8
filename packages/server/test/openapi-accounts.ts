/** The calls about accounts of the OpenAPI check: sign-ins, proofs, factors, passkeys, providers and keys. */
import { expect, test } from "bun:test";
import type { CreatedApiKey, PasskeyCreation, PasskeyRequest, TokenResponse } from "@socle/protocol";
import { codeOf } from "./authenticator.ts";
import { Mailbox } from "./mailbox.ts";
import type { DescribedService } from "./openapi-world.ts";
import { fragmentOf, home, passProvider, publicUrl, TestApp, TestBrowser } from "./sign-in-world.ts";
import { SoftPasskey } from "./soft-authenticator.ts";

export const password = "correct horse";
const anyUser = { sub: "ann-1", email: "ann@example.com", email_verified: true };

/** Registers a user. */
export function registered({ check }: Pick<DescribedService, "check">, email: string): Promise<TokenResponse> {
  return check.call<TokenResponse>("POST /api/auth/register", 201, { body: { email, password } });
}

/** Adds the tests to the file that calls. */
export function testAccounts(service: DescribedService): void {
  const { api, check, admin, fake, own, setupToken } = service;
  const mailbox = new Mailbox(api.service);
  const member = (email: string): Promise<TokenResponse> => registered(service, email);

  test("accounts", async () => {
    const { user, refreshToken, accessToken } = await member("bob@example.com");
    await check.call("POST /api/auth/login", 200, { body: { email: user.email, password } });
    await check.call("POST /api/auth/refresh", 200, { body: { refreshToken } });
    const token = { token: accessToken };
    await check.call("GET /api/auth/me", 200, token);
    const sessions = await check.call<{ items: { id: string; current: boolean }[] }>(
      "GET /api/auth/sessions",
      200,
      token,
    );
    const other = sessions.items.find(({ current }) => !current)?.id ?? "";
    await check.call("DELETE /api/auth/sessions/{id}", 204, { ...token, path: { id: other } });
    await check.call("DELETE /api/auth/sessions", 204, token);
    await check.call("PUT /api/auth/password", 204, {
      ...token,
      body: { current: password, password: "battery staple" },
    });
    await check.call("POST /api/auth/logout", 204, token);
    const { accessToken: gone } = await member("gone@example.com");
    await check.call("DELETE /api/auth/me", 204, { token: gone, body: { password } });
    await check.call("GET /api/auth/setup", 200, {});
    await check.refuse("POST /api/auth/register", 409, { body: { email: user.email, password } });
    await check.refuse("POST /api/auth/login", 401, { body: { email: user.email, password: "wrong horse" } });
    await check.refuse("GET /api/auth/setup", 404, { query: { token: "wrong" } });
    await check.refuse("POST /api/auth/setup", 404, { body: { email: "b@example.com", password, token: setupToken } });
  });

  test("proofs", async () => {
    const anonymous = await check.call<TokenResponse>("POST /api/auth/anonymous", 200);
    const claim = { token: anonymous.accessToken, body: { email: "claimed@example.com", password } };
    await check.call("POST /api/auth/anonymous/claim", 202, claim);
    const taken = { ...claim, body: { email: "first@example.com", password } };
    await check.refuse("POST /api/auth/anonymous/claim", 409, taken);
    await check.call("GET /api/auth/me", 200, { token: anonymous.accessToken });
    const { user, accessToken: token } = await member("eve@example.com");
    const email = String(user.email);
    await check.call("POST /api/auth/verify/request", 202, { token });
    await check.call("POST /api/auth/verify", 204, { body: { token: await mailbox.secret(email, "verify") } });
    await check.call("POST /api/auth/password/forgot", 202, { body: { email } });
    const reset = { token: await mailbox.secret(email, "reset"), password: "battery staple" };
    await check.call("POST /api/auth/password/reset", 204, { body: reset });
    await check.refuse("POST /api/auth/password/reset", 400, { body: reset });
    const { attempt } = await check.call("POST /api/auth/code/request", 202, { body: { email } });
    const code = { attempt, code: await mailbox.secret(email, "code") };
    const { accessToken } = await check.call<TokenResponse>("POST /api/auth/code", 200, { body: code });
    await check.refuse("POST /api/auth/code", 400, { body: code });
    const change = { email: "eva@example.com", password: "battery staple" };
    await check.call("POST /api/auth/email", 202, { token: accessToken, body: change });
    const moved = { token: await mailbox.secret(change.email, "email") };
    await check.call("POST /api/auth/email/confirm", 204, { body: moved });
    await check.call("POST /api/admin/invitations", 201, { ...admin, body: { email: "guest@example.com" } });
    const invitation = { token: await mailbox.secret("guest@example.com", "invitation"), password };
    await check.call("POST /api/auth/invitation", 200, { body: invitation });
  });

  test("factors and passkeys", async () => {
    const { user, accessToken } = await member("fay@example.com");
    const token = { token: accessToken };
    const { secret } = await check.call("POST /api/auth/totp", 200, token);
    await check.call("POST /api/auth/totp/confirm", 200, { ...token, body: { code: codeOf(String(secret)) } });
    await check.call("GET /api/auth/factors", 200, token);
    const { recoveryCodes } = await check.call<{ recoveryCodes: string[] }>(
      "POST /api/auth/recovery-codes",
      200,
      token,
    );
    const { attempt } = await check.call("POST /api/auth/login", 200, { body: { email: user.email, password } });
    const proof = { attempt, recoveryCode: recoveryCodes[0] };
    await check.call("POST /api/auth/second-factor", 200, { body: proof });
    await check.refuse("POST /api/auth/second-factor", 400, { body: proof });
    await check.call("DELETE /api/auth/totp", 204, token);
    const again = await check.call("POST /api/auth/totp", 200, token);
    await check.call("POST /api/auth/totp/confirm", 200, {
      ...token,
      body: { code: codeOf(String(again["secret"]), 1) },
    });
    const factor = { ...admin, path: { id: user.id, factor: "totp" } };
    await check.call("DELETE /api/admin/users/{id}/factors/{factor}", 204, factor);
    const origin = publicUrl;
    const options = await check.call<PasskeyCreation>("POST /api/auth/passkeys/options", 200, token);
    const passkey = new SoftPasskey();
    const made = { name: "Phone", passkey: passkey.register(options, { origin }) };
    const { id } = await check.call("POST /api/auth/passkeys", 201, { ...token, body: made });
    await check.call("GET /api/auth/passkeys", 200, token);
    const asked = await check.call<PasskeyRequest>("POST /api/auth/passkeys/login/options", 200, {});
    const signed = { passkey: passkey.sign(asked, { origin }) };
    await check.call("POST /api/auth/passkeys/login", 200, { body: signed });
    await check.refuse("POST /api/auth/passkeys/login", 401, { body: signed });
    await check.call("DELETE /api/auth/passkeys/{id}", 204, { ...token, path: { id: String(id) } });
  });

  test("providers and keys", async () => {
    await check.call("GET /api/auth/providers", 200);
    const app = new TestApp();
    await check.call("GET /api/auth/oauth/{name}", 302, {
      path: { name: "fake" },
      query: { redirect: home, challenge: app.challenge },
    });
    for (const path of ["/api/auth/oauth/callback", "/api/auth/oauth/callback/{name}"])
      await check.call(`POST ${path}`, 200, {
        path: { name: "fake" },
        body: "code=a",
        headers: { "Content-Type": "application/x-www-form-urlencoded" },
      });
    await checkCallback();
    const back = await passProvider({ api, fake }, app.begin("fake"), anyUser);
    const exchanged = await check.call<TokenResponse>("POST /api/auth/oauth/token", 200, {
      body: { code: fragmentOf(back)["code"], verifier: app.verifier },
    });
    const token = { token: exchanged.accessToken };
    await check.call("GET /api/auth/links", 200, token);
    const redirect = { redirect: home, challenge: app.challenge };
    const dan = { token: (await member("dan@example.com")).accessToken };
    await check.call("POST /api/auth/links/{name}", 200, { ...dan, path: { name: "fake" }, body: redirect });
    await check.call("GET /api/admin/users/{id}/links", 200, { ...admin, path: { id: exchanged.user.id } });
    const ofUser = { id: exchanged.user.id, name: "fake" };
    const { key, id } = await check.call<CreatedApiKey>("POST /api/auth/keys", 201, {
      ...token,
      body: { name: "report", scopes: ["posts:read"], expiresAt: "2090-01-01T00:00:00Z" },
    });
    expect(key).toStartWith("sk_");
    await check.call("GET /api/auth/keys", 200, token);
    await check.call("GET /api/admin/users/{id}/keys", 200, { ...admin, path: ofUser });
    await check.call("DELETE /api/auth/keys/{id}", 204, { ...token, path: { id } });
    const second = await check.call<CreatedApiKey>("POST /api/auth/keys", 201, {
      ...token,
      body: { name: "b", scopes: ["*:read"] },
    });
    await check.call("DELETE /api/admin/users/{id}/keys/{key}", 204, {
      ...admin,
      path: { id: ofUser.id, key: second.id },
    });
    await check.call("DELETE /api/auth/links/{name}", 204, { ...token, path: { name: "fake" } });
    await passProvider({ api, fake }, app.begin("fake"), anyUser).then((again) =>
      app.exchange(api, fragmentOf(again)["code"] ?? null),
    );
    await check.call("DELETE /api/admin/users/{id}/links/{name}", 204, { ...admin, path: ofUser });
  });

  /** The way back of two sign-ins, each through one of the two addresses. */
  const checkCallback = async (): Promise<void> => {
    for (const [name, provider] of Object.entries({ fake, own })) {
      const browser = new TestBrowser(api);
      const atProvider = await browser.follow(new TestApp().begin(name));
      const back = new URL(provider.approve(atProvider, anyUser));
      const path = `/api/auth/oauth/callback${provider === own ? "/{name}" : ""}`;
      const query = Object.fromEntries(back.searchParams);
      await check.refuse(`GET ${path}`, 400, { path: { name } });
      await check.call(`GET ${path}`, 302, { path: { name }, query, headers: { cookie: browser.cookie } });
    }
  };
}
