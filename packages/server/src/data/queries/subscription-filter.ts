/** The filters of subscriptions: parsed as filters of lists, with the same read rules for the records that a path reaches. */

import type { Principal } from "../../base/kernel/index.ts";
import type { Collection, Collections } from "../collections/index.ts";
import { type Expression, parseExpression } from "../expressions/index.ts";
import { ReadScope } from "./read-scope.ts";

/**
 * A filter over the records of a collection, the same for all callers of a class: admins, other users, callers without a token.
 * @throws ExpressionError; AppError `unauthorized` or `forbidden` for a filter that leads to something that the caller may not read.
 */
export function parseSubscriptionFilter(
  { collections, collection }: { collections: Collections; collection: Collection },
  principal: Principal,
  text: string,
): Expression {
  return parseExpression(text, new ReadScope(collections, principal).schema(collection));
}
