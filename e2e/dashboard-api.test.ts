/** The page of the API: operations by group, the drawer of an operation, and the form that sends requests. */
import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { complaintsOf, leave, looks, overflowOf, settled, violationsOf } from "./dashboard.ts";
import { openFilledDashboard } from "./dashboard-data.ts";

const dashboard = await openFilledDashboard();
afterAll(() => dashboard.server.stop());

function formOf(page: Page) {
  return page.getByRole("form", { name: "Try it" });
}

async function answerOf(page: Page): Promise<string> {
  const answer = page.getByRole("region", { name: "Answer", exact: true });
  await answer.waitFor();
  return (await answer.textContent()) ?? "";
}

async function total(): Promise<unknown> {
  const answer = await dashboard.api("GET", "/api/authors?count=exact&limit=1");
  return Reflect.get(Object(answer), "total");
}

test("operations stand in groups, are found by words, and open with the keyboard", async () => {
  const page = await dashboard.open("/api");
  await page.getByRole("heading", { name: "Records: posts" }).waitFor();
  const read = page.getByRole("button", { name: /^GET \/api\/posts\/\{id\}(?!\/)/ });
  await read.waitFor();
  await page.getByRole("searchbox").fill("posts delete");
  await page.waitForURL(/search=posts/);
  await read.waitFor({ state: "hidden" });
  const row = page.getByRole("button", { name: /^DELETE \/api\/posts\/\{id\}(?!\/)/ });
  await row.press("Enter");
  await page.getByRole("dialog").getByText("Delete a record of posts").waitFor();
  await page.waitForURL(/operation=removePostsById/);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.getByRole("searchbox").fill("no such operation");
  await page.getByText("No operation matches").waitFor();
  await leave(page);
});

test("a GET is sent as the admin, and shows status, headers and body; the example for curl follows the form", async () => {
  const page = await dashboard.open("/api?operation=listAuthors");
  const form = formOf(page);
  await form.getByLabel("filter (in the query)").fill('name ~ "a"');
  await form.getByLabel("limit (in the query)").fill("1");
  const curl = form.getByRole("region", { name: "As curl" });
  expect(await curl.textContent()).toContain(
    `curl '${dashboard.server.url}/api/authors?filter=name+%7E+%22a%22&limit=1'`,
  );
  await form.getByRole("button", { name: "Send GET" }).click();
  const answer = await answerOf(page);
  expect(answer).toContain("200 OK");
  expect(answer).toContain("content-type: application/json");
  expect(answer).toContain('"nextCursor"');
  await form.getByLabel("filter (in the query)").fill("nothing =");
  await form.getByRole("button", { name: "Send GET" }).click();
  await page.getByText("400 Bad Request").waitFor();
  expect(await answerOf(page)).toContain('"code": "bad_request"');
  expect(await page.content()).not.toContain(dashboard.token);
  await leave(page);
});

test("a request that changes something is sent only after a confirmation", async () => {
  const before = await total();
  const page = await dashboard.open("/api?operation=createAuthors");
  const form = formOf(page);
  const sent: string[] = [];
  page.on("request", (request) => sent.push(`${request.method()} ${new URL(request.url()).pathname}`));
  const body = form.getByRole("textbox", { name: "Body" });
  await body.waitFor();
  expect(await body.textContent()).toContain('"name": ""');
  await body.fill('{ "name": "Grace" }');
  await form.getByRole("button", { name: "Send POST" }).click();
  const question = page.getByRole("dialog", { name: "Send this POST request?" });
  await question.getByText("POST /api/authors is sent to this service").waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "hidden" });
  expect(sent.filter((each) => each.startsWith("POST"))).toEqual([]);
  expect(await total()).toBe(before);
  await form.getByRole("button", { name: "Send POST" }).click();
  await question.getByRole("button", { name: "Send POST" }).click();
  expect(await answerOf(page)).toContain("201 Created");
  expect(await total()).toBe(Number(before) + 1);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a parameter of the path is required, and is encoded", async () => {
  const page = await dashboard.open("/api?operation=readPostsById");
  const form = formOf(page);
  await form.getByText("Missing: id").waitFor();
  expect(await form.getByRole("button", { name: "Send GET" }).isDisabled()).toBe(true);
  await form.getByLabel("id (in the path)").fill("../users");
  expect(await form.getByRole("region", { name: "As curl" }).textContent()).toContain("/api/posts/..%2Fusers");
  await form.getByRole("button", { name: "Send GET" }).click();
  expect(await answerOf(page)).toContain("404 Not Found");
  await leave(page);
});

test.each([...looks])(
  "in $theme at $width px, a response in the drawer breaks no rule of axe, and nothing scrolls sideways",
  async ({ theme, width }) => {
    const page = await dashboard.open("/api?operation=getHealth", { theme, width, height: 800 });
    await formOf(page).getByRole("button", { name: "Send GET" }).click();
    await answerOf(page);
    await settled(page);
    expect(await violationsOf(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    await leave(page);
  },
);
