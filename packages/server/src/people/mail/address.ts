/** Email addresses: the stored form, by which accounts and mails know an address. */
import { domainToASCII, domainToUnicode } from "node:url";

/** RFC 5321, 4.5.3.1: local part and whole address. */
const maxLocal = 64;
export const maxEmail = 254;

/** The lower case of "İ": an i with a second, invisible dot. */
const dottedI = "i\u0307";

/** Characters that no font shows. */
const hidden = /\p{DI}/u;
/** The characters of HTML's email field, and letters beyond ASCII (RFC 6531). */
const localPart = /^[^\s@"(),:;<>[\\\]\p{C}]+$/u;
/** A domain of HTML's email field; a domain without a dot is a host of the own network. */
const domain = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;
/** Characters of a domain as people write the domain. Two joiners are part of words in some scripts. */
const written = /^(?:[[\p{L}\p{M}\p{N}]--\p{DI}]|[\p{Join_C}.。\-])+$/v;

/** The ASCII form of a domain (UTS 46), as browsers and mail servers know the domain; "" for another text. */
export function asciiDomain(text: string): string {
  // The function reads the host of an address of the web: of ASCII it also takes numbers as IPv4 and parts of a path.
  const ascii = /^[\x21-\x7e]*$/.test(text) ? text.toLowerCase() : written.test(text) ? domainToASCII(text) : "";
  return domain.test(ascii) ? ascii : "";
}

/**
 * An email address in the stored form, or null for another text. Letters that differ in width, case or a style of Unicode
 * are one letter (NFKC), so that no second account looks like the first: "Ａnn@…" is "ann@…". All spellings of a domain that
 * have one ASCII form are one domain, in the spelling that people read: "ann@xn--dmin-moa0i.example" is "ann@dömäin.example".
 */
export function normaliseEmail(text: string): string | null {
  const given = text.trim().normalize("NFKC");
  const at = given.lastIndexOf("@");
  const name = given.slice(0, Math.max(0, at));
  const local = name.toLowerCase().replaceAll(dottedI, "i").normalize("NFKC");
  const ascii = asciiDomain(given.slice(at + 1));
  const isShort = local.length <= maxLocal && local.length + ascii.length < maxEmail;
  if (ascii === "" || !isShort || !localPart.test(local) || hidden.test(local)) return null;
  return `${local}@${ascii.includes("xn--") ? domainToUnicode(ascii) || ascii : ascii}`;
}
