/** Recovery codes: ten texts of 120 random bits on paper, for a user who has lost the authenticator app. */

const count = 10;
/** Letters of five bits (Crockford's base 32): no letter looks like another. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const letters = 24;
const group = 6;

function newCode(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(letters));
  const code = [...bytes].map((byte) => alphabet.charAt(byte % alphabet.length)).join("");
  return (code.match(new RegExp(`.{${group}}`, "g")) ?? []).join("-");
}

export function newRecoveryCodes(): string[] {
  return Array.from({ length: count }, newCode);
}

/**
 * The stored hash of a code as a person types the code. Codes have more than 112 bits, so a fast hash is enough (ASVS 6.5.2).
 */
export function hashOfRecoveryCode(typed: string): string {
  const code = typed.toLowerCase().replace(/[\s-]/g, "").replaceAll("o", "0").replace(/[il]/g, "1");
  return Bun.SHA256.hash(`recovery code\0${code}`, "hex");
}
