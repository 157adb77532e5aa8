/** The full-text search of the grid: from the text in the box to `?search=`, and from the HTML of a snippet to its pieces. */

/** A part of a snippet. */
export interface Piece {
  readonly text: string;
  readonly isMatch: boolean;
}

const letter = /[\p{L}\p{N}]/u;

/** The text of `?search=` for a typed text: the last word may be unfinished. Undefined for a text without a word. */
export function searchOf(typed: string): string | undefined {
  const text = typed.trim();
  if (!letter.test(text)) return undefined;
  const isInPhrase = (text.match(/"/g)?.length ?? 0) % 2 === 1;
  return !isInPhrase && /[\p{L}\p{N}\p{M}]$/u.test(text) ? `${text}*` : text;
}

const entities: ReadonlyMap<string, string> = new Map([
  ["&amp;", "&"],
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&quot;", '"'],
  ["&#39;", "'"],
]);

function plain(html: string): string {
  return html.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities.get(entity) ?? entity);
}

/** Most characters before the first match, so that a cell shows the match. */
const longestLead = 24;

function cutLead(text: string): string {
  if (text.length <= longestLead) return text;
  const end = text.slice(-longestLead);
  return `…${end.slice(end.search(/\s/) + 1)}`;
}

/** The pieces of a snippet, from shortly before the first match. Null without a match: the cell then shows the value. */
export function piecesOf(html: string): readonly Piece[] | null {
  const [lead = "", ...parts] = html.split(/<mark>(.*?)<\/mark>/s);
  if (parts.length === 0) return null;
  const pieces = parts.map((part, i) => ({ text: plain(part), isMatch: i % 2 === 0 }));
  return [{ text: cutLead(plain(lead)), isMatch: false }, ...pieces].filter(({ text }) => text !== "");
}
