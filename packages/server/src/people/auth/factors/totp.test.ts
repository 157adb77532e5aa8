/** Tests of the codes of authenticator apps: the vectors of RFC 6238 and RFC 4648, the steps beside the present step. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { newTotpSecret, stepOfCode, toBase32, totpCode, totpUri } from "./totp.ts";

const secret = new TextEncoder().encode("12345678901234567890");
afterEach(() => void setSystemTime());

describe("codes", () => {
  // RFC 6238, appendix B, for SHA-1.
  test.each([
    [59, "94287082"],
    [1_111_111_109, "07081804"],
    [1_111_111_111, "14050471"],
    [1_234_567_890, "89005924"],
    [2_000_000_000, "69279037"],
    [20_000_000_000, "65353130"],
  ])("at second %i is %s", (seconds, code) => {
    const step = Math.floor(seconds / 30);
    expect(totpCode(secret, step, 8)).toBe(code);
    // Shorter codes are the end of longer codes.
    expect(totpCode(secret, step)).toBe(code.slice(2));
  });

  test("count for their step, and for the steps beside", () => {
    setSystemTime(1_111_111_111_000);
    const now = Math.floor(1_111_111_111 / 30);
    for (const step of [now - 1, now, now + 1]) expect(stepOfCode(secret, totpCode(secret, step), 0)).toBe(step);
    for (const step of [now - 2, now + 2]) expect(stepOfCode(secret, totpCode(secret, step), 0)).toBeNull();
  });

  test("for a used step do not count", () => {
    setSystemTime(1_111_111_111_000);
    const now = Math.floor(1_111_111_111 / 30);
    expect(stepOfCode(secret, totpCode(secret, now), now - 1)).toBe(now);
    expect(stepOfCode(secret, totpCode(secret, now), now)).toBeNull();
    expect(stepOfCode(secret, totpCode(secret, now - 1), now)).toBeNull();
    expect(stepOfCode(secret, totpCode(secret, now + 1), now)).toBe(now + 1);
  });

  test("in other forms are wrong", () => {
    setSystemTime(59_000);
    expect(stepOfCode(secret, "287082", 0)).toBe(1);
    for (const code of ["", "94287082", "28708", " 287082", "287082\0", "२८७०८२"])
      expect(stepOfCode(secret, code, 0)).toBeNull();
  });
});

test("a secret has 160 bits and its text the form of RFC 4648", () => {
  expect(newTotpSecret()).toHaveLength(20);
  expect(toBase32(newTotpSecret())).toMatch(/^[A-Z2-7]{32}$/);
  expect(toBase32(new TextEncoder().encode("fooba"))).toBe("MZXW6YTB");
  expect(toBase32(newTotpSecret())).not.toBe(toBase32(newTotpSecret()));
});

test("the address for an app has escaped names", () => {
  expect(totpUri(secret, "a&b", "x+y:z@example.com")).toBe(
    "otpauth://totp/a%26b:x%2By%3Az%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=a%26b&algorithm=SHA1&digits=6&period=30",
  );
});
