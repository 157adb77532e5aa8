/** Tests of the search of the grid: the query, and the pieces of a snippet. */
import { expect, test } from "bun:test";
import { piecesOf, searchOf } from "./full-text-search.ts";
import { toFoundRow } from "./rows.ts";

test("the last word may be unfinished; phrases, prefixes and ends of words are kept", () => {
  expect(searchOf("ice cre")).toBe("ice cre*");
  expect(searchOf(" Zürich ")).toBe("Zürich*");
  expect(searchOf("東京")).toBe("東京*");
  expect(searchOf('"ice cream"')).toBe('"ice cream"');
  expect(searchOf('say "ice cre')).toBe('say "ice cre');
  expect(searchOf('"ice cream" van')).toBe('"ice cream" van*');
  expect(searchOf("crea*")).toBe("crea*");
  expect(searchOf("C++")).toBe("C++");
});

test("a text without a letter or a digit is no search", () => {
  for (const typed of ["", "  ", '"', "*", "- /"]) expect(searchOf(typed)).toBeUndefined();
});

test("a snippet becomes its texts, marked or not, with nothing of its HTML", () => {
  expect(piecesOf("a &lt;b&gt; &amp;amp; <mark>it&#39;s</mark> &quot;x&quot;")).toEqual([
    { text: "a <b> &amp; ", isMatch: false },
    { text: "it's", isMatch: true },
    { text: ' "x"', isMatch: false },
  ]);
  expect(piecesOf("<mark>one</mark> <mark>two</mark>")).toEqual([
    { text: "one", isMatch: true },
    { text: " ", isMatch: false },
    { text: "two", isMatch: true },
  ]);
  expect(piecesOf("nothing &lt;mark&gt;here&lt;/mark&gt;")).toBeNull();
});

test("a match behind a long text is brought to the front of the cell", () => {
  const [lead, match] = piecesOf(`${"word ".repeat(20)}<mark>here</mark>`) ?? [];
  expect(lead?.text).toBe("…word word word word ");
  expect(match).toEqual({ text: "here", isMatch: true });
});

test("a row has the pieces of the found fields, and no snippet among its values", () => {
  const times = { createdAt: "2026-01-01T00:00:00.000Z", updatedAt: "2026-01-01T00:00:00.000Z" };
  const snippet = { title: "<mark>A</mark>", body: "nothing", note: null };
  const row = toFoundRow({ id: "rec_1", ...times, title: "A", body: "nothing", note: null, snippet });
  expect(row.found).toEqual(new Map([["title", [{ text: "A", isMatch: true }]]]));
  expect(Object.keys(row.record)).toEqual(["id", "createdAt", "updatedAt", "title", "body", "note"]);
});
