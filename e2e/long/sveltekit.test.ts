/**
 * The example for SvelteKit: built with the packages of the registry, and driven in Chromium. The server renders the page of the signed-in
 * user; the page goes on with live queries, and never gets the refresh token.
 */
import { afterAll, expect, test } from "bun:test";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { openWindow } from "../browser.ts";
import { root, serve, temporaryFolder, until } from "../kit.ts";

const service = temporaryFolder();
cpSync(join(root, "examples/sveltekit/collections"), join(service, "collections"), { recursive: true });
const server = await serve(service, { single: "numbers", env: { SERVICE_AUTH_ACCESS_TOKEN_TTL: "2s" } });

const cwd = temporaryFolder();
cpSync(join(root, "examples/sveltekit"), cwd, { recursive: true });
const packages = join(root, "dist/packages");
const tarballs = readdirSync(packages)
  .filter((name) => /^socle-(client|svelte)-/.test(name))
  .map((name) => join(packages, name));

function run(...command: string[]): void {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}\n${stdout}${stderr}`);
}
run("npm", "install", "--no-audit", "--no-fund", ...tarballs);
run("npm", "run", "build");
const free = Bun.serve({ port: 0, fetch: () => new Response() });
const url = free.url.origin;
await free.stop(true);
const app = Bun.spawn(["node", "build"], {
  cwd,
  env: { ...process.env, HOST: "127.0.0.1", PORT: new URL(url).port, ORIGIN: url, PUBLIC_SOCLE_URL: server.url },
  stdout: "ignore",
  stderr: "inherit",
});
afterAll(() => app.kill());
await until(() =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  ),
);

async function signIn(page: Page, email: string, isNew: boolean): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill("a long password");
  if (isNew) await page.getByLabel("I am new").check();
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

const isLive = (page: Page): Promise<unknown> => page.locator("[data-status=live]").waitFor();

test("sign-in by a form, a rendered page, live notes, renewals, sign-out", async () => {
  const context = await openWindow();
  const page = await context.newPage();
  const texts: string[] = [];
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("response", async (response) => {
    if (response.request().resourceType() !== "document" || response.status() === 200)
      texts.push(await response.text().catch(() => ""));
  });
  await page.goto(url);
  await page.getByLabel("Email").fill("ann@example.com");
  await page.getByLabel("Password").fill("a long password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await signIn(page, "ann@example.com", true);
  await isLive(page);
  const [cookie, ...others] = await context.cookies();
  expect([others, cookie?.httpOnly, cookie?.secure, cookie?.sameSite]).toEqual([[], true, false, "Lax"]);
  expect(cookie?.value.length ?? 0).toBeLessThan(4_000);

  // A note of another tab is shown without a reload.
  const other = await context.newPage();
  await other.goto(url);
  await isLive(other);
  await page.getByLabel("Note").fill("<b>from the form</b>");
  await page.getByRole("button", { name: "Add" }).click();
  for (const tab of [page, other]) await tab.getByText("<b>from the form</b>").waitFor();

  // The server renders the notes: a browser without scripts shows the notes, too.
  const cookies = `${cookie?.name}=${cookie?.value}`;
  const rendered = async (headers: Record<string, string>): Promise<string> => (await fetch(url, { headers })).text();
  expect(await rendered({ Cookie: cookies })).toContain("&lt;b>from the form&lt;/b>");
  expect(await rendered({})).not.toContain("from the form");

  // Parallel requests with an expired token: all are signed in, with the same new cookie.
  const old = (await context.cookies())[0]?.value;
  await until(
    async () =>
      (await fetch(`${server.url}/api/auth/me`, { headers: { Authorization: `Bearer ${old?.split("~")[2]}` } }))
        .status === 401,
  );
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => fetch(url, { headers: { Cookie: `${cookie?.name}=${old}` } })),
  );
  const set = answers.map((answer) => answer.headers.getSetCookie().join());
  expect([set.length, new Set(set).size, set[0]?.includes("HttpOnly")]).toEqual([10, 1, true]);
  for (const answer of answers) expect(await answer.text()).toContain("ann@example.com");
  // The browser still has the former cookie, and goes on.
  await page.reload();
  await page.getByText("ann@example.com").waitFor();
  await isLive(page);

  // No answer to the page has a refresh token.
  const refreshToken = (await context.cookies())[0]?.value.split("~")[3] ?? "none";
  expect(texts.length).toBeGreaterThan(5);
  for (const text of texts) {
    expect(text.includes("refreshToken")).toBe(text.includes("accessToken") && /\b(onTokens|login)\b/.test(text));
    expect(text).not.toContain(refreshToken);
  }
  expect((await fetch(`${url}/session`, { headers: { Cookie: `${cookie?.name}=${old}` } })).status).toBe(403);

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  expect(await context.cookies()).toEqual([]);
  expect(await rendered({ Cookie: `${cookie?.name}=${old}` })).not.toContain("from the form");
  expect(problems).toEqual([]);
});
