/** SQL of second factors: the secrets of authenticator apps and the recovery codes of users. */
import type { SecondFactorMethod } from "@socle/protocol";
import type { Reader, Transactor } from "../../../store/database/index.ts";
import type { CredentialKind } from "../credentials.ts";
import { hasPasskey, passkeys } from "./passkey-table.ts";

/** The authenticator app of a user. Both secrets are sealed. */
interface Totp {
  /** Null before the first confirmation: no second factor yet. */
  readonly secret: string | null;
  /** A new secret that the user has not confirmed. */
  readonly pending: string | null;
  /** The newest step with a used code. */
  readonly lastStep: number;
}

export function findTotp(reader: Reader, userId: string): Totp | null {
  return reader.get<Totp>("SELECT secret, pending, lastStep FROM _totp WHERE userId = ?", userId);
}

export function keepPending(tx: Transactor, userId: string, pending: string): void {
  const sql =
    "INSERT INTO _totp (userId, pending) VALUES (?, ?) ON CONFLICT (userId) DO UPDATE SET pending = excluded.pending";
  tx.run(sql, userId, pending);
}

/** Makes a pending secret the secret; `step` has had the code. Answers false if this secret is not pending any more. */
export function confirmPending(
  tx: Transactor,
  userId: string,
  { pending, step }: { pending: string; step: number },
): boolean {
  const sql = "UPDATE _totp SET secret = pending, pending = NULL, lastStep = ? WHERE userId = ? AND pending = ?";
  return tx.run(sql, step, userId, pending) > 0;
}

/** Marks the code of a step as used. Answers false for another secret, and if the code was used already. */
export function useStep(tx: Transactor, userId: string, { secret, step }: { secret: string; step: number }): boolean {
  const sql = "UPDATE _totp SET lastStep = ? WHERE userId = ? AND secret = ? AND lastStep < ?";
  return tx.run(sql, step, userId, secret, step) > 0;
}

/** Removes the authenticator app with the recovery codes. Answers false without an app. */
export function removeTotp(tx: Transactor, userId: string): boolean {
  tx.run("DELETE FROM _recovery_codes WHERE userId = ?", userId);
  return tx.run("DELETE FROM _totp WHERE userId = ?", userId) > 0;
}

/** Removes every factor of a user. */
export function removeFactors(tx: Transactor, userId: string): void {
  removeTotp(tx, userId);
  passkeys.remove(tx, userId, null);
}

/** Replaces the recovery codes of a user. */
export function keepRecoveryCodes(tx: Transactor, userId: string, hashes: readonly string[]): void {
  tx.run("DELETE FROM _recovery_codes WHERE userId = ?", userId);
  for (const hash of hashes) tx.run("INSERT INTO _recovery_codes (userId, hash) VALUES (?, ?)", userId, hash);
}

/** Uses a recovery code up. Answers false for an unknown code. */
export function useRecoveryCode(tx: Transactor, userId: string, hash: string): boolean {
  return tx.run("DELETE FROM _recovery_codes WHERE userId = ? AND hash = ?", userId, hash) > 0;
}

export function hasRecoveryCode(reader: Reader, userId: string, hash: string): boolean {
  return reader.get("SELECT 1 FROM _recovery_codes WHERE userId = ? AND hash = ?", userId, hash) !== null;
}

export function countRecoveryCodes(reader: Reader, userId: string): number {
  return reader.get<{ n: number }>("SELECT count(*) AS n FROM _recovery_codes WHERE userId = ?", userId)?.n ?? 0;
}

export function hasTotp(reader: Reader, userId: string): boolean {
  return reader.get("SELECT 1 FROM _totp WHERE userId = ? AND secret IS NOT NULL", userId) !== null;
}

export const authenticatorApp: CredentialKind = { name: "the authenticator app", has: hasTotp, remove: removeTotp };

/** The ways in which a user can show the second factor; empty for a user without a second factor. */
export function methodsOf(reader: Reader, userId: string): SecondFactorMethod[] {
  if (!hasTotp(reader, userId)) return [];
  const methods: SecondFactorMethod[] = ["code"];
  if (countRecoveryCodes(reader, userId) > 0) methods.push("recoveryCode");
  if (hasPasskey(reader, userId)) methods.push("passkey");
  return methods;
}
