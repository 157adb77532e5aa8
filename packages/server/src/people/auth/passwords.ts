/**
 * Passwords: hashing and comparing on separate threads, behind a bounded queue; checks of a password against the hash of a
 * user, within the bounds of failed logins.
 */
import type { User } from "@socle/protocol";
import { Thread } from "../../base/channel/index.ts";
import { Admission, AppError, type Cause, type SignedIn, threadEntry } from "../../base/kernel/index.ts";
import type { Database, Reader } from "../../store/database/index.ts";
import { foreignHashes, isForeignHash, kindOf } from "./foreign-hash-table.ts";
import type { PasswordCost, PasswordHandlers, PasswordTask } from "./password-worker.ts";
import { passwordHashOf } from "./user-table.ts";

/** The hash of an unknown password, with the cost of a new hash: logins of unknown and of known users take the same time. */
function nobody({ memoryCost, timeCost }: PasswordCost): string {
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$g56WsHMxHOMjDcmU6ZRNsiV4a+T3zp0a1KpyABaEBeo$4o0nsEbr38IykssB/I/LTRAa3NLojbJe+DewyUWQRGs`;
}

/** OWASP's first recommendation for argon2id: 19 MiB, two passes. */
const fullCost: PasswordCost = { memoryCost: 19_456, timeCost: 2 };

/** The most threads. A computing thread takes 19 MiB and a core, so more threads would let callers exhaust both. */
const maxThreads = 4;

export interface PasswordCaller {
  /** The key of the queue's share: an address or a user id. */
  readonly key: string;
  /** Frees the caller's place in the queue. */
  readonly signal?: AbortSignal | undefined;
  /** The headers of the request. */
  readonly headers?: (Pick<Headers, "get"> & Iterable<[name: string, value: string]>) | undefined;
  /** The request. */
  readonly cause?: Cause | undefined;
}

/** The languages that a caller wants in mails (`Accept-Language`), and the cause of the mails. */
export function mailFor({ headers, cause }: PasswordCaller): { language: string | null; cause: Cause | undefined } {
  return { language: headers?.get("accept-language") ?? null, cause };
}

/** The name that the browser or program of a caller has given (`User-Agent`). */
export function userAgentOf({ headers }: PasswordCaller): string | null {
  return headers?.get("user-agent") ?? null;
}

/** The answer to a new password that is one of the most common passwords (`auth.commonPasswords`). */
export type CommonPasswords = "allow" | "refuse";

/** The caller of a proof: the session, if the caller is signed in, and the address of the request. */
export interface Prover {
  readonly principal: SignedIn | null;
  readonly caller: PasswordCaller;
}

/** The service itself, at a start or for a command. */
export const ownCaller: PasswordCaller = { key: "service" };

/** How long a thread without work is kept. */
const keepMs = 30_000;

function stopping(): AppError {
  return new AppError("unavailable", "The service is stopping.");
}

/** A hash that a password is compared with: null for an unknown user. See `Passwords.verify`. */
interface ComparedHash {
  readonly hash: string | null;
  readonly onFormer?: (() => void) | undefined;
  readonly foreign?: readonly string[];
}

/** A thread that computes a single password at a time. */
type PasswordThread = Thread<PasswordHandlers>;

function startThread(): PasswordThread {
  const entry = threadEntry("people/auth/password-worker");
  return new Thread(entry, { name: "The password thread", ours: {}, isSmall: true });
}

/**
 * Hashes passwords with argon2id on as many threads as cores minus one. The runtime's own threads are not used, because
 * flushes and files need the runtime's threads.
 */
export class Passwords {
  readonly #idle = new Map<PasswordThread, Timer>();
  readonly #busy = new Set<PasswordThread>();
  readonly #admission: Admission;
  readonly #common: CommonPasswords;
  readonly #cost: PasswordCost;
  /** The hash that a password of an unknown user is compared with. */
  readonly #nobody: string;
  #isClosed = false;

  /**
   * @param maxWaiting the most passwords that may wait for a thread (`limits.passwords`); half of them for a single caller.
   * @param cost the work of a hash, for tests; by default the full work.
   */
  constructor(maxWaiting: number, common: CommonPasswords, cost: PasswordCost = fullCost) {
    this.#common = common;
    this.#cost = cost;
    this.#nobody = nobody(cost);
    const width = Math.min(maxThreads, Math.max(1, navigator.hardwareConcurrency - 1));
    this.#admission = new Admission({
      limit: "passwords",
      message: "Too many passwords wait to be checked; try again in a moment.",
      width,
      share: width,
      maxWaiting,
      waitingShare: Math.ceil(maxWaiting / 2),
    });
  }

  /**
   * Hashes a new password, in the form NFC of Unicode: keyboards write one letter in several forms.
   * @param common by default, the answer of the configuration to one of the most common passwords.
   * @throws AppError `validation_error` for a common password that is refused, `unavailable` when the queue is full.
   */
  async hash(password: string, caller: PasswordCaller, common = this.#common): Promise<string> {
    const refusesCommon = common === "refuse";
    const task = { password: password.normalize("NFC"), hash: null, refusesCommon, cost: this.#cost };
    const hash = await this.#run(task, caller);
    if (hash !== null) return String(hash);
    const message = "password is one of the most common passwords: choose another password";
    throw AppError.validation([{ field: "password", rule: "common", message }]);
  }

  /**
   * Whether a password matches a hash. For null (an unknown user) and for the empty hash of a user without a password, the
   * thread does the same work and the answer is false. A hash of an earlier version may be of the password as it was sent.
   * @param options.onFormer called for a right password whose hash is of an earlier version, or of another service.
   * @param options.foreign hashes of other services that some users have: each comparison does the work of every kind, so that
   * the time does not tell which kind an account has, or whether the account exists.
   * @throws AppError `unavailable` when the queue is full.
   */
  async verify(
    password: string,
    { hash, onFormer, foreign = [] }: ComparedHash,
    caller: PasswordCaller,
  ): Promise<boolean> {
    const own = hash || this.#nobody;
    const kinds = new Map([this.#nobody, ...foreign].map((each) => [kindOf(each), each]));
    kinds.delete(kindOf(own));
    const isHash = async (form: string): Promise<boolean> => {
      const isOwn = await this.#run({ password: form, hash: own }, caller);
      for (const other of kinds.values()) await this.#run({ password: form, hash: other }, caller);
      return isOwn === true && own === hash;
    };
    const present = password.normalize("NFC");
    const isPresent = await isHash(present);
    if (!isPresent && (present === password || !(await isHash(password)))) return false;
    if (!isPresent || isForeignHash(own)) onFormer?.();
    return true;
  }

  /** Ends the threads. Work that runs, waits or comes later is rejected with `unavailable`. */
  close(): void {
    this.#isClosed = true;
    for (const timer of this.#idle.values()) clearTimeout(timer);
    for (const thread of [...this.#idle.keys(), ...this.#busy]) thread.end(stopping());
    this.#idle.clear();
  }

  /** Waits for the caller's turn, which gives the caller a thread. */
  #run(task: PasswordTask, { key, signal }: PasswordCaller): Promise<string | boolean | null> {
    const onThread = async (): Promise<string | boolean | null> => {
      if (this.#isClosed) throw stopping();
      const thread = this.#take();
      try {
        return await thread.call("compute", task);
      } finally {
        this.#busy.delete(thread);
        if (thread.ended === null) this.#keep(thread);
      }
    };
    return this.#admission.run(onThread, { caller: key, signal });
  }

  /** The most recently used thread, so that the other threads stay idle and end. */
  #take(): PasswordThread {
    const kept = [...this.#idle.keys()].findLast(({ ended }) => ended === null);
    if (kept !== undefined) {
      clearTimeout(this.#idle.get(kept));
      this.#idle.delete(kept);
    }
    const thread = kept ?? startThread();
    this.#busy.add(thread);
    return thread;
  }

  #keep(thread: PasswordThread): void {
    const end = (): void => {
      this.#idle.delete(thread);
      thread.end(stopping());
    };
    this.#idle.set(thread, setTimeout(end, keepMs).unref());
  }
}

/** The bounds of failed logins. `LoginGuard` implements the bounds. */
interface FailureBounds {
  /** Runs `check`, which answers whether the password is right. @throws AppError `rate_limited` instead, after too many failures. */
  guard(claimant: { email: string | null; caller: PasswordCaller }, check: () => Promise<boolean>): Promise<boolean>;
}

interface PasswordChecksOptions {
  database: Database;
  passwords: Passwords;
  guard: FailureBounds;
}

/** A password that was right. The password may be replaced until the transaction of the change. */
export interface RightPassword {
  /** Whether the password is still the password of the user. */
  holds(reader: Reader): boolean;
}

export class PasswordChecks {
  readonly #options: PasswordChecksOptions;

  constructor(options: PasswordChecksOptions) {
    this.#options = options;
  }

  /**
   * Whether a password is right, in the same time for every account.
   * @param account with a null email for a text that is no email address, and a null hash for an unknown user.
   * @throws AppError `rate_limited` after too many failures; `unavailable` when too many passwords wait to be checked.
   */
  isRight(
    account: { email: string | null; passwordHash: string | null; onFormer?: () => void },
    password: string,
    caller: PasswordCaller,
  ): Promise<boolean> {
    const { database, passwords, guard } = this.#options;
    const { email, passwordHash: hash, onFormer } = account;
    const foreign = foreignHashes(database.reader);
    return guard.guard({ email, caller }, () => passwords.verify(password, { hash, onFormer, foreign }, caller));
  }

  /**
   * Whether a password is the password of a user; false for an unknown user.
   * @throws AppError as `isRight`.
   */
  isUsersPassword(id: string, password: string, caller: PasswordCaller): Promise<boolean> {
    const passwordHash = passwordHashOf(this.#options.database.reader, id);
    return this.isRight({ email: null, passwordHash }, password, caller);
  }

  /**
   * Checks the password of a known user. No 401: the caller's token is right.
   * @throws AppError `forbidden` for a wrong password, and as `isRight`.
   */
  async demand({ id, email }: User, password: string, caller: PasswordCaller): Promise<RightPassword> {
    const passwordHash = passwordHashOf(this.#options.database.reader, id);
    if (!(await this.isRight({ email, passwordHash }, password, caller)))
      throw new AppError("forbidden", "The password is wrong.");
    return { holds: (reader) => passwordHashOf(reader, id) === passwordHash };
  }
}
