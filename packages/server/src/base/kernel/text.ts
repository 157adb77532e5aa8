/** Text of messages: quoting, lists, counts, near misses. Each function does a bounded amount of work for any input. */

/** A longer word is no misspelt name; a comparison would take time that the sender chooses. */
const longestName = 64;
/** Two names with more edits have little in common. */
const maxEdits = 4;

/** A row of the table of distances; reused, because each pair of words needs a row. */
const row = new Uint8Array(longestName + 1);

/**
 * The number of single-character edits between two words (Levenshtein), if at most `limit`; otherwise a larger number.
 * Only the cells near the diagonal are computed, because distances within the limit occur only near the diagonal.
 */
function distance(a: string, b: string, limit: number): number {
  const tooFar = limit + 1;
  for (let j = 0; j <= b.length; j++) row[j] = j;
  for (let i = 1; i <= a.length; i++) {
    const from = Math.max(1, i - limit);
    const to = Math.min(b.length, i + limit);
    const unit = a.charCodeAt(i - 1);
    let diagonal = row[from - 1] ?? 0;
    // Cells outside the band count as too far.
    let left = from === 1 ? i : tooFar;
    row[from - 1] = left;
    let least = left;
    for (let j = from; j <= to; j++) {
      const above = j === i + limit ? tooFar : (row[j] ?? 0);
      let edits = unit === b.charCodeAt(j - 1) ? diagonal : diagonal + 1;
      if (above < edits) edits = above + 1;
      if (left < edits) edits = left + 1;
      diagonal = above;
      row[j] = edits;
      left = edits;
      if (edits < least) least = edits;
    }
    if (least > limit) return tooFar;
  }
  return row[b.length] ?? 0;
}

/** The candidate nearest to a misspelt word; null if no candidate is near. @param least the edits that any word may have. */
export function nearest(word: string, candidates: Iterable<string>, least = 2): string | null {
  if (word.length > longestName) return null;
  const lower = word.toLowerCase();
  let best: string | null = null;
  let limit = Math.min(maxEdits, Math.max(least, Math.floor(word.length / 3)));
  for (const candidate of candidates) {
    // A longer name is out of reach, too, and `row` has no room for the name.
    if (candidate.length > longestName || Math.abs(candidate.length - word.length) > limit) continue;
    const edits = distance(lower, candidate.toLowerCase(), limit);
    if (edits > limit) continue;
    best = candidate;
    if (edits === 0) return best;
    limit = edits - 1;
  }
  return best;
}

/** Advice for a name that is not among some names: the nearest name, or all names. */
export function adviceOnName(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  if (near !== null) return ` Did you mean ${near}?`;
  return names.length === 0 ? "" : ` There are: ${names.join(", ")}.`;
}

function joined(words: readonly string[], last: string): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}

/** "a, b or c". */
export function oneOf(words: readonly string[]): string {
  return joined(words, "or");
}

/** "a, b and c". */
export function allOf(words: readonly string[]): string {
  return joined(words, "and");
}

/** The longest quotation, in characters. */
const longestQuote = 60;

/** Writes the JSON of a value into `text` until `text` is longer than a quotation; the rest of the value is not read. */
function preview(value: unknown, text: string): string {
  if (text.length > longestQuote) return text;
  if (typeof value === "string") return text + JSON.stringify(value.slice(0, longestQuote + 1));
  if (typeof value === "bigint") return `${text}${value}n`;
  if (typeof value !== "object" || value === null || value instanceof Date)
    return text + (JSON.stringify(value) ?? String(value));
  if (Array.isArray(value)) {
    let list = `${text}[`;
    for (let i = 0; i < value.length && list.length <= longestQuote; i++)
      list = preview(value[i] ?? null, i === 0 ? list : `${list},`);
    return `${list}]`;
  }
  let object = `${text}{`;
  for (const name in value) {
    if (object.length > longestQuote) break;
    const member: unknown = Reflect.get(value, name);
    if (member === undefined || !Object.hasOwn(value, name)) continue;
    object = preview(member, `${preview(name, object.endsWith("{") ? object : `${object},`)}:`);
  }
  return `${object}}`;
}

/** A value, quoted for an error message: JSON, cut to a readable length. The cost does not grow with the value. */
export function quote(value: unknown): string {
  return excerpt(preview(value, ""), longestQuote);
}

/** The beginning of a text: at most `length` UTF-16 units, including the "…" that marks the cut. */
export function excerpt(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length - 3);
  // Half a surrogate pair is not a character.
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/**
 * A text for a terminal or a log, on one line: control characters (C0, DEL, C1), line and paragraph separators and changes
 * of the writing direction become JSON escapes. So stored text can neither move the cursor of the
 * reader's terminal, nor look like another line.
 */
export function printable(text: string): string {
  return text.replace(unprintable, (char) => {
    const escaped = JSON.stringify(char).slice(1, -1);
    return escaped === char ? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}` : escaped;
  });
}

/** "1 record", "2 records". */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** Lower case as in SQLite's `lower`: only ASCII letters change. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

const ascii = /^\p{ASCII}*$/u;

/** Whether a text is only ASCII: SQL can then compare the text without regard to case, too. */
export function isAscii(text: string): boolean {
  return ascii.test(text);
}

/** Whether a text contains another text, without regard to case: in A to Z if `wanted` is ASCII, otherwise in every alphabet. */
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

/** A text for HTML, also within quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
