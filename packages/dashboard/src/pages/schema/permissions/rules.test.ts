/** Tests of rules in words: an expression in place of a word, and the service's complaints about a rule. */
import { expect, test } from "bun:test";
import { expressionFor, mistakeOf } from "./rules.ts";

test("an expression continues the meaning of the word", () => {
  expect(expressionFor("owner", "author")).toBe("author = @user.id");
  expect(expressionFor("owner", undefined)).toBe("");
  expect(expressionFor("authenticated", undefined)).toBe("@user.id != null");
  expect(expressionFor("title = 1", undefined)).toBe("title = 1");
});

const complaints: readonly (readonly [message: string, field: string | null, operation: string, start: string])[] = [
  ['permissions: the rule "update", at position 9: "title", a text, cannot', null, "update", "at position 9: "],
  [
    'permissions: "read" must be public or an expression, not "a = \'at position 1: \'": at position 20: expected',
    null,
    "read",
    "at position 20: expected",
  ],
  ['collection "posts": permissions: the rule "delete", at position 1: no', null, "delete", "at position 1: no"],
  ['permissions: "read" is "ownr"; did you mean "owner"?', null, "read", 'is "ownr"; did you mean'],
  ['field "secret": permissions: the rule "update", at position 3: no', "secret", "update", "at position 3: no"],
];

test.each(complaints)("%s", (message, field, operation, start) => {
  const mistake = mistakeOf(message);
  expect([mistake?.field, mistake?.operation]).toEqual([field, operation]);
  expect(mistake?.message.startsWith(start)).toBe(true);
});

test("an error elsewhere is no mistake of a rule", () => {
  expect(mistakeOf('field "slug" cannot be unique: 2 records')).toBeNull();
  expect(mistakeOf('permissions: "list" is no operation')).toBeNull();
});
