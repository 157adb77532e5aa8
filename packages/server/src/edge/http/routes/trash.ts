/** The trash of a collection: the answers to `?trash=only` of the routes of records, and to a restore. */
import { AppError, JsonText, type Principal, quote } from "../../../base/kernel/index.ts";
import type { Collection } from "../../../data/collections/index.ts";
import { type Records, recordTag } from "../../../data/records/index.ts";
import type { Exchange } from "../exchange.ts";
import { jsonType } from "../headers.ts";
import { wholeNumberOf } from "./page-parameters.ts";

const maxLimit = 1_000;
const parameters = ["trash", "limit", "cursor"];

/** The collection and the caller of a request. */
interface Asked {
  readonly collection: Collection;
  readonly principal: Principal;
}

/** Whether a request is about the trash. @throws AppError `bad_request` for another value, and for a parameter that the trash does not have. */
export function isAboutTrash(exchange: Exchange): boolean {
  const value = exchange.search.includes("trash") ? exchange.query("trash") : null;
  if (value === null) return false;
  if (value !== "only") throw new AppError("bad_request", `"trash" must be "only", not ${quote(value)}.`);
  const unknown = [...new URLSearchParams(exchange.search).keys()].find((name) => !parameters.includes(name));
  if (unknown === undefined) return true;
  const allowed = parameters.join(", ");
  throw new AppError("bad_request", `The trash has no parameter ${quote(unknown)}; allowed: ${allowed}.`);
}

export async function trashPage(
  records: Records,
  exchange: Exchange,
  { collection, principal }: Asked,
): Promise<Response> {
  const page = {
    limit: wholeNumberOf(exchange, "limit", maxLimit) ?? maxLimit,
    before: wholeNumberOf(exchange, "cursor", Number.MAX_SAFE_INTEGER),
  };
  const headers = { "Cache-Control": "private, no-store" };
  return exchange.json(200, await records.trash.page(collection, principal, page), headers);
}

export async function restored(
  records: Records,
  exchange: Exchange,
  { collection, principal }: Asked,
): Promise<Response> {
  const author = exchange.author(principal);
  const record = await records.trash.restore(collection, author, exchange.param("id"));
  const headers = { "Content-Type": jsonType, ETag: recordTag(collection, record) };
  return exchange.respond(200, JsonText.of(record), headers);
}
