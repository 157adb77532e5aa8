/** The last filters of a collection, kept in the browser. */

const most = 10;

function key(collection: string): string {
  return `socle.filters.${collection}`;
}

/** The list with the filter at its beginning, each filter once. */
export function withRecent(recent: readonly string[], filter: string): string[] {
  return [filter, ...recent.filter((each) => each !== filter)].slice(0, most);
}

/** Reads the stored filters; empty when the storage holds no list of strings. */
export function readRecent(stored: string | null): string[] {
  try {
    const value: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(value)
      ? value.filter((each): each is string => typeof each === "string" && each !== "").slice(0, most)
      : [];
  } catch {
    return [];
  }
}

export function recentFilters(collection: string): string[] {
  try {
    return readRecent(localStorage.getItem(key(collection)));
  } catch {
    return [];
  }
}

export function rememberFilter(collection: string, filter: string): void {
  try {
    localStorage.setItem(key(collection), JSON.stringify(withRecent(recentFilters(collection), filter)));
  } catch {
    // With a full or forbidden storage, the filter is not remembered.
  }
}
