import { expect, test } from "bun:test";
import { needsUser, parseSyntax } from "./index.ts";

test.each([
  "author = @user.id",
  "@user.id = author",
  "lower(email) = lower(@user.email)",
  "@user.id != null",
  '@user.role in ("admin", "editor")',
  "author = @user.id && draft = true",
  "author = @user.id || reviewer = @user.id",
  "members(team)[user = @user.id]",
  'team.members(team)[user = @user.id && role = "owner"]',
])("%s needs a sign-in", (text) => {
  expect(needsUser(parseSyntax(text))).toBe(true);
});

test.each([
  "published = true",
  "author = @user.id || published = true",
  "@user.id = null",
  "author != @user.id",
  "!(author = @user.id)",
  "members(team)",
  'members(team)[role = "owner"]',
  "every(members(team), user = @user.id)",
])("%s may hold without a sign-in", (text) => {
  expect(needsUser(parseSyntax(text))).toBe(false);
});
