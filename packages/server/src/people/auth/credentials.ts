/** The first proof of an address: the credentials that were made before the first proof are removed. */
import type { User } from "@socle/protocol";
import type { Principal } from "../../base/kernel/index.ts";
import type { Reader, Transactor } from "../../store/database/index.ts";
import { endAttemptsOf } from "./factors/attempt-table.ts";
import { hasTotp, removeFactors } from "./factors/factor-table.ts";
import { hasPasskey } from "./factors/passkey-table.ts";
import { deleteKeysOf } from "./keys/key-changes.ts";
import { keysOf } from "./keys/key-table.ts";
import type { Change, Notices } from "./notices.ts";
import { endProofsOf } from "./proofs/proof-table.ts";
import { type LinkKey, linksOf, removeLinksOf } from "./providers/provider-table.ts";
import { endSessionsOf } from "./sessions.ts";
import { hasGivenPassword, passwordHashOf, setPasswordHash } from "./user-table.ts";

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
  /** Tells the user which credentials were removed; null for a caller who mails a notice in any case. */
  readonly notice: { readonly notices: Notices; readonly by: Change["by"] } | null;
}

/**
 * Marks an address of a user as proven, and makes the address the address of the user. The first proof removes the credentials
 * that were made before: somebody else may have registered with the address. Each first proof, by mail or by a provider,
 * calls this function.
 */
export function proveAddress(
  tx: Transactor,
  user: User,
  { shown, users, email = user.email, notice }: AddressProof,
): User {
  const { id: userId, role } = user;
  if (user.verified && email === user.email) return user;
  if (!user.verified) {
    const removed = removeUnproven(tx, userId, shown);
    const change = `The address was proven for the first time. ${removed}`;
    // The proven address: the former address may be of somebody else.
    if (removed !== "") notice?.notices.tell(tx, { id: userId, email }, { change, by: notice.by });
  }
  return users.change(tx, { user, email, verified: true }, { userId, role });
}

/**
 * Removes the credentials of a user whose address was not proven, except for the shown credentials. A table of credentials
 * adds the deletion of the rows here and to `Users.delete`.
 * @returns a plain sentence about the removed credentials; "" if only sessions were removed.
 */
function removeUnproven(tx: Transactor, userId: string, shown: ShownCredentials): string {
  const keepsPassword = shown.password || shown.sessionId !== null;
  // The holder of a given password has not made the other credentials.
  const keepsOthers = keepsPassword && !hasGivenPassword(tx, userId);
  const before = credentialsOf(tx, userId, shown.link ?? null);
  if (!keepsPassword) setPasswordHash(tx, userId, "");
  if (!keepsOthers) {
    removeFactors(tx, userId);
    deleteKeysOf(tx, userId);
    removeLinksOf(tx, userId, shown.link ?? null);
  }
  endSessionsOf(tx, userId, shown.sessionId);
  endAttemptsOf(tx, userId);
  // A token for a move to another address would give the account away.
  endProofsOf(tx, userId);
  const after = credentialsOf(tx, userId, shown.link ?? null);
  const removed = before.filter((name) => !after.includes(name)).join(", ");
  return removed && `Somebody else may have made these credentials, which were removed: ${removed}.`;
}

/** The credentials of a user, in words; a kept link does not count. */
function credentialsOf(reader: Reader, userId: string, kept: LinkKey | null): string[] {
  const links = linksOf(reader, userId).filter((link) => link.issuer !== kept?.issuer || link.subject !== kept.subject);
  const found = {
    "the password": passwordHashOf(reader, userId) !== "",
    "the authenticator app": hasTotp(reader, userId),
    "the passkeys": hasPasskey(reader, userId),
    "the API keys": keysOf(reader, userId, 0).length > 0,
    "the links to accounts elsewhere": links.length > 0,
  };
  return Object.entries(found).flatMap(([name, isThere]) => (isThere ? [name] : []));
}
