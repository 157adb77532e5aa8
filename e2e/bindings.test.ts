/** The bindings in Chromium, with the frameworks: the same page with React, Vue and Svelte, against a service whose frames the test decides. */
import { afterAll, expect, test } from "bun:test";
import { LiveServer } from "../packages/client/src/testing/live-server.ts";
import { scriptOf } from "./bindings-kit.ts";
import { openWindow } from "./browser.ts";

const user = { id: "usr_1", email: "ada@example.com" };
const servers: LiveServer[] = [];
afterAll(() => {
  for (const server of servers) server.stop();
});

async function serve(script: string): Promise<LiveServer> {
  const server = new LiveServer();
  servers.push(server);
  let total = 0;
  server.answer = ({ url, method }) => {
    const { pathname } = new URL(url);
    if (pathname === "/")
      return new Response("<main></main><script type=module src=/app.js></script>", {
        headers: { "Content-Type": "text/html" },
      });
    if (pathname === "/app.js") return new Response(script, { headers: { "Content-Type": "text/javascript" } });
    if (pathname === "/api/auth/login") return Response.json({ accessToken: "a", refreshToken: "r", user });
    if (pathname === "/api/auth/me") return Response.json({ user });
    if (pathname !== "/api/tasks") return new Response(null, { status: 404 });
    if (method === "GET") {
      total += 1;
      return Response.json({ items: [], nextCursor: null, total });
    }
    const details = [{ field: "title", rule: "unique", message: "is taken" }];
    return Response.json({ error: { code: "validation_error", message: "no", details } }, { status: 400 });
  };
  return server;
}

test.each(["react", "vue", "svelte"])("%s", async (framework) => {
  const server = await serve(await scriptOf(framework, "app.ts"));
  const page = await (await openWindow()).newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(server.url);
  const askFor = async (collection: string) => {
    const isAsked = ({ query }: (typeof server.asked)[number]): boolean => query?.["collection"] === collection;
    await server.until(() => server.asked.some(isAsked));
    return server.asked.findLast(isAsked)?.id;
  };
  const texts = (): Promise<string[]> => page.locator("#tasks li").allTextContents();

  // Live queries: the first result and a change. The component that waits shows its fallback.
  const [id, others] = [await askFor("tasks"), await askFor("others")];
  await page.getByText("waiting").waitFor();
  expect(await page.locator("#tasks").getAttribute("data-status")).toBe("loading");
  server.send({ type: "result", id, seq: 1, items: [{ id: "1", title: "one", n: 1, done: false }] });
  await page.getByText("one", { exact: true }).waitFor();
  server.send({ type: "result", id: others, seq: 1, items: [{ id: "9" }] });
  await page.getByText("1 others").waitFor();
  server.send({ type: "change", id, seq: 2, order: ["1", "2"], items: [{ id: "2", title: "two", n: 2, done: false }] });
  await page.getByText("two", { exact: true }).waitFor();
  expect(await texts()).toEqual(["one", "two"]);
  expect(server.asked.filter(({ query }) => query?.["collection"] === "tasks")).toHaveLength(1);

  // A change that is shown at once, and refused.
  const seen = page.waitForFunction("[...document.querySelectorAll('#tasks li')].length === 3");
  await page.locator("#create").click();
  await seen;
  await page.getByText("is taken").waitFor();
  expect(await texts()).toEqual(["one", "two"]);

  // A query that is read once, and again on demand.
  const before = Number(await page.locator("#total").textContent());
  expect(before).toBeGreaterThan(0);
  await page.locator("#total").click();
  await page.locator("#total", { hasText: String(before + 1) }).waitFor();

  // The session; with another user, the queries are asked for anew.
  expect(await page.locator("#user").textContent()).toBe("done");
  await page.locator("#user").click();
  await page.getByText(user.email).waitFor();
  await server.until(() => server.tokens.includes("a"));

  // A component that goes away ends its query.
  await page.locator("#hide").click();
  const last = await askFor("tasks");
  await server.until(() => server.asked.some((ask) => ask.action === "unsubscribe" && ask.id === last));
  expect(problems).toEqual([]);
});
