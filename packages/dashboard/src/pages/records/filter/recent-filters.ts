/** The last filters of a collection, kept in the browser. */
import { useLocalStorage } from "@mantine/hooks";
import { useCallback } from "react";

const most = 10;

/** The list with the filter at its beginning, each filter once. */
export function withRecent(recent: readonly string[], filter: string): string[] {
  return [filter, ...recent.filter((each) => each !== filter)].slice(0, most);
}

/** Reads the stored filters; empty when the storage holds no list of strings. */
export function readRecent(stored: string | undefined): string[] {
  try {
    const value: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(value)
      ? value.filter((each): each is string => typeof each === "string" && each !== "").slice(0, most)
      : [];
  } catch {
    return [];
  }
}

const nothing: readonly string[] = [];

/** The last filters, the newest first, and a function that remembers a filter. */
export function useRecentFilters(collection: string): readonly [readonly string[], (filter: string) => void] {
  const [recent, setRecent] = useLocalStorage({
    key: `socle.filters.${collection}`,
    defaultValue: nothing,
    getInitialValueInEffect: false,
    deserialize: readRecent,
  });
  const remember = useCallback((filter: string) => setRecent((before) => withRecent(before, filter)), [setRecent]);
  return [recent, remember];
}
