/**
 * Pages that a server renders with a binding, and that a browser goes on with: rendered by Node without a connection, shown without a flash, live from
 * then on; lists that grow page by page; queries that are left out; errors. Against a service whose frames the test decides.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type ClientAsk, LiveServer } from "../packages/client/src/testing/live-server.ts";
import { scriptOf } from "./bindings-kit.ts";
import { openWindow } from "./browser.ts";
import { temporaryFolder } from "./kit.ts";

const servers: LiveServer[] = [];
afterAll(() => {
  for (const server of servers) server.stop();
});

/** Renders the list with Node. The program ends by itself: a connection would keep the program. */
async function rendered(framework: string): Promise<string> {
  const server = new LiveServer();
  servers.push(server);
  const file = join(temporaryFolder(), "list.mjs");
  writeFileSync(file, await scriptOf(framework, "list-server.ts", "node"));
  const child = Bun.spawn(["node", file, server.url], { stdout: "pipe", stderr: "pipe" });
  const [html, problems] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([problems, await child.exited, server.sockets.size, server.asked]).toEqual(["", 0, 0, []]);
  return html.trim();
}

/** Notes each text of the list from the first moment on, and marks the first item. */
const watching = `<script>
const list = () => document.querySelector("#tasks");
list().firstElementChild.mark = "of the server";
window.seen = [list().textContent.trim()];
new MutationObserver(() => window.seen.push(list().textContent.trim())).observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
</script>`;

async function serve(html: string, script: string): Promise<{ server: LiveServer; requests: string[] }> {
  const server = new LiveServer();
  servers.push(server);
  const requests: string[] = [];
  server.answer = ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === "/")
      return new Response(`<main>${html}</main>${watching}<script type=module src=/app.js></script>`, {
        headers: { "Content-Type": "text/html; charset=utf-8" },
      });
    if (pathname === "/app.js") return new Response(script, { headers: { "Content-Type": "text/javascript" } });
    if (pathname.startsWith("/api/")) requests.push(pathname);
    return new Response(null, { status: 404 });
  };
  return { server, requests };
}

const record = (id: string, title: string) => ({ id, createdAt: "", updatedAt: "", title });

/** The last subscription of a collection or a server query, as the service knows the subscription. */
async function askFor(server: LiveServer, name: string, more: (ask: ClientAsk) => boolean = () => true) {
  const isAsked = (ask: ClientAsk): boolean =>
    [ask.query?.["collection"], ask.query?.["name"]].includes(name) && more(ask);
  await server.until(() => server.asked.some(isAsked));
  return server.asked.findLast(isAsked)?.id;
}

async function shows(page: Page, selector: string, text: string): Promise<void> {
  const place = JSON.stringify(selector);
  await page.waitForFunction(`document.querySelector(${place})?.textContent.trim() === ${JSON.stringify(text)}`);
}

describe.each(["react", "vue", "svelte"])("%s", (framework) => {
  test("a page of a server goes on without a flash, and is live", async () => {
    const html = await rendered(framework);
    for (const text of ["one of the server", "p1", "p2", "more", "board of the server 7 loading"])
      expect(html.replaceAll(/<!--.*?-->/g, "")).toContain(text);
    const { server, requests } = await serve(html, await scriptOf(framework, "list-page.ts"));
    const page = await (await openWindow()).newPage();
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type()) && !message.text().includes("404"))
        problems.push(message.text());
    });
    await page.goto(server.url);

    // Before the first result: the page of the server.
    const [tasks, posts, board] = [
      await askFor(server, "tasks"),
      await askFor(server, "posts"),
      await askFor(server, "board"),
    ];
    expect(await page.locator("#tasks").getAttribute("data-status")).toBe("initial");
    expect(await page.locator("#tasks li").allTextContents()).toEqual(["one of the server"]);
    // The result of the service, and a change.
    server.send({ type: "result", id: tasks, seq: 1, items: [record("1", "one of the server"), record("2", "two")] });
    server.send({ type: "result", id: board, seq: 1, value: "live board" });
    server.send({ type: "result", id: posts, seq: 1, items: [record("p1", ""), record("p2", "")], nextCursor: "c2" });
    await shows(page, "#known", "live board 7 done");
    await page.locator("#tasks[data-status=live]").waitFor();
    expect(await page.locator("#tasks li").allTextContents()).toEqual(["one of the server", "two"]);
    const seen = (await page.evaluate("window.seen")) as string[];
    expect(seen.every((text) => text.startsWith("one of the server"))).toBe(true);
    expect(await page.evaluate("document.querySelector('#tasks li').mark")).toBe("of the server");
    // The result of a query that is read once was of the server.
    expect(requests.filter((path) => path !== "/api/realtime")).toEqual([]);

    // Pages.
    await page.locator("#more").click();
    const larger = await askFor(server, "posts", ({ query }) => query?.["limit"] === 4);
    await shows(page, "#more", "loading");
    expect(await page.locator("#posts li").allTextContents()).toEqual(["p1", "p2"]);
    server.send({ type: "error", id: larger, code: "query_limit", message: "no room" });
    await shows(page, "#more", "query_limit");
    await page.locator("#more").click();
    const again = await askFor(server, "posts", ({ query, id }) => query?.["limit"] === 4 && id !== larger);
    const all = ["p1", "p2", "p3"].map((id) => record(id, ""));
    server.send({ type: "result", id: again, seq: 2, items: all, nextCursor: null });
    await shows(page, "#more", "end");
    server.send({
      type: "change",
      id: again,
      seq: 3,
      order: ["p0", "p1", "p3"],
      items: [record("p0", "")],
      nextCursor: null,
    });
    await page.locator("#posts li", { hasText: "p0" }).waitFor();
    expect(await page.locator("#posts li").allTextContents()).toEqual(["p0", "p1", "p3"]);

    // Another query has no answer of the server. An error, and a retry.
    await page.locator("#other").click();
    const other = await askFor(server, "tasks", ({ query }) => query?.["filter"] === "n = 2");
    await page.locator("#tasks[data-status=loading]").waitFor({ state: "attached" });
    expect(await page.locator("#tasks li").count()).toBe(0);
    server.send({ type: "error", id: other, code: "forbidden", message: "no" });
    await shows(page, "#retry", "forbidden");
    await page.locator("#retry").click();
    const retried = await askFor(server, "tasks", ({ query, id }) => query?.["filter"] === "n = 2" && id !== other);
    server.send({ type: "result", id: retried, seq: 4, items: [record("3", "three")] });
    await shows(page, "#tasks", "three");
    expect(await page.locator("#retry").textContent()).toBe("");

    // No query.
    const asked = server.asked.filter(({ action }) => action === "subscribe").length;
    await page.locator("#skip").click();
    await page.locator("#tasks[data-status=idle]").waitFor({ state: "attached" });
    expect(await page.locator("#tasks li").count()).toBe(0);
    expect(server.asked.filter(({ action }) => action === "subscribe")).toHaveLength(asked);
    expect(problems).toEqual([]);
  });
});

test("React: errors go to error boundaries, which ask anew", async () => {
  const { server } = await serve(await rendered("react"), await scriptOf("react", "list-page.ts"));
  const page = await (await openWindow()).newPage();
  const unhandled: string[] = [];
  await page.exposeFunction("unhandled", (text: string) => unhandled.push(text));
  await page.addInitScript("addEventListener('unhandledrejection', ({ reason }) => window.unhandled(String(reason)))");
  await page.goto(server.url);
  await askFor(server, "tasks");
  await page.locator("#show").click();
  for (const name of ["thrown", "suspended"]) {
    for (const round of [1, 2]) {
      const id = await askFor(server, name);
      await shows(page, `#${name}`, name === "thrown" ? "loading 0" : "waiting");
      server.send({ type: "error", id, code: "forbidden", message: `no ${round}` });
      await shows(page, `button#${name}`, `no ${round}`);
      const from = server.asked.length;
      await page.locator(`button#${name}`).click();
      await server.until(() => server.asked.slice(from).some(({ query }) => query?.["collection"] === name));
    }
    server.send({ type: "result", id: await askFor(server, name), seq: 1, items: [record("1", "one")] });
    await shows(page, `p#${name}`, "live 1");
  }
  expect(unhandled).toEqual([]);
});
