/** A service with mail and a provider, and a user with all that belongs to an account: for tests of the pages of accounts. */
import { afterAll } from "bun:test";
import type { PasskeyCreation, TokenResponse } from "@socle/protocol";
import { codeOf } from "../packages/server/test/authenticator.ts";
import { FakeProvider } from "../packages/server/test/fake-provider.ts";
import { SmtpSink } from "../packages/server/test/smtp-sink.ts";
import { SoftPasskey } from "../packages/server/test/soft-authenticator.ts";
import { type Dashboard, openDashboard } from "./dashboard.ts";
import { freePort, until } from "./kit.ts";

export const password = "correct horse battery";
/** Some servers take a token as the user, too: no page may show the user. */
const smtpLogin = { user: "hush-smtp", password: "hush-smtp" };

export interface AccountWorld {
  readonly dashboard: Dashboard;
  readonly sink: SmtpSink;
  /** Ends with the test file. */
  readonly provider: FakeProvider;
  readonly publicUrl: string;
}

/** @param files of the project: endpoints, for example. */
export async function openAccountWorld(files: Readonly<Record<string, string>> = {}): Promise<AccountWorld> {
  const [port, sink] = [await freePort(), await SmtpSink.start({ login: smtpLogin })];
  afterAll(() => sink[Symbol.asyncDispose]());
  const provider = new FakeProvider();
  const publicUrl = `http://localhost:${port}`;
  const google = { clientId: "google-client", clientSecret: "hush-google" };
  const config = {
    port,
    publicUrl,
    mail: { from: "The Shop <shop@example.com>", smtp: sink.address },
    auth: { providers: { "my-oidc": { ...provider.settings, title: "Staff", ownCallback: true }, google } },
  };
  return { dashboard: await openDashboard({ config, files }), sink, provider, publicUrl };
}

/** A user with an app, a passkey, a link and an API key; the registration has mailed a link. Answers the id. */
export async function makeWholeUser(world: AccountWorld, email: string): Promise<string> {
  const { dashboard, sink, publicUrl } = world;
  const call = async <T>(path: string, body: object = {}, token = ""): Promise<T> => {
    const response = await fetch(dashboard.server.url + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(token !== "" && { Authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const { accessToken: token, user } = await call<TokenResponse>("/api/auth/register", { email, password });
  const { secret } = await call<{ secret: string }>("/api/auth/totp", {}, token);
  await call("/api/auth/totp/confirm", { code: codeOf(secret) }, token);
  const options = await call<PasskeyCreation>("/api/auth/passkeys/options", {}, token);
  const passkey = new SoftPasskey().register(options, { origin: publicUrl });
  await call("/api/auth/passkeys", { passkey, name: "Laptop" }, token);
  await call("/api/auth/keys", { name: "nightly report", scopes: ["posts:read", "function:/report"] }, token);
  await link(world, { token, email });
  await until(() => sink.taken.some(({ to }) => to === email));
  return user.id;
}

/** Links a user to an account at the provider, as an app and a browser do. */
async function link(
  { dashboard, provider, publicUrl }: AccountWorld,
  { token, email }: { token: string; email: string },
): Promise<void> {
  const { url } = dashboard.server;
  const verifier = crypto.randomUUID().replaceAll("-", "").repeat(2);
  const challenge = new Bun.CryptoHasher("sha256").update(verifier).digest("base64url");
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const begun = await fetch(`${url}/api/auth/links/my-oidc`, {
    method: "POST",
    headers,
    body: JSON.stringify({ redirect: `${publicUrl}/done`, challenge }),
  });
  const { url: ticket } = (await begun.json()) as { url: string };
  let cookie = "";
  const follow = async (address: string): Promise<string> => {
    const answer = await fetch(address.replace(publicUrl, url), { redirect: "manual", headers: { cookie } });
    cookie = answer.headers.getSetCookie()[0]?.split(";")[0] ?? cookie;
    return answer.headers.get("location") ?? "";
  };
  const person = { sub: `staff-${email}`, email, email_verified: true };
  const back = await follow(provider.approve(await follow(ticket), person));
  const code = new URLSearchParams(new URL(back).hash.slice(1)).get("code");
  const done = await fetch(`${url}/api/auth/oauth/token`, {
    method: "POST",
    headers,
    body: JSON.stringify({ code, verifier }),
  });
  if (!done.ok) throw new Error(`The link was not made: ${done.status} ${await done.text()}`);
}
