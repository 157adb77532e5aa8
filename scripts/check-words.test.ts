import { expect, test } from "bun:test";
import { exceeds, figuresOf, opensEmpty, repeatsOf, standInsOf } from "./check-words.ts";
import { commentPassages, pagePassages, prosePassages, titlePassages } from "./passages.ts";

const texts = (passages: readonly { readonly text: string }[]): string[] => passages.map(({ text }) => text);

test("comments are read, code is not: stand-ins, openings, and comments that repeat a type", () => {
  const source = [
    "/** Whether it is one of those. */",
    'export const it = "it, those and none"; // it',
    "  /** Bytes. */",
    "// Of all readers, `it` is the last.",
  ].join("\n");
  const comments = commentPassages("a.ts", source);
  expect(comments.map(({ line }) => line)).toEqual([1, 3, 4]);
  expect(comments.flatMap(({ text }) => standInsOf(text))).toEqual(["it", "one", "those"]);
  expect(comments.filter(opensEmpty).map(({ line }) => line)).toEqual([4]);
  expect(repeatsOf(comments)).toEqual(["a.ts:3: the comment repeats the type"]);
});

test("a page is prose without its examples, and has no openings", () => {
  const page = pagePassages("a.md", "# One page\n\n```ts\nit();\n```\n\nThose readers wait.\n");
  expect(page.flatMap(({ text }) => standInsOf(text))).toEqual(["one", "those"]);
  expect(page.filter(({ text }) => text !== "").map(({ line }) => line)).toEqual([1, 7]);
  expect(page.some(opensEmpty)).toBe(false);
});

test("titles of tests are read, with tables, conditions and joined literals", () => {
  const source = [
    'describe("what is there", () => {',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source of a test has a template.
    "  test(`${name} is read`, () => expect(it).toBe(1));",
    '  test.each([["no title", 1]])("%s of a table", run);',
    '  test.if(isLinux).serial("a condition" + " and more", run);',
    '  it("ends", run);',
    '  other("nothing", run);',
    "});",
  ].join("\n");
  const titles = titlePassages("a.test.ts", source);
  expect(texts(titles)).toEqual(["what is there", "`x` is read", "%s of a table", "a condition and more", "ends"]);
  expect(titles.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5]);
});

test("literals that are prose are read; SQL, names and tagged templates are not", () => {
  const source = [
    'import { it } from "./a.ts";',
    'throw new AppError("conflict", "The value is taken: " + name + " has the value");',
    "db.query(`SELECT id FROM posts WHERE those = 1`);",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source has a template.
    "logger.warn(`The file ${path} is not there`);",
    "sql`one two three four`;",
    "const page = <Text>No record yet. Those come later.</Text>;",
  ].join("\n");
  expect(texts(prosePassages("a.tsx", source))).toEqual([
    "The value is taken: `x` has the value",
    "The file `x` is not there",
    "No record yet. Those come later.",
  ]);
});

test("figures are rates, and each of both may exceed its bound", () => {
  const passage = (text: string) => ({ file: "a.ts", line: 1, text, isOpening: true });
  expect(figuresOf([passage("Of it all"), passage("A page")])).toEqual({ standIns: 200, openings: 50 });
  expect(figuresOf([])).toEqual({ standIns: 0, openings: 0 });
  expect(exceeds({ standIns: 15, openings: 3 })).toBe(false);
  expect(exceeds({ standIns: 15.1, openings: 0 })).toBe(true);
  expect(exceeds({ standIns: 0, openings: 3.1 })).toBe(true);
});
