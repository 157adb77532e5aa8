/** The login guard: both bounds of failed logins, and the traces that failures leave in the event log and in the log. */
import { AppError, BoundedMap, callerGone, isOwnMachine, overloaded } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { PasswordCaller } from "./passwords.ts";

/** Failures that are older no longer count. */
const failureWindowMs = 10 * 60_000;
/** Remembered keys with failures; the key with the oldest last failure is forgotten first. */
const capacity = 10_000;

interface Attempts {
  /** When logins failed, oldest first; at most `bound`. */
  failures: number[];
  /** Logins whose outcome is not known yet. */
  running: number;
  readonly waiting: Set<() => void>;
}

interface ThrottleOptions {
  /** Failures after which a key is refused. */
  readonly bound: number;
  /** Logins of all keys that may wait for the outcome of others. */
  readonly maxWaiting: number;
  /** Milliseconds that never run backwards and never stand still. */
  readonly now?: () => number;
}

interface GuardOptions {
  /** Aborts the wait of the login. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the login is the failure that reaches the bound. */
  readonly onLocked?: () => void;
}

/**
 * Refuses logins of a key, such as an address, after `bound` failures in ten minutes. Running logins count as possible
 * failures, so that simultaneous guesses gain nothing: beside `bound` running logins, the next login waits for an outcome.
 */
export class Throttle {
  readonly #options: ThrottleOptions;
  readonly #now: () => number;
  /** Keys with failures. A login without a failure leaves no entry, and so forgets no locked key. */
  readonly #failed = new BoundedMap<string, Attempts>(capacity);
  /** Keys with logins that run or wait: as many as the queues of logins allow. */
  readonly #active = new Map<string, Attempts>();
  #waiting = 0;

  constructor(options: ThrottleOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Runs `check`, which answers whether the login succeeded. A check that throws is no failure.
   * @throws AppError `rate_limited` instead, with the seconds to wait; `unavailable` when too many logins wait.
   */
  async guard(key: string, check: () => Promise<boolean>, options: GuardOptions = {}): Promise<boolean> {
    const attempts = await this.#admit(key, options.signal);
    let hasFailed = false;
    try {
      const isRight = await check();
      hasFailed = !isRight;
      return isRight;
    } finally {
      attempts.running -= 1;
      if (hasFailed) {
        attempts.failures.push(this.#now());
        this.#failed.set(key, attempts);
        if (attempts.failures.length >= this.#options.bound) options.onLocked?.();
      }
      wakeNext(attempts);
      this.#rest(key, attempts);
    }
  }

  /** Forgets the failures of a key after a success. */
  forgive(key: string): void {
    const attempts = this.#attemptsOf(key);
    attempts.failures = [];
    this.#failed.delete(key);
  }

  /** Counts the login as running, after its wait. */
  async #admit(key: string, signal: AbortSignal | undefined): Promise<Attempts> {
    const { bound, maxWaiting } = this.#options;
    while (true) {
      const attempts = this.#attemptsOf(key);
      const now = this.#now();
      attempts.failures = attempts.failures.filter((time) => time > now - failureWindowMs);
      const [oldest] = attempts.failures;
      if (attempts.failures.length >= bound && oldest !== undefined) {
        wakeNext(attempts);
        this.#rest(key, attempts);
        const retryAfter = Math.max(1, Math.ceil((oldest + failureWindowMs - now) / 1_000));
        throw new AppError("rate_limited", "Too many failed logins; try again later.", { retryAfter, limit: "logins" });
      }
      if (oldest === undefined) this.#failed.delete(key);
      if (attempts.failures.length + attempts.running < bound) {
        // Counted at once: another login of the same turn must see the count.
        attempts.running += 1;
        this.#active.set(key, attempts);
        return attempts;
      }
      if (this.#waiting >= maxWaiting) throw overloaded("passwords", "Too many logins wait; try again in a moment.");
      await this.#wait(attempts, signal);
    }
  }

  async #wait({ waiting }: Attempts, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) throw callerGone();
    const { promise, resolve: wake, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      // At once: a place that becomes free in the same turn is for a login that still waits.
      waiting.delete(wake);
      reject(callerGone());
    };
    this.#waiting += 1;
    waiting.add(wake);
    signal?.addEventListener("abort", leave);
    try {
      await promise;
    } finally {
      this.#waiting -= 1;
      waiting.delete(wake);
      signal?.removeEventListener("abort", leave);
    }
  }

  #attemptsOf(key: string): Attempts {
    return this.#active.get(key) ?? this.#failed.get(key) ?? { failures: [], running: 0, waiting: new Set() };
  }

  /** Forgets a key of which no login runs or waits, but for its failures. */
  #rest(key: string, attempts: Attempts): void {
    if (attempts.running === 0 && attempts.waiting.size === 0) this.#active.delete(key);
  }
}

function wakeNext({ waiting }: Attempts): void {
  const [wake] = waiting;
  if (wake === undefined) return;
  waiting.delete(wake);
  wake();
}

/** The time in which an email and address have at most one event; further failures are counted. */
const everyMs = 60_000;
/** The most events of a trace in that time; further events wait with their counts, and the next round writes these events first. */
const maxEvents = 100;
/** Emails and addresses that are told apart; the failures of others are counted together. */
const maxSources = 1_000;

/** The email is null when the text was no email address, or when the failures were for many; the address likewise. */
interface Source {
  /** Null for the source of all others. */
  readonly key: string | null;
  readonly email: string | null;
  readonly address: string | null;
  /** Failures that no event has told of yet. */
  count: number;
  writtenAt: number;
}

interface FailureTraceOptions {
  readonly database: Database;
  readonly events: EventLog;
  readonly logger: Logger;
  readonly type: "auth.failed" | "auth.locked";
  /** The line of the log. */
  readonly message: string;
}

/**
 * Writes an event `{ email, address, count }` and a line of the log for failures of an email from an address: the first
 * failure at once, then one event a minute with the number of failures. Realtime has no channel for these types, so only
 * admins read the events.
 */
export class FailureTrace {
  readonly #options: FailureTraceOptions;
  /** In the order of the last event, the oldest first. */
  readonly #sources = new Map<string, Source>();
  readonly #others: Source = { key: null, email: null, address: null, count: 0, writtenAt: Number.NEGATIVE_INFINITY };
  #roundStart = Number.NEGATIVE_INFINITY;
  #written = 0;

  constructor(options: FailureTraceOptions) {
    this.#options = options;
  }

  /**
   * Counts a failure. Resolves after the event, if an event is due; never rejects.
   * @param email null for a text that is no email address: the text may be a password.
   */
  async note(email: string | null, address: string): Promise<void> {
    // Waiting failures go first: failures at the beginning of a round would otherwise take the whole round.
    if (performance.now() - this.#roundStart >= everyMs) this.tick();
    const source = this.#sourceOf(email, address);
    source.count += 1;
    await this.#write(source);
  }

  /** Writes events that are due, and forgets sources without failures. To be called regularly. */
  tick(): void {
    const now = performance.now();
    if (now - this.#roundStart >= everyMs) {
      this.#roundStart = now;
      this.#written = 0;
    }
    void this.#write(this.#others);
    for (const [key, source] of [...this.#sources]) {
      void this.#write(source);
      if (source.count === 0 && now - source.writtenAt >= everyMs) this.#sources.delete(key);
    }
  }

  #sourceOf(email: string | null, address: string): Source {
    const key = JSON.stringify([email, address]);
    const known = this.#sources.get(key);
    if (known !== undefined) return known;
    if (this.#sources.size >= maxSources) return this.#others;
    const source = { key, email, address, count: 0, writtenAt: Number.NEGATIVE_INFINITY };
    this.#sources.set(key, source);
    return source;
  }

  async #write(source: Source): Promise<void> {
    const now = performance.now();
    if (source.count === 0 || now - source.writtenAt < everyMs || this.#written >= maxEvents) return;
    this.#written += 1;
    const { key, email, address, count } = source;
    if (key !== null && this.#sources.delete(key)) this.#sources.set(key, source);
    source.count = 0;
    source.writtenAt = now;
    const { database, events, logger, type, message } = this.#options;
    const payload = { email, address, count };
    logger.info(message, payload);
    await database
      .upkeep((tx) => events.append(tx, { type, source: "auth", payload, principal: null }))
      .catch((error) => logger.warn(`The event ${type} was not written`, { error }));
  }
}

interface LoginGuardOptions extends Pick<FailureTraceOptions, "database" | "events" | "logger"> {
  maxWaiting: number;
  /** Failures of an account, and of an address, in ten minutes. */
  bounds: { readonly account: number; readonly address: number };
  /** The failures, for the log: "Logins". */
  failures: string;
}

/** The sender of a proof. */
interface Claimant {
  /** Null for a text that is no email address. */
  readonly email: string | null;
  readonly caller: PasswordCaller;
  /** The key of the account's bound; by default, the email and the address. Null: the proof is of no account. */
  readonly account?: string | null;
}

/**
 * Counts failed logins by account, and by address. By default, the account is an email and an address, with a bound far below
 * the bound of the address, so that one person does not lock out others behind the same address.
 */
export class LoginGuard {
  readonly #accounts: Throttle;
  readonly #addresses: Throttle;
  readonly #failed: FailureTrace;
  readonly #locked: FailureTrace;

  constructor({ maxWaiting, bounds, failures, ...options }: LoginGuardOptions) {
    this.#failed = new FailureTrace({ ...options, type: "auth.failed", message: `${failures} failed` });
    const message = `${failures} are refused for ten minutes`;
    this.#locked = new FailureTrace({ ...options, type: "auth.locked", message });
    this.#accounts = new Throttle({ bound: bounds.account, maxWaiting });
    this.#addresses = new Throttle({ bound: bounds.address, maxWaiting });
  }

  /**
   * Runs `check`, which answers whether the proof is right.
   * @throws AppError `rate_limited` instead, after too many failures; `unavailable` when too many logins wait.
   */
  async guard({ email, caller, account }: Claimant, check: () => Promise<boolean>): Promise<boolean> {
    const { key: address, signal } = caller;
    const key = account === undefined ? JSON.stringify([email, address]) : account;
    const ofAccount = { signal, onLocked: () => void this.#locked.note(email, address) };
    const ofAddress = { signal, onLocked: () => void this.#locked.note(null, address) };
    const ofKey = key === null ? check : () => this.#accounts.guard(key, check, ofAccount);
    const isRight = await (isOwnMachine(address) ? ofKey() : this.#addresses.guard(address, ofKey, ofAddress));
    if (isRight && key !== null) this.#accounts.forgive(key);
    else await this.#failed.note(email, address);
    return isRight;
  }

  /** Writes the traces that are due. To be called regularly. */
  tick(): void {
    this.#failed.tick();
    this.#locked.tick();
  }
}
