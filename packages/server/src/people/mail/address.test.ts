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
    // A host of the own network, as HTML's email field takes it, and dots that mail servers outside of SMTP's grammar have.
    ["user@test", "user@test"],
    ["user@localhost", "user@localhost"],
    [".ann@example.com", ".ann@example.com"],
    ["an..n@example.com", "an..n@example.com"],
    ["ann@127.0.0.1", "ann@127.0.0.1"],
    ["ann@1", "ann@1"],
    // Spellings of one domain.
    ["info@xn--dmin-moa0i.example", "info@dömäin.example"],
    ["info@XN--DMIN-MOA0I.Example", "info@dömäin.example"],
    ["info@DÖMÄIN.example", "info@dömäin.example"],
    ["info@do\u0308ma\u0308in.example", "info@dömäin.example"],
    ["info@xn--fa-hia.de", "info@faß.de"],
    ["info@faß.de", "info@faß.de"],
    ["info@例え。jp", "info@例え.jp"],
    ["info@xn--r8jz45g.jp", "info@例え.jp"],
    ["info@उदाहरण.परीक्षा", "info@उदाहरण.परीक्षा"],
    ["info@نامه\u200Cای.com", "info@نامه\u200Cای.com"],
    ["info@xn--mgba3gch31f060k.com", "info@نامه\u200Cای.com"],
    // No label of Punycode: the name of a host of ASCII letters.
    ["info@xn--a.example", "info@xn--a.example"],
  ])("for %j is %j, and is its own stored form", (written, stored) => {
    expect(normaliseEmail(written)).toBe(stored);
    expect(normaliseEmail(stored)).toBe(stored);
  });
});

test.each([
  "",
  "ann",
  "@example.com",
  "ann@",
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
  "ann@-example.com",
  "ann@example-.com",
  "ann@ex_ample.com",
  "ann@example.com.",
  "ann@[127.0.0.1]",
  "ann@example.com/path",
  "ann@exam%70le.com",
  "ann@dömäin.example/path",
  "ann@dömäin.example:25",
  "ann@dömäin.exam%70le",
  "ann@dömäin..example",
  "ann@\u0301a.example",
  `ann@${"a".repeat(64)}.com`,
  `ann@${"ä".repeat(60)}.com`,
  "ann@example..com",
  `${"a".repeat(65)}@example.com`,
  `ann@${"a.".repeat(130)}com`,
])("%j is no address", (written) => {
  expect(normaliseEmail(written)).toBeNull();
});
