/** Filters with values in their text, which `socle check` warns of: found by their places, with their lines. */
import { expect, test } from "bun:test";
import { untaggedFilters } from "./untagged-filters.ts";

// The code has `#{` in the place of `${`.
test.each([
  ['await db.posts.list({ filter: `a = "#{x}"` });', [1]],
  ['await db.posts.filter(`a = "#{x}"`).first();', [1]],
  ['await db.posts?.filter(`a = "#{x}"`).first();', [1]],
  ['const q = {\n  "filter": `a = #{x}`,\n};', [2]],
  ["const text = `a = #{x}`;\nawait db.posts.list({ filter: text });", [1]],
  ["const text: string = `a = #{x}`;\nawait db.posts.filter(text);", [1]],
  ["const filter = `a = #{x}`\nawait db.posts.list({ filter, limit: 1 })", [1]],
  ["const filter = `a = #{x}`\nawait db.posts.list({ limit: 1, filter })", [1]],
  ["list({ filter: b ? `a = #{x}` : undefined })", [1]],
  ['list({ filter: b ? "a" : `a = #{x}` })', [1]],
  ["list({ filter: (`a = #{x}`) })", [1]],
  ["options.filter = `a = #{x}`;", [1]],
  ["options.filter += ` && a = #{x}`;", [1]],
  ["/* ` */ // `\nconst r = /[`/]`/; list({ filter: `a = #{`#{x}`}` })", [2]],
  ["list({ filter: `a = #{list({ filter: `b = #{y}` })}` })", [1]],
  // Tagged filters, filters without values, and texts elsewhere.
  ["db.posts.filter`a = #{x}`", []],
  ["list({ filter: filter`a = #{x}` })", []],
  ["list({ filter: `a = 1`, sort: `#{x}` })", []],
  ["names.filter((name) => name !== `#{x}`)", []],
  ["names.filter((name) => { const a = `#{x}`; return name === a; })", []],
  ["names.filter(isGood).map((x) => `#{x}`)", []],
  ["const text = `a #{x}`; logger.info(text);", []],
  ["const filter = `blur(#{x}px)`; style(filter);", []],
  ["const s = \"`\"; const t = '`#{x}`'; list({ filter: s })", []],
  ["list({ filter: make(`#{x}`) })", []],
  ["list({ other: `#{x}` })", []],
  ["function f(filter?: string) { return `#{filter}`; }", []],
  ['const a = b / c; const d = `#{x}` / 2; list({ filter: "a" })', []],
] as const)("the lines of filters with values in %j are %j", (source, lines) => {
  expect(untaggedFilters(source.replaceAll("#{", "${"))).toEqual([...lines]);
});
