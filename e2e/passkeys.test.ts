/**
 * Passkeys in Chromium with a virtual authenticator, through the client of an app's page: registration, sign-in, second
 * factor, a copy of an authenticator, and a page of another origin.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { CDPSession, Page } from "playwright-core";
import type { SocleClient } from "../packages/client/src/index.ts";
import { codeOf } from "../packages/server/test/authenticator.ts";
import { openWindow } from "./browser.ts";
import { project, type Running, serve } from "./kit.ts";

/** The page of an app, with the client of the service. */
const page = `<!doctype html><title>App</title><script type="module">
  import { SocleClient } from "/_/client.js";
  window.socle = new SocleClient({ baseUrl: location.origin });
</script>`;

interface App {
  readonly page: Page;
  readonly devtools: CDPSession;
  readonly server: Running;
  readonly authenticator: string;
}

declare const window: { socle: SocleClient };

async function openApp(config: object = {}, isUserVerified = true): Promise<App> {
  const cwd = await project({ config: { public: "./site", ...config } });
  await Bun.write(join(cwd, "site/index.html"), page);
  const server = await serve(cwd);
  const opened = await (await openWindow()).newPage();
  await opened.goto(`http://localhost:${new URL(server.url).port}/`);
  await opened.waitForFunction("window.socle !== undefined");
  const devtools = await opened.context().newCDPSession(opened);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: isUserVerified,
      isUserVerified,
      automaticPresenceSimulation: true,
    },
  });
  return { page: opened, devtools, server, authenticator: authenticatorId };
}

async function register({ page }: App, email: string): Promise<string> {
  return page.evaluate(async (email) => {
    await window.socle.register({ email, password: "correct horse battery" });
    return (await window.socle.me()).id;
  }, email);
}

/** Signs in with a passkey: the id of the user, or the status of the refusal. */
async function signIn({ page }: App): Promise<string> {
  return page.evaluate(async () => {
    try {
      return (await window.socle.auth.passkeys.signIn()).id;
    } catch (error) {
      return error instanceof Error && "status" in error ? `${error.status} ${error.message}` : String(error);
    }
  });
}

test("a passkey is registered, signs in without email and password, and is deleted", async () => {
  const app = await openApp();
  const ann = await register(app, "ann@example.com");
  const made = await app.page.evaluate(() => window.socle.auth.passkeys.register("Laptop"));
  expect(made).toMatchObject({ name: "Laptop", lastUsedAt: null });
  // The authenticator has the user already.
  const again = app.page.evaluate(() => window.socle.auth.passkeys.register());
  await expect(again).rejects.toThrow("InvalidStateError");
  await app.page.evaluate(() => window.socle.logout());
  expect(await app.page.evaluate(() => window.socle.accessToken)).toBeNull();
  expect(await signIn(app)).toBe(ann);
  expect(await app.page.evaluate(async () => (await window.socle.me()).id)).toBe(ann);
  const [entry] = await app.page.evaluate(() => window.socle.auth.passkeys.list());
  expect(entry).toMatchObject({ id: made.id, lastUsedAt: expect.any(String) });
  await app.page.evaluate((id) => window.socle.auth.passkeys.delete(id), made.id);
  expect(await signIn(app)).toStartWith("401");
});

test("a passkey is the second factor after the password, also without verification of the user", async () => {
  const app = await openApp({}, false);
  const ann = await register(app, "ann@example.com");
  const secret = await app.page.evaluate(async () => {
    await window.socle.auth.passkeys.register();
    return (await window.socle.auth.totp.create()).secret;
  });
  await app.page.evaluate((code) => window.socle.auth.totp.confirm(code), codeOf(secret));
  const outcome = await app.page.evaluate(async () => {
    await window.socle.logout();
    const login = window.socle.login({ email: "ann@example.com", password: "correct horse battery" });
    const required = await login.then(
      () => null,
      (error: Error & { attempt?: string; methods?: string[] }) => error,
    );
    const before = window.socle.accessToken;
    const user = await window.socle.auth.passkeys.secondFactor(required?.attempt ?? "");
    return { name: required?.name, methods: required?.methods, before, id: user.id };
  });
  expect(outcome).toEqual({
    name: "SecondFactorRequired",
    methods: ["code", "recoveryCode", "passkey"],
    before: null,
    id: ann,
  });
  // The browser refuses: this authenticator cannot verify the user.
  expect(await signIn(app)).toContain("NotAllowedError");
});

test("a copy of an authenticator is refused when the original has been used since, and the log reports the copy", async () => {
  const app = await openApp();
  const { devtools, authenticator: authenticatorId } = app;
  const ann = await register(app, "ann@example.com");
  await app.page.evaluate(() => window.socle.auth.passkeys.register());
  const [copy] = (await devtools.send("WebAuthn.getCredentials", { authenticatorId })).credentials;
  if (copy === undefined) throw new Error("The authenticator has no passkey");
  for (let i = 0; i < 2; i++) expect(await signIn(app)).toBe(ann);
  await devtools.send("WebAuthn.removeCredential", { authenticatorId, credentialId: copy.credentialId });
  await devtools.send("WebAuthn.addCredential", { authenticatorId, credential: copy });
  expect(await signIn(app)).toStartWith("401");
  expect(app.server.output()).toContain("its counter has not grown");
  // The copy counts on from the count of the original: nothing tells the copy from the original.
  await devtools.send("WebAuthn.removeCredential", { authenticatorId, credentialId: copy.credentialId });
  await devtools.send("WebAuthn.addCredential", { authenticatorId, credential: { ...copy, signCount: 1_000 } });
  expect(await signIn(app)).toBe(ann);
});

test("a page of another origin than publicUrl registers nothing, although the browser signs", async () => {
  const app = await openApp({ publicUrl: "http://localhost:1" });
  await register(app, "ann@example.com");
  const refusal = app.page.evaluate(() => window.socle.auth.passkeys.register());
  await expect(refusal).rejects.toThrow("Passkeys of this service are for pages of http://localhost:1 (publicUrl)");
  const { credentials } = await app.devtools.send("WebAuthn.getCredentials", { authenticatorId: app.authenticator });
  expect(credentials).toHaveLength(1);
  expect(await signIn(app)).toStartWith("401");
  expect(await app.page.evaluate(() => window.socle.auth.passkeys.list())).toEqual([]);
});
