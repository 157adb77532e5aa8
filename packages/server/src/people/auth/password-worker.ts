/** The password thread: computes argon2id, one password at a time. */
import { ownerChannel } from "../../base/channel/index.ts";
import { messageOf } from "../../base/kernel/index.ts";
import { isCommonPassword } from "./common-password.ts";

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

/** OWASP's first recommendation for argon2id: 19 MiB, two passes. */
const parameters = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

const handlers = {
  /** The hash of a new password, null for a new password that is refused; whether a password has the hash. */
  async compute({ password, hash, refusesCommon = false, cost }: PasswordTask): Promise<string | boolean | null> {
    try {
      if (hash !== null) return Bun.password.verifySync(password, hash);
      if (refusesCommon && (await isCommonPassword(password))) return null;
      return Bun.password.hashSync(password, { ...parameters, ...cost });
    } catch (thrown) {
      throw new Error(`The password was not hashed: ${messageOf(thrown)}`);
    }
  },
};
export type PasswordHandlers = typeof handlers;

ownerChannel(handlers);
