/** The password thread: computes argon2id, and compares hashes of other services, one password at a time. */
import { ownerChannel } from "../../base/channel/index.ts";
import { messageOf } from "../../base/kernel/index.ts";
import { isCommonPassword } from "./common-password.ts";
import { isFirebasePassword, parseFirebaseHash } from "./firebase-scrypt.ts";

/** A password that the thread compares with a hash, or a new password that the thread hashes. */
export type PasswordTask =
  | { readonly password: string; readonly hash: string }
  | {
      readonly password: string;
      readonly hash: null;
      /** Whether a password that is one of the most common passwords is refused. */
      readonly refusesCommon: boolean;
      readonly cost: PasswordCost;
    };

/** The work of hashing a password. A hash names its parameters, so that each comparison does the work of the hash. */
export interface PasswordCost {
  /** KiB. */
  readonly memoryCost: number;
  /** Passes over the memory. */
  readonly timeCost: number;
}

const handlers = {
  /** The hash of a new password, null for a new password that is refused; whether a password has the hash. */
  async compute(task: PasswordTask): Promise<string | boolean | null> {
    const { password } = task;
    try {
      if (task.hash !== null)
        return parseFirebaseHash(task.hash) === null
          ? Bun.password.verifySync(password, task.hash)
          : await isFirebasePassword(password, task.hash);
      if (task.refusesCommon && (await isCommonPassword(password))) return null;
      return Bun.password.hashSync(password, { algorithm: "argon2id", ...task.cost });
    } catch (thrown) {
      throw new Error(`The password was not hashed: ${messageOf(thrown)}`);
    }
  },
};
export type PasswordHandlers = typeof handlers;

ownerChannel(handlers);
