/** The number of single-character edits between two words (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Longer words are no misspelt names; comparing them would cost time that somebody else chose. */
const longestName = 64;

/** The candidate that was probably meant by a misspelt word, or null when none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  if (word.length > longestName) return null;
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const edits = distance(word.toLowerCase(), candidate.toLowerCase());
    if (edits < bestDistance) {
      best = candidate;
      bestDistance = edits;
    }
  }
  return best;
}

/** "a, b or c". */
export function oneOf(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** "a, b and c". */
export function allOf(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Whether a value is nested at most `depth` levels deep. */
function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => isShallow(item, depth - 1));
}

/** A value as an error message quotes it: JSON, cut to a readable length. */
export function quote(value: unknown): string {
  // Serialising what is very deep takes long and then fails.
  if (!isShallow(value, 20)) return Array.isArray(value) ? "[…]" : "{…}";
  const text = JSON.stringify(value, (_, each) => (typeof each === "bigint" ? `${each}n` : each)) ?? String(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
}

/** "1 record", "2 records". */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
