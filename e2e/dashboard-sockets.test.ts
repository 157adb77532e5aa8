/** Live connections in the dashboard: open sockets with their callers, channels and live queries, by user, and a closed socket. */
import { afterAll, expect, test } from "bun:test";
import { TestSocket } from "../packages/server/test/sockets.ts";
import { complaintsOf, leave, looks, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";
import { post } from "./kit.ts";

const dashboard = await openDashboard({
  collections: [{ name: "posts", fields: [{ name: "title", type: "string" }], permissions: { read: "public" } }],
  files: {
    "rooms/lobby.json": JSON.stringify({ name: "lobby", key: "string", join: "authenticated", presence: ["typing"] }),
  },
});
afterAll(() => dashboard.server.stop());
const { url } = dashboard.server;

const registered = await post(`${url}/api/auth/register`, { email: "ada@example.com", password: "correct horse" });
const { accessToken } = (await registered.json()) as { accessToken: string };
const own = await TestSocket.open(url, accessToken);
await own.subscribe("posts.*", undefined, { filter: 'title ~ "news"' });
await own.ask({ action: "subscribe", id: "list", query: { collection: "posts", sort: "-createdAt", limit: 20 } });
await own.ask({ action: "join", room: "lobby", key: "main", state: { typing: true } });
const anonymous = await TestSocket.open(url);
await anonymous.subscribe("posts.created");

test("the page lists sockets by caller, shows the channels and live queries of a socket, and follows a close", async () => {
  const page = await dashboard.open("/sockets");
  await page.getByRole("row", { name: /ada@example\.com.*1 channel, 1 live query, 1 room/ }).waitFor();
  await page.getByRole("row", { name: /signed out.*1 channel/ }).waitFor();
  await page.getByRole("row", { name: /ada@example\.com/ }).click();
  const drawer = page.getByRole("dialog", { name: "ada@example.com" });
  await drawer.getByText("posts.*", { exact: true }).waitFor();
  await drawer.getByText('title ~ "news"').waitFor();
  await drawer.getByText("sort=-createdAt&limit=20").waitFor();
  await drawer.getByText("lobby main").waitFor();
  await drawer.getByText('{"typing":true}').waitFor();
  expect(await drawer.textContent()).not.toContain(accessToken);
  own.socket.close();
  await drawer
    .or(page.getByRole("dialog", { name: "Live connection" }))
    .getByText("The connection was closed.")
    .waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("row", { name: /ada@example\.com/ }).waitFor({ state: "detached" });
  const user = page.getByRole("combobox", { name: "User" });
  await user.click();
  await page.getByRole("option", { name: "ada@example.com" }).click();
  await page.getByText("No connection of this user").waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the page has no overflow and no violation of axe", async () => {
  for (const { theme, width } of looks) {
    const page = await dashboard.open("/sockets", { theme, width, height: 800 });
    await page.getByText("signed out").waitFor();
    await settled(page);
    expect([theme, width, await overflowOf(page)]).toEqual([theme, width, 0]);
    expect([theme, width, await violationsOf(page)]).toEqual([theme, width, []]);
    const folder = process.env["SHOTS"];
    if (folder !== undefined) await page.screenshot({ path: `${folder}/sockets-${theme}-${width}.png` });
    await leave(page);
  }
});
