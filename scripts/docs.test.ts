import { expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import { configurationTable } from "./docs.ts";

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
  const root = join(import.meta.dir, "..");
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

test("docs/ssr.md prints the files of the examples", async () => {
  const root = join(import.meta.dir, "..");
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
  expect(files).toBeGreaterThan(examples.length * 6);
  // The printed file is the file of each example.
  const shared = await Promise.all(
    ["sveltekit/src", "astro/src", "react-router/app", "nextjs"].map((folder) =>
      Bun.file(join(root, "examples", folder, "lib/socle.ts")).text(),
    ),
  );
  expect(new Set(shared).size).toBe(1);
});
