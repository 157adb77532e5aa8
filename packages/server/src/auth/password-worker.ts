/**
 * The password thread: computes argon2id, one password at a time. Each message is a `PasswordTask` and is answered by a
 * `PasswordReply`.
 */

declare const self: Worker;

/** Without a hash, the password is to be hashed; with one, it is to be compared with it. */
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
