/** The first proof of an address: the credentials that were made before the first proof are removed. */
import type { User } from "@socle/protocol";
import type { Principal } from "../../base/kernel/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import { endAttemptsOf } from "./factors/attempt-table.ts";
import { removeFactors } from "./factors/factor-table.ts";
import { deleteKeysOf } from "./keys/key-changes.ts";
import { endProofsOf } from "./proofs/proof-table.ts";
import { type LinkKey, removeLinksOf } from "./providers/provider-table.ts";
import { endSessionsOf } from "./sessions.ts";
import { setPasswordHash } from "./user-table.ts";

/** The credentials that a caller has shown beside the proof of an address. */
export interface ShownCredentials {
  /** The caller gave the password. A session of the account stands for the password, too. */
  readonly password: boolean;
  /** The session of the caller; null for a caller without a session of the account. */
  readonly sessionId: string | null;
  /** The link of a sign-in at a provider, which has proven the address. */
  readonly link?: LinkKey;
}

/** A proof without a credential beside the proof. */
export const nothingShown: ShownCredentials = { password: false, sessionId: null };

/** A proof of an address. */
interface AddressProof {
  readonly shown: ShownCredentials;
  /** `Users` changes the account. */
  readonly users: {
    change(tx: Transactor, change: { user: User; email: string; verified: true }, principal: Principal): User;
  };
  /** By default, the present address of the user. */
  readonly email?: string;
}

/**
 * Marks an address of a user as proven, and makes the address the address of the user. The first proof removes the credentials
 * that were made before: somebody else may have registered with the address. Each first proof, by mail or by a provider,
 * calls this function.
 */
export function proveAddress(tx: Transactor, user: User, { shown, users, email = user.email }: AddressProof): User {
  const { id: userId, role } = user;
  if (!user.verified) removeUnproven(tx, userId, shown);
  else if (email === user.email) return user;
  return users.change(tx, { user, email, verified: true }, { userId, role });
}

/**
 * Removes the credentials of a user whose address was not proven, except for the shown credentials. A table of credentials
 * adds the deletion of the rows here and to `Users.delete`.
 */
function removeUnproven(tx: Transactor, userId: string, shown: ShownCredentials): void {
  if (!shown.password && shown.sessionId === null) {
    setPasswordHash(tx, userId, "");
    removeFactors(tx, userId);
    deleteKeysOf(tx, userId);
    removeLinksOf(tx, userId, shown.link ?? null);
  }
  endSessionsOf(tx, userId, shown.sessionId);
  endAttemptsOf(tx, userId);
  // A token for a move to another address would give the account away.
  endProofsOf(tx, userId);
}
