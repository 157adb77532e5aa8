/** Ends of sign-ins: the one place that opens a session for a proven user, or asks this user for the second factor first. */
import { type LoginResponse, type SecondFactorMethod, type TokenResponse, USERS, type User } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError, type SignedIn } from "../../base/kernel/index.ts";
import type { ConflictTurns, Turn } from "../../data/records/index.ts";
import type { Database, Reader, TransactOptions, Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { AccessTokens } from "./access-tokens.ts";
import { addAttempt } from "./attempt-table.ts";
import type { PasswordCaller } from "./passwords.ts";
import type { OpenedSession, Session, Sessions } from "./sessions.ts";
import type { Users } from "./users.ts";

/** A step of a user that asks hooks first. */
export type AuthStep = "register" | "login";

/** The hooks of users. Functions implement it. */
export interface AuthHooks {
  /**
   * Asks the hooks before a step, if the step has hooks.
   * @param user for a registration, the future user, without an id.
   * @returns the reads by which the hooks have decided; null without reads.
   * @throws AppError: the refusal of a hook, or `unavailable` when a hook does not answer.
   */
  before(step: AuthStep, user: Readonly<Record<string, unknown>>, caller: PasswordCaller): Promise<StepReads | null>;
}

/** The reads by which the hooks of a step have decided. */
export interface StepReads {
  /**
   * The key of a read that would be answered otherwise now; null if each answer would be the same. For a long transaction.
   * @param until the time (`performance.now`) after which no read is made again: other versions then count as changed.
   */
  changed(until: number): Promise<string | null>;
}

/** A step whose hooks let the user pass. */
export interface AskedStep {
  /**
   * Runs `work` in a transaction in which the hooks would decide by the same reads; otherwise the hooks are asked again.
   * @throws AppError: the refusal of a hook, the error of `work`, `conflict` when the reads change again and again.
   */
  transact<T>(work: (tx: Transactor) => T, options?: Pick<TransactOptions, "makesRoom" | "whileReadOnly">): Promise<T>;
}

/** The most questions about a step, and the time for which a transaction looks at the reads of hooks, in milliseconds. */
const maxTimes = 20;
const lookMs = 250;
/** A step whose reads have changed. */
class ChangedStep {
  /** The key of the turn, see `ConflictTurns`. */
  readonly key: string;

  constructor(key: string) {
    this.key = key;
  }
}

/** A sign-in whose caller has proven to be the user. */
export interface SignIn {
  /** The user, as found before the transaction. */
  readonly user: User;
  readonly caller: PasswordCaller;
  /**
   * Runs in the transaction that opens the session, and answers the user of this moment.
   * @throws AppError if the proof does not hold any more.
   */
  readonly prove: (tx: Transactor) => User;
  /** Whether the sign-in gives an anonymous user the address: the hooks of a registration are asked, too. */
  readonly isClaim?: boolean;
}

/** A step, and the user whom the hooks of the step see. */
type HookUser = readonly [step: AuthStep, user: Readonly<Record<string, unknown>>];

/** A user who is signed in, with the session. */
interface Opened extends OpenedSession {
  readonly user: User;
  /** The generation of the access token, for a refresh. */
  readonly generation?: string;
}

interface SignInOptions {
  database: Database;
  users: Users;
  events: EventLog;
  sessions: Sessions;
  turns: ConflictTurns;
  config: Config;
  /** The access tokens of the service, available once auth has started. */
  tokens: () => AccessTokens;
  /** The ways in which a user can show the second factor; empty for a user without a second factor. */
  secondFactorsOf: (reader: Reader, userId: string) => SecondFactorMethod[];
}

export class SignIns {
  readonly #options: SignInOptions;
  #hooks: AuthHooks | null = null;

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  /** Sets the hooks for all later registrations and logins. */
  hookWith(hooks: AuthHooks): void {
    this.#hooks = hooks;
  }

  /**
   * Ends a sign-in: every way to sign in ends here. A user with a second factor gets an attempt instead of tokens, and no
   * session. The hooks are asked before a session opens, not before the second factor.
   * @throws AppError `forbidden` for an unproven address, if a sign-in needs a proven address; the refusal of a hook, the
   * error of `prove`, `conflict` if the user was changed meanwhile.
   */
  async signIn(given: SignIn): Promise<LoginResponse> {
    const { user, prove } = given;
    const { database, secondFactorsOf, config } = this.#options;
    this.#checkVerified(user);
    const waits = secondFactorsOf(database.reader, user.id).length > 0;
    const step = waits ? database : await this.#beforeLogin(given);
    const ended = await step.transact((tx) => {
      const current = prove(tx);
      this.#checkVerified(current);
      const methods = secondFactorsOf(tx, current.id);
      // As many attempts may wait for the second factor as the user may have sessions.
      if (methods.length > 0) return { attempt: addAttempt(tx, current.id, config["limits.sessionsPerUser"]), methods };
      return this.#openAsked(tx, { ...given, current, wasAsked: !waits });
    }, roomFor(user));
    return "attempt" in ended ? { next: "second_factor", ...ended } : this.respond(ended);
  }

  /**
   * Ends a sign-in that needs no second factor any more: the proof is the second factor itself, or has two factors.
   * @throws AppError as `signIn`.
   */
  async signInWhole(given: SignIn): Promise<TokenResponse> {
    const { user, prove } = given;
    this.#checkVerified(user);
    const step = await this.#beforeLogin(given);
    const open = (tx: Transactor): Opened => {
      const current = prove(tx);
      this.#checkVerified(current);
      return this.#openAsked(tx, { ...given, current, wasAsked: true });
    };
    return this.respond(await step.transact(open, roomFor(user)));
  }

  /** @param wasAsked whether the hooks were asked. @throws AppError `conflict` if the hooks have not seen this user. */
  #openAsked(
    tx: Transactor,
    { user, caller, current, wasAsked }: SignIn & { current: User; wasAsked: boolean },
  ): Opened {
    if (this.#hooks !== null && (!wasAsked || current.role !== user.role))
      throw new AppError("conflict", "The user was changed during the login. Try again.");
    return this.#open(tx, "auth.login", { user: current, caller });
  }

  /**
   * Makes a user, and signs the user in. A new user has no second factor.
   * @param insert answers the new user, in the transaction.
   * @throws AppError: the error of `insert`, and as `AskedStep`.
   */
  async signUp(step: AskedStep, caller: PasswordCaller, insert: (tx: Transactor) => User): Promise<TokenResponse> {
    const open = (tx: Transactor): Opened => this.#open(tx, "auth.register", { user: insert(tx), caller });
    return this.respond(await step.transact(open));
  }

  /** Asks the hooks before a registration. @throws AppError: the refusal of a hook. */
  beforeRegister(user: Pick<User, "email" | "role">, caller: PasswordCaller): Promise<AskedStep> {
    return this.#ask([["register", user]], caller);
  }

  #beforeLogin({ user, caller, isClaim }: SignIn): Promise<AskedStep> {
    const { email, role } = user;
    const first: HookUser[] = isClaim === true ? [["register", { email, role }]] : [];
    return this.#ask([...first, ["login", { ...user }]], caller);
  }

  async #ask(users: readonly HookUser[], caller: PasswordCaller): Promise<AskedStep> {
    const { database, turns } = this.#options;
    const isRegistration = users.some(([step]) => step === "register");
    const ask = async (): Promise<readonly StepReads[]> => {
      const all: (StepReads | null)[] = [];
      for (const [step, user] of users) all.push((await this.#hooks?.before(step, user, caller)) ?? null);
      return all.filter((reads) => reads !== null);
    };
    const first = await ask();
    if (first.length === 0) return database;
    return {
      transact: async (work, options) => {
        const owner = {};
        let turn: Turn | undefined;
        let reads = first;
        try {
          for (let times = 1; times <= maxTimes; times += 1) {
            if (times > 1) reads = await ask();
            if (reads.length === 0) return await database.transact(work, options);
            if (turn === undefined && isRegistration) await turns.pass([`${USERS}/`], { owner, caller: caller.key });
            const done = await this.#tryOnce(reads, work, { ...options, caller: caller.key });
            if (!(done instanceof ChangedStep)) return done;
            if (turns.isOf(done.key, owner)) continue;
            turn?.release();
            turn = await turns.take(done.key, { owner, caller: caller.key });
          }
        } finally {
          turn?.release();
        }
        throw new AppError("conflict", "The reads of a hook were changed by others again and again. Try again later.", {
          retryAfter: 1,
        });
      },
    };
  }

  /** Runs `work` unless a read of the hooks would be answered otherwise now. The transaction keeps other writes out meanwhile. */
  #tryOnce<T>(
    reads: readonly StepReads[],
    work: (tx: Transactor) => T,
    options: Pick<TransactOptions, "makesRoom" | "whileReadOnly"> & { readonly caller: string },
  ): Promise<T | ChangedStep> {
    const tried = async (tx: Transactor): Promise<T | ChangedStep> => {
      const until = performance.now() + lookMs;
      for (const each of reads) {
        const key = await each.changed(until);
        if (key !== null) return new ChangedStep(key);
      }
      return work(tx);
    };
    return this.#options.database.transactLongFor(null, tried, options);
  }

  /** The tokens of an open session. */
  async respond({ user, session, refreshToken, generation }: Opened): Promise<TokenResponse> {
    const { config, tokens, users } = this.#options;
    const ttlMs = config["auth.accessTokenTtl"];
    const claims = { sub: user.id, role: user.role, sid: session.id, ...(generation && { gen: generation }) };
    const accessToken = await tokens().issue(claims, ttlMs);
    const expiresIn = Math.ceil(ttlMs / 1_000);
    return {
      accessToken,
      token: accessToken,
      refreshToken,
      tokenType: "Bearer",
      expiresIn,
      user: users.shown(user),
    };
  }

  #checkVerified({ verified }: User): void {
    if (this.#options.config["auth.requireVerified"] && !verified)
      throw new AppError("forbidden", "The address of this account is not proven: open the link in the mail first.");
  }

  /** Opens a session for a user, and announces the session. */
  #open(
    tx: Transactor,
    type: "auth.register" | "auth.login",
    { user, caller }: Pick<SignIn, "user" | "caller">,
  ): Opened {
    const { sessions, events } = this.#options;
    const opened = sessions.open(tx, user, caller);
    const payload = { userId: user.id, role: user.role };
    const { cause } = caller;
    const principal = { ...signedIn(user, opened.session), ...(cause && { cause }) };
    events.append(tx, { type, source: "auth", payload, principal });
    return { user, ...opened };
  }
}

export function signedIn(user: User, session: Session): SignedIn {
  return { userId: user.id, role: user.role, sessionId: session.id };
}

/** A sign-in runs in a read-only service, too. An admin can make room on a full disk, so the login may use the reserve. */
function roomFor({ role }: User): { makesRoom: boolean; whileReadOnly: true } {
  return { makesRoom: role === "admin", whileReadOnly: true };
}
