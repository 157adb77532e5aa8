import type { Operation } from "@socle/protocol";
import type { Collection } from "../collections/index.ts";
import { AppError, isAdmin, type Principal } from "../kernel/index.ts";

/**
 * The part of a rule that needs no record (spec, "Authentication" 4, 6, 7): with `owner`, any signed-in user passes, and
 * the record decides later.
 * @throws AppError `unauthorized` without a token, `forbidden` with one that is not enough.
 */
export function authorize(collection: Collection, operation: Operation, principal: Principal): void {
  const rule = collection.rules[operation];
  if (rule === "public" || isAdmin(principal)) return;
  if (principal === null)
    throw new AppError("unauthorized", `To ${operation} records of "${collection.name}", sign in.`);
  if (rule === "admin")
    throw new AppError("forbidden", `Only an admin may ${operation} records of "${collection.name}".`);
}

/** Whether the rule leaves somebody only what is their own. */
export function onlyOwn(collection: Collection, operation: Operation, principal: Principal): boolean {
  return collection.rules[operation] === "owner" && !isAdmin(principal);
}

/**
 * The part of a rule that needs the record's owner. A record without one is for admins only.
 * @throws AppError `forbidden`.
 */
export function authorizeOwner(
  collection: Collection,
  operation: Operation,
  principal: Principal,
  owner: string | null,
): void {
  if (!onlyOwn(collection, operation, principal)) return;
  if (owner === null || owner !== principal?.userId)
    throw new AppError("forbidden", `Only its owner may ${operation} this record of "${collection.name}".`);
}

/** Whether somebody may read a record of this owner. */
export function mayRead(collection: Collection, principal: Principal, owner: string | null): boolean {
  const rule = collection.rules.read;
  if (rule === "public" || isAdmin(principal)) return true;
  if (principal === null || rule === "admin") return false;
  return rule === "authenticated" || owner === principal.userId;
}
