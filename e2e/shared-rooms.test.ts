/** Rooms in Chromium: two windows are two members; the tabs of a window share a socket, and are one member. The hooks of the bindings, too. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { scriptOf } from "./bindings-kit.ts";
import { openWindow } from "./browser.ts";
import { project, serve, until } from "./kit.ts";
import { RoomClient } from "./room-socket.ts";

const cwd = await project({ config: { public: "public" } });
const definition = { key: "string", join: "public", presence: ["cursor"], events: ["hi"] };
await Bun.write(join(cwd, "rooms/lobby.json"), JSON.stringify(definition));
await Bun.write(
  join(cwd, "public/index.html"),
  `<!doctype html><title>loading</title><script type="module">
import { createClient, live } from "/_/client.js";
const socle = createClient({ live });
const room = socle.room("lobby", "k").join();
window.room = room;
window.heard = [];
room.on("hi", (payload, from) => heard.push([payload, from?.state.cursor ?? null]));
room.status.subscribe((status) => { document.title = status; });
</script>`,
);
const frameworks = ["react", "vue", "svelte"] as const;
for (const framework of frameworks) {
  await Bun.write(join(cwd, `public/${framework}.js`), await scriptOf(framework, "rooms.ts"));
  const page = `<main></main><script type="module" src="/${framework}.js"></script>`;
  await Bun.write(join(cwd, `public/${framework}.html`), page);
}
const server = await serve(cwd, { single: "numbers" });
const problems: string[] = [];

async function open(context: Awaited<ReturnType<typeof openWindow>>): Promise<Page> {
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(server.url);
  await page.waitForFunction("document.title === 'joined'");
  return page;
}

/** Waits until a page has heard these messages, with the cursors of their senders, and no others. */
async function hears(page: Page, messages: unknown[]): Promise<void> {
  await until(async () => ((await page.evaluate("heard")) as unknown[]).length >= messages.length);
  expect(await page.evaluate("heard")).toEqual(messages);
}

const cursors = "JSON.stringify(room.members.get().map(({ state }) => state.cursor ?? null).sort())";

test("two windows are two members, and the tabs of a window are one", async () => {
  const [one, two] = [await openWindow(), await openWindow()];
  const [a, b] = [await open(one), await open(two)];
  for (const page of [a, b]) await page.waitForFunction("room.members.get().length === 2");
  const tab = await open(two);
  expect(await tab.evaluate("room.id")).toBe(await b.evaluate("room.id"));
  expect(await a.evaluate("room.members.get().length")).toBe(2);
  await a.evaluate("room.setState({ cursor: 1 })");
  await tab.evaluate("room.setState({ cursor: 2 })");
  for (const page of [a, b, tab]) await page.waitForFunction(`${cursors} === "[1,2]"`);
  await tab.evaluate("room.send('hi', 'from the tab')");
  // The other tab of the member hears the message, the tab that has sent the message does not.
  for (const page of [a, b]) await hears(page, [["from the tab", 2]]);
  await a.evaluate("room.send('hi', 'from the window')");
  for (const page of [b, tab]) await page.waitForFunction("heard.some(([payload]) => payload === 'from the window')");
  expect(await tab.evaluate("heard")).toEqual([["from the window", 1]]);
  await hears(a, [["from the tab", 2]]);
  // A tab that is closed takes its state along, and the member stays with the state of the other tab.
  await b.evaluate("room.setState({ cursor: 3 })");
  await a.waitForFunction(`${cursors} === "[1,3]"`);
  await b.close();
  await a.waitForFunction(`${cursors} !== "[1,3]"`);
  expect(await a.evaluate("room.members.get().length")).toBe(2);
  await tab.close();
  await a.waitForFunction("room.members.get().length === 1");
  await a.close();
  expect(problems).toEqual([]);
});

test.each(frameworks)(
  "the hook of %s joins with the component, shows the members, and leaves with the component",
  async (framework) => {
    const key = `${framework}-1`;
    const watcher = await RoomClient.open(server.url);
    await watcher.join("lobby", key, { cursor: "watching" });
    const page = await (await openWindow()).newPage();
    page.on("pageerror", (error) => problems.push(String(error)));
    await page.goto(`${server.url}/${framework}.html`);
    await page.getByText("joined: mine, watching").waitFor();
    await page.getByRole("button", { name: "move" }).click();
    await page.getByText("joined: moved, watching").waitFor();
    expect(watcher.members("lobby", key)).toHaveLength(2);
    watcher.send({ action: "send", room: "lobby", key, event: "hi", payload: "hello" });
    await page.getByText("heard: hello").waitFor();
    await page.getByRole("button", { name: "other" }).click();
    await until(() => watcher.members("lobby", key).length === 1);
    await page.getByText("joined: mine", { exact: true }).waitFor();
    await page.getByRole("button", { name: "none" }).click();
    await page.getByText("idle:").waitFor();
    await page.close();
    expect(problems).toEqual([]);
  },
);
