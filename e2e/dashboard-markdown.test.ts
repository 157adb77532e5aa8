/** Markdown in the dashboard: the text and its preview in the drawer, hostile texts, and the record as another caller sees the record. */
import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { complaintsOf, leave, looks, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: [
    {
      name: "articles",
      fields: [
        { name: "title", type: "string" },
        { name: "body", type: "text", format: "markdown", min: 3 },
      ],
      permissions: { read: "public" },
    },
  ],
});
afterAll(() => dashboard.server.stop());

const written = `# A day in the harbour

Ships *come* and **go**, ~~never~~ late; see [the timetable](https://example.com/times?a=1&amp;copy=2) &amp; \`tide()\`.

#### Why

> The sea is quiet.

1. Rope
2. Knots
   - [x] bowline
   - [ ] splice

| Ship | Tons |
| :--- | ---: |
| Ada  | 120  |

\`\`\`ts
const a = "<b>";
\`\`\`
`;

interface Article {
  readonly id: string;
  readonly body: string | null;
}
const make = async (title: string, body: string | null): Promise<Article> =>
  (await dashboard.api("POST", "/api/articles", { title, body })) as Article;
const article = await make("Harbour", written);
const bodyNow = async (): Promise<string | null> =>
  ((await dashboard.api("GET", `/api/articles/${article.id}`)) as Article).body;

const previewOf = (page: Page) => page.getByRole("region", { name: "Preview of body" });

test("a record opens with the rendered text; the reader of Markdown is loaded for this text, and not before", async () => {
  const page = await dashboard.open("/collections/articles?record=new");
  const scripts: string[] = [];
  page.on("request", (request) => scripts.push(new URL(request.url()).pathname));
  await page.getByRole("textbox", { name: "body" }).waitFor();
  expect(scripts.filter((path) => path.includes("/rendered-"))).toEqual([]);
  await page.goto(`${dashboard.server.url}/_/collections/articles?record=${article.id}`);
  const preview = previewOf(page);
  await preview.getByRole("heading", { name: "A day in the harbour", level: 3 }).waitFor();
  expect(scripts.filter((path) => /\/rendered-.*\.js$/.test(path))).toHaveLength(1);
  // The text skips levels, and the page does not.
  await preview.getByRole("heading", { name: "Why", level: 4 }).waitFor();
  expect(await preview.locator("p").first().innerText()).toBe(
    "Ships come and go, never late; see the timetable & tide().",
  );
  expect(await preview.getByRole("link").getAttribute("href")).toBe("https://example.com/times?a=1&copy=2");
  expect(await preview.getByRole("listitem").allInnerTexts()).toEqual([
    expect.stringContaining("Rope"),
    expect.stringContaining("Knots"),
    "☑ bowline",
    "☐ splice",
  ]);
  expect(await preview.getByRole("cell", { name: "120" }).count()).toBe(1);
  expect(await preview.locator("pre").innerText()).toBe('const a = "<b>";');
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("with the keyboard, a person writes, previews and saves; a refused text is shown with its reason", async () => {
  const page = await dashboard.open(`/collections/articles?record=${article.id}`);
  await page.getByRole("radio", { name: "Preview" }).focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Tab");
  const input = page.getByRole("textbox", { name: "body" });
  expect(await input.inputValue()).toBe(written);
  expect(await page.locator("textarea:focus").count()).toBe(1);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("ab");
  await page.getByRole("radio", { name: "Preview" }).focus();
  await page.keyboard.press("Space");
  await previewOf(page).getByText("ab", { exact: true }).waitFor();
  await page.keyboard.press("Control+s");
  await page
    .getByText(/at least 3/)
    .first()
    .waitFor();
  await input.fill("# Changed\n\n_Twice_");
  expect(await bodyNow()).toBe(written);
  await page.getByRole("radio", { name: "Preview" }).press("Space");
  await previewOf(page).getByRole("emphasis").getByText("Twice").waitFor();
  await page.keyboard.press("Control+s");
  await page.getByText("Saved", { exact: true }).waitFor();
  expect(await bodyNow()).toBe("# Changed\n\n_Twice_");
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

const hostile = `<script>window.isHurt = true</script>

<img src=x onerror="window.isHurt = true"> and <a href="javascript:window.isHurt=true">a</a>

[one](javascript:window.isHurt=true) [two](java&#115;cript:window.isHurt=true) [three](<java
script:x>) [four](data:text/html,<script>1</script>) [five](vbscript:x) [six](/api/auth/me) <javascript:alert(1)>

&lt;img src=x onerror="window.isHurt = true"&gt; &amp;lt;

![](https://tracker.example/pixel.png) ![seven](data:image/png;base64,AA) ![eight](//tracker.example/b.png) [![nine](http://tracker.example/c.png)](javascript:x) [![ten](http://tracker.example/d.png)](http://ten.example/)

![own](/api/storage/file_0) ![other](/api/storage/../auth/me)

[ref]: javascript:window.isHurt=true
[ref] <style>body { display: none }</style>
`;

test("hostile Markdown stays text: no element of its HTML, no link of a script or of data, no picture of another host", async () => {
  const { id } = await make("Hostile", hostile);
  const page = await dashboard.open("/collections/articles");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${dashboard.server.url}/_/collections/articles?record=${id}`);
  const preview = previewOf(page);
  await preview.getByText("one").first().waitFor();
  expect(await preview.locator("script, style, iframe, [onerror], object, embed, form, input").count()).toBe(0);
  const hrefs = await preview.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  expect(hrefs).toEqual(["https://tracker.example/pixel.png", "http://ten.example/"]);
  const pictures = await preview
    .locator("img")
    .evaluateAll((images) => images.map((image) => image.getAttribute("src")));
  expect(pictures).toEqual([`${dashboard.server.url}/api/storage/file_0`]);
  const shown = await preview.innerText();
  for (const kept of [
    "<script>window.isHurt = true</script>",
    "(javascript:window.isHurt=true)",
    '<img src=x onerror="window.isHurt = true"> &lt;',
  ])
    expect(shown).toContain(kept);
  expect(await page.evaluate("window.isHurt")).toBeUndefined();
  expect(asked.filter((url) => !url.startsWith(dashboard.server.url))).toEqual([]);
  expect(asked.filter((url) => url.endsWith("/auth/me") && url.includes("storage"))).toEqual([]);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("texts without a measure: deep blocks are shown as written, a long text is cut, and the page stays", async () => {
  const page = await dashboard.open("/collections/articles?record=new");
  const input = page.getByRole("textbox", { name: "body" });
  const mode = (name: string): Promise<void> => page.getByRole("radio", { name }).press("Space");
  const deep = ">".repeat(25_000);
  await input.fill(deep);
  await mode("Preview");
  await previewOf(page).getByText("too many blocks").waitFor();
  expect(await previewOf(page).locator("pre").innerText()).toBe(deep);
  await mode("Write");
  await input.fill(`${"> ".repeat(100)}bottom`);
  await mode("Preview");
  await previewOf(page).getByText("bottom").waitFor();
  expect(await previewOf(page).locator("blockquote").count()).toBe(41);
  await mode("Write");
  await input.fill(`${"word ".repeat(6_000)}tail`);
  await mode("Preview");
  await previewOf(page).getByText("The preview ends after 30,000 characters.").waitFor();
  expect(await previewOf(page).getByText("tail").count()).toBe(0);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test.each([...looks])(
  "the preview, the text and the record as another caller look right: $theme, $width",
  async (look) => {
    const { id } = await make("Looks", written);
    const page = await dashboard.open(`/collections/articles?record=${id}`, look);
    await previewOf(page).getByText("bowline").waitFor();
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    await page.getByRole("radio", { name: "Write" }).press("Space");
    await page.getByRole("textbox", { name: "body" }).waitFor();
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    await page.goto(`${dashboard.server.url}/_/collections/articles?record=${id}&as=anonymous`);
    await page.getByRole("region", { name: "body" }).getByText("bowline").waitFor();
    await settled(page);
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  },
);
