/** Pages of a single-page app: the paths that stand for a page, also long paths. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import { StaticFiles } from "./static-files.ts";

const folder = temporaryFolder();
await Bun.write(join(folder, "index.html"), "<p>page</p>");
const files = new StaticFiles({ key: "public", folder, secrets: [], hasFallback: true });

function isPage(path: string): Promise<boolean> {
  const request = new Request("http://socle.test/", { headers: { Accept: "text/html" } });
  return files.findFor(request, path).then((found) => found !== null);
}

test("a path whose last part has an ending stands for no page", async () => {
  for (const path of ["/", "/posts", "/posts/", "/posts/1", "/v1.2/posts", "/v1.2/"])
    expect(await isPage(path)).toBe(true);
  for (const path of ["/a.js", "/posts/a.js", "/a.", "/posts/.hidden", "/v1.2/a.b"])
    expect(await isPage(path)).toBe(false);
});

test("a path with very many dots gets a response, in steps that grow only with its length", async () => {
  const dots = ".".repeat(1_000_000);
  expect(await isPage(`/a${dots}/`)).toBe(true);
  expect(await isPage(`/a${dots}`)).toBe(false);
  expect(await isPage(`/${"a./".repeat(300_000)}`)).toBe(true);
});
