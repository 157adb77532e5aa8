/** People, browsers and apps that sign in at fake providers: each with the secrets of their own. */
import { randomToken } from "../src/base/kernel/index.ts";
import type { FakeProvider } from "./fake-provider.ts";
import { type Answer, openApi, type TestApi } from "./kit.ts";

export const publicUrl = "https://shop.example.com";
/** An address of the app. */
export const home = `${publicUrl}/signed-in`;

/** A service with these providers. */
export function openWithProviders(
  providers: Record<string, FakeProvider | object>,
  settings: Record<string, string> = {},
): Promise<TestApi> {
  const entries = Object.entries(providers).map(([name, each]) => [name, "settings" in each ? each.settings : each]);
  const all = { SERVICE_PUBLIC_URL: publicUrl, SERVICE_AUTH_PROVIDERS: JSON.stringify(Object.fromEntries(entries)) };
  return openApi({ settings: { ...all, ...settings } });
}

/** A browser with cookies. */
export class TestBrowser {
  readonly #api: TestApi;
  readonly #headers: Record<string, string>;
  cookie = "";

  constructor(api: TestApi, headers: Record<string, string> = {}) {
    this.#api = api;
    this.#headers = headers;
  }

  /** Opens an address of the service. */
  async open(address: string): Promise<Response> {
    const path = address.startsWith(publicUrl) ? address.slice(publicUrl.length) : address;
    const answer = await this.#api.answer("GET", path, { headers: { ...this.#headers, cookie: this.cookie } });
    const [cookie] = answer.headers.getSetCookie();
    if (cookie !== undefined) this.cookie = cookie.split(";")[0] ?? "";
    return answer;
  }

  /** The address to which an address of the service redirects. */
  async follow(address: string): Promise<string> {
    const answer = await this.open(address);
    if (answer.status !== 302) throw new Error(`${address} answered ${answer.status}: ${await answer.text()}`);
    return answer.headers.get("location") ?? "";
  }
}

/** An app in a browser, with the verifier of a sign-in. */
export class TestApp {
  readonly verifier = randomToken(32);
  readonly challenge = new Bun.CryptoHasher("sha256").update(this.verifier).digest("base64url");

  /** The address that begins a sign-in. */
  begin(name: string, redirect = home): string {
    return `/api/auth/oauth/${name}?${new URLSearchParams({ redirect, challenge: this.challenge })}`;
  }

  /** Exchanges a code. */
  exchange<T>(api: TestApi, code: string | null): Promise<Answer<T>> {
    return api.request<T>("POST", "/api/auth/oauth/token", { body: { code, verifier: this.verifier } });
  }
}

/** The parameters after `#` of an address. */
export function fragmentOf(address: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(new URL(address).hash.slice(1)));
}

/** A person goes through a provider. Answers the address of the app to which the person comes back. */
export async function passProvider(
  { api, fake, browser = new TestBrowser(api) }: { api: TestApi; fake: FakeProvider; browser?: TestBrowser },
  beginning: string,
  person: Parameters<FakeProvider["approve"]>[1],
): Promise<string> {
  const atProvider = await browser.follow(beginning);
  return browser.follow(fake.approve(atProvider, person));
}
