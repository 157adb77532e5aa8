/** Email addresses: the stored form, by which accounts and mails know an address. */

/** RFC 5321, 4.5.3.1: local part and whole address. */
const maxLocal = 64;
export const maxEmail = 254;

/** The lower case of "İ": an i with a second, invisible dot. */
const dottedI = "i\u0307";

/** Characters that no font shows. */
const hidden = /\p{DI}/u;
const localPart = /^[^\s@"(),:;<>[\\\]\p{C}]+$/u;
const domain = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]*[\p{L}\p{N}]$/u;

/**
 * An email address in the stored form, or null for another text. Letters that differ in width, case or a style of Unicode
 * are one letter (NFKC), so that no second account looks like the first: "Ａnn@…" is "ann@…".
 */
export function normaliseEmail(text: string): string | null {
  const email = text.trim().normalize("NFKC").toLowerCase().replaceAll(dottedI, "i").normalize("NFKC");
  const at = email.lastIndexOf("@");
  const local = email.slice(0, at);
  if (at < 1 || email.length > maxEmail || local.length > maxLocal) return null;
  const dots = local.startsWith(".") || local.endsWith(".") || local.includes("..");
  return !dots && localPart.test(local) && domain.test(email.slice(at + 1)) && !hidden.test(email) ? email : null;
}
