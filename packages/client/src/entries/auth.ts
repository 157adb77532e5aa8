/** `@socle/client/auth`: the account of the signed-in user. */
import { AuthClient } from "../auth.ts";
import { type Requesting, requestsOf } from "../requests.ts";
import type { CallOptions } from "../transport.ts";

export type { SessionsClient } from "../auth.ts";
export { AuthClient } from "../auth.ts";
export type { TotpClient } from "../auth-factors.ts";
export type { KeysClient } from "../auth-keys.ts";
export type { PasskeySignIn, PasskeysClient } from "../auth-passkeys.ts";
export type { MailedProof, ProofsClient } from "../auth-proofs.ts";
export { type LinksClient, ProviderError, type ProviderVisit, type VisitOptions } from "../auth-providers.ts";

/** The account: `auth(socle).changePassword(…)`. With a signal, the signal aborts every call. */
export function auth(client: Requesting, options?: CallOptions): AuthClient {
  return new AuthClient(requestsOf(client, options));
}
