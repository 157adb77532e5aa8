/** Passwords: hashing and comparing on threads of their own, behind a bounded queue. */
import { FairGate } from "../kernel/index.ts";
import { PasswordThreads } from "./password-threads.ts";

/** The hash of a password that nobody knows, so that a login of an unknown user takes as long as any other. */
const nobody =
  "$argon2id$v=19$m=19456,t=2,p=1$g56WsHMxHOMjDcmU6ZRNsiV4a+T3zp0a1KpyABaEBeo$4o0nsEbr38IykssB/I/LTRAa3NLojbJe+DewyUWQRGs";

/** A thread takes 19 MiB while it computes, and a core: more threads would be a way to use up both. */
const maxThreads = 4;

/** The caller that a password is computed for. */
export interface PasswordCaller {
  /** The queue's share counts by it: an address or a user id. */
  readonly key: string;
  /** When it is aborted, the caller's place in the queue is free at once. */
  readonly signal?: AbortSignal | undefined;
}

/** The service itself, as at a start or for a command. */
export const ownCaller: PasswordCaller = { key: "service" };

/**
 * Passwords are hashed with argon2id on at most as many threads as there are cores minus one, and never on the runtime's
 * own threads, which are needed for flushes and files.
 */
export class Passwords {
  readonly #threads = new PasswordThreads();
  readonly #gate: FairGate;

  /** @param maxWaiting passwords that may wait for a thread (`limits.passwords`); half of them for one caller. */
  constructor(maxWaiting: number) {
    const width = Math.min(maxThreads, Math.max(1, navigator.hardwareConcurrency - 1));
    this.#gate = new FairGate({
      limit: "passwords",
      message: "Too many passwords wait to be checked; try again in a moment.",
      width,
      share: width,
      maxWaiting,
      waitingShare: Math.ceil(maxWaiting / 2),
    });
  }

  /** @throws AppError `unavailable` when the queue is full. */
  async hash(password: string, { key, signal }: PasswordCaller): Promise<string> {
    return String(await this.#gate.run(key, () => this.#threads.run({ password, hash: null }), signal));
  }

  /**
   * Whether a password is the one of a hash. For null, when there is no such user, the same work is done, and the answer
   * is false.
   * @throws AppError `unavailable` when the queue is full.
   */
  async verify(password: string, hash: string | null, { key, signal }: PasswordCaller): Promise<boolean> {
    const task = { password, hash: hash ?? nobody };
    const isRight = await this.#gate.run(key, () => this.#threads.run(task), signal);
    return isRight === true && hash !== null;
  }

  /** Ends the threads. Work that waits or comes later is rejected with `unavailable`. */
  close(): void {
    this.#threads.close();
  }
}
