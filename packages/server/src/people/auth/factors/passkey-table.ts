/** SQL of passkeys, and of the challenges that were used. */
import type { Passkey } from "@socle/protocol";
import { newId, toTimestamp } from "../../../base/kernel/index.ts";
import { isUniqueViolation, type Reader, type Transactor } from "../../../store/database/index.ts";
import type { CredentialKind } from "../credentials.ts";
import { expiringHashes } from "../expiring-table.ts";

/** A passkey as stored; the key is in base64url. */
export interface StoredPasskey {
  readonly id: string;
  readonly userId: string;
  readonly credentialId: string;
  readonly publicKey: string;
  /** Uses, as far as the authenticator counts. */
  readonly counter: number;
  /** JSON: the ways to the authenticator, as the browser has told. */
  readonly transports: string;
}

interface NewPasskey extends Omit<StoredPasskey, "id"> {
  readonly name: string;
  readonly isBackedUp: boolean;
}

interface Row {
  id: string;
  name: string;
  isBackedUp: number;
  createdAt: number;
  lastUsedAt: number | null;
}

function toEntry({ isBackedUp, createdAt, lastUsedAt, ...row }: Row): Passkey {
  return {
    ...row,
    isBackedUp: isBackedUp === 1,
    createdAt: toTimestamp(createdAt),
    lastUsedAt: lastUsedAt === null ? null : toTimestamp(lastUsedAt),
  };
}

/** The passkeys of a user, newest first. */
export function listPasskeys(reader: Reader, userId: string): Passkey[] {
  const sql =
    "SELECT id, name, isBackedUp, createdAt, lastUsedAt FROM _passkeys WHERE userId = ? ORDER BY createdAt DESC, id DESC";
  return reader.all<Row>(sql, userId).map(toEntry);
}

const selectStored = "SELECT id, userId, credentialId, publicKey, counter, transports FROM _passkeys";

export function passkeysOf(reader: Reader, userId: string): StoredPasskey[] {
  return reader.all<StoredPasskey>(`${selectStored} WHERE userId = ?`, userId);
}

export function findPasskey(reader: Reader, credentialId: string): StoredPasskey | null {
  return reader.get<StoredPasskey>(`${selectStored} WHERE credentialId = ?`, credentialId);
}

export function hasPasskey(reader: Reader, userId: string): boolean {
  return reader.get("SELECT 1 FROM _passkeys WHERE userId = ? LIMIT 1", userId) !== null;
}

/** Answers null if the credential is registered already, for any user. */
export function insertPasskey(tx: Transactor, passkey: NewPasskey): Passkey | null {
  const now = Date.now();
  const { userId, credentialId, publicKey, counter, transports, name, isBackedUp } = passkey;
  const row: Row = { id: newId("psk", now), name, isBackedUp: isBackedUp ? 1 : 0, createdAt: now, lastUsedAt: null };
  const sql =
    "INSERT INTO _passkeys (id, userId, credentialId, publicKey, counter, transports, name, isBackedUp, createdAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
  try {
    tx.run(sql, row.id, userId, credentialId, publicKey, counter, transports, name, row.isBackedUp, now);
  } catch (thrown) {
    if (isUniqueViolation(thrown)) return null;
    throw thrown;
  }
  return toEntry(row);
}

/** A use of a passkey. */
interface Use {
  readonly id: string;
  readonly counter: number;
  readonly isBackedUp: boolean;
}

/**
 * Notes a use. Answers false if the passkey is gone, or the counter of an authenticator that counts has not grown: then there may
 * be a copy of the passkey.
 */
export function usePasskey(tx: Transactor, { id, counter, isBackedUp }: Use): boolean {
  const sql =
    "UPDATE _passkeys SET counter = ?, isBackedUp = ?, lastUsedAt = ? WHERE id = ? AND (counter < ? OR (counter = 0 AND ? = 0))";
  return tx.run(sql, counter, isBackedUp ? 1 : 0, Date.now(), id, counter, counter) > 0;
}

/** Answers false if the user has no such passkey. */
export function removePasskey(tx: Transactor, userId: string, id: string): boolean {
  return tx.run("DELETE FROM _passkeys WHERE id = ? AND userId = ?", id, userId) > 0;
}

export const passkeys: CredentialKind = {
  name: "the passkeys",
  has: hasPasskey,
  remove: (tx, userId) => tx.run("DELETE FROM _passkeys WHERE userId = ?", userId),
  signsIn: hasPasskey,
};

export const expiringChallenges = expiringHashes("_used_challenges");

/** Uses a challenge up. Answers false if the challenge was used before. */
export function useChallenge(tx: Transactor, hash: string, expiresAt: number): boolean {
  return tx.run("INSERT OR IGNORE INTO _used_challenges (hash, expiresAt) VALUES (?, ?)", hash, expiresAt) > 0;
}
