/** Tests of the stored form of addresses: letters that look alike are one letter, and characters that no mail server expects are refused. */
import { describe, expect, test } from "bun:test";
import { normaliseEmail } from "./address.ts";

describe("the stored form", () => {
  test.each([
    [" Ann@Example.COM ", "ann@example.com"],
    ["ａｎｎ＠ｅｘａｍｐｌｅ．ｃｏｍ", "ann@example.com"],
    ["İnfo@example.com", "info@example.com"],
    // The sign for kelvin, and an ohm.
    ["\u212Aate@example.com", "kate@example.com"],
    ["\u2126@example.com", "ω@example.com"],
    ["müller@münchen.example", "müller@münchen.example"],
    ["mu\u0308ller@example.com", "müller@example.com"],
    ["ann+shop@example.com", "ann+shop@example.com"],
  ])("of %j is %j, and is its own stored form", (written, stored) => {
    expect(normaliseEmail(written)).toBe(stored);
    expect(normaliseEmail(stored)).toBe(stored);
  });
});

test.each([
  "",
  "ann",
  "@example.com",
  "ann@",
  "ann@localhost",
  "a@b@example.com",
  // A second at sign of full width: a mail would go to evil.example.
  "ann@evil.example＠example.com",
  "ann\r\nBcc: eve@example.com",
  "ann\u0000@example.com",
  "ann\u0001@example.com",
  "ann\u007F@example.com",
  "ann\u0085@example.com",
  "ann@exam\u0001ple.com",
  // Characters that no font shows, or that turn the direction of the text.
  "ann\u200B@example.com",
  "ann\u202E@example.com",
  "ann\u00AD@example.com",
  "ann\uFE0F@example.com",
  "ann\uE000@example.com",
  "an n@example.com",
  "ann,eve@example.com",
  '"ann"@example.com',
  "ann<eve@example.com>",
  ".ann@example.com",
  "an..n@example.com",
  "ann@-example.com",
  "ann@example..com",
  `${"a".repeat(65)}@example.com`,
  `ann@${"a.".repeat(130)}com`,
])("%j is no address", (written) => {
  expect(normaliseEmail(written)).toBeNull();
});
