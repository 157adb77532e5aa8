import { describe, expect, test } from "bun:test";
import type { FieldDefinition } from "@socle/protocol";
import { conditionFrom, emptyBuilder, fromBuilder, operatorOf, operatorsFor, textOf, toBuilder } from "./builder.ts";

const fields: FieldDefinition[] = [
  { name: "title", type: "string" },
  { name: "body", type: "text" },
  { name: "views", type: "integer" },
  { name: "published", type: "boolean" },
  { name: "author", type: "relation", collection: "authors" },
];

describe("an expression that the builder can show returns unchanged", () => {
  test.each([
    "views > 100",
    "views > 100 && published = true",
    'views > 100 || author.name = "Émile"',
    "views in (7, 8, -9.5)",
    "author = null",
    'title = "say \\"hi\\" \\\\ there"',
    "createdAt >= @today && createdAt < @now",
    "author != @user.id",
    '(title ~ "news" || body ~ "news")',
    '(title ~ "news" || body ~ "news") && views > 1 && published = false',
    '(title ~ "news" || body ~ "news") && (views > 1 || published = false)',
    'meta.some-key ~ "x"',
  ])("%s", (expression) => {
    const builder = toBuilder(expression, fields);
    expect(builder).not.toBeNull();
    expect(fromBuilder(builder ?? emptyBuilder, fields)).toBe(expression);
  });
});

describe("an expression that the builder cannot show stays raw", () => {
  test.each([
    "!(published = true)",
    "views > 1 && (title = 'a' || title = 'b')",
    "views > 1 || published = true && views < 5",
    "views > author.age",
    "views >",
    "views == 1",
    '"a" = title',
    "views = 1)",
    "views = @yesterday",
    'title = "\\x"',
    "in in in",
    `${"(".repeat(2_000)}views = 1`,
  ])("%s", (expression) => {
    expect(toBuilder(expression, fields)).toBeNull();
  });
});

test("a quick search is recognised only with a single text in texts of the collection", () => {
  expect(toBuilder('(title ~ "a" || body ~ "a")', fields)?.quick).toBe("a");
  expect(toBuilder('(title ~ "a")', fields)?.quick).toBe("a");
  expect(toBuilder('title ~ "a"', fields)?.quick).toBe("");
  expect(toBuilder('(title ~ "a" || body ~ "b")', fields)?.quick).toBe("");
  expect(toBuilder('(title ~ "a" || views = 1)', fields)?.quick).toBe("");
});

test("a quick search keeps every typed character", () => {
  for (const quick of ['"', "\\", "' || 1 = 1 || '", 'a" || title != "', "\n\t", "@now", "日本語", "%_*"]) {
    const expression = fromBuilder({ ...emptyBuilder, quick }, fields);
    expect(toBuilder(expression, fields)).toEqual({ ...emptyBuilder, quick });
  }
});

test("a collection without texts has no quick search", () => {
  expect(fromBuilder({ ...emptyBuilder, quick: "x" }, [{ name: "views", type: "integer" }])).toBe("");
});

test("single quotes and escapes are read", () => {
  expect(toBuilder("title = 'it\\'s \\u00e9\\n'", fields)?.conditions).toEqual([
    { path: "title", operator: "=", values: [{ type: "value", value: "it's é\n" }] },
  ]);
});

test("a form makes a condition only of values of the field's type", () => {
  expect(conditionFrom("views", "integer", { operator: ">", text: "12" })?.values).toEqual([
    { type: "value", value: 12 },
  ]);
  expect(conditionFrom("views", "integer", { operator: ">", text: "twelve" })).toBeNull();
  expect(conditionFrom("views", "integer", { operator: "=", text: " " })).toBeNull();
  expect(conditionFrom("views", "integer", { operator: "in", text: "1, 2,x" })).toBeNull();
  expect(conditionFrom("views", "integer", { operator: "in", text: "1, 2," })?.values).toHaveLength(2);
  expect(conditionFrom("title", "string", { operator: "=", text: "" })?.values).toEqual([{ type: "value", value: "" }]);
  expect(conditionFrom("title", "string", { operator: "~", text: "" })).toBeNull();
  expect(conditionFrom("title", "string", { operator: "=", text: "@now" })?.values).toEqual([
    { type: "value", value: "@now" },
  ]);
  expect(conditionFrom("due", "datetime", { operator: ">", text: "@now" })?.values).toEqual([
    { type: "macro", name: "@now" },
  ]);
});

test("a comparison with null is an operator of its own", () => {
  const condition = conditionFrom("views", "integer", { operator: "isNull", text: "" });
  expect(condition).not.toBeNull();
  if (condition === null) return;
  expect(operatorOf(condition)).toBe("isNull");
  expect(fromBuilder({ ...emptyBuilder, conditions: [condition] }, fields)).toBe("views = null");
  expect(textOf(condition)).toBe("");
});

test("a field with several items is compared by some item, and null is no item", () => {
  expect(operatorsFor({ name: "tags", type: "string", multiple: true })).toEqual(["=", "!=", "~", "!~", "in"]);
  expect(operatorsFor({ name: "kinds", type: "string", values: ["a"], multiple: true })).toEqual(["=", "!=", "in"]);
  expect(operatorsFor({ name: "links", type: "relation", multiple: true })).toEqual(["=", "!=", "in"]);
});
