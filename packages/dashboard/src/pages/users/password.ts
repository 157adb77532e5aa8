/** Random passwords from letters and digits that people cannot confuse. */

const alphabet = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/** A password in groups of four characters: about 5.8 bits per character. */
export function generatePassword(groups = 5): string {
  return Array.from({ length: groups }, () => Array.from({ length: 4 }, randomCharacter).join("")).join("-");
}

/** Every character is equally likely: bytes beyond the last whole alphabet are discarded. */
function randomCharacter(): string {
  const bound = 256 - (256 % alphabet.length);
  for (;;) {
    const [byte = bound] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < bound) return alphabet.charAt(byte % alphabet.length);
  }
}
