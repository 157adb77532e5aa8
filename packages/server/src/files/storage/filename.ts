/**
 * Cleans a name: no path, no control characters, no characters that make text run the other way and disguise an ending.
 * Browsers write a quotation mark as %22 (HTML, 4.10.21.8).
 */
export function cleanName(filename: string | undefined): string {
  const name = (filename ?? "").split(/[/\\]/).at(-1) ?? "";
  return name
    .toWellFormed()
    .replaceAll("%22", '"')
    .replace(/[\p{Cc}\p{Bidi_Control}]/gu, "")
    .trim();
}
