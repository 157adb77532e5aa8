/** Tests of the links in the text of a mail. */
import { expect, test } from "bun:test";
import { partsOf } from "./text-links.ts";

const linksIn = (text: string): string[] => partsOf(text).flatMap(({ value, isLink }) => (isLink ? [value] : []));

test("links end before a blank and before the punctuation of the sentence", () => {
  expect(
    linksIn("Open https://a.example/x?token=a_b-c&y=1.\nOr (http://b.example:81/#z), or https://c.example/!"),
  ).toEqual(["https://a.example/x?token=a_b-c&y=1", "http://b.example:81/#z", "https://c.example/"]);
});

test("no other scheme is a link, and a text stays whole", () => {
  expect(
    linksIn("javascript:alert(1) data:text/html,x //d.example ftp://e.example mailto:a@b.example https://"),
  ).toEqual([]);
  for (const text of ["", "no link", "https://a.example", "<https://a.example> end", "a\n\nhttps://b.example\n"])
    expect(
      partsOf(text)
        .map(({ value }) => value)
        .join(""),
    ).toBe(text);
});
