/** Paths of endpoints: the file that answers each path, and the values of the parameters. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { randomSeed } from "../../../test/random.ts";
import { type Endpoint, type PathParams, type PathPart, pathParts, RouteTable, routeKey } from "./endpoint-file.ts";

function endpoint(path: string): Endpoint {
  return {
    path,
    parts: pathParts(path),
    route: path,
    methods: ["GET"],
    access: "public",
    methodAccess: {},
    schemas: {},
    timeoutMs: 1,
  };
}

const files = [
  "endpoints/index.ts",
  "endpoints/orders.ts",
  "endpoints/orders/[id].ts",
  "endpoints/orders/new.ts",
  "endpoints/orders/[id]/items/[item].ts",
  "endpoints/orders/new/items/first.ts",
  "endpoints/[any]/index.ts",
  "endpoints/a/[x]/c.ts",
  "endpoints/[y]/b/d.ts",
  "endpoints/files/[...path].ts",
  "endpoints/files/mine.ts",
  "endpoints/files/[id]/info.ts",
  "endpoints/docs/index.ts",
  "endpoints/docs/[lang]/[...page].ts",
  "endpoints/docs/[...all].ts",
];
const table = new RouteTable(files.map(endpoint));

test.each<[path: string, file: string | null, params?: object]>([
  ["", "endpoints/index.ts"],
  ["orders", "endpoints/orders.ts"],
  ["orders/7", "endpoints/orders/[id].ts", { id: "7" }],
  ["orders/new", "endpoints/orders/new.ts"],
  ["orders/7/items/8", "endpoints/orders/[id]/items/[item].ts", { id: "7", item: "8" }],
  ["orders/new/items/first", "endpoints/orders/new/items/first.ts"],
  // The word leads nowhere further, so the parameter is tried.
  ["orders/new/items/second", "endpoints/orders/[id]/items/[item].ts", { id: "new", item: "second" }],
  ["something", "endpoints/[any]/index.ts", { any: "something" }],
  ["a/b/c", "endpoints/a/[x]/c.ts", { x: "b" }],
  ["a/b/d", "endpoints/[y]/b/d.ts", { y: "a" }],
  ["__proto__", "endpoints/[any]/index.ts", { any: "__proto__" }],
  ["files", "endpoints/files/[...path].ts", { path: [] }],
  ["files/mine", "endpoints/files/mine.ts"],
  ["files/other", "endpoints/files/[...path].ts", { path: ["other"] }],
  ["files/mine/deep", "endpoints/files/[...path].ts", { path: ["mine", "deep"] }],
  ["files/7/info", "endpoints/files/[id]/info.ts", { id: "7" }],
  ["files/7/other/x", "endpoints/files/[...path].ts", { path: ["7", "other", "x"] }],
  ["docs", "endpoints/docs/index.ts"],
  ["docs/en", "endpoints/docs/[lang]/[...page].ts", { lang: "en", page: [] }],
  ["docs/en/a/b", "endpoints/docs/[lang]/[...page].ts", { lang: "en", page: ["a", "b"] }],
  ["a/b", null],
  ["orders/7/items", null],
  ["orders/7/items/8/9", null],
])("%s is served by %p", (path, file, params = {}) => {
  const found = table.find(path === "" ? [] : path.split("/"));
  expect(found?.entry.path ?? null).toBe(file);
  if (found !== null) expect(found.params).toEqual(params as PathParams);
});

test("whatever the files are, the match is the first by words from the left, found by comparing all files", () => {
  const seed = randomSeed("endpoint table");
  const part = fc.constantFrom("a", "b", "[p]");
  const path = fc
    .tuple(fc.array(part, { minLength: 1, maxLength: 4 }), fc.boolean())
    .map(([parts, isOpen]) => [
      ...parts.map((p, i) => (p === "[p]" ? `[p${i}]` : p)),
      ...(isOpen ? ["[...rest]"] : []),
    ]);
  const paths = fc.uniqueArray(path, { maxLength: 12, selector: (parts) => parts.join("/") });
  const asked = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 });
  const isMatch = (parts: readonly PathPart[], wanted: readonly string[]): boolean => {
    const [first, ...others] = parts;
    if (first === undefined) return wanted.length === 0;
    if ("rest" in first) return true;
    const isFirst = wanted.length > 0 && ("param" in first || first.word === wanted[0]);
    return isFirst && isMatch(others, wanted.slice(1));
  };
  /** At the first difference: the end of the path, then a word, a parameter, the rest. */
  const precedes = (a: readonly PathPart[], b: readonly PathPart[]): boolean => {
    const rankOf = (each: PathPart | undefined): number =>
      each === undefined ? 0 : ["word", "param", "rest"].findIndex((kind) => kind in each) + 1;
    const at = a.findIndex((each, i) => rankOf(each) !== rankOf(b[i]));
    return at < 0 ? a.length < b.length : rankOf(a[at]) < rankOf(b[at]);
  };
  fc.assert(
    fc.property(paths, asked, (all, wanted) => {
      const endpoints = all.map((parts) => endpoint(`endpoints/${parts.join("/")}.ts`));
      const matching = endpoints.filter(({ parts }) => isMatch(parts, wanted));
      const best = matching.find((one) => matching.every((other) => other === one || precedes(one.parts, other.parts)));
      expect(matching.length > 0).toBe(best !== undefined);
      expect(new RouteTable(endpoints).find(wanted)?.entry.path ?? null).toBe(best?.path ?? null);
    }),
    { seed },
  );
});

describe("names", () => {
  test.each([
    "[]",
    "[...]",
    "[...rest]/x",
    "[...__proto__]",
    "[..a]",
    "[1a]",
    "a b",
    "ä",
    ".hidden",
    "%41",
    "[__proto__]",
    "a[b]",
  ])("%p cannot be a path", (name) => {
    expect(() => pathParts(`endpoints/${name}.ts`)).toThrow();
  });

  test("parameters distinguish no paths, and have unique names", () => {
    expect(routeKey(pathParts("endpoints/a/[id].ts"))).toBe(routeKey(pathParts("endpoints/a/[name]/index.ts")));
    expect(routeKey(pathParts("endpoints/a/[id].ts"))).not.toBe(routeKey(pathParts("endpoints/a/id.ts")));
    expect(() => pathParts("endpoints/[id]/b/[id].ts")).toThrow("[id] twice");
    expect(() => pathParts("endpoints/[id]/[...id].ts")).toThrow("[id] twice");
    expect(routeKey(pathParts("endpoints/a/[...x].ts"))).toBe(routeKey(pathParts("endpoints/a/[...y]/index.ts")));
    expect(routeKey(pathParts("endpoints/a/[...x].ts"))).not.toBe(routeKey(pathParts("endpoints/a/[x].ts")));
  });
});
