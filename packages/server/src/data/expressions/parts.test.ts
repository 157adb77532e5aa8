/** Parts of expressions: places in the text, and that each part is a separate condition. */
import { describe, expect, test } from "bun:test";
import { schemaOf } from "../../../test/expression-schemas.ts";
import { type ExpressionPart, parseParts } from "./parts.ts";

/** The texts of the parts, with the parts below. */
function texts(text: string): unknown {
  const shown = ({ kind, start, end, parts }: ExpressionPart): unknown => {
    const own = `${kind}: ${text.slice(start, end)}`;
    return parts.length === 0 ? own : [own, ...parts.map(shown)];
  };
  return shown(parseParts(text, schemaOf("posts")));
}

describe("the places of parts", () => {
  test.each([
    ["  count = 5 ", "comparison: count = 5"],
    ["count in (1, 2)", "comparison: count in (1, 2)"],
    ["(count = 5)", "comparison: count = 5"],
    [
      "count = 5 && (title = 'é' || due < @now - 7d)",
      [
        "and: count = 5 && (title = 'é' || due < @now - 7d)",
        "comparison: count = 5",
        ["or: title = 'é' || due < @now - 7d", "comparison: title = 'é'", "comparison: due < @now - 7d"],
      ],
    ],
    [
      "(count = 1 || count = 2) && title != null",
      [
        "and: (count = 1 || count = 2) && title != null",
        ["or: count = 1 || count = 2", "comparison: count = 1", "comparison: count = 2"],
        "comparison: title != null",
      ],
    ],
    ["! (count = 1)", ["not: ! (count = 1)", "comparison: count = 1"]],
    ["author.name = @user.id", "comparison: author.name = @user.id"],
    ["posts(parent)", "some: posts(parent)"],
    ["posts(parent).count = 1", "comparison: posts(parent).count = 1"],
    ["posts(parent)[count = 1]", ["some: posts(parent)[count = 1]", "comparison: count = 1"]],
    ["links[count = 1]", ["some: links[count = 1]", "comparison: count = 1"]],
    ["links.title != 'a'", "comparison: links.title != 'a'"],
    [
      "author.posts(author)[count = 1 && !(title = 'a')]",
      [
        "some: author.posts(author)[count = 1 && !(title = 'a')]",
        "comparison: count = 1",
        ["not: !(title = 'a')", "comparison: title = 'a'"],
      ],
    ],
    ["every(links, count = 1)", ["every: every(links, count = 1)", "comparison: count = 1"]],
    [
      "!every(posts(parent)[slug = 'a'], count = @record.count && (title = 'a' || title = 'b'))",
      [
        "not: !every(posts(parent)[slug = 'a'], count = @record.count && (title = 'a' || title = 'b'))",
        [
          "every: every(posts(parent)[slug = 'a'], count = @record.count && (title = 'a' || title = 'b'))",
          "comparison: count = @record.count",
          ["or: title = 'a' || title = 'b'", "comparison: title = 'a'", "comparison: title = 'b'"],
        ],
      ],
    ],
    ["every(links.links, count = 1)", "every: every(links.links, count = 1)"],
  ])("%s", (text, expected) => {
    expect(texts(text)).toEqual(expected);
  });
});

test("a part in brackets is a condition on some related record, together with the condition before the brackets", () => {
  const [count, title] = parseParts("posts(parent)[count = 1 && title = 'a']", schemaOf("posts")).parts;
  const [isOne, isA] = [{ type: "compare", left: { field: { name: "count" } } }, { type: "compare" }];
  expect(count?.condition).toMatchObject({ type: "some", item: isOne });
  expect(title?.condition).toMatchObject({ type: "some", item: { type: "and", items: [isOne, isA] } });
});

test("a part of every is a condition on all related records, after the condition in the brackets", () => {
  const [count] = parseParts("every(links[slug = 'a'], count = 1 && title = 'a')", schemaOf("posts")).parts;
  const [isSlug, isOne] = [
    { type: "compare", left: { field: { name: "slug" } } },
    { left: { field: { name: "count" } } },
  ];
  const failing = { type: "and", items: [isSlug, { type: "not", item: isOne }] };
  expect(count?.condition).toMatchObject({ type: "not", item: { type: "someItem", item: failing } });
});
