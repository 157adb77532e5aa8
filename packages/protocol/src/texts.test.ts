/** Texts: the folding of case against the engine of patterns, and the texts that each format takes and refuses. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { foldCase, isFormatted } from "./texts.ts";

/** All characters in some way connected with case, of the Unicode version of the engine. */
const cased = Array.from({ length: 0x11_0000 }, (_, point) => point)
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point))
  .filter((character) => /[\p{CWCM}\p{CWCF}\p{Cased}]/u.test(character));

/** `SEED=123 bun test …` sets another seed. */
const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
console.log(`foldCase: SEED=${seed}`);

describe("the folding of case", () => {
  test("is the simple folding of Unicode: the same characters are equal as for a pattern without regard to case", () => {
    const classes = Map.groupBy(cased, foldCase);
    const all = cased.join("");
    expect(cased.length).toBeGreaterThan(2_500);
    for (const [folded, characters] of classes) {
      const point = folded.codePointAt(0)?.toString(16);
      const equal = all.match(new RegExp(`\\u{${point}}`, "giu")) ?? [];
      expect([folded, equal.toSorted()]).toEqual([folded, characters.toSorted()]);
    }
  });

  test("works on texts: character by character, twice the same, and equal for each case of a text", () => {
    const text = fc.string({ unit: fc.constantFrom(...cased, "a", "B", " ", "中", "😀"), maxLength: 12 });
    fc.assert(
      fc.property(text, text, (one, other) => {
        const folded = foldCase(one);
        expect(foldCase(folded)).toBe(folded);
        expect(foldCase(one + other)).toBe(folded + foldCase(other));
        expect([...folded].length).toBe([...one].length);
      }),
      { seed },
    );
  });

  test.each([
    ["ANN", "ann"],
    ["ΟΔΟΣ", "οδος"],
    ["οδος", "οδοσ"],
    ["ẞ", "ß"],
    ["ſ", "S"],
    ["\u212a", "k"],
    ["ﬅ", "ﬆ"],
    ["ǅ", "ǆ"],
    ["ᏸ", "Ᏸ"],
    ["𐐀", "𐐨"],
  ])("%s is %s", (one, other) => expect(foldCase(one)).toBe(foldCase(other)));

  test.each([
    ["ß", "ss"],
    ["İ", "i"],
    ["ı", "I"],
    ["é", "e"],
    ["e\u0301", "é"],
    ["ﬁ", "fi"],
  ])("%s is not %s", (one, other) => expect(foldCase(one)).not.toBe(foldCase(other)));
});

const long = "a".repeat(63);
const rows = {
  email: {
    taken: ["ann@example.com", "a.b+c@d", "o'neil@mail.example.co.uk", "jörg@dömäin.example", `a@${long}.de`],
    refused: ["", "ann", "@b.de", "a@", "a b@c.de", "a@b@c.de", "a@-b.de", "a@b..de", "<a@b.de>", "mailto:a@b.de"],
    tooLong: `${"a".repeat(250)}@b.de`,
  },
  url: {
    taken: [
      "https://example.com",
      "http://localhost:8080/a?b=c#d",
      "HTTPS://EXAMPLE.com/ü",
      "https://[::1]/",
      "https://dömäin.example/",
    ],
    refused: [
      "",
      "example.com",
      "//example.com",
      "ftp://a.de",
      "javascript:alert(1)",
      "https://",
      "https:///a",
      "https:a.de",
      "https://a b",
      "https://a.de/ b",
      " https://a.de",
      "https://a:99999/",
      "https://a.de/\n",
    ],
    tooLong: `https://a.de/${"a".repeat(2_048)}`,
  },
} as const;

for (const format of ["email", "url"] as const) {
  const { taken, refused, tooLong } = rows[format];
  test.each([...taken])(`${format}: %j is taken`, (text) => expect(isFormatted(text, format)).toBe(true));
  test.each([...refused, tooLong])(`${format}: %j is refused`, (text) => expect(isFormatted(text, format)).toBe(false));
}

test("Markdown is every text", () => expect(isFormatted("", "markdown")).toBe(true));
