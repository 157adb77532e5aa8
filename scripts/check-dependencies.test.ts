/** The check of the packages that go into the executable. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { isPermissive, problemsOf } from "./check-dependencies.ts";
import { licenceOf, oldestNode, partsOfExecutable, unsupported } from "./dependencies.ts";
import { root } from "./run.ts";

test("every package that is compiled in has a permissive licence and stands on the page", () => {
  const all = partsOfExecutable();
  expect(all.map(({ name }) => name)).toContain("jose");
  expect(all.map(({ name }) => name)).toContain("@tabler/icons");
  expect(all.map(({ name }) => name)).not.toContain("typescript");
  expect(problemsOf(all)).toEqual([]);
});

test("a licence that is not permissive, or absent, is a problem; so is a page that is not up to date", () => {
  const planted = [
    ...partsOfExecutable(),
    { path: "planted", name: "planted", version: "1.0.0", licence: "AGPL-3.0-only" },
  ];
  expect(problemsOf(planted)).toEqual([
    expect.stringContaining("planted has the licence AGPL-3.0-only"),
    expect.stringContaining("docs/licences.md is not what"),
  ]);
  expect(problemsOf([{ path: "bare", name: "bare", version: "1.0.0", licence: licenceOf({}) }])[0]).toContain(
    "licence none",
  );
  expect(licenceOf({ licenses: [{ type: "MIT" }] })).toBe("MIT");
});

test.each(["README.md", "docs/quickstart.md"])("%s names the oldest Node that package.json allows", async (page) => {
  expect(await Bun.file(join(root, page)).text()).toContain(`(${oldestNode} or later)`);
});

test("no package of the lock file refuses the oldest Node that package.json allows; a package that does is named", () => {
  expect(unsupported(`${oldestNode}.0`)).toEqual([]);
  const planted = { "node_modules/a": { engines: { node: ">=22" } }, "node_modules/b": { engines: { node: ">=18" } } };
  expect(unsupported("20.19.0", planted)).toEqual(["node_modules/a needs Node >=22, and package.json allows 20.19.0"]);
});

test.each([
  ["MIT", true],
  ["(BSD-3-Clause OR GPL-2.0)", true],
  ["GPL-2.0 OR AGPL-3.0-only", false],
  ["MIT AND GPL-2.0", false],
  ["(MIT OR GPL-2.0) AND ISC", false],
  ["MIT AND ISC", true],
  ["none", false],
])("%s: %p", (licence, isFine) => {
  expect(isPermissive(licence)).toBe(isFine);
});
