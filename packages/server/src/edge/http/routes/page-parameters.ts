/** The parameters of a page: numbers of the query. */
import { AppError, quote } from "../../../base/kernel/index.ts";
import type { Exchange } from "../exchange.ts";

/** A number of the query, from 1; null without the parameter. @throws AppError `bad_request`. */
export function wholeNumberOf(exchange: Exchange, name: "limit" | "cursor", max: number): number | null {
  const text = exchange.query(name);
  if (text === null) return null;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= max) return number;
  const wanted = name === "cursor" ? "the nextCursor of a page of this list" : `a whole number from 1 to ${max}`;
  throw new AppError("bad_request", `"${name}" must be ${wanted}, not ${quote(text)}.`);
}
