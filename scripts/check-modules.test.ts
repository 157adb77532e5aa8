import { afterAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findViolations } from "./check-modules.ts";

const root = join(import.meta.dir, "..");

test("this checkout keeps the order", async () => {
  expect(await findViolations(root)).toEqual([]);
});

const planted: [string, string, string, RegExp][] = [
  [
    "an import of a module below",
    "records/bad.ts",
    'import { Auth } from "../auth/index.ts";',
    /records must not import auth/,
  ],
  [
    "a type import",
    "kernel/bad.ts",
    'import type { Logger } from "../logging/index.ts";',
    /kernel must not import logging/,
  ],
  ["an export", "database/bad.ts", 'export * from "../events/index.ts";', /database must not import events/],
  ["a dynamic import", "events/bad.ts", 'await import("../app/index.ts");', /events must not import app/],
  [
    "an import over several lines",
    "auth/bad.ts",
    'import {\n  HttpServer,\n} from "../http/index.ts";',
    /auth must not import http/,
  ],
  [
    "a look past index.ts",
    "http/bad.ts",
    'import { Throttle } from "../auth/throttle.ts";',
    /not the public face of auth/,
  ],
  ["an unknown module", "http/bad.ts", 'import { x } from "../helpers/index.ts";', /helpers is not in the table/],
  ["another package", "kernel/bad.ts", 'import { SocleClient } from "@socle/client";', /server must not import client/],
];

test.each(planted)("%s is found", async (_name, file, source, message) => {
  const copy = mkdtempSync(join(tmpdir(), "socle-modules-"));
  afterAll(() => rmSync(copy, { recursive: true, force: true }));
  cpSync(join(root, "ARCHITECTURE.md"), join(copy, "ARCHITECTURE.md"));
  cpSync(join(root, "packages/server/src"), join(copy, "packages/server/src"), { recursive: true });
  await Bun.write(join(copy, "packages/server/src", file), source);
  const violations = await findViolations(copy);
  expect(violations).toHaveLength(1);
  expect(violations[0]).toMatch(message);
});
