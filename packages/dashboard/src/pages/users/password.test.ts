/** Tests of random passwords. */
import { describe, expect, test } from "bun:test";
import { generatePassword } from "./password.ts";

describe("random passwords", () => {
  test("a password has five groups of four", () => {
    expect(generatePassword()).toMatch(/^([A-Za-z2-9]{4}-){4}[A-Za-z2-9]{4}$/);
    expect(generatePassword(2)).toHaveLength(9);
  });

  test("no password has a character that looks like another, and no password is repeated", () => {
    const all = Array.from({ length: 500 }, () => generatePassword());
    expect(all.join("")).not.toMatch(/[l01IO]/);
    expect(new Set(all).size).toBe(500);
  });
});
