/** Paging parameters `limit` and `offset` of admin lists, and the page that is answered. */
import type { Page } from "@socle/protocol";
import { AppError, quote } from "../../base/kernel/index.ts";
import type { Exchange } from "./exchange.ts";

/** More than these are not answered at once (contract, "Admin"). */
const maxLimit = 1_000;

export interface PageQuery {
  readonly limit: number;
  readonly offset: number;
}

/**
 * `limit` and `offset` of a list.
 * @throws AppError `bad_request` for anything but a whole number from 0.
 */
export function pageQuery(exchange: Exchange, defaultLimit = 50): PageQuery {
  const limit = wholeNumber(exchange, "limit") ?? defaultLimit;
  return { limit: Math.min(limit, maxLimit), offset: wholeNumber(exchange, "offset") ?? 0 };
}

function wholeNumber(exchange: Exchange, name: string): number | null {
  const text = exchange.query(name);
  if (text === null) return null;
  if (!/^\d+$/.test(text))
    throw new AppError("bad_request", `"${name}" must be a whole number from 0, not ${quote(text)}.`);
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

/** A page in the shape of its answer. */
export function toPage<T>(found: { items: T[]; total: number }, { limit, offset }: PageQuery): Page<T> {
  return { items: found.items, total: found.total, limit, offset };
}

/** A page of a list in memory. */
export function pageOf<T>(all: readonly T[], query: PageQuery): Page<T> {
  const items = all.slice(query.offset, query.offset + query.limit);
  return toPage({ items, total: all.length }, query);
}

/** Whether a switch of the query is on. @throws AppError `bad_request` for another value than true and false. */
export function switchQuery(exchange: Exchange, name: string): boolean {
  const text = exchange.query(name);
  if (text === null || text === "false") return false;
  if (text === "true") return true;
  throw new AppError("bad_request", `"${name}" must be true or false, not ${quote(text)}.`);
}
