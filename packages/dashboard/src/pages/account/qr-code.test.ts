/** QR codes of texts, as the package `qrcode` 1.5.4 draws the codes; scanners have read a code of each length up to 666 bytes. */
import { expect, test } from "bun:test";
import { qrCodeOf } from "./qr-code.ts";

/** The rows of a code as digits, with a line for each row. */
function rowsOf(text: string): string {
  return (qrCodeOf(text) ?? []).map((row) => row.map(Number).join("")).join("\n");
}

const uri = "otpauth://totp/Socle:ada%40example.com?secret=ZGEYJ5FKX4RWWFCJ2FH6JHAKVFR6UT4S&issuer=Socle";

test.each([
  ["an address of a secret", uri, 41, "37887de8067132ed"],
  ["letters of two bytes", "é".repeat(40), 37, "94567450d5353572"],
  ["a long text", "x".repeat(300), 69, "a6c4c99a50e77d18"],
  ["nearly the longest text", "0123456789".repeat(66), 97, "d7fc4ea55f9173af"],
])("%s has the modules of the standard", (_, text, size, hash) => {
  expect(qrCodeOf(text)).toHaveLength(size);
  expect(Bun.SHA256.hash(rowsOf(text), "hex").slice(0, 16)).toBe(hash);
});

test("a text that no code holds has no code", () => {
  expect(qrCodeOf("x".repeat(666))).toHaveLength(97);
  expect(qrCodeOf("x".repeat(667))).toBeNull();
});
