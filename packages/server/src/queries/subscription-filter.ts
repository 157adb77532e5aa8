/** The filters of subscriptions: parsed as those of lists are, with the same read rules for the records that they reach. */
import type { Collection, Collections } from "../collections/index.ts";
import { type Expression, parseExpression } from "../expressions/index.ts";
import type { Principal } from "../kernel/index.ts";
import { ReadScope } from "./read-scope.ts";

/**
 * A filter over the records of a collection. It is the same for all callers of one class: admins, other users, nobody.
 * @throws ExpressionError; AppError `unauthorized` or `forbidden` where it leads to something that the caller may not read.
 */
export function parseSubscriptionFilter(
  { collections, collection }: { collections: Collections; collection: Collection },
  principal: Principal,
  text: string,
): Expression {
  return parseExpression(text, new ReadScope(collections, principal).schema(collection));
}
