/** The examples of pages with servers have the types of their collections, as `socle types --module` writes the types. */
import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { root, socle, temporaryFolder } from "./kit.ts";

test.each(["sveltekit", "astro", "react-router", "nextjs"])("%s", async (name) => {
  const example = join(root, "examples", name);
  const { scripts }: { scripts: { types: string } } = await Bun.file(join(example, "package.json")).json();
  const path = /--module \.\.\/(\S+)/.exec(scripts.types)?.[1] ?? "";
  const cwd = temporaryFolder();
  cpSync(join(example, "socle"), cwd, { recursive: true });
  const written = join(cwd, "project.ts");
  expect((await socle(["types", "--module", written], { cwd })).code).toBe(0);
  expect(await Bun.file(join(example, path)).text()).toBe(await Bun.file(written).text());
});
