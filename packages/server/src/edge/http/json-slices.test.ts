/** Long JSON texts: a text parsed in slices has the value of JSON.parse, and a text that is no JSON is refused. */
import { expect, test } from "bun:test";
import { presentTurn } from "./in-flight.ts";
import { parseInSlices } from "./json-slices.ts";

const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
console.log(`JSON in slices: SEED=${seed}`);
let state = seed;
function random(below: number): number {
  state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
  return Math.floor((state / 0x80000000) * below);
}

const texts = [
  "",
  "a",
  '"',
  "\\",
  '\\\\"',
  "[",
  "{}",
  "],[",
  "ü€😀",
  "\u2028",
  "x".repeat(500),
  ":,",
  "__proto__",
  "7",
];

function value(depth: number): unknown {
  const kind = random(depth > 4 ? 4 : 7);
  const size = depth < 2 ? random(60) : random(5);
  if (kind === 0) return random(1e6) / 7;
  if (kind === 1) return texts[random(texts.length)];
  if (kind === 2) return [null, true, false][random(3)] ?? null;
  if (kind === 3) return random(2) === 0 ? [] : {};
  if (kind < 6) return Array.from({ length: size }, () => value(depth + 1));
  return Object.fromEntries(
    Array.from({ length: size }, (_, n) => [`${texts[random(texts.length)]}${n % 40}`, value(depth + 1)]),
  );
}

const outcome = (parsing: Promise<unknown>): Promise<unknown> => parsing.catch(() => "refused");

function reference(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return "refused";
  }
}

test("random texts, whole and damaged in a place, give the result of JSON.parse", async () => {
  let long = 0;
  for (let n = 0; n < 40; n++) {
    const root =
      random(2) === 0 ? [value(0), value(0), value(0)] : { a: value(0), b: value(0), ["__proto__"]: value(0) };
    const text = JSON.stringify(root, null, random(3));
    if (text.length > 50_000) long += 1;
    expect(await parseInSlices(text)).toEqual(JSON.parse(text));
    for (let damage = 0; damage < 6; damage++) {
      const at = random(text.length);
      const put = ["", ",", "]", "}", "[", "{", '"', ":", "1", " ", ",,"][random(11)] ?? "";
      const damaged = text.slice(0, at) + put + text.slice(at + random(2));
      expect([damaged.length, JSON.stringify(await outcome(parseInSlices(damaged)))]).toEqual([
        damaged.length,
        JSON.stringify(reference(damaged)),
      ]);
    }
  }
  expect(long).toBeGreaterThan(5);
});

test("a long text takes several turns of the event loop, and a deep text is refused soon", async () => {
  const before = presentTurn();
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 0);
  const parsed = await parseInSlices(`{"a":[${"[],".repeat(290_000)}0]}`);
  clearInterval(timer);
  expect([(parsed as { a: unknown[] }).a.length, turns > 1, presentTurn() > before]).toEqual([290_001, true, true]);
  for (const open of ["[", '{"a":', '[{"a":'])
    await expect(parseInSlices(`{"a":${open.repeat(100_000)}`)).rejects.toThrow("1000 levels");
});

test("the name __proto__ is an ordinary name, in each slice", async () => {
  const many = Array.from({ length: 9_000 }, (_, n) => `"k${n}":${n}`).join(",");
  const parsed = (await parseInSlices(
    `{${many},"__proto__":{"polluted":1},"z":{"__proto__":[${"1,".repeat(9_000)}1]}}`,
  )) as object;
  expect(Object.hasOwn(parsed, "__proto__")).toBe(true);
  expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  expect("polluted" in parsed).toBe(false);
});
