/** Cells and values as short texts. */
import type { Cell } from "./source/source.ts";

const longest = 120;

export function cellText(value: Cell): string {
  if (value === undefined || value === null) return "";
  // A long text is cut at once, without a copy of the whole text.
  const written = typeof value === "string" ? value.slice(0, longest + 1) : JSON.stringify(value).slice(0, longest + 1);
  return written.length > longest ? `${written.slice(0, longest)}…` : written;
}
