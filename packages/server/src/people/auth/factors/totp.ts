/** Codes of authenticator apps: TOTP (RFC 6238) with SHA-1, six digits and steps of 30 seconds, as all apps have. */
import { isSameSecret } from "../../../base/kernel/index.ts";

const stepMs = 30_000;
const digits = 6;
/** RFC 4226, "R6": the length of the digest. */
const secretBytes = 20;
const base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** A new secret, as bytes. */
export function newTotpSecret(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(secretBytes));
}

/** The form of a secret that people type into an app (RFC 4648, without padding: 20 bytes are 32 letters). */
export function toBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{5}/g) ?? []).map((five) => base32.charAt(Number.parseInt(five, 2))).join("");
}

/** The address that an app reads from a picture (Key Uri Format). */
export function totpUri(secret: Uint8Array, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  const query = `secret=${toBase32(secret)}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${digits}&period=30`;
  return `otpauth://totp/${label}?${query}`;
}

/** The code of a step. */
export function totpCode(secret: Uint8Array, step: number, length = digits): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = new Bun.CryptoHasher("sha1", secret).update(counter).digest();
  // RFC 4226, 5.3: the last four bits say where the number begins.
  const offset = digest.readUInt8(digest.length - 1) & 0x0f;
  const number = digest.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** length).padStart(length, "0");
}

/**
 * The step of a code: the present step, or the step before or after, for clocks that differ. Null for a wrong code.
 * @param after steps up to this step have had their code.
 */
export function stepOfCode(secret: Uint8Array, code: string, after: number): number | null {
  const now = Math.floor(Date.now() / stepMs);
  const steps = [now - 1, now, now + 1].filter((step) => isSameSecret(totpCode(secret, step), code));
  return steps.find((step) => step > after) ?? null;
}
