/** `quote` and `nearest`: the same answers as the plain ways, and bounded work. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { randomSeed } from "../../../test/random.ts";
import { nearest, quote } from "./index.ts";

/** The plain way: the whole table of distances. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

describe("nearest", () => {
  test("finds the same distances as the whole table, up to 4 edits", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "C", "_"), maxLength: 16 });
    let found = 0;
    fc.assert(
      fc.property(word, fc.array(word, { maxLength: 6 }), (typed, candidates) => {
        let best: string | null = null;
        let limit = Math.min(4, Math.max(2, Math.floor(typed.length / 3)));
        for (const candidate of candidates) {
          const edits = distance(typed.toLowerCase(), candidate.toLowerCase());
          if (edits > limit) continue;
          best = candidate;
          limit = edits - 1;
        }
        if (best !== null) found += 1;
        expect(nearest(typed, candidates)).toBe(best);
      }),
      { seed: randomSeed("nearest"), numRuns: 3_000 },
    );
    expect(found).toBeGreaterThan(300);
  });

  test("words that are no names, and candidates out of reach", () => {
    expect(nearest("x".repeat(65), ["x".repeat(64)])).toBeNull();
    expect(nearest("x".repeat(64), ["x".repeat(65), `${"x".repeat(63)}y`])).toBe(`${"x".repeat(63)}y`);
    expect(nearest("", ["abc", "ab"])).toBe("ab");
    expect(nearest("title", [])).toBeNull();
  });
});

describe("quote", () => {
  const whole = (value: unknown): string => {
    const text = JSON.stringify(value);
    return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
  };

  test("is the JSON of a value, cut", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        // A surrogate pair is not cut in half; `whole` does that.
        expect(quote(value)).toBe(whole(value).replace(/[\ud800-\udbff]…$/, "…"));
      }),
      { seed: randomSeed("quote"), numRuns: 2_000 },
    );
    expect([quote(undefined), quote(5n), quote([1n]), quote(new Date(0))]).toEqual([
      "undefined",
      "5n",
      "[1n]",
      '"1970-01-01T00:00:00.000Z"',
    ]);
    expect(quote(JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`))).toBe(`${"[".repeat(57)}…`);
    expect(quote("😀".repeat(100))).toBe(`"${"😀".repeat(28)}…`);
  });

  test("reads no more of a value than is shown", () => {
    const looked = new Set<string | symbol>();
    const watched = (target: object): object =>
      new Proxy(target, {
        get(of, key) {
          looked.add(key);
          return Reflect.get(of, key);
        },
      });
    quote(watched(Array.from({ length: 10_000 }, (_, i) => i)));
    quote(watched(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i]))));
    quote({ deep: [watched({ a: "x".repeat(100), b: watched({ c: 1 }) })] });
    expect(looked.has("length")).toBe(true);
    expect(looked.has("a")).toBe(true);
    expect(looked.size).toBeLessThan(100);
    expect([looked.has("b"), looked.has("c"), looked.has("9999"), looked.has("k9999")]).toEqual(Array(4).fill(false));
  });
});
