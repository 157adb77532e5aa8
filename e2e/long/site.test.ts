/** The site that `npm run docs` builds: links, requests, accessibility, search, and the weight of the landing page. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import type { Page } from "playwright-core";
import { readPages } from "../../scripts/site/pages.ts";
import { fileAt, output, siteAnswer } from "../../scripts/site/server.ts";
import { analyze } from "../axe.ts";
import { openWindow } from "../browser.ts";
import { root } from "../kit.ts";

const built = Bun.spawnSync([process.execPath, join(root, "scripts/site.ts"), "build"], { cwd: root });
if (built.exitCode !== 0) throw new Error(`npm run docs -- build failed: ${built.stdout}${built.stderr}`);
const server = Bun.serve({ port: 0, fetch: siteAnswer });
const origin = server.url.origin;

/** Pages of each kind: the landing page, texts with code and with wide tables, an example, the routes, a missing page. */
const kinds = [
  "/",
  "/quickstart/",
  "/limits/",
  "/capacity/",
  "/configuration/",
  "/examples-blank/",
  "/rest/",
  "/rest/operations/createposts/",
  "/missing/",
];

interface Html {
  readonly ids: ReadonlySet<string>;
  /** Addresses of links, pictures, scripts and styles. */
  readonly links: readonly string[];
}

async function read(path: string): Promise<Html> {
  const [ids, links] = [new Set<string>(), [] as string[]];
  const take = (element: HTMLRewriterTypes.Element): void => {
    const id = element.getAttribute("id");
    if (id !== null) ids.add(id);
    // The address of the page for search engines depends on the host of the site.
    if (element.getAttribute("rel") === "canonical" || element.getAttribute("rel") === "sitemap") return;
    for (const name of ["href", "src"]) {
      const value = element.getAttribute(name);
      if (value !== null) links.push(value);
    }
  };
  await new HTMLRewriter()
    .on("*", { element: take })
    .transform(new Response(Bun.file(path)))
    .text();
  return { ids, links };
}

/** Opens a page in a window of its own; the requests of the page come into `requests`. */
async function open(path: string, options: Parameters<typeof openWindow>[0] = {}) {
  const page = await (await openWindow({ viewport: { width: 1280, height: 800 }, ...options })).newPage();
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(origin + path, { waitUntil: "networkidle" });
  return { page, requests };
}

async function violationsOf(page: Page): Promise<string[]> {
  const { violations } = await analyze(page);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, html }) => `${id} at ${target.join(" ")}: ${html}`),
  );
}

test("each link of each page leads to a page and a heading of the site, or to another host by a link alone", async () => {
  const pages = new Map<string, Html>();
  for (const name of new Glob("**/*.html").scanSync(output))
    pages.set(join(output, name), await read(join(output, name)));
  expect(pages.size).toBeGreaterThan(readPages().length + 100);
  const broken: string[] = [];
  let count = 0;
  for (const [path, { links }] of pages) {
    const here = `${origin}/${path.slice(output.length + 1).replace(/index\.html$/, "")}`;
    for (const link of links) {
      const url = URL.parse(link, here);
      if (url !== null && url.origin !== origin) continue;
      count += 1;
      const file = fileAt(url?.pathname ?? "/not an address");
      const anchor = decodeURIComponent(url?.hash.slice(1) ?? "");
      if (file === null || (anchor !== "" && pages.get(file)?.ids.has(anchor) === false))
        broken.push(`${path.slice(output.length)}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
  expect(count).toBeGreaterThan(5_000);
});

test("an unknown address has the status 404, and a page that says so", async () => {
  const response = await fetch(`${origin}/missing/`);
  const text = await response.text();
  expect([response.status, text.includes("A backend in one file</h1>")]).toEqual([404, false]);
  expect(text).toContain("Page not found");
});

test("llms.txt names files that the site has, and each page is there as Markdown", async () => {
  const text = readFileSync(join(output, "llms.txt"), "utf8");
  const named = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, path]) => path ?? "");
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((path) => fileAt(`/${path}`) === null)).toEqual([]);
  const missing = readPages().filter(({ slug, title }) => {
    const file = fileAt(`/${slug}.md`);
    return file === null || !readFileSync(file, "utf8").startsWith(`# ${title}\n`);
  });
  expect(missing).toEqual([]);
});

test("the templates of a deployment are files of the site, unchanged, to which the page about deploying links", async () => {
  const { links } = await read(join(output, "deploying/index.html"));
  for (const name of ["socle.service", "compose.yaml", "Caddyfile"]) {
    expect(links).toContain(`/${name}`);
    const answer = await fetch(`${origin}/${name}`);
    expect([name, await answer.text()]).toEqual([name, readFileSync(join(root, "deploy", name), "utf8")]);
  }
});

test("the landing page begins with a command that npm alone runs, and leads to the installation, the examples and llms.txt", async () => {
  const { page } = await open("/");
  expect(await page.getByLabel("The commands").innerText()).toStartWith("npx socle init my-app\n");
  await page.getByRole("link", { name: "Other ways to install" }).waitFor();
  const { links } = await read(join(output, "index.html"));
  expect(links).toContain("/llms.txt");
  expect(links).toContain("/examples-chat/");
});

test("a page with commands says first how npm calls the commands, and a page without commands does not", async () => {
  const hasNote = (path: string): boolean =>
    readFileSync(join(output, path, "index.html"), "utf8").includes("say <code>npx socle</code> (<a");
  expect(["backups", "examples-blank", "queries", "install"].map(hasNote)).toEqual([true, true, false, false]);
});

describe.each([
  ["light", 1280],
  ["dark", 1280],
  ["light", 390],
  ["dark", 390],
] as const)("%s, %i pixels wide", (colorScheme, width) => {
  const options = { colorScheme, viewport: { width, height: 844 } };

  test.each(kinds)("%s has no fault of accessibility, no request to another host, and fits", async (path) => {
    const { page, requests } = await open(path, options);
    expect(await violationsOf(page)).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(origin) && !url.startsWith("data:"))).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
  });

  test("the search finds a page, and has no fault of accessibility", async () => {
    const { page, requests } = await open("/quickstart/", options);
    await page.getByRole("button", { name: "Search" }).first().click();
    await page.locator("dialog input").first().fill("passkey");
    await page.locator("dialog a", { hasText: "Ways to sign in" }).first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(origin) && !url.startsWith("data:"))).toEqual([]);
  });
});

test("the search for a task of a user finds the heading of the task", async () => {
  const { page } = await open("/quickstart/");
  await page.getByRole("button", { name: "Search" }).first().click();
  await page.locator("dialog input").first().fill("rename field");
  await page.locator("dialog a", { hasText: "Renaming a field" }).first().waitFor();
});

test("the menu of a phone has the pages in their order", async () => {
  const { page } = await open("/quickstart/", { viewport: { width: 390, height: 844 } });
  await page.getByRole("button", { name: "Menu" }).click();
  const groups = await page.locator("nav.sidebar summary:visible").allInnerTexts();
  expect(groups.map((text) => text.trim()).slice(0, 9)).toEqual([
    "Start",
    "Model",
    "Rules",
    "Live",
    "Code",
    "Accounts",
    "Deploy",
    "Operate",
    "Grow",
  ]);
  expect(await violationsOf(page)).toEqual([]);
});

test("the recording moves by itself, stops when asked, and stays still for readers who prefer reduced motion", async () => {
  const position = (page: Page): Promise<number> => page.evaluate("document.querySelector('.film ol').scrollLeft");
  const { page: still } = await open("/", { reducedMotion: "reduce" });
  await still.getByRole("button", { name: "Play" }).waitFor();
  expect(await position(still)).toBe(0);
  await still.getByRole("button", { name: "Next" }).click();
  expect(await position(still)).toBeGreaterThan(0);

  const { page } = await open("/", { reducedMotion: "no-preference" });
  await page.waitForFunction("document.querySelector('.film ol').scrollLeft > 0");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Play" }).waitFor();
});

test("the landing page is light", async () => {
  const { page } = await open("/");
  const loaded = await page.evaluate<{ name: string; size: number }[]>(
    `performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))
      .map(({ name, encodedBodySize }) => ({ name, size: encodedBodySize }))`,
  );
  const packed = loaded.map(({ name }) => {
    const file = fileAt(new URL(name).pathname);
    return file === null ? 0 : Bun.gzipSync(readFileSync(file)).length;
  });
  const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);
  const [bytes, gzip] = [sum(loaded.map(({ size }) => size)), sum(packed)];
  console.log(`The landing page: ${loaded.length} requests, ${bytes} bytes, ${gzip} with gzip`);
  expect(loaded.length).toBeLessThanOrEqual(20);
  expect(gzip).toBeLessThanOrEqual(200_000);
});

test("the calculator reckons with the figures of the page, and names a text that is no number", async () => {
  const { page } = await open("/capacity/");
  const result = page.locator("#capacity output");
  const fill = (label: string, text: string): Promise<void> => page.getByLabel(label, { exact: true }).fill(text);
  for (const [label, text] of [
    ["Records", "2000000"],
    ["Bytes of JSON of a record", "360"],
    ["Indexes", "0"],
    ["Searched bytes of a record", "0"],
    ["Creates per second", "0"],
    ["Updates per second", "0"],
    ["Flush of the disk, ms", "10"],
  ] as const)
    await fill(label, text);
  const figure = async (name: string): Promise<number> =>
    Number(
      await page
        .locator("tr", { has: page.locator(`code:text-is("${name}")`) })
        .locator("td")
        .nth(1)
        .textContent(),
    );
  const bytes = 2_000_000 * (360 + (await figure("recordBytes")));
  await result.getByText(`Database ${(bytes / 1_024 ** 2).toPrecision(3)} MiB, event log 0.00 bytes`).waitFor();
  expect(await result.textContent()).not.toContain("NaN");
  await result.getByText("at most 99 writes per second").waitFor();
  await fill("Records", "many");
  await result.getByText("“many” is no number.").waitFor();
});
