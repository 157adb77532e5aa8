/** The built site over HTTP, for `npm run docs` and the tests of the site. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "../run.ts";

/** The folder of the built site. */
export const output = join(root, "dist/site");

/** The file of an address; null for an address without a file. */
export function fileAt(pathname: string): string | null {
  const path = join(output, decoded(pathname));
  if (!path.startsWith(output) || !existsSync(path)) return null;
  if (!statSync(path).isDirectory()) return path;
  const index = join(path, "index.html");
  return existsSync(index) ? index : null;
}

/** An address without percent signs; an address that is cut stays as it is. */
function decoded(pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return pathname;
  }
}

/** The file of a request, or the page 404.html. */
export function siteAnswer(request: Request): Response {
  const file = fileAt(new URL(request.url).pathname);
  if (file !== null) return new Response(Bun.file(file));
  return new Response(Bun.file(join(output, "404.html")), { status: 404 });
}
