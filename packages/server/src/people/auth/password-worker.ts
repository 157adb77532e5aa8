/** The password thread: computes argon2id, one password at a time. A `PasswordReply` answers each `PasswordTask`. */
import { isCommonPassword } from "./common-password.ts";

declare const self: Worker;

/** Without a hash, the password is new: the thread hashes the password. With a hash, the thread compares. */
export interface PasswordTask {
  readonly password: string;
  readonly hash: string | null;
  /** Whether a new password that is one of the most common passwords is refused. */
  readonly refusesCommon?: boolean;
  /** The work of a new hash; by default the full work. */
  readonly cost?: PasswordCost | undefined;
}

/** The work of hashing a password. A hash names its parameters, so that each comparison does the work of the hash. */
export interface PasswordCost {
  /** KiB. */
  readonly memoryCost: number;
  /** Passes over the memory. */
  readonly timeCost: number;
}

/** The result is null for a new password that is refused. */
export type PasswordReply = { readonly result: string | boolean | null } | { readonly error: string };

/** OWASP's first recommendation for argon2id: 19 MiB, two passes. */
const parameters = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

async function answer({ password, hash, refusesCommon = false, cost }: PasswordTask): Promise<PasswordReply> {
  try {
    if (hash !== null) return { result: Bun.password.verifySync(password, hash) };
    if (refusesCommon && (await isCommonPassword(password))) return { result: null };
    return { result: Bun.password.hashSync(password, { ...parameters, ...cost }) };
  } catch (thrown) {
    return { error: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

self.onmessage = async ({ data }: MessageEvent<PasswordTask>) => self.postMessage(await answer(data));
