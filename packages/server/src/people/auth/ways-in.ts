/** Ways to sign in: a user keeps at least one way when a credential is removed. */
import { AppError } from "../../base/kernel/index.ts";
import type { Reader } from "../../store/database/index.ts";
import { hasPasskey } from "./factors/passkey-table.ts";
import { linksOf } from "./providers/provider-table.ts";
import { passwordHashOf } from "./user-table.ts";

/** The ways that the configuration opens beside passwords and passkeys. */
export interface OpenWays {
  /** Whether users sign in with codes by mail. */
  readonly codes: boolean;
  /** The names of the configured providers. */
  readonly providers: ReadonlySet<string>;
}

/** @throws AppError `bad_request` for a user without any way to sign in: to be called after the removal, in the transaction. */
export function checkWayIn(reader: Reader, userId: string, { codes, providers }: OpenWays): void {
  if (codes || passwordHashOf(reader, userId) !== "" || hasPasskey(reader, userId)) return;
  if (linksOf(reader, userId).some(({ provider }) => providers.has(provider))) return;
  throw new AppError("bad_request", "This is your only way to sign in: set a password first, or add another way.");
}
