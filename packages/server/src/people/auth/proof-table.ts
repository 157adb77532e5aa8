/**
 * SQL of proofs: tokens that were mailed to an address. A proof works once, for one purpose, until the proof expires. The
 * database has only a hash of purpose and token, so a token of another purpose is unknown.
 */
import { AppError, randomToken } from "../../base/kernel/index.ts";
import type { Reader, Transactor } from "../../store/database/index.ts";
import { expiringHashes } from "./expiring-table.ts";

const hourMs = 3_600_000;

/** The purposes: how long a proof works, and how many proofs for an address work at a time. A newer proof ends the oldest. */
const purposes = {
  verify: { ttlMs: 24 * hourMs, kept: 3 },
  reset: { ttlMs: hourMs, kept: 3 },
  email: { ttlMs: hourMs, kept: 3 },
  invitation: { ttlMs: 7 * 24 * hourMs, kept: 1 },
  // A stranger can have a quarter of the mails of an hour, fewer than the kept proofs: the code of the owner stays.
  code: { ttlMs: hourMs / 6, kept: 6 },
} as const;
export type Purpose = keyof typeof purposes;

/** Proofs for addresses without a user that are kept. No token of these proofs works: the rows make the work alike. */
const maxWithoutUser = 1_000;

/** The milliseconds for which a new proof works. */
export function lifetimeOf(purpose: Purpose): number {
  return purposes[purpose].ttlMs;
}

export interface Proof {
  /** Null for an address without a user. */
  readonly userId: string | null;
  /** The address that the proof proves. */
  readonly email: string;
  /** The hash of a code, or the data of an invitation. */
  readonly details: string | null;
}

interface NewProof extends Omit<Proof, "details"> {
  readonly purpose: Purpose;
  readonly details?: string | null;
}

export const expiringProofs = expiringHashes("_proofs");

/**
 * The error for a token or a code that is unknown, used, expired or of another purpose: one text for all reasons, so that the
 * text tells nothing.
 */
export function invalidProof(): AppError {
  return new AppError("bad_request", "The token or code is unknown, used or expired. Begin again.");
}

export function newToken(): string {
  return randomToken(32);
}

function hashOf(purpose: Purpose, token: string): string {
  return Bun.SHA256.hash(`${purpose}\0${token}`, "hex");
}

/** Keeps a proof for a token of 256 random bits (`newToken`). */
export function addProof(tx: Transactor, token: string, { purpose, userId, email, details }: NewProof): void {
  const { ttlMs, kept } = purposes[purpose];
  tx.run(
    "INSERT INTO _proofs (hash, purpose, userId, email, details, expiresAt) VALUES (?, ?, ?, ?, ?, ?)",
    hashOf(purpose, token),
    purpose,
    userId,
    email,
    details ?? null,
    Date.now() + ttlMs,
  );
  tx.run(
    "DELETE FROM _proofs WHERE _seq IN (SELECT _seq FROM _proofs WHERE purpose = ? AND email = ? ORDER BY _seq DESC LIMIT -1 OFFSET ?)",
    purpose,
    email,
    kept,
  );
  tx.run(
    "DELETE FROM _proofs WHERE _seq IN (SELECT _seq FROM _proofs WHERE userId IS NULL AND purpose <> 'invitation' ORDER BY _seq DESC LIMIT -1 OFFSET ?)",
    maxWithoutUser,
  );
}

/** The proof of a token that would work now, or null. */
export function findProof(reader: Reader, purpose: Purpose, token: string): Proof | null {
  const sql = "SELECT userId, email, details FROM _proofs WHERE hash = ? AND purpose = ? AND expiresAt > ?";
  return reader.get<Proof>(sql, hashOf(purpose, token), purpose, Date.now());
}

/** Uses a token up: of two uses at the same moment, one gets the proof. @throws AppError `bad_request`. */
export function consume(tx: Transactor, purpose: Purpose, token: string): Proof {
  const sql = "DELETE FROM _proofs WHERE hash = ? AND purpose = ? AND expiresAt > ? RETURNING userId, email, details";
  const proof = tx.get<Proof>(sql, hashOf(purpose, token), purpose, Date.now());
  if (proof === null) throw invalidProof();
  return proof;
}

/** Ends the proofs of a user, but the proofs of a kept purpose. */
export function endProofsOf(tx: Transactor, userId: string, kept: Purpose | null = null): void {
  tx.run("DELETE FROM _proofs WHERE userId = ? AND purpose IS NOT ?", userId, kept);
}

/** Ends the proofs of a user for one purpose. */
export function endPurposeOf(tx: Transactor, userId: string, purpose: Purpose): void {
  tx.run("DELETE FROM _proofs WHERE userId = ? AND purpose = ?", userId, purpose);
}
