/** The weight of a text for search terms: more words and words in shorter texts weigh more, and nothing else counts. */
import { expect, test } from "bun:test";
import { matchWeight, type SearchTerm } from "./search-terms.ts";

const term = (text: string): SearchTerm => ({
  words: text.replace("*", "").split(" "),
  isPrefix: text.endsWith("*"),
});
const weight = (text: string, ...terms: string[]): number => matchWeight(text, terms.map(term));

test("more matches weigh more, each match less than the match before", () => {
  const [one, two, three] = [1, 2, 3].map((n) => weight(`${"apple ".repeat(n)}${"pear ".repeat(10 - n)}`, "apple"));
  expect([one, two, three].map((each) => each !== undefined && each > 0)).toEqual([true, true, true]);
  expect((two ?? 0) - (one ?? 0)).toBeGreaterThan((three ?? 0) - (two ?? 0));
  expect(three ?? 0).toBeGreaterThan(two ?? 0);
});

test("a short text weighs more than a long text, and both terms more than a repeated term", () => {
  expect(weight("apple", "apple")).toBeGreaterThan(weight(`apple ${"pear ".repeat(50)}`, "apple"));
  expect(weight("apple banana", "apple", "banana")).toBeGreaterThan(weight("apple apple", "apple", "banana"));
});

test("words are whole, without regard to case and accents; phrases stand together; a star is a beginning", () => {
  expect(weight("apples", "apple")).toBe(0);
  expect(weight("Äpple", "apple")).toBeGreaterThan(0);
  expect(weight("apples", "apple*")).toBeGreaterThan(0);
  expect([weight("red apple", "red apple") > 0, weight("apple red", "red apple")]).toEqual([true, 0]);
  expect(weight("", "apple")).toBe(0);
});
