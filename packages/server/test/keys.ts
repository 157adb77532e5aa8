/** Helpers of tests with API keys: keys of users and service keys, made over HTTP. */
import type { CreatedApiKey } from "@socle/protocol";
import type { TestApi } from "./kit.ts";

export interface KeyOptions {
  /** The access token of the owner, or of an admin for a service key. */
  token: string;
  scopes: readonly string[];
  isOfService?: boolean;
  expiresAt?: string;
}

/** Makes a key. Answers the whole answer, of which `key` is the token. */
export async function makeKey(
  api: TestApi,
  { token, scopes, isOfService = false, expiresAt }: KeyOptions,
): Promise<CreatedApiKey> {
  const path = isOfService ? "/api/admin/keys" : "/api/auth/keys";
  const body = { name: "test", scopes, ...(expiresAt !== undefined && { expiresAt }) };
  const made = await api.request<CreatedApiKey>("POST", path, { token, body });
  if (made.status !== 201) throw new Error(`The key was not made: ${JSON.stringify(made.body)}`);
  return made.body;
}
