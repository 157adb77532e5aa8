/** Changes of keys that follow from changes of the owner: the end of keys, and the role with which a key acts. */
import type { Role } from "@socle/protocol";
import { adminScope } from "../../../data/permissions/index.ts";
import type { Transactor } from "../../../store/database/index.ts";
import { sessionChanged } from "../sessions.ts";
import { deleteKey, keysOf } from "./key-table.ts";

/** The role with which a key acts: an admin's key is an admin's only by the scope. */
export function roleWith(scopes: readonly string[], role: Role): Role {
  return role === "admin" && !scopes.includes(adminScope) ? "authenticated" : role;
}

/** Deletes every key of a user. */
export function deleteKeysOf(tx: Transactor, userId: string): void {
  for (const { id } of keysOf(tx, userId, 0)) endKey(tx, id);
}

/** Makes a user's new role count for every key, from the commit on. */
export function changeRoleOfKeys(tx: Transactor, userId: string, role: Role): void {
  tx.endBatch();
  for (const { id, scopes } of keysOf(tx, userId, 0))
    tx.note(sessionChanged.of({ sessionId: id, role: roleWith(JSON.parse(scopes), role) }));
}

/** Deletes a key. */
export function endKey(tx: Transactor, id: string): void {
  deleteKey(tx, id);
  // The caller of the next transaction is looked up in memory.
  tx.endBatch();
  tx.note(sessionChanged.of({ sessionId: id, role: null }));
}
