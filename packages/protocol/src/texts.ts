/** Texts of fields: the forms that `format` asks for, and the case folding of `"unique": "nocase"`. */
import type { TextFormat } from "./collections.ts";

/** The longest address of mail (RFC 5321) and of the web that a field takes, in characters. */
const longest = { email: 254, url: 2_048 } as const;

/** The accepted texts of a format, as the end of a sentence. Every text is Markdown. */
export const FORMATS_IN_WORDS: { readonly [format in TextFormat]: string } = {
  email: `an e-mail address such as "ann@example.com", at most ${longest.email} characters`,
  url: `an address such as "https://example.com/page", which begins with https:// or http://, at most ${longest.url} characters`,
  markdown: "Markdown",
};

/** The field of HTML for an address of mail (WHATWG, "valid e-mail address"), with letters of every alphabet (RFC 6531). */
const emailPattern =
  /^[\p{L}\p{M}\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?)*$/u;
/** No space, no control character, and a host, as people write an address; the parser of addresses decides about the rest. */
const urlPattern = /^https?:\/\/[^\s\p{Cc}/?#]+[^\s\p{Cc}]*$/iu;

/** Whether a text has the form of a format. */
export function isFormatted(text: string, format: TextFormat): boolean {
  if (format === "markdown") return true;
  if (text.length > longest[format]) return false;
  return format === "email" ? emailPattern.test(text) : urlPattern.test(text) && URL.canParse(text);
}

/** The two letters of Turkish whose other case is no simple folding (CaseFolding.txt, status T). */
const unfolded = new Set(["\u0130", "\u0131"]);
/** The letters with one folding whose capital letters are several characters each (CaseFolding.txt, status S). */
const twins: { readonly [letter: string]: string } = { "\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06" };

/** The simple folding of a character: the small letter of the capital letter, as far as each is a single character. */
function foldCharacter(character: string): string {
  if (unfolded.has(character)) return character;
  const upper = character.toUpperCase();
  const single = upper.length === character.length || [...upper].length === 1 ? upper : character;
  const lower = single.toLowerCase();
  return twins[lower] ?? lower;
}

/**
 * A text in which case makes no difference: two texts are equal without regard to case exactly if their foldings are equal
 * (Unicode, "Default Caseless Matching", with simple folding, and without normalisation). "ẞ" is "ß", and never "ss".
 */
export function foldCase(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return text.toLowerCase();
  let folded = "";
  for (const character of text) folded += foldCharacter(character);
  return folded;
}
