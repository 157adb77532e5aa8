/** Query parameters: picks the text of each from a URL, and refuses malformed ones. */
import { AppError, nearest, quote } from "../../base/kernel/index.ts";

/** The parameters that make a list a query; all others are ignored. */
const queryParameters = [
  "filter",
  "sort",
  "limit",
  "cursor",
  "offset",
  "count",
  "fields",
  "expand",
  "group",
  "aggregate",
  "search",
  "snippet",
] as const;
export type QueryParameter = (typeof queryParameters)[number];

/** The parameters of a request, as text. An empty parameter counts as not given. */
export type QueryText = { readonly [name in QueryParameter]?: string };

function isQueryParameter(name: string): name is QueryParameter {
  return (queryParameters as readonly string[]).includes(name);
}

/** The parameters of a single record. */
export const selectionParameters: readonly QueryParameter[] = ["fields", "expand"];

/**
 * Picks the parameters of a query; null without any.
 * @throws AppError `bad_request` for a parameter that stands twice.
 */
export function readQueryText(
  parameters: Iterable<readonly [string, string]>,
  known: readonly QueryParameter[] = queryParameters,
): QueryText | null {
  const found: { [name in QueryParameter]?: string } = {};
  let isQuery = false;
  const seen = new Set<string>();
  for (const [name, value] of parameters) {
    if (!isQueryParameter(name) || !known.includes(name)) continue;
    if (seen.has(name)) throw new AppError("bad_request", `"${name}" is there twice; give it once.`);
    seen.add(name);
    isQuery = true;
    // A search for nothing is not a list of everything.
    if (value !== "" || name === "search") found[name] = value;
  }
  return isQuery ? found : null;
}

/** The error for a parameter. */
export function refuseParameter(name: QueryParameter, problem: string): AppError {
  return new AppError("bad_request", `"${name}": ${problem}${problem.endsWith("?") ? "" : "."}`);
}

/** @throws AppError `bad_request` for anything but a whole number between the two. */
export function readWhole(
  query: QueryText,
  name: "limit" | "offset",
  { min, max }: { min: number; max: number },
): number | null {
  const text = query[name];
  if (text === undefined) return null;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw refuseParameter(name, `it must be a whole number from ${min} to ${max}, not ${quote(text)}`);
  return value;
}

/** "title" → `; did you mean "title"?`, or the known names. */
export function hintFor(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  if (near !== null) return `; did you mean "${near}"?`;
  return `; there are: ${names.slice(0, 20).join(", ")}${names.length > 20 ? ", …" : ""}`;
}
