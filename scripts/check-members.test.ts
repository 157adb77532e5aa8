import { afterAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findDeadMembers } from "./check-members.ts";
import { root } from "./run.ts";

const none: ReadonlySet<string> = new Set();

async function deadIn(
  files: { readonly [path: string]: string },
  allowed: ReadonlySet<string> = none,
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "socle-members-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(root, "tsconfig.json"), join(folder, "tsconfig.json"));
  for (const [path, source] of Object.entries(files))
    await Bun.write(join(folder, "packages/server/src", path), source);
  return findDeadMembers(folder, allowed);
}

const counter = `export class Counter {
  #n = 0;
  count(): void {
    this.#n += 1;
  }
  get total(): number {
    return this.#n;
  }
}
`;
const service = `import { Counter } from "./counter.ts";
const counter = new Counter();
counter.count();
`;
const problem = "packages/server/src/counter.ts: nothing but tests uses Counter.total";

test("a member that nothing uses is found", async () => {
  const dead = await deadIn({ "counter.ts": counter, "service.ts": service });
  expect(dead).toEqual([problem]);
});

test("a member that a test alone uses is found", async () => {
  const use = 'import { Counter } from "./counter.ts";\nnew Counter().total;\n';
  const files = { "counter.ts": counter, "service.ts": service, "counter.test.ts": use };
  expect(await deadIn(files)).toEqual([problem]);
});

test.each([
  ["by its name", `${service}console.log(counter.total);\n`],
  ["by destructuring", `${service}const { total } = counter;\nconsole.log(total);\n`],
  ["by an interface", `${service}interface Total { readonly total: number }\nexport const all: Total[] = [counter];\n`],
])("a member that is used %s is fine", async (_name, source) => {
  expect(await deadIn({ "counter.ts": counter, "service.ts": source })).toEqual([]);
});

test("an exception that is used has to go", async () => {
  const source = `${service}console.log(counter.total);\n`;
  const dead = await deadIn({ "counter.ts": counter, "service.ts": source }, new Set(["Counter.total"]));
  expect(dead).toEqual(["Counter.total is used; it goes from the list of exceptions"]);
});
