/** Query parameters: names, lists of names in values, and the errors about parameters. */
import { AppError, quote } from "../../base/kernel/index.ts";
import { ExpressionError } from "../expressions/index.ts";

/** The parameters that make a list a query; all others are ignored. */
export const queryParameters = [
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
  "zone",
] as const;
export type QueryParameter = (typeof queryParameters)[number];

/** The parameters of a request, as text. An empty parameter counts as not given. */
export type QueryText = { readonly [name in QueryParameter]?: string };

export const selectionParameters: readonly QueryParameter[] = ["fields", "expand"];

export function refuseParameter(name: QueryParameter, problem: string): AppError {
  return new AppError("bad_request", `"${name}": ${problem}${problem.endsWith("?") ? "" : "."}`);
}

/** The parts of a list with commas. @param bound the most parts, and the kind of the parts in a message. */
export function partsOf(text: string, name: QueryParameter, bound: { most: number; kind: string }): string[] {
  const parts = splitOutside(text).map((part) => part.trim());
  if (parts.length > bound.most) throw refuseParameter(name, `at most ${bound.most} ${bound.kind} are allowed`);
  if (parts.some((part) => nameIn(part) === ""))
    throw refuseParameter(name, "there is a comma too much, or a name is missing");
  return parts;
}

/** Splits at the commas outside of brackets: the commas inside separate the arguments of a call. Takes time linear in the text. */
function splitOutside(text: string): string[] {
  const parts: string[] = [];
  let [start, open] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === "(") open += 1;
    else if (sign === ")") open = Math.max(0, open - 1);
    else if (sign === "," && open === 0) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}

/** Like `partsOf`, for names that stand once, with or without a sign before. */
export function distinctPartsOf(...[text, name, bound]: Parameters<typeof partsOf>): string[] {
  const parts = partsOf(text, name, bound);
  const names = parts.map(nameIn);
  const twin = names.find((each, i) => names.indexOf(each) < i);
  if (twin !== undefined) throw refuseParameter(name, `${quote(twin)} is there twice`);
  return parts;
}

export function nameIn(part: string): string {
  return part.replace(/^[-+]/, "");
}

/** Parses the path of a parameter. @throws AppError `bad_request` with the problem. */
export function refusing<T>(name: QueryParameter, parse: () => T): T {
  try {
    return parse();
  } catch (thrown) {
    throw thrown instanceof ExpressionError ? refuseParameter(name, thrown.problem) : thrown;
  }
}
