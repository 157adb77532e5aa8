/** The series that services and clients tell each other is the version of the packages. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SERIES } from "./index.ts";

test.each([".", "packages/server", "packages/client"])("%s", (folder) => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dir, "../../..", folder, "package.json"), "utf8"));
  expect(version).toStartWith(`${SERIES}.`);
});
