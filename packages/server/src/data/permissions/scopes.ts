/**
 * Scopes of API keys: whether the scopes of a caller include an access. A caller without a key has no scopes and no bound; the scope `admin` makes the caller an admin, for whom no other scope is asked.
 */
import { AppError, isAdmin, type Principal } from "../../base/kernel/index.ts";

type Access = "read" | "write";

/** The scope of admins. */
export const adminScope = "admin";

/** The scopes that bound a caller; null for a caller without a bound. */
export function scopesOf(principal: Principal): readonly string[] | null {
  if (principal === null || !("scopes" in principal) || isAdmin(principal)) return null;
  return principal.scopes ?? null;
}

/** @param noun a collection, or `storage`, `users`, or the first word of a channel. */
export function hasScope(principal: Principal, noun: string, access: Access): boolean {
  const scopes = scopesOf(principal);
  return scopes === null || scopes.includes(`${noun}:${access}`) || scopes.includes(`*:${access}`);
}

/** @throws AppError `forbidden`. */
export function admitScope(principal: Principal, noun: string, access: Access): void {
  if (!hasScope(principal, noun, access)) throw lacking(`${noun}:${access}`);
}

/** @param path the decoded parts of the path behind the prefix of endpoints. @throws AppError `forbidden`. */
export function admitCall(principal: Principal, path: readonly string[]): void {
  const isOpen = scopesOf(principal)?.some((scope) => isOfPath(scope, path)) ?? true;
  if (!isOpen) throw lacking(`function:/${path.join("/")}`);
}

/** @param name of a server query. @throws AppError `forbidden`. */
export function admitQuery(principal: Principal, name: string): void {
  const scopes = scopesOf(principal);
  if (scopes !== null && !scopes.includes(`query:${name}`) && !scopes.includes("query:*"))
    throw lacking(`query:${name}`);
}

export function lacking(scope: string): AppError {
  return new AppError("forbidden", `The API key has no scope for this: ${scope}.`);
}

function isOfPath(scope: string, path: readonly string[]): boolean {
  if (!scope.startsWith("function:/")) return false;
  const parts = scope.slice("function:/".length).split("/");
  if (parts.at(-1) === "*")
    return path.length >= parts.length && parts.slice(0, -1).every((part, i) => part === path[i]);
  return parts.join("/") === path.join("/");
}
