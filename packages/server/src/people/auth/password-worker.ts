/** The password thread: computes argon2id, one password at a time. A `PasswordReply` answers each `PasswordTask`. */

declare const self: Worker;

/** Without a hash, the password is new: the thread hashes the password. With a hash, the thread compares. */
export interface PasswordTask {
  readonly password: string;
  readonly hash: string | null;
}

/** The result is null for a new password that is one of the most common passwords. */
export type PasswordReply = { readonly result: string | boolean | null } | { readonly error: string };

/** OWASP's first recommendation for argon2id: 19 MiB, two passes. */
const parameters = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

/** The list of common passwords, read with the first new password of the thread. */
let common: string | null = null;

async function isCommon(password: string): Promise<boolean> {
  if (common === null) {
    const { packedCommonPasswords } = await import("./common-passwords.ts");
    common = Bun.zstdDecompressSync(Buffer.from(packedCommonPasswords, "base64")).toString("latin1");
  }
  return !password.includes("\n") && common.includes(`\n${password.toLowerCase()}\n`);
}

async function answer({ password, hash }: PasswordTask): Promise<PasswordReply> {
  try {
    if (hash !== null) return { result: Bun.password.verifySync(password, hash) };
    return { result: (await isCommon(password)) ? null : Bun.password.hashSync(password, parameters) };
  } catch (thrown) {
    return { error: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

self.onmessage = async ({ data }: MessageEvent<PasswordTask>) => self.postMessage(await answer(data));
