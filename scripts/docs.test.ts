import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { configurationTable } from "./docs.ts";
import { root } from "./run.ts";
import { llms, llmsFull } from "./site/llms.ts";
import { order } from "./site/order.ts";
import { anchorsOf, fileLinksOf, placeOf, readPage, readPages } from "./site/pages.ts";

/** Cells without the spaces of a formatter. */
function cells(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .join("|"),
    );
}

test.each(["ARCHITECTURE.md", "docs/glossary.md"])("every file that %s names exists", async (file) => {
  const page = await Bun.file(join(root, file)).text();
  const named = [...page.matchAll(/`([\w./-]+\/[\w.-]+\.ts)`/g)].map(([, path]) => path ?? "");
  expect(named.length).toBeGreaterThan(20);
  const missing: string[] = [];
  for (const path of named) {
    // Pages name a file of the server by module: "http/server.ts" stands in the layer "edge".
    const places = [path, `*/${path}`].map((place) => new Glob(`packages/server/src/${place}`));
    const found = places.some((glob) => [...glob.scanSync(root)].length > 0);
    const isNamed = await Promise.all(["", "packages"].map((folder) => Bun.file(join(root, folder, path)).exists()));
    if (!found && !isNamed.includes(true)) missing.push(path);
  }
  expect(missing).toEqual([]);
});

test("docs/configuration.md has every key unchanged", async () => {
  const page = await Bun.file(join(import.meta.dir, "../docs/configuration.md")).text();
  expect(cells(page)).toEqual(cells(configurationTable()));
});

test("docs/ssr.md prints or names the files of the examples, and the pages of the examples print the named files", async () => {
  const page = await Bun.file(join(root, "docs/ssr.md")).text();
  const examples = [...page.matchAll(/^\[(examples\/[\w-]+)\]/gm)].map(([, folder]) => folder ?? "");
  expect(examples).toContain("examples/sveltekit");
  let files = 0;
  for (const [, path, text] of page.matchAll(/^\*\*`(\S+)`\*\*\n\n```\w+\n([\s\S]*?\n)```$/gm)) {
    const found = await Promise.all(
      examples.map((folder) =>
        Bun.file(join(root, folder, path ?? ""))
          .text()
          .catch(() => ""),
      ),
    );
    expect([path, found.includes(text ?? "")]).toEqual([path, true]);
    files += 1;
  }
  for (const [, path = "", target = ""] of page.matchAll(/\[`([^`]+)`\]\(\.\.\/(examples\/[^)]+)\)/g)) {
    const folder = target.slice(0, -path.length - 1);
    expect(examples).toContain(folder);
    const text = await Bun.file(join(root, target)).text();
    const printed = readPage(`${folder}/README.md`).body;
    expect([target, printed.includes(`### \`${path}\`\n`) && printed.includes(`\n${text}\`\`\`\n`)]).toEqual([
      target,
      true,
    ]);
    files += 1;
  }
  expect(files).toBeGreaterThan(examples.length * 6);
  // The printed file is the file of each example.
  const shared = await Promise.all(
    ["sveltekit/src", "astro/src", "react-router/app", "nextjs"].map((folder) =>
      Bun.file(join(root, "examples", folder, "lib/socle.ts")).text(),
    ),
  );
  expect(new Set(shared).size).toBe(1);
});

test("the links of the pages name files that exist, and headings of these files", () => {
  const pages = [readPage("README.md"), ...readPages()];
  const anchors = new Map(pages.map((page) => [page.path, anchorsOf(page)]));
  const links = pages.flatMap((page) => fileLinksOf(page).map((link) => ({ from: page.path, ...link })));
  expect(links.length).toBeGreaterThan(300);
  const broken = links.filter((link) => {
    if (!existsSync(join(root, link.path))) return true;
    // The site shows a file of an example in the page of the example.
    const { path, anchor } = placeOf(link);
    return anchor !== "" && anchors.get(path)?.has(anchor) !== true;
  });
  expect(broken).toEqual([]);
});

test("the pages about the use of Socle name no command and no file that only the repository has", () => {
  const about = order.filter(({ label }) => label !== "Project").flatMap(({ pages }) => pages);
  const pages = about.filter((path) => !["bench/README.md", "docs/reliability.md"].includes(path)).map(readPage);
  expect(pages.length).toBeGreaterThan(50);
  const named = pages.flatMap(({ path, body }) =>
    [
      ...body.matchAll(
        /.*(?:\bdist\/(?:socle|packages)|npm run build:|npm ci --omit|\bth(?:is|e) repository|\]\(\.\.\/deploy\)).*/g,
      ),
    ].map(([line]) => `${path}: ${line}`),
  );
  expect(named).toEqual([]);
  // A reader of the repository has these passages, too.
  expect(readFileSync(join(root, "examples/shop/README.md"), "utf8")).toContain("In this repository");
});

test("the sidebar of the site has each page of docs/ once, in the order of a user's life", () => {
  const named = order.flatMap(({ pages }) => pages);
  // A new page of docs/ needs a place in scripts/site/order.ts.
  expect(named.filter((path) => path.startsWith("docs/")).sort()).toEqual(
    [...new Glob("docs/*.md").scanSync(root)].sort(),
  );
  expect(new Set(named).size).toBe(named.length);
  expect(order.map(({ label }) => label).slice(0, 9)).toEqual([
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
  const linked = new Set(fileLinksOf(readPage("README.md")).map(({ path }) => path));
  expect(named.filter((path) => path.startsWith("docs/") && !linked.has(path))).toEqual(["docs/licences.md"]);
  const slugs = readPages().map(({ slug }) => slug);
  expect(new Set(slugs).size).toBe(slugs.length);
});

test("llms.txt has a line with a description for each page of the sidebar, and llms-full.txt has all texts", () => {
  const lines = llms().split("\n");
  const full = llmsFull(readPages());
  for (const path of order.flatMap(({ pages }) => pages)) {
    const { title, slug, description } = readPage(path);
    expect(lines).toContain(`- [${title}](${slug}.md): ${description}`);
    expect([path, description.length > 30]).toEqual([path, true]);
    expect(full).toContain(`# ${title}\n`);
  }
  // Links of the texts lead to texts in the same folder.
  expect(full).not.toMatch(/\]\((?:\.\.\/|docs\/)/);
  const slugs = new Set(readPages().map(({ slug }) => `${slug}.md`));
  const linked = [...full.matchAll(/\]\(([\w-]+\.md)(?:#[^)]*)?\)/g)].map(([, name]) => name ?? "");
  expect(linked.length).toBeGreaterThan(300);
  expect(linked.filter((name) => !slugs.has(name))).toEqual([]);
});
