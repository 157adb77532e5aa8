/** The answer to a GET of one record: the record with its tag, or 304 to a client that has it. */
import type { Principal } from "../kernel/index.ts";
import type { TaggedRecord } from "../records/index.ts";
import { cacheHeaders, hasTag, jsonType } from "./conditions.ts";
import type { Exchange } from "./exchange.ts";

export function answerRecord(exchange: Exchange, principal: Principal, { json, tag }: TaggedRecord): Response {
  // Two callers may be answered different fields under one tag.
  const headers = { ...cacheHeaders(tag, principal, jsonType), Vary: "Authorization" };
  if (hasTag(exchange.request.headers, tag)) return exchange.respond(304, null, headers);
  return exchange.respond(200, json.text, headers);
}
