/** Pages of a list: from the number of a page in the address to the API's offset, and to the words of the footer. */

/** Rows of a page. */
export const pageSize = 50;

/** The offset of a page that counts from 1. */
export function offsetOf(page: number | undefined, size = pageSize): number {
  return ((page ?? 1) - 1) * size;
}

/** The number of the last page; 1 for an empty list. */
export function lastPage(total: number, size = pageSize): number {
  return Math.max(1, Math.ceil(total / size));
}

/** The first and the last row of a page, counted from 1. */
export function rowsOf(page: number, total: number, size = pageSize): { first: number; last: number } {
  const first = Math.min(offsetOf(page, size) + 1, total);
  return { first, last: Math.min(offsetOf(page, size) + size, total) };
}
