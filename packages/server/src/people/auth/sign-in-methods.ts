/** Sign-in methods of a user: the removal of a credential must leave the user at least one method. */
import { AppError } from "../../base/kernel/index.ts";
import type { Reader } from "../../store/database/index.ts";
import { hasPasskey } from "./factors/passkey-table.ts";
import { linksOf } from "./providers/provider-table.ts";
import { passwordHashOf } from "./user-table.ts";

/** The sign-in methods that the configuration adds to passwords and passkeys. */
export interface SignInMethods {
  /** Whether users sign in with codes by mail. */
  readonly codes: boolean;
  /** The names of the configured providers. */
  readonly providers: ReadonlySet<string>;
}

/** @throws AppError `bad_request` for a user without a sign-in method. To be called after the removal, in the transaction. */
export function requireSignInMethod(reader: Reader, userId: string, { codes, providers }: SignInMethods): void {
  if (codes || passwordHashOf(reader, userId) !== "" || hasPasskey(reader, userId)) return;
  if (linksOf(reader, userId).some(({ provider }) => providers.has(provider))) return;
  throw new AppError("bad_request", "This is your only way to sign in: set a password first, or add another way.");
}
