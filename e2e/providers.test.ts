/** Sign-ins at providers: the executable, a real browser, and oidc-provider with its own login pages. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { exportPKCS8, generateKeyPair } from "jose";
import type { Page } from "playwright-core";
import { ProviderError, SocleClient } from "../packages/client/src/index.ts";
import { FakeProvider } from "../packages/server/test/fake-provider.ts";
import { openWindow } from "./browser.ts";
import { freePort, project, root, serve, socle } from "./kit.ts";

const port = await freePort();
const publicUrl = `http://127.0.0.1:${port}`;

/** Starts oidc-provider at another site than the service; answers the issuer. */
async function startProvider(): Promise<string> {
  const program = join(root, "packages/server/test/oidc-process.mjs");
  const child = Bun.spawn(["node", program, `${publicUrl}/api/auth/oauth/callback`], {
    stdout: "pipe",
    stderr: "ignore",
  });
  afterAll(() => child.kill());
  const { value } = await child.stdout.getReader().read();
  return new TextDecoder().decode(value).trim();
}

/** Apple, as a page that sends a form from another site when the person agrees. */
const apple = new FakeProvider("localhost");
apple.faults.answers = {
  "/auth/authorize": ({ url }) => {
    const back = new URL(
      apple.approve(url, { sub: "apple-1", email: "ann@privaterelay.appleid.com", email_verified: "true" }),
    );
    const fields = [...back.searchParams].map(
      ([name, value]) => `<input type="hidden" name="${name}" value="${value}">`,
    );
    const page = `<form method="post" action="${back.origin}${back.pathname}">${fields.join("")}<button>Continue</button></form>`;
    return new Response(page, { headers: { "content-type": "text/html" } });
  },
};
const { privateKey } = await generateKeyPair("ES256", { extractable: true });
const { clientSecret: _, ...appleClient } = apple.settings;

const cwd = await project({
  config: {
    port,
    host: "127.0.0.1",
    public: "public",
    publicUrl,
    auth: {
      redirects: ["my-app://signed-in"],
      providers: {
        "my-oidc": { issuer: await startProvider(), clientId: "app", clientSecret: "a secret: +/%", title: "My OIDC" },
        apple: { ...appleClient, teamId: "T", keyId: "K", privateKey: await exportPKCS8(privateKey) },
      },
    },
  },
});
const client = await Bun.build({ entrypoints: [join(root, "packages/client/src/index.ts")], target: "browser" });
await Bun.write(join(cwd, "public/client.js"), (await client.outputs[0]?.text()) ?? "");
await Bun.write(
  join(cwd, "public/index.html"),
  `<!doctype html><title>App</title><pre></pre><script type="module">
    import { SocleClient } from "/client.js";
    const client = new SocleClient({ baseUrl: "" });
    globalThis.client = client;
    const outcome = { providers: await client.auth.providers() };
    try {
      outcome.user = await client.auth.finishSignIn();
      outcome.link = await client.auth.links.finish();
      if (client.session.get() !== null) outcome.links = await client.auth.links.list();
    } catch ({ name, code, message }) {
      outcome.error = { name, code, message };
    }
    document.querySelector("pre").textContent = JSON.stringify(outcome);
  </script>`,
);
const server = await serve(cwd);

interface Outcome {
  providers: object[];
  user?: { id: string; email: string; verified: boolean } | null;
  link?: object | null;
  links?: { name: string }[];
  error?: { name: string; code: string };
}

/** The outcome that the app shows. */
async function outcomeOf(page: Page): Promise<Outcome> {
  await page.locator("pre:not(:empty)").waitFor();
  return JSON.parse((await page.locator("pre").textContent()) ?? "");
}

/** Begins a visit in the app: the page leaves. */
async function leave(page: Page, call: string): Promise<void> {
  await Promise.all([page.waitForNavigation(), page.evaluate(`void client.auth.${call}`)]);
}

async function open(): Promise<Page> {
  const page = await (await openWindow()).newPage();
  await page.goto(server.url);
  await outcomeOf(page);
  return page;
}

/** Signs in on the pages of oidc-provider, and agrees. */
async function agree(page: Page, name: string): Promise<void> {
  await page.locator("input[name=login]").fill(name);
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button").click();
  await page.getByRole("button", { name: "Continue" }).click();
}

test("a person signs in on the pages of a provider of OpenID Connect, returns, and is the same user the next time", async () => {
  const page = await open();
  await leave(page, 'signInWith("my-oidc")');
  expect(new URL(page.url()).hostname).toBe("localhost");
  await agree(page, "ann@example.com");
  const { providers, user, error } = await outcomeOf(page);
  expect(error).toBeUndefined();
  expect(providers).toEqual([
    { name: "my-oidc", title: "My OIDC" },
    { name: "apple", title: "Apple" },
  ]);
  expect(user).toMatchObject({ email: "ann@example.com", verified: true });
  // Neither the address nor the history has the code.
  expect(page.url()).toBe(`${server.url}/`);
  await page.reload();
  expect(await outcomeOf(page)).toMatchObject({ user: null, links: [{ name: "my-oidc", email: "ann@example.com" }] });
  const again = await open();
  await leave(again, 'signInWith("my-oidc")');
  await agree(again, "ann@example.com");
  expect((await outcomeOf(again)).user?.id).toBe(user?.id ?? "");
});

test("a form from the site of Apple ends the sign-in in the browser that has begun", async () => {
  const page = await open();
  await leave(page, 'signInWith("apple")');
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL(`${server.url}/`);
  const { user, error } = await outcomeOf(page);
  expect(error).toBeUndefined();
  expect(user).toMatchObject({ email: "ann@privaterelay.appleid.com", verified: true });
  expect(apple.requests).toContain("/auth/token");
});

test("a signed-in user links an account, and removes the link", async () => {
  const page = await open();
  await page.evaluate('client.register({ email: "bob@example.com", password: "a long password" })');
  await leave(page, 'links.add("my-oidc")');
  await agree(page, "bob-elsewhere@example.com");
  const { user, link, links, error } = await outcomeOf(page);
  expect([error, user]).toEqual([undefined, null]);
  expect(link).toMatchObject({ name: "my-oidc", email: "bob-elsewhere@example.com" });
  expect(links).toMatchObject([{ name: "my-oidc" }]);
  await page.evaluate('client.auth.links.remove("my-oidc")');
  expect(await page.evaluate("client.auth.links.list()")).toEqual([]);
});

test("a person who cancels, or whose email has an account, gets the reason in the app", async () => {
  const page = await open();
  await leave(page, 'signInWith("my-oidc")');
  await page.getByRole("link", { name: "Cancel" }).click();
  expect((await outcomeOf(page)).error).toMatchObject({ name: "ProviderError", code: "access_denied" });
  await page.evaluate('client.register({ email: "taken@example.com", password: "a long password" })');
  const other = await open();
  await leave(other, 'signInWith("my-oidc")');
  await agree(other, "taken@example.com");
  expect((await outcomeOf(other)).error).toMatchObject({ name: "ProviderError", code: "conflict" });
  expect(await other.evaluate("client.session.get()")).toBeNull();
});

test("an app outside the browser opens an address, and ends the sign-in with the address of its scheme", async () => {
  const app = new SocleClient({ baseUrl: server.url });
  await expect(app.auth.signInWith("apple")).rejects.toThrow("redirect is needed");
  const visit = await app.auth.signInWith("apple", { redirect: "my-app://signed-in" });
  /** The system's browser, up to the address of the app. */
  const browse = async (url: string): Promise<string> => {
    const begun = await fetch(url, { redirect: "manual" });
    const back = apple.approve(begun.headers.get("location") ?? "", {
      sub: "app",
      email: "app@example.com",
      email_verified: true,
    });
    const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? "";
    const ended = await fetch(back, { redirect: "manual", headers: { cookie } });
    return ended.headers.get("location") ?? "";
  };
  const back = await browse(visit.url);
  expect(back).toStartWith("my-app://signed-in#code=");
  // Another app of the machine that gets the address has another verifier.
  const thief = await app.auth.signInWith("apple", { redirect: "my-app://signed-in" });
  await expect(thief.finish(back)).rejects.toThrow("unknown, used or expired");
  expect(await visit.finish(back)).toMatchObject({ email: "app@example.com" });
  expect(await app.me()).toMatchObject({ email: "app@example.com" });
  await expect(visit.finish(back)).rejects.toThrow("unknown, used or expired");
  await expect(visit.finish("my-app://signed-in")).rejects.toThrow("has no code");
  await expect(visit.finish("my-app://signed-in#error=conflict&error_description=x")).rejects.toThrow(ProviderError);
});

test("an incomplete provider stops the start with a line that names the key, without secrets", async () => {
  const providers = { google: { clientSecret: "hush-hush" } };
  const { code, stderr, stdout } = await socle(["serve"], {
    cwd: await project({ config: { auth: { providers } } }),
  });
  expect(code).toBe(2);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect(stderr).toContain("auth.providers.google.clientId is missing");
  expect(stdout + stderr).not.toContain("hush");
});
