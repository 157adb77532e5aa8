/** Newer program: a program of this source that calls itself a later version, or has a table more, for tests of upgrades. */
import { afterAll } from "bun:test";
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./kit.ts";

const table = "packages/server/src/code/migrations/migration-table.ts";

export const newerVersion = "99.0.0";

/** A program that runs a copy of the source in which a module has a further step, and the version is another. */
export function newerProgram(): string {
  const copy = mkdtempSync(join(tmpdir(), "socle-newer-"));
  afterAll(() => rmSync(copy, { recursive: true }));
  for (const name of ["package.json", "tsconfig.json", "packages/protocol", "packages/server"])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  const source = readFileSync(join(copy, table), "utf8");
  const newer = source.replace("  ],\n};", '    "CREATE TABLE _probe (n INTEGER) STRICT",\n  ],\n};');
  if (newer === source) throw new Error(`${table} has no steps`);
  writeFileSync(join(copy, table), newer);
  const parts = join(copy, "packages/server/package.json");
  const { version: _, ...rest } = JSON.parse(readFileSync(parts, "utf8")) as { version: string };
  writeFileSync(parts, JSON.stringify({ ...rest, version: newerVersion }));
  const program = join(copy, "socle");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${join(copy, "packages/server/src/main.ts")}' "$@"\n`);
  chmodSync(program, 0o755);
  return program;
}
