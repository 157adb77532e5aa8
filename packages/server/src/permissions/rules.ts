/** Rule words: the four words that a permission may be, what is filled in where one is left out, and how they compare. */
import type { Operation, PermissionRule, Permissions } from "@socle/protocol";

/** The rule of every operation. */
export type Rules = { readonly [operation in Operation]: PermissionRule };

/** Every operation's rule: one that is left out takes that of the operation before it; `read` is public. */
export function resolveRules(given: Permissions = {}): Rules {
  const read = given.read ?? "public";
  const create = given.create ?? read;
  const update = given.update ?? create;
  return { read, create, update, delete: given.delete ?? update };
}

/** Read rules, from the one that lets nobody but admins read to the one that lets everybody. */
const byWidth: readonly PermissionRule[] = ["admin", "owner", "authenticated", "public"];

/** Whether a read rule lets more callers read than another. */
export function isWider(rule: PermissionRule, than: PermissionRule): boolean {
  return byWidth.indexOf(rule) > byWidth.indexOf(than);
}

/** Every read rule that lets fewer callers read than this one, from the narrowest. */
export function narrowerThan(rule: PermissionRule): readonly PermissionRule[] {
  return byWidth.slice(0, byWidth.indexOf(rule));
}
