/**
 * `npm run docs`: builds the site from docs/ into dist/site and serves the site on this machine; `npm run docs -- build` only
 * builds. The packages of the site are in site/ and come with the first run. Needs the built executable for the API reference.
 * `SITE_URL` is the address at which the site will be, with a path if the site is below one.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { must, root } from "./run.ts";
import { llms, llmsFull, markdownOf } from "./site/llms.ts";
import { order } from "./site/order.ts";
import { fileLinksOf, type Page, publishedPath, readPages, withLinks } from "./site/pages.ts";
import { output, siteAnswer } from "./site/server.ts";

const site = join(root, "site");
const made = join(site, "made");
/** The path of the site at its host, without a slash at the end. */
const base = new URL(process.env["SITE_URL"] ?? "http://localhost").pathname.replace(/\/$/, "");

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Installs the packages of site/package-lock.json when another lock, or none, is installed. */
async function install(): Promise<void> {
  const lock = readFileSync(join(site, "package-lock.json"), "utf8");
  const installed = join(site, "node_modules/installed-lock.json");
  if (existsSync(installed) && readFileSync(installed, "utf8") === lock) return;
  console.log("Installing the packages of the site (200 MB in site/node_modules); the next runs do without.");
  await must(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: site });
  writeFileSync(installed, lock);
}

/** The first line of a page with commands, which the search leaves out: a reader may come to any page first. */
const commandNote =
  '\n<p class="note" data-pagefind-ignore>Commands begin with <code>socle</code>: with npm, say <code>npx socle</code> (<a href="../install/#with-npm">Installing</a>).</p>\n';

/** The mark in docs/capacity.md in whose place the site has the calculator. */
const calculatorMark = "<!-- calculator -->";

/** Whether a page has a block of the shell with a command of Socle. The pages about installing explain the commands themselves. */
function hasCommands({ path, body }: Page): boolean {
  const own = ["docs/install.md", "docs/quickstart.md", "packages/launcher/README.md"];
  return (
    !own.includes(path) &&
    [...body.matchAll(/^```sh.*\n([\s\S]*?)^```/gm)].some(([, code]) => /^(?:\w+=\S+ )?socle\b/m.test(code ?? ""))
  );
}

/** The Markdown of a page for Starlight: the title and the description in front, and links between folders. */
function starlightPage(page: Page, pages: readonly Page[]): string {
  const slugs = new Map(pages.map(({ path, slug }) => [path, slug]));
  const body = withLinks(page, ({ path, anchor }) => {
    if (path === page.path) return `#${anchor}`;
    if (path === "README.md") return "../";
    const slug = slugs.get(path);
    if (slug !== undefined) return `../${slug}/${anchor && `#${anchor}`}`;
    // Astro takes a relative path of a picture for a picture among its sources.
    const name = publishedPath(path);
    return name === null ? null : `${base}/${name}`;
  });
  const calculator = (): string => readFileSync(join(site, "src/calculator.html"), "utf8").replaceAll(/^\s*\n/gm, "");
  const front = { title: page.title, description: page.description };
  const lines = Object.entries(front).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return `---\n${lines.join("\n")}\n---\n${hasCommands(page) ? commandNote : ""}${body.replace(calculatorMark, calculator)}`;
}

/** Writes the sources of the site into site/made: pages, files beside the pages, the OpenAPI document, the texts for models. */
async function make(): Promise<void> {
  rmSync(made, { recursive: true, force: true });
  const pages = readPages();
  for (const page of pages) {
    write(join(made, "docs", `${page.slug}.md`), starlightPage(page, pages));
    write(join(made, "public", `${page.slug}.md`), markdownOf(page, pages));
    for (const { path } of fileLinksOf(page)) {
      const name = publishedPath(path);
      if (name !== null) cpSync(join(root, path), join(made, "public", name));
    }
  }
  const slugs = new Map(pages.map(({ path, title, slug }) => [path, { title, slug }]));
  const groups = order.map(({ label, pages }) => ({ label, pages: pages.map((path) => slugs.get(path)) }));
  write(join(made, "groups.json"), JSON.stringify(groups));
  cpSync(join(site, "first-minute"), join(made, "public/first-minute"), {
    recursive: true,
    filter: (path) => !path.endsWith(".json"),
  });
  cpSync(join(root, "packages/dashboard/src/assets/icon.svg"), join(made, "public/favicon.svg"));
  write(join(made, "public/llms.txt"), llms());
  write(join(made, "public/llms-full.txt"), llmsFull(pages));
  if (!existsSync(join(root, "dist/socle"))) await must([process.execPath, join(root, "scripts/build.ts")]);
  const printed = Bun.spawnSync([join(root, "dist/socle"), "openapi"], { cwd: join(root, "examples/blog") });
  if (printed.exitCode !== 0) throw new Error(`socle openapi failed: ${printed.stderr}`);
  write(join(made, "public/openapi.json"), printed.stdout.toString());
}

/** Mends what neither Markdown nor the settings of Starlight can say. */
function mend(): void {
  for (const name of new Glob("**/*.html").scanSync(output)) {
    const path = join(output, name);
    const html = readFileSync(path, "utf8")
      // A cell of a table's head without text is no heading.
      .replaceAll(/<th(?: [^>]*)?><\/th>/g, "<td></td>")
      // An example of the API reference is no heading of the fifth level below a heading of the third.
      .replaceAll(/<h5( class="sl-openapi-examples-heading[^>]*)>([\s\S]*?)<\/h5>/g, "<p$1>$2</p>")
      // The search finds pages, and the list of all routes: each of 160 routes would come before the page about the subject.
      .replace(" data-pagefind-body", name.startsWith("rest/operations/") ? "" : " data-pagefind-body")
      // An address with "…" in place of a host is a text.
      .replaceAll(/<a href="https?:\/\/(?:…|%E2%80%A6)[^"]*">([^<]*)<\/a>/g, "$1");
    writeFileSync(path, html);
  }
  const [script] = [...new Glob("_astro/ec.*.js").scanSync(output)];
  const code = readFileSync(join(output, script ?? ""), "utf8");
  // Blocks of code that scroll are no landmarks: a page has many blocks, without names.
  if (!code.includes('"role","region"')) throw new Error("The script of code blocks names no role any more");
  writeFileSync(join(output, script ?? ""), code.replaceAll('"role","region"', '"role","group"'));
}

async function build(): Promise<void> {
  await install();
  await make();
  // Bun runs Astro: the oldest Node of this project is older than the oldest Node of Astro.
  const astro = join(site, "node_modules/astro/bin/astro.mjs");
  await must([process.execPath, "--bun", astro, "build"], {
    cwd: site,
    env: { ASTRO_TELEMETRY_DISABLED: "1", NODE_ENV: "production" },
  });
  mend();
  rmSync(join(output, "pagefind"), { recursive: true });
  const pagefind = join(site, "node_modules/pagefind/lib/runner/bin.cjs");
  await must([process.execPath, pagefind, "--site", output, "--quiet"], { cwd: site });
}

const [command = "serve", ...others] = process.argv.slice(2);
if (!["serve", "build"].includes(command) || others.length > 0) {
  console.error(
    `"npm run docs" serves the site, and "npm run docs -- build" builds the site; "${[command, ...others].join(" ")}" is neither.`,
  );
  process.exit(2);
}
await build();
if (command === "serve") {
  const { url } = Bun.serve({ hostname: "localhost", port: Number(process.env["PORT"] ?? 4321), fetch: siteAnswer });
  console.log(`The site is at ${url}`);
}
