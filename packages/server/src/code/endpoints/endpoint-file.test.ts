/** Paths of endpoints: the file that answers each path, and the values of the parameters. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { randomSeed } from "../../../test/random.ts";
import { type Endpoint, pathParts, RouteTable, routeKey } from "./endpoint-file.ts";

function endpoint(path: string): Endpoint {
  return { path, parts: pathParts(path), route: path, methods: ["GET"], access: "public", timeoutMs: 1 };
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
  ["a/b", null],
  ["orders/7/items", null],
  ["orders/7/items/8/9", null],
])("%s is answered by %p", (path, file, params = {}) => {
  const found = table.find(path === "" ? [] : path.split("/"));
  expect(found?.endpoint.path ?? null).toBe(file);
  if (found !== null) expect(found.params).toEqual(params as Record<string, string>);
});

test("whatever the files are, the answer is the first by words from the left, found by looking at all of them", () => {
  const seed = randomSeed("endpoint table");
  const part = fc.constantFrom("a", "b", "[p]");
  const paths = fc.uniqueArray(
    fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.map((p, i) => (p === "[p]" ? `[p${i}]` : p))),
    { maxLength: 12, selector: (parts) => parts.join("/") },
  );
  const asked = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(paths, asked, (all, wanted) => {
      const endpoints = all.map((parts) => endpoint(`endpoints/${parts.join("/")}.ts`));
      const matching = endpoints.filter(
        ({ parts }) => parts.length === wanted.length && parts.every((p, i) => "param" in p || p.word === wanted[i]),
      );
      // A word sorts before a parameter at the first place where two differ.
      const rank = ({ parts }: Endpoint): string => parts.map((p) => ("param" in p ? "1" : "0")).join("");
      const [best] = matching.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
      expect(new RouteTable(endpoints).find(wanted)?.endpoint.path ?? null).toBe(best?.path ?? null);
    }),
    { seed },
  );
});

describe("names", () => {
  test.each(["[]", "[...rest]", "[1a]", "a b", "ä", ".hidden", "%41", "[__proto__]", "a[b]"])(
    "%p cannot be a path",
    (name) => {
      expect(() => pathParts(`endpoints/${name}.ts`)).toThrow();
    },
  );

  test("parameters tell nothing apart, and are there once", () => {
    expect(routeKey(pathParts("endpoints/a/[id].ts"))).toBe(routeKey(pathParts("endpoints/a/[name]/index.ts")));
    expect(routeKey(pathParts("endpoints/a/[id].ts"))).not.toBe(routeKey(pathParts("endpoints/a/id.ts")));
    expect(() => pathParts("endpoints/[id]/b/[id].ts")).toThrow("[id] twice");
  });
});
