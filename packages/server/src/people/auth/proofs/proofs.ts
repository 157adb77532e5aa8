/**
 * Proofs of an address: a user proves the address with a token that was mailed to the address, sets a new password with such a
 * token, and moves to a new address.
 */
import type { Credentials, User } from "@socle/protocol";
import type { Config } from "../../../base/config/index.ts";
import { AppError, type SignedIn } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import type { Database, Reader, Transactor } from "../../../store/database/index.ts";
import type { Mails } from "../../mail/index.ts";
import { nothingShown, type ShownCredentials } from "../credentials.ts";
import type { LoginGuard } from "../login-guard.ts";
import type { Notices } from "../notices.ts";
import { demandOwner } from "../own-change.ts";
import { mailFor, type PasswordCaller, type PasswordChecks, type Prover } from "../passwords.ts";
import { addProof, consume, endPurposeOf, findProof, invalidProof, newToken, type Proof } from "../proof-table.ts";
import { checkNewCredentials, invalid } from "../read-body.ts";
import type { SignIns } from "../sign-ins.ts";
import type { UserForms } from "../user-forms.ts";
import { emailTaken, findByEmail, setPasswordHash } from "../user-table.ts";
import { anonymousRefused, type Users } from "../users.ts";
import { Codes } from "./codes.ts";
import { Invitations } from "./invitations.ts";
import { MailRequests } from "./mail-requests.ts";

interface ProofsOptions {
  database: Database;
  logger: Logger;
  mails: Mails;
  users: Users;
  forms: UserForms;
  signIns: SignIns;
  notices: Notices;
  checks: PasswordChecks;
  /** Counts wrong codes. */
  guard: LoginGuard;
  config: Config;
  /** A secret of the service for a purpose, available once auth has started. */
  secretFor: (purpose: string) => string;
}

/** A token, and the password of the user beside the token, if given. */
export interface ShownProof {
  readonly token: string;
  readonly password: string | null;
}

export class Proofs {
  /** Sign-ins with a code. */
  readonly codes: Codes;
  readonly invitations: Invitations;
  readonly #options: ProofsOptions;
  readonly #requests: MailRequests;

  constructor(options: ProofsOptions) {
    this.#options = options;
    this.#requests = new MailRequests(options);
    this.codes = new Codes({ ...options, requests: this.#requests });
    this.invitations = new Invitations({ ...options, requests: this.#requests });
  }

  /** Whether a registration must wait for a proof of the address. @throws AppError `unavailable` without links. */
  get demandsProof(): boolean {
    const { config, mails } = this.#options;
    if (!config["auth.requireVerified"] || !mails.isOn) return false;
    this.#requests.check("link");
    return true;
  }

  /** Warns of a configuration in which nobody can prove an address. */
  start(): void {
    const { mails, logger, config } = this.#options;
    if (!mails.isOn && (config["auth.requireVerified"] || config["auth.codes"]))
      logger.warn(
        "auth.requireVerified and auth.codes need mails: set mail.from, or users cannot prove their addresses",
      );
    if (mails.isOn && config.publicUrl === undefined)
      logger.warn("Users get no links to prove their addresses: set publicUrl to the address of this service");
  }

  /** Resolves when the mails of all answered requests are written. */
  close(): Promise<void> {
    return this.#requests.close();
  }

  /** Mails a token that proves the address. A proven address gets no mail, an unknown address neither. */
  requestVerification(email: string, caller: PasswordCaller): void {
    this.#requests.later({ recipient: email, caller, needs: "link" }, (tx) => {
      const user = findByEmail(tx, email)?.user ?? null;
      this.#mail(tx, { purpose: "verify", email, user: user?.verified === true ? null : user }, caller);
    });
  }

  /** Mails a token that sets a new password. An unknown address gets no mail. */
  requestReset(email: string, caller: PasswordCaller): void {
    this.#requests.later({ recipient: email, caller, needs: "link" }, (tx) => {
      this.#mail(tx, { purpose: "reset", email, user: findByEmail(tx, email)?.user ?? null }, caller);
    });
  }

  /**
   * Mails a new user a token that proves the address, if mail is on, within the bounds of the recipient. A mail that cannot be
   * written fails no registration: the user can ask for another mail.
   */
  welcome(tx: Transactor, user: User, caller: PasswordCaller): void {
    const { mails, logger, config } = this.#options;
    if (!mails.isOn || config.publicUrl === undefined || !this.#requests.allows(addressOf(user), caller)) return;
    try {
      this.mailVerification(tx, user, caller);
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.limit !== "mails") throw thrown;
      tx.onDurable(() => logger.often("A new user got no mail: the outbox is full", { userId: user.id }));
    }
  }

  /** Mails a new user a token that proves the address, within the bounds of the recipient. @throws AppError as `mailVerification`. */
  mailNew(tx: Transactor, user: User, caller: PasswordCaller): void {
    if (this.#requests.allows(addressOf(user), caller)) this.mailVerification(tx, user, caller);
  }

  /** Mails a user a token that proves the address. @throws AppError `unavailable` when no mail with a link can be written. */
  mailVerification(tx: Transactor, user: User, caller: PasswordCaller): void {
    this.#mail(tx, { purpose: "verify", email: addressOf(user), user }, caller);
  }

  /** Mails a user a token that sets a new password. @throws AppError as `mailVerification`. */
  mailReset(tx: Transactor, user: User, caller: PasswordCaller): void {
    this.#mail(tx, { purpose: "reset", email: addressOf(user), user }, caller);
  }

  /**
   * Mails an anonymous user a token that gives the user the address and the password. Nothing changes before the proof.
   * @throws AppError `conflict` for a user with an address, and for a taken address unless `demandsProof`; `forbidden` when
   * registration is off; `validation_error`, `unavailable`; the refusal of a hook.
   */
  async claim(given: Credentials, { principal, caller }: Prover & { readonly principal: SignedIn }): Promise<void> {
    const { database, users, signIns, config } = this.#options;
    const isSilent = this.demandsProof;
    this.#requests.check("link");
    if (!config["auth.registration"]) throw new AppError("forbidden", "Registration is switched off.");
    const { email, password } = checkNewCredentials(given, users.passwordMinLength);
    const claimant = (reader: Reader): User => {
      const user = users.anonymous(principal, reader);
      if (user === null) throw new AppError("conflict", "The account has an email address already.");
      if (!isSilent && findByEmail(reader, email) !== null) throw emailTaken();
      return user;
    };
    const { role } = claimant(database.reader);
    const step = await signIns.beforeRegister({ email, role }, caller);
    const passwordHash = await users.preparePassword(password, caller);
    await step.transact((tx) => {
      database.callers.recheck(principal, tx);
      const user = claimant(tx);
      if (findByEmail(tx, email) !== null) return this.mailTaken(tx, email, caller);
      if (!this.#requests.allows(email, caller)) return;
      setPasswordHash(tx, user.id, passwordHash);
      endPurposeOf(tx, user.id, "verify");
      this.#mail(tx, { purpose: "verify", email, user, details: principal.sessionId }, caller);
    });
  }

  /** Tells the owner of an address that somebody has registered with the address, within the bounds of the recipient. */
  mailTaken(tx: Transactor, email: string, caller: PasswordCaller): void {
    if (!this.#requests.allows(email, caller)) return;
    this.#options.mails.add(tx, { kind: "taken", to: email, values: {}, ...mailFor(caller), urgent: true });
  }

  /** Keeps a proof for an address, and mails the token. Without a user, the proof works for nobody and no mail is written. */
  #mail(
    tx: Transactor,
    {
      purpose,
      email,
      user,
      details,
    }: { purpose: "verify" | "reset" | "email"; email: string; user: User | null; details?: string },
    caller: PasswordCaller,
  ): void {
    const token = newToken();
    addProof(tx, token, { purpose, userId: user?.id ?? null, email, ...(details && { details }) });
    if (user === null) return;
    const values = { link: this.#requests.link(purpose, token), account: user.email ?? email };
    this.#options.mails.add(tx, { kind: purpose, to: email, values, ...mailFor(caller), urgent: true });
  }

  /**
   * Proves the address of a user. The first proof keeps the password if the body has the password, and password and session if the
   * token comes with a session of the user.
   * @throws AppError `bad_request` for a token that does not work; `forbidden` for a wrong password, which leaves the token.
   */
  async verify({ token, password }: ShownProof, prover: Prover): Promise<void> {
    const { database, users } = this.#options;
    const user = this.#holderOf(database.reader, findProof(database.reader, "verify", token));
    const shown = await this.#shownBy(user, password, prover);
    await database.transactFor(prover.principal, (tx) => {
      const proof = consume(tx, "verify", token);
      const current = this.#holderOf(tx, proof);
      const given = shown(tx);
      // With the password of a claim, the session of the claim stays.
      const sessionId = given.sessionId ?? (given.password ? proof.details : null);
      users.prove(tx, current, { shown: { ...given, sessionId }, email: proof.email, by: prover.caller });
      endPurposeOf(tx, current.id, "verify");
    });
  }

  /**
   * Sets a new password. All sessions end, the second factor stays, and nobody is signed in.
   * @throws AppError `bad_request` for a token that does not work; `validation_error` for a password that is not allowed,
   * which leaves the token.
   */
  async reset({ token, password }: { token: string; password: string }, caller: PasswordCaller): Promise<void> {
    const { database, users, notices } = this.#options;
    this.#holderOf(database.reader, findProof(database.reader, "reset", token));
    const passwordHash = await users.preparePassword(password, caller);
    await database.transact((tx) => {
      const user = this.#holderOf(tx, consume(tx, "reset", token));
      users.prove(tx, user, { shown: nothingShown, by: caller });
      users.setPassword(tx, user.id, { passwordHash, keptSession: null });
      notices.tell(tx, user, { change: "The password was set with a link from a mail.", by: caller });
    });
  }

  /**
   * Mails a token to the new address of a user, and a note to the present address. A taken address gets no mail.
   * @throws AppError `forbidden` for a wrong password, and without a recent sign-in for a user without a password;
   * `validation_error` for the present address, and without the password.
   */
  async requestEmail(
    { email, password }: { email: string; password: string | null },
    { principal, caller }: Prover & { readonly principal: SignedIn },
  ): Promise<void> {
    const { users, notices } = this.#options;
    const user = users.get(principal.userId);
    if (user.email === null) throw anonymousRefused();
    if (email === user.email) throw invalid("email", "email is the present address", "unique");
    await demandOwner(this.#options, user, { principal, caller, field: "password", password });
    this.#requests.later({ recipient: email, caller, needs: "link", principal }, (tx) => {
      const isFree = findByEmail(tx, email) === null;
      endPurposeOf(tx, user.id, "email");
      this.#mail(tx, { purpose: "email", email, user: isFree ? user : null }, caller);
      // Somebody else may have registered with an address that is not proven: no text of the caller goes to the owner.
      const to = user.verified ? email : "another address";
      notices.tell(tx, user, { change: `A move of the account to ${to} was asked for.`, by: caller });
    });
  }

  /**
   * Moves a user to the new address, which the token proves. For a user whose former address was not proven, this is the
   * first proof; see `verify`.
   * @throws AppError `bad_request` for a token that does not work, also if the address is taken meanwhile; `forbidden` for a
   * wrong password, which leaves the token.
   */
  async confirmEmail({ token, password }: ShownProof, prover: Prover): Promise<void> {
    const { database, users, notices } = this.#options;
    const user = this.#ownerOf(database.reader, findProof(database.reader, "email", token));
    const shown = await this.#shownBy(user, password, prover);
    await database.transactFor(prover.principal, (tx) => {
      const proof = consume(tx, "email", token);
      const before = this.#ownerOf(tx, proof);
      if (findByEmail(tx, proof.email) !== null) throw invalidProof();
      users.prove(tx, before, { shown: shown(tx), email: proof.email, by: prover.caller });
      const to = before.verified ? proof.email : "another address";
      notices.tell(tx, before, { change: `The account was moved to ${to}.`, by: prover.caller });
    });
  }

  /** The user of a proof. @throws AppError `bad_request` without a proof, and for a proof without a user. */
  #ownerOf(reader: Reader, proof: Proof | null): User {
    const user = proof === null || proof.userId === null ? null : this.#options.users.find(proof.userId, reader);
    if (user === null) throw invalidProof();
    return user;
  }

  /** The user whose present address, or claimed address, a proof proves. @throws AppError `bad_request` without such a user. */
  #holderOf(reader: Reader, proof: Proof | null): User {
    const user = this.#ownerOf(reader, proof);
    if (user.email !== null && user.email !== proof?.email) throw invalidProof();
    return user;
  }

  /** Checks the credentials beside a token. The answer looks at the password again, in the transaction of the proof. */
  async #shownBy(
    user: User,
    password: string | null,
    { principal, caller }: Prover,
  ): Promise<(tx: Transactor) => ShownCredentials> {
    const sessionId = principal?.userId === user.id ? principal.sessionId : null;
    const right = password === null ? null : await this.#options.checks.demand(user, password, caller);
    return (tx) => ({ password: right?.holds(tx) === true, sessionId });
  }
}

/** @throws AppError `bad_request` for an anonymous user. */
function addressOf({ email }: User): string {
  if (email === null) throw new AppError("bad_request", "The user is anonymous, and has no email address.");
  return email;
}
