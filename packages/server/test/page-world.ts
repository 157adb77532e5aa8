/** Services with the hosted pages, and people on the sign-in pages, each with a browser and an app. */
import { expect } from "bun:test";
import type { PasskeyCreation, TokenResponse, TotpSetup } from "@socle/protocol";
import { openAuthPages } from "../src/app/http-parts.ts";
import { loadConfig } from "../src/base/config/index.ts";
import { codeOf } from "./authenticator.ts";
import { eventsSince, openApi, type TestApi, temporaryFolder } from "./kit.ts";
import { PageBrowser } from "./page-browser.ts";
import { fragmentOf, home, publicUrl, TestApp } from "./sign-in-world.ts";
import { SoftPasskey } from "./soft-authenticator.ts";

/** The password of each user of the tests. */
export const password = "correct horse";

/** A service with the pages, with mail and with codes. */
export async function openWithPages(given: Record<string, string> = {}): Promise<TestApi> {
  const folder = temporaryFolder();
  await Bun.write(`${folder}/config.json`, "{}");
  const environment = {
    SERVICE_PUBLIC_URL: publicUrl,
    SERVICE_MAIL_FROM: "shop@example.com",
    SERVICE_AUTH_CODES: "true",
    SERVICE_AUTH_REDIRECTS: "my-app://signed-in,http://[::1]/cli",
    SERVICE_LIMITS_RATE_LOGIN: "off",
    SERVICE_LIMITS_RATE_MAIL: "off",
    SERVICE_LIMITS_RATE_REGISTER: "off",
    ...given,
  };
  const { config } = await loadConfig({ file: `${folder}/config.json`, environment });
  const pages = await openAuthPages(config);
  return openApi({ folder, settings: environment, ...(pages !== null && { pages }) });
}

/** The address of a page to which an app leads. */
export function addressOf(app: TestApp, page = "sign-in", redirect = home): string {
  return `/_/auth/${page}?${new URLSearchParams({ redirect, challenge: app.challenge })}`;
}

/** A browser on the first page, for an app. */
export async function openPage(api: TestApi, options: { address?: string; headers?: Record<string, string> } = {}) {
  const app = new TestApp();
  const browser = new PageBrowser(api, options.headers);
  const shown = await browser.open(addressOf(app, "sign-in", options.address));
  expect(shown.status).toBe(200);
  return { app, browser };
}

/** A user with an authenticator app and a passkey, without a session. */
export async function withFactor(api: TestApi, email: string) {
  const registered = await api.register(email);
  const { accessToken: token } = registered;
  const { body } = await api.request<TotpSetup>("POST", "/api/auth/totp", { token });
  const confirmed = await api.request<{ recoveryCodes: string[] }>("POST", "/api/auth/totp/confirm", {
    token,
    body: { code: codeOf(body.secret, -1) },
  });
  const passkey = new SoftPasskey();
  const options = await api.request<PasskeyCreation>("POST", "/api/auth/passkeys/options", { token });
  const made = passkey.register(options.body, { origin: publicUrl });
  expect((await api.request("POST", "/api/auth/passkeys", { token, body: { passkey: made } })).status).toBe(201);
  await api.request("POST", "/api/auth/logout", { token });
  return { ...registered, secret: body.secret, recoveryCodes: confirmed.body.recoveryCodes, passkey };
}

/** Asserts that the browser came back to the app with a code, and exchanges the code. */
export async function exchanged(api: TestApi, browser: PageBrowser, app: TestApp): Promise<TokenResponse> {
  const { status, location } = browser.page;
  expect([302, 303]).toContain(status);
  expect(location).toMatch(/^https:\/\/shop\.example\.com\/signed-in#code=[\w-]{43}$/);
  const answer = await app.exchange<TokenResponse>(api, fragmentOf(location)["code"] ?? "");
  expect(answer.status).toBe(200);
  return answer.body;
}

/** Asserts that the work shows a page with a problem, and signs nobody in. */
export async function refused(
  { api, browser }: { api: TestApi; browser: PageBrowser },
  problem: string,
  work: () => Promise<unknown>,
): Promise<void> {
  const before = await eventsSince(api.service);
  await work();
  expect(browser.page.text).toContain(`<p role="alert">${problem}</p>`);
  expect(browser.page.location).toBe("");
  const types = (await eventsSince(api.service)).slice(before.length).map(({ type }) => type);
  expect(types.filter((type) => type === "auth.login" || type === "auth.register")).toEqual([]);
}
