/** The pages for language models: llms.txt with a line for each page (https://llmstxt.org), llms-full.txt with all texts. */
import { order } from "./order.ts";
import { type Page, publishedPath, readPage, withLinks } from "./pages.ts";

const summary =
  "A backend in one file: an executable with embedded SQLite. Collections in JSON give a REST API with validation and " +
  "permissions; users, files, realtime and TypeScript of your own belong to the same process.";

/** The Markdown of a page as the site serves the page: one folder holds all files. */
export function markdownOf(page: Page, pages: readonly Page[]): string {
  const slugs = new Map(pages.map(({ path, slug }) => [path, slug]));
  const body = withLinks(page, ({ path, anchor }) => {
    const slug = slugs.get(path);
    if (slug !== undefined) return `${slug}.md${anchor && `#${anchor}`}`;
    if (path === "README.md") return "llms.txt";
    return publishedPath(path);
  });
  return `# ${page.title}\n${body}`;
}

export function llms(): string {
  const groups = order.map(({ label, pages }) => {
    const lines = pages.map(readPage).map(({ title, slug, description }) => `- [${title}](${slug}.md): ${description}`);
    return `## ${label}\n\n${lines.join("\n")}\n`;
  });
  const api = "- [openapi.json](openapi.json): the OpenAPI document of the example blog";
  return `# Socle\n\n> ${summary}\n\n${groups.join("\n")}\n## Optional\n\n${api}\n- [llms-full.txt](llms-full.txt): all pages\n`;
}

export function llmsFull(pages: readonly Page[]): string {
  return pages.map((page) => markdownOf(page, pages)).join("\n");
}
