/**
 * The pages of the site, made from the Markdown files of the project. The links of a file are relative paths, so that the files
 * are readable in the repository, too; a page of the site has links to pages, and text in place of a link to a source file.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { root } from "../run.ts";
import { order } from "./order.ts";

/** A Markdown file that is a page of the site. */
export interface Page {
  /** The path from the folder of the project. */
  readonly path: string;
  /** The name in the address of the page. */
  readonly slug: string;
  /** The first heading. */
  readonly title: string;
  /** The first sentences, without markup. */
  readonly description: string;
  /** The text after the first heading; with the files of an example. */
  readonly body: string;
}

/** Pages that the sidebar does not name: other pages link to these pages. */
const beside = ["client", "react", "svelte", "vue", "tanstack-db", "launcher", "dashboard"].map(
  (name) => `packages/${name}/README.md`,
);

function slugOf(path: string): string {
  if (path === "bench/README.md") return "benchmark";
  return (basename(path) === "README.md" ? dirname(path).replace("/", "-") : basename(path, ".md")).toLowerCase();
}

/** Code, or a link. Groups of a link: `!` of an image, the text, the target. */
const linkOrCode = /^```[\s\S]*?^```$|`[^`\n]*`|(!?)\[((?:[^\]`]|`[^`\n]*`)*)\]\(([^)\s]+)\)/gm;

/** A text without the markup of Markdown. */
function plain(text: string): string {
  return text
    .replaceAll(/!?\[((?:[^\]`]|`[^`]*`)*)\]\([^)\s]+\)/g, "$1")
    .replaceAll(/[*`]/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** Files of an example that a reader does not need: what npm and the compilers leave, and the generated types. */
const unread = /(^|\/)(node_modules|dist|build|\.[\w-]+|project\.ts|README\.md|package-lock\.json)(\/|$)/;

/** The files of an example as a part of the page of the example. */
function exampleFiles(folder: string): string {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).sort();
  const parts = files
    .filter((file) => !unread.test(file) && /\.(ts|tsx|js|json|html|css|astro|svelte)$/.test(file))
    .map((file) => {
      const language = extname(file).slice(1).replace("json", "jsonc");
      return `### \`${file}\`\n\n\`\`\`${language}\n${readFileSync(join(root, folder, file), "utf8").trimEnd()}\n\`\`\`\n`;
    });
  return `\n## The files\n\n${parts.join("\n")}`;
}

/** A passage for readers of the repository alone: the site and the templates of `socle init` leave the passage out. */
export const ofRepository = /\n*<!-- repository -->[\s\S]*?<!-- \/repository -->/g;

/** Reads a Markdown file. Throws for a file that does not begin with a heading. */
export function readPage(path: string): Page {
  const [, title, text] = /^# (.+)\n([\s\S]*)$/.exec(readFileSync(join(root, path), "utf8")) ?? [];
  if (title === undefined || text === undefined) throw new Error(`${path} does not begin with a heading of one "#"`);
  const body = text.replaceAll(ofRepository, "");
  const paragraph = plain(body.split(/\n{2,}/).find((part) => /^(?!```)[\w*[`]/.test(part.trim())) ?? "");
  // The sentences of the first 160 characters, and at least one sentence.
  const description = /^.{0,160}[.:](?= |$)|^.+?(?:[.:](?= )|$)/.exec(paragraph)?.[0].replace(/:$/, ".") ?? "";
  const files = path.startsWith("examples/") ? exampleFiles(dirname(path)) : "";
  return { path, slug: slugOf(path), title: plain(title), description, body: body + files };
}

/** All pages: first the pages of the sidebar, in the order of the sidebar. */
export function readPages(): Page[] {
  return [...order.flatMap(({ pages }) => pages), ...beside].map(readPage);
}

/** A link of a page to a file of the project. */
export interface FileLink {
  /** The path of the file from the folder of the project. */
  readonly path: string;
  /** The anchor without `#`; empty for the whole file. */
  readonly anchor: string;
}

/** The file that a link of a page names; null for a link to another host. */
function fileOf(page: Page, target: string): FileLink | null {
  if (/^[a-z]+:/.test(target)) return null;
  const [file = "", anchor = ""] = target.split("#");
  return { path: file === "" ? page.path : join(dirname(page.path), file), anchor };
}

/** The links of a page to files of the project. */
export function fileLinksOf(page: Page): FileLink[] {
  return [...page.body.matchAll(linkOrCode)].flatMap(([, , , target]) => {
    const file = target === undefined ? null : fileOf(page, target);
    return file === null ? [] : [file];
  });
}

/** The anchor of a heading, by the rules that GitHub and the site share. */
function anchorOf(heading: string): string {
  return plain(heading)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-");
}

/** The anchors of the headings of a page. */
export function anchorsOf({ body }: Page): Set<string> {
  const anchors = new Set<string>();
  for (const [code, , heading] of body.matchAll(/^```[\s\S]*?^```$|^(#{2,6}) (.+)$/gm)) {
    if (heading === undefined || code.startsWith("```")) continue;
    const text = anchorOf(heading);
    const count = [...anchors].filter((anchor) => anchor.replace(/-\d+$/, "") === text).length;
    anchors.add(anchors.has(text) ? `${text}-${count}` : text);
  }
  return anchors;
}

/** The path on the site of a file beside the pages: a picture or a configuration that pages link to. Null for a file that the site lacks. */
export function publishedPath(path: string): string | null {
  const [, name = null] = /^(?:docs|deploy)\/(.+\.(?:png|svg|ya?ml|json|service)|Caddyfile)$/.exec(path) ?? [];
  return existsSync(join(root, path)) ? name : null;
}

/** The place in the page of an example that shows a file of the example; the link unchanged for other files. */
export function placeOf({ path, anchor }: FileLink): FileLink {
  const [, folder, file] = /^(examples\/[\w-]+)\/(.+)$/.exec(path) ?? [];
  if (file === undefined || file === "README.md") return { path, anchor };
  return { path: `${folder}/README.md`, anchor: anchorOf(file) };
}

/** The body of a page with links in another form. `linkTo` answers null for a file that the site does not have. */
export function withLinks(page: Page, linkTo: (link: FileLink) => string | null): string {
  return page.body.replaceAll(linkOrCode, (...match: string[]) => {
    const [whole = "", bang = "", text = "", target] = match;
    const file = target === undefined ? null : fileOf(page, target);
    if (file === null) return whole;
    const link = linkTo(placeOf(file));
    return link === null ? text : `${bang}[${text}](${link})`;
  });
}
