/** Lower case as in SQLite's `lower`: only ASCII letters change. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

const ascii = /^\p{ASCII}*$/u;

/** Whether a text is only ASCII: SQL can then compare the text without regard to case, too. */
export function isAscii(text: string): boolean {
  return ascii.test(text);
}

/**
 * Whether a text contains another, without regard to case: for the letters A to Z if the searched text is ASCII, otherwise
 * for every alphabet.
 */
export function containsText(text: string, wanted: string): boolean {
  if (isAscii(wanted)) return lowerAscii(text).includes(lowerAscii(wanted));
  return text.toUpperCase().includes(wanted.toUpperCase());
}

/** Below zero, zero or above zero, in the order of code points: the order of UTF-8, and so of SQLite. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    // Surrogates stand for the highest code points, but have smaller numbers than some other code units.
    const [isHighX, isHighY] = [x >= 0xd800 && x <= 0xdfff, y >= 0xd800 && y <= 0xdfff];
    return isHighX === isHighY ? x - y : isHighX ? 1 : -1;
  }
  return a.length - b.length;
}
