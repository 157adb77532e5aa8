/** The command palette: records by words, users by email, records and runs by id, files of code, settings; with few requests. */
import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { complaintsOf, leave, looks, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: [
    { name: "posts", fields: [{ name: "title", type: "string" }], search: ["title"] },
    { name: "notes", fields: [{ name: "text", type: "string" }], search: ["text"] },
    { name: "plain", fields: [{ name: "title", type: "string" }] },
    { name: "large", fields: [{ name: "title", type: "string" }] },
    { name: "unnamed", fields: [{ name: "amount", type: "float" }] },
  ],
  files: { "functions/posts/on-create.ts": "export const onCreate = ({ logger }) => logger.info('made');\n" },
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;
await api("POST", "/api/posts", { title: "walrus at the pole" });
await api("POST", "/api/notes", { text: "a walrus, again" });
const plain = (await api("POST", "/api/plain", { title: "Old Walrus" })) as { id: string };
await api("POST", "/api/admin/users", { email: "walrus@example.com", password: "correct horse battery" });

async function palette(path = "/", look = {}): Promise<{ page: Page; field: ReturnType<Page["locator"]> }> {
  const page = await dashboard.open(path, look);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("dialog").getByPlaceholder("A page, a record, an email, an id …");
  await field.waitFor();
  return { page, field };
}

test("words find records of all collections and users, in groups, with requests after a pause", async () => {
  for (const look of looks) {
    const { page, field } = await palette("/", look);
    const asked: string[] = [];
    page.on("request", (request) => {
      if (/\/api\/(query$|plain|large|unnamed)|admin\/users\?search/.test(request.url())) asked.push(request.url());
    });
    await field.focus();
    await page.keyboard.type("walrus", { delay: 20 });
    const list = page.getByRole("dialog");
    await list.getByText("walrus at the pole").waitFor();
    await list.getByText("a walrus, again").waitFor();
    await list.getByText("walrus@example.com").waitFor();
    await list.getByText("Old Walrus").waitFor();
    expect(await list.locator("[data-action]").count()).toBe(4);
    // A collection without records, and a collection without a field that names a record, are not asked.
    expect(asked.length).toBe(3);
    await settled(page);
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    await page.keyboard.press("Enter");
    await page.waitForURL(/record=rec_/);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
});

test("an id opens the record of any collection; Enter before the answer waits for the answer", async () => {
  const { page, field } = await palette();
  const answer = Promise.withResolvers<void>();
  await page.route("**/api/admin/records/*", async (route) => {
    await answer.promise;
    await route.continue();
  });
  await field.fill(plain.id);
  await page.keyboard.press("Enter");
  answer.resolve();
  await page.waitForURL(`**/collections/plain?record=${plain.id}`);
  await leave(page);
});

test("the id of a request leads to its trace, and an id of nothing finds nothing", async () => {
  const answer = await fetch(`${dashboard.server.url}/api/posts`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${dashboard.token}` },
    body: '{"title":"traced"}',
  });
  const request = answer.headers.get("x-request-id") ?? "";
  const { page, field } = await palette();
  await field.fill(request);
  await page.getByText("Trace of Request").click();
  await page.waitForURL(`**/trace/${request}`);
  await page.keyboard.press("Control+k");
  await field.fill("rec_00000000-0000-7000-8000-000000000000");
  await page.getByText("Nothing matches").waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a file of code and a setting are found by name; without a query, no setting is listed", async () => {
  const { page, field } = await palette();
  expect(await page.getByRole("dialog").getByText("limits.").count()).toBe(0);
  await field.fill("on-create");
  await page.keyboard.press("Enter");
  await page.waitForURL(/functions\?tab=runs&file=/);
  await page.keyboard.press("Control+k");
  await field.fill("limits.queryTime");
  await page.keyboard.press("Enter");
  await page.waitForURL(/settings\?search=limits.queryTime/);
  await leave(page);
});

test("a further key ends the search that is on its way", async () => {
  const { page, field } = await palette();
  const first = Promise.withResolvers<void>();
  await page.route("**/api/query", async (route) => {
    if (route.request().postData()?.includes('"wal*"')) await first.promise;
    await route.continue().catch(() => undefined);
  });
  const ended = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/api/query"));
  const sent = page.waitForRequest((request) => request.url().endsWith("/api/query"));
  await field.fill("wal");
  await sent;
  await field.fill("walrus at");
  await ended;
  first.resolve();
  await page.getByText("walrus at the pole").waitFor();
  expect(await page.getByText("a walrus, again").count()).toBe(0);
  await leave(page);
});

test("a large collection without a search is not read: the find gives the reason, and leads to the filter", async () => {
  const { page, field } = await palette("/users");
  await page.route("**/api/admin/collections?*", async (route) => {
    const answer = (await (await route.fetch()).json()) as { items: { name: string; records: number }[] };
    for (const item of answer.items) if (item.name === "large") item.records = 20_001;
    await route.fulfill({ json: answer });
  });
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.reload();
  await settled(page);
  await page.keyboard.press("Control+k");
  await field.fill("walrus");
  await page.getByText("Old Walrus").waitFor();
  await page.getByText("Not searched here: 20,001 records").waitFor();
  expect(asked.filter((url) => url.includes("/api/large"))).toEqual([]);
  await page.getByText("in large").click();
  await page.waitForURL("**/collections/large?filter=*");
  expect(new URL(page.url()).searchParams.get("filter")).toBe('title ~ "walrus"');
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});
