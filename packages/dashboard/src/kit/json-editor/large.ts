/** The size from which a text is too large for the full editor. */

const largeFrom = 256 * 1_024;

export function isLarge(text: string): boolean {
  return text.length > largeFrom;
}
