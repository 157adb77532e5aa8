/** The tabs of a browser share a socket by the service's own worker; a page of another origin has a socket of its own. */
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { SocleClient } from "../packages/client/src/index.ts";
import { openWindow } from "./browser.ts";
import { project, serve } from "./kit.ts";

const notes = {
  name: "notes",
  fields: [{ name: "title", type: "string", required: true }],
  permissions: { read: "public", create: "public" },
};
const admin = { email: "admin@example.com", password: "a long password" };
const cwd = await project({ collections: [notes], config: { public: "public" } });
/** @param service the address of the service; empty for the page's origin. */
const page = (service: string): string => `<!doctype html><title>loading</title><body><script type="module">
import { createClient, liveWithChannels } from "${service}/_/client.js";
const socle = createClient({ live: liveWithChannels${service === "" ? "" : `, baseUrl: "${service}"`} });
socle.connection.subscribe((state) => document.body.setAttribute("data-state", state));
socle.subscribe("notes.*", ({ payload }) => document.body.append(payload.title + ";"), {
  onReset: () => { document.title = "live"; },
});
</script>`;
mkdirSync(join(cwd, "public"));
writeFileSync(join(cwd, "public/index.html"), page(""));
const server = await serve(cwd, {
  single: "numbers",
  env: { SERVICE_ADMIN_EMAIL: admin.email, SERVICE_ADMIN_PASSWORD: admin.password },
});
const elsewhere = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => new Response(page(server.url), { headers: { "Content-Type": "text/html" } }),
});
afterAll(() => elsewhere.stop(true));

const client = new SocleClient({ baseUrl: server.url });
await client.login(admin);
const sockets = async (): Promise<number> => (await client.admin.overview()).sockets;
const problems: string[] = [];

async function open(context: Awaited<ReturnType<typeof openWindow>>, url: string): Promise<Page> {
  const opened = await context.newPage();
  opened.on("pageerror", (error) => problems.push(String(error)));
  await opened.goto(url);
  await opened.waitForFunction("document.title === 'live'");
  return opened;
}

const hears = (tab: Page, title: string): Promise<void> => tab.getByText(`${title};`).waitFor();

test("two tabs share a socket, and the second goes on when the first is closed", async () => {
  const context = await openWindow();
  const [first, second] = [await open(context, server.url), await open(context, server.url)];
  expect(await sockets()).toBe(1);
  expect(await second.evaluate("document.body.dataset.state")).toBe("open");
  await client.collection("notes").create({ title: "one" });
  for (const tab of [first, second]) await hears(tab, "one");
  await first.close();
  await client.collection("notes").create({ title: "two" });
  await hears(second, "two");
  expect(await sockets()).toBe(1);
  await second.close();
  while ((await sockets()) > 0) await Bun.sleep(5);
});

test("another browser, and a page of another origin, have sockets of their own", async () => {
  const context = await openWindow();
  const own = await open(context, server.url);
  const foreign = await open(context, elsewhere.url.href);
  await open(await openWindow(), server.url);
  expect(await sockets()).toBe(3);
  await client.collection("notes").create({ title: "three" });
  for (const tab of [own, foreign]) await hears(tab, "three");
  expect(problems).toEqual([]);
});
