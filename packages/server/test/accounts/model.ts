/**
 * A pure model of accounts, written from docs/accounts.md: for each request the status of the answer, and the account whose
 * session opens. The model knows no service: secrets are texts that the world tells the model.
 */
import { codeAt } from "../authenticator.ts";
import {
  type Account,
  type Attempt,
  clearCredentials,
  type Expected,
  type Identity,
  minuteMs,
  newAccount,
  type Session,
} from "./account-state.ts";
import { ProofBook } from "./proof-book.ts";

const graceMs = 10_000;
const monthMs = 30 * 24 * 60 * minuteMs;
/** Wrong codes of an account in ten minutes, after which the answer is 429. */
const maxWrong = 5;

/** The credentials beside a token. */
interface Shown {
  readonly bearer?: string | undefined;
  readonly password?: string | undefined;
}

export class AccountModel {
  now = 0;
  readonly proofs: ProofBook;
  readonly #accounts: Account[] = [];
  readonly #sessions: Session[] = [];
  readonly #attempts: Attempt[] = [];
  readonly #needsProof: boolean;

  /**
   * @param needsProof `auth.requireVerified`.
   * @param strayCodes the times of codes for texts that are no attempts, of all sequences at the service.
   */
  constructor(needsProof: boolean, strayCodes: number[]) {
    this.#needsProof = needsProof;
    this.proofs = new ProofBook(strayCodes);
  }

  at(email: string): Account | null {
    return this.#accounts.find((account) => account.email === email && !account.isGone) ?? null;
  }

  /** The accounts that are not deleted. */
  get accounts(): Account[] {
    return this.#accounts.filter(({ isGone }) => !isGone);
  }

  /** The session of an access token that works now. A request shows the token. */
  sessionOf(bearer: string | undefined): Session | null {
    for (const session of this.#sessions) {
      const shown = session.access.find(({ text, endsAt }) => text === bearer && endsAt > this.now);
      if (shown === undefined || !this.#isLive(session)) continue;
      session.isSeen ||= shown.of === session.refresh;
      return session;
    }
    return null;
  }

  /** Notes the tokens of an answer. */
  opened(account: Account, tokens: { accessToken: string; refreshToken: string }): void {
    const { accessToken, refreshToken } = tokens;
    const access = [{ text: accessToken, endsAt: this.now + 60 * minuteMs, of: refreshToken }];
    const endsAt = this.now + monthMs;
    this.#sessions.push({
      account,
      startedAt: this.now,
      access,
      refresh: refreshToken,
      isSeen: true,
      spent: [],
      endsAt,
      isOver: false,
    });
  }

  attempted(account: Account, text: string): void {
    this.#attempts.push({ text, account, endsAt: this.now + 10 * minuteMs, isOver: false });
  }

  register(email: string, password: string): Expected {
    const isTaken = this.at(email) !== null;
    if (isTaken) return { status: this.#needsProof ? 202 : 409 };
    const account = this.#add(newAccount(email, password));
    const mail = { purpose: "verify", to: email, account } as const;
    return this.#needsProof ? { status: 202, mail } : { status: 201, session: account, mail };
  }

  login(email: string, password: string): Expected {
    const account = this.at(email);
    return account?.password === password ? this.#finish(account) : { status: 401 };
  }

  /** The mail of a request that is answered alike for every address. */
  requestMail(purpose: "verify" | "reset" | "code", email: string): Expected {
    const account = this.at(email);
    const hasMail = account !== null && !(purpose === "verify" && account.isVerified);
    const mail = { purpose, to: email, account: hasMail ? account : null };
    // A code has its attempt, also for an unknown address.
    if (account === null && purpose !== "code") this.proofs.add(mail, { text: "", now: this.now });
    else if (!hasMail && purpose === "verify") this.proofs.add(mail, { text: "", now: this.now });
    return hasMail || purpose === "code" ? { status: 202, mail } : { status: 202 };
  }

  verify(token: string, shown: Shown): Expected {
    const caller = this.#callerOf(shown);
    if (caller === "refused") return { status: 401 };
    const proof = this.proofs.find("verify", token, this.now);
    const account = proof?.account ?? null;
    if (proof === null || account === null || account.email !== proof.email) return { status: 400 };
    if (shown.password !== undefined && shown.password !== account.password) return { status: 403 };
    proof.isOver = true;
    this.#prove(account, account.email, { caller, hasPassword: shown.password !== undefined });
    this.proofs.end(account, (purpose) => purpose === "verify");
    return { status: 204 };
  }

  reset(token: string, password: string): Expected {
    const proof = this.proofs.find("reset", token, this.now);
    const account = proof?.account ?? null;
    if (proof === null || account === null || account.email !== proof.email) return { status: 400 };
    proof.isOver = true;
    this.#prove(account, account.email, { caller: null, hasPassword: false });
    this.setPassword(account, password, null);
    return { status: 204 };
  }

  requestEmail(bearer: string, email: string, password: string): Expected {
    const session = this.sessionOf(bearer);
    if (session === null) return { status: 401 };
    const { account } = session;
    if (email === account.email) return { status: 400 };
    const refusal = this.#demandOwner(session, password);
    if (refusal !== null) return refusal;
    this.proofs.end(account, (purpose) => purpose === "email");
    const mail = { purpose: "email", to: email, account } as const;
    if (this.at(email) === null) return { status: 202, mail };
    this.proofs.add({ ...mail, account: null }, { text: "", now: this.now });
    return { status: 202 };
  }

  confirmEmail(token: string, shown: Shown): Expected {
    const caller = this.#callerOf(shown);
    if (caller === "refused") return { status: 401 };
    const proof = this.proofs.find("email", token, this.now);
    const account = proof?.account ?? null;
    if (proof === null || account === null) return { status: 400 };
    if (shown.password !== undefined && shown.password !== account.password) return { status: 403 };
    if (this.at(proof.email) !== null) return { status: 400 };
    proof.isOver = true;
    this.#prove(account, proof.email, { caller, hasPassword: shown.password !== undefined });
    this.proofs.end(account, () => true);
    return { status: 204 };
  }

  signInWithCode(attempt: string, code: string): Expected {
    const proof = this.proofs.find("code", attempt, this.now);
    const account = proof?.account ?? null;
    const wrong = this.proofs.wrongCodesOf(attempt);
    if (this.#isLocked(wrong)) return { status: 429 };
    if (proof === null || account === null || proof.code !== code) {
      wrong.push(this.now);
      return { status: 400 };
    }
    wrong.length = 0;
    proof.isOver = true;
    this.proofs.end(account, (purpose) => purpose === "code");
    this.#prove(account, account.email, { caller: null, hasPassword: false });
    return this.#finish(account);
  }

  /** A second factor of an attempt: `isRight` uses the factor up. */
  secondFactor(text: string, factor: { code: string } | { recoveryCode: string } | { passkey: string }): Expected {
    const attempt = this.#attempts.find((each) => each.text === text && !each.isOver && each.endsAt > this.now);
    if (attempt === undefined || attempt.account.isGone) return { status: 400 };
    const { account } = attempt;
    if ("code" in factor && this.#isLocked(account.wrongFactors)) return { status: 429 };
    if (!this.#useFactor(account, factor)) {
      if ("code" in factor) account.wrongFactors.push(this.now);
      return { status: 401 };
    }
    if ("code" in factor) account.wrongFactors = [];
    attempt.isOver = true;
    return { status: 200, session: account };
  }

  refresh(token: string): Expected & { readonly of?: Session } {
    const isOf = (session: Session): boolean =>
      session.refresh === token || session.spent.some(({ text }) => text === token);
    const session = this.#sessions.find((each) => this.#isLive(each) && isOf(each));
    if (session === undefined) return { status: 401 };
    const used = session.spent.find(({ text }) => text === token);
    if (used === undefined) {
      session.spent.push({ text: token, at: this.now });
      session.endsAt = this.now + monthMs;
      session.isSeen = false;
      return { status: 200, of: session };
    }
    if (this.now - used.at <= graceMs) return { status: 200, of: session };
    if (used === session.spent.at(-1) && !session.isSeen) {
      used.at = this.now;
      session.endsAt = this.now + monthMs;
      return { status: 200, of: session };
    }
    session.isOver = true;
    return { status: 401 };
  }

  /** A sign-in at the provider; an answer of 302 is an error for the app. */
  signInAt(identity: Identity): Expected {
    const { sub, email, isVerified } = identity;
    const linked = this.accounts.find(({ links }) => links.has(sub));
    if (linked !== undefined) {
      if (isVerified && email === linked.email)
        this.#prove(linked, email, { caller: null, hasPassword: false, link: sub });
      return this.#finish(linked);
    }
    const owner = this.at(email);
    if (owner !== null) {
      if (!isVerified || !owner.isVerified || owner.links.size > 0) return { status: 302 };
      owner.links.add(sub);
      return this.#finish(owner);
    }
    if (this.#needsProof && !isVerified) return { status: 302 };
    const account = this.#add(newAccount(email, null));
    account.links.add(sub);
    account.isVerified = isVerified;
    return { status: 200, session: account };
  }

  addLink(bearer: string, { sub, email, isVerified }: Identity): Expected {
    const session = this.sessionOf(bearer);
    if (session === null) return { status: 401 };
    if (!this.#isRecent(session)) return { status: 403 };
    const { account } = session;
    if (this.accounts.some((each) => each !== account && each.links.has(sub))) return { status: 302 };
    if (account.links.has(sub)) return { status: 200 };
    if (account.links.size > 0) return { status: 302 };
    account.links.add(sub);
    if (isVerified && email === account.email)
      this.#prove(account, email, { caller: session, hasPassword: false, link: sub });
    return { status: 200 };
  }

  /** A sign-in with a passkey that has verified its user. */
  signInWithPasskey(id: string): Expected {
    const account = this.accounts.find(({ passkeys }) => passkeys.has(id));
    if (account === undefined) return { status: 401 };
    if (this.#needsProof && !account.isVerified) return { status: 403 };
    return { status: 200, session: account };
  }

  /** A change of credentials that needs a recent sign-in. @param work answers another status than `status`. */
  change(bearer: string, status: number, work: (account: Account) => number | undefined): Expected {
    const session = this.sessionOf(bearer);
    if (session === null) return { status: 401 };
    if (!this.#isRecent(session)) return { status: 403 };
    return { status: work(session.account) ?? status };
  }

  confirmTotp(bearer: string, code: string): Expected {
    const session = this.sessionOf(bearer);
    if (session === null) return { status: 401 };
    const { account } = session;
    if (account.pending === null) return { status: 409 };
    const step = this.#stepOf(account.pending, code, 0);
    if (step === null) return { status: 400 };
    if (!this.#isRecent(session)) return { status: 403 };
    account.totp = { secret: account.pending, lastStep: step };
    account.pending = null;
    return { status: 200 };
  }

  changePassword(bearer: string, current: string, password: string): Expected {
    const session = this.sessionOf(bearer);
    if (session === null) return { status: 401 };
    const refusal = this.#demandOwner(session, current);
    if (refusal !== null) return refusal;
    this.setPassword(session.account, password, session);
    return { status: 204 };
  }

  deleteOwn(bearer: string, password: string): Expected {
    const session = this.sessionOf(bearer);
    if (session === null) return { status: 401 };
    const refusal = this.#demandOwner(session, password);
    if (refusal !== null) return refusal;
    this.delete(session.account);
    return { status: 204 };
  }

  delete(account: Account): void {
    account.isGone = true;
    clearCredentials(account, null);
    this.endSessions(account, null);
    this.proofs.end(account, () => true);
  }

  setPassword(account: Account, password: string, kept: Session | null): void {
    account.password = password;
    this.endSessions(account, kept);
    this.proofs.end(account, (purpose) => purpose !== "verify");
  }

  /** A password from an admin: at the first proof, this password keeps nothing that somebody else may have made. */
  givePassword(account: Account, password: string): void {
    if (!account.isVerified) account.hasGivenPassword = true;
    this.setPassword(account, password, null);
  }

  /** Ends the sessions but a kept session, and the attempts. */
  endSessions(account: Account, kept: Session | null): void {
    for (const session of this.#sessions) if (session.account === account && session !== kept) session.isOver = true;
    for (const attempt of this.#attempts) if (attempt.account === account) attempt.isOver = true;
  }

  invite(email: string): Expected {
    if (this.at(email) !== null) return { status: 409 };
    return { status: 201, mail: { purpose: "invitation", to: email, account: null } };
  }

  accept(token: string, password: string): Expected {
    const proof = this.proofs.find("invitation", token, this.now);
    if (proof === null) return { status: 400 };
    if (this.at(proof.email) !== null) return { status: 409 };
    proof.isOver = true;
    const account = this.#add(newAccount(proof.email, password));
    account.isVerified = true;
    return { status: 200, session: account };
  }

  /** The account of an API key. */
  ownerOf(key: string): Account | null {
    return this.accounts.find(({ keys }) => keys.has(key)) ?? null;
  }

  /** The first proof takes all credentials that were not shown; a later proof takes nothing. */
  #prove(
    account: Account,
    email: string,
    { caller, hasPassword, link = null }: { caller: Session | null; hasPassword: boolean; link?: string | null },
  ): void {
    if (!account.isVerified) {
      const kept = caller?.account === account ? caller : null;
      const { password } = account;
      const isShown = hasPassword || kept !== null;
      if (!isShown || account.hasGivenPassword) clearCredentials(account, link);
      if (isShown) account.password = password;
      this.endSessions(account, kept);
      this.proofs.end(account, () => true);
    }
    account.isVerified = true;
    account.email = email;
  }

  #finish(account: Account): Expected {
    if (this.#needsProof && !account.isVerified) return { status: 403 };
    return account.totp === null ? { status: 200, session: account } : { status: 200, attempt: account };
  }

  #callerOf({ bearer }: Shown): Session | null | "refused" {
    return bearer === undefined ? null : (this.sessionOf(bearer) ?? "refused");
  }

  #demandOwner(session: Session, password: string): Expected | null {
    const { account } = session;
    if (account.password === null) return this.#isRecent(session) ? null : { status: 403 };
    return account.password === password ? null : { status: 403 };
  }

  #useFactor(account: Account, factor: { code: string } | { recoveryCode: string } | { passkey: string }): boolean {
    if ("passkey" in factor) return account.passkeys.has(factor.passkey);
    if ("recoveryCode" in factor) return account.recoveryCodes.delete(factor.recoveryCode);
    const { totp } = account;
    const step = totp && this.#stepOf(totp.secret, factor.code, totp.lastStep);
    if (totp === null || step === null) return false;
    totp.lastStep = step;
    return true;
  }

  #stepOf(secret: string, code: string, after: number): number | null {
    const present = Math.floor(this.now / 30_000);
    const steps = [present - 1, present, present + 1].filter((step) => codeAt(secret, step) === code);
    return steps.find((step) => step > after) ?? null;
  }

  #isLocked(failures: readonly number[]): boolean {
    return failures.filter((time) => time > this.now - 10 * minuteMs).length >= maxWrong;
  }

  #isRecent({ startedAt }: Session): boolean {
    return this.now - startedAt <= 10 * minuteMs;
  }

  #isLive({ isOver, endsAt, account }: Session): boolean {
    return !isOver && endsAt > this.now && !account.isGone;
  }

  #add(account: Account): Account {
    this.#accounts.push(account);
    return account;
  }
}
