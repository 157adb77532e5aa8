/** An authenticator app for tests: reads the secret as an app does, and shows the codes. */
import { totpCode } from "../src/people/auth/factors/totp.ts";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function fromBase32(text: string): Uint8Array {
  const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("");
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
}

/** The code of a secret for a step. */
export function codeAt(secret: string, step: number): string {
  return totpCode(fromBase32(secret), step);
}

/** The code of a secret: of the present step, or of a step before or after. */
export function codeOf(secret: string, steps = 0): string {
  return codeAt(secret, Math.floor(Date.now() / 30_000) + steps);
}

/** A well-formed code that is wrong for the steps around the present step. */
export function wrongCodeOf(secret: string): string {
  const right = [-2, -1, 0, 1, 2].map((steps) => codeOf(secret, steps));
  return ["000000", "000001", "000002", "000003", "000004", "000005"].find((code) => !right.includes(code)) ?? "";
}
