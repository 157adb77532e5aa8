/**
 * Credentials of users: the password, and the kinds of credentials that the parts of auth keep. Removes credentials when the
 * user goes, and at the first proof of an address the credentials that were made before.
 */
import type { Role } from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import type { Reader, Transactor } from "../../store/database/index.ts";
import { endAttemptsOf } from "./attempt-table.ts";
import { endProofsOf } from "./proof-table.ts";
import { endSessionsOf } from "./sessions.ts";
import { hasGivenPassword, passwordHashOf, setPasswordHash } from "./user-table.ts";

/** The key of a link: the same person at a provider, for ever. */
export interface LinkKey {
  readonly issuer: string;
  readonly subject: string;
}

/** A kind of credential beside the password. A part of auth has the table; nothing here knows the part. */
export interface CredentialKind {
  /** The credentials of a user in words, for a mail: "the passkeys". */
  readonly name: string;
  /** Whether a user has such a credential; a kept link does not count. */
  has(reader: Reader, userId: string, kept: LinkKey | null): boolean;
  /** Removes the credentials of a user, but for a kept link. */
  remove(tx: Transactor, userId: string, kept: LinkKey | null): void;
  /** Whether such a credential alone signs a user in; absent for a kind that opens no session. */
  signsIn?(reader: Reader, userId: string): boolean;
  /** For credentials that act for the user without a session: makes a new role of the user count, from the commit on. */
  changeRole?(tx: Transactor, userId: string, role: Role): void;
}

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

interface CredentialKindsOptions {
  /** In the order in which mails name the kinds. */
  readonly kinds: readonly CredentialKind[];
  /** Whether users sign in with codes by mail. */
  readonly codes: boolean;
}

export class CredentialKinds {
  readonly #kinds: readonly CredentialKind[];
  readonly #codes: boolean;

  constructor({ kinds, codes }: CredentialKindsOptions) {
    this.#kinds = kinds;
    this.#codes = codes;
  }

  /** Removes every credential of a user but the password, and every session. */
  removeAll(tx: Transactor, userId: string): void {
    this.#endSessions(tx, userId, null);
    for (const kind of this.#kinds) kind.remove(tx, userId, null);
  }

  /** Ends the sessions of a user, and the credentials that act without a session. */
  endAccess(tx: Transactor, userId: string): void {
    this.#endSessions(tx, userId, null);
    for (const kind of this.#kinds) if (kind.changeRole !== undefined) kind.remove(tx, userId, null);
  }

  /** Ends the sessions of a user but a kept session, the sign-ins that wait for the second factor, and tokens that were mailed. */
  #endSessions(tx: Transactor, userId: string, keptSession: string | null): void {
    endAttemptsOf(tx, userId);
    endSessionsOf(tx, userId, keptSession);
    // A token for a move to another address would give the account away.
    endProofsOf(tx, userId);
  }

  /** Makes a new role of a user count in credentials that act without a session. */
  changeRole(tx: Transactor, userId: string, role: Role): void {
    for (const kind of this.#kinds) kind.changeRole?.(tx, userId, role);
  }

  /** @throws AppError `bad_request` for a user without any way to sign in: to be called after the removal, in the transaction. */
  requireSignInMethod(reader: Reader, userId: string): void {
    if (this.#codes || passwordHashOf(reader, userId) !== "") return;
    if (this.#kinds.some((kind) => kind.signsIn?.(reader, userId) === true)) return;
    throw new AppError("bad_request", "This is your only way to sign in: set a password first, or add another way.");
  }

  /**
   * Removes the credentials of a user whose address was not proven, except for the shown credentials: somebody else may have
   * registered with the address.
   * @returns a plain sentence about the removed credentials; "" if only sessions were removed.
   */
  removeUnproven(tx: Transactor, userId: string, shown: ShownCredentials): string {
    const { link = null, sessionId } = shown;
    const keepsPassword = shown.password || sessionId !== null;
    // The holder of a given password has not made the other credentials.
    const keepsOthers = keepsPassword && !hasGivenPassword(tx, userId);
    const before = this.#namesOf(tx, userId, link);
    if (!keepsPassword) setPasswordHash(tx, userId, "");
    if (!keepsOthers) for (const kind of this.#kinds) kind.remove(tx, userId, link);
    this.#endSessions(tx, userId, sessionId);
    const after = this.#namesOf(tx, userId, link);
    const removed = before.filter((name) => !after.includes(name)).join(", ");
    return removed && `Somebody else may have made these credentials, which were removed: ${removed}.`;
  }

  /** The credentials of a user, in words; a kept link does not count. */
  #namesOf(reader: Reader, userId: string, kept: LinkKey | null): string[] {
    const password = passwordHashOf(reader, userId) === "" ? [] : ["the password"];
    return [...password, ...this.#kinds.filter((kind) => kind.has(reader, userId, kept)).map(({ name }) => name)];
  }
}
