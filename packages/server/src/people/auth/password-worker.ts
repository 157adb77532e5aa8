/** The password thread: computes argon2id, one password at a time. A `PasswordReply` answers each `PasswordTask`. */

declare const self: Worker;

/** Without a hash, the thread hashes the password; with a hash, the thread compares. */
export interface PasswordTask {
  readonly password: string;
  readonly hash: string | null;
}

export type PasswordReply = { readonly result: string | boolean } | { readonly error: string };

/** OWASP's first recommendation for argon2id: 19 MiB, two passes. */
const parameters = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

function answer({ password, hash }: PasswordTask): PasswordReply {
  try {
    if (hash === null) return { result: Bun.password.hashSync(password, parameters) };
    return { result: Bun.password.verifySync(password, hash) };
  } catch (thrown) {
    return { error: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

self.onmessage = ({ data }: MessageEvent<PasswordTask>) => self.postMessage(answer(data));
