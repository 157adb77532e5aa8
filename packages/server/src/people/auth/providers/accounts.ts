/** Accounts of people who come from a provider: sign-ins, new users, and links of users to identities. */
import type { Link, LoginResponse, Role, User } from "@socle/protocol";
import type { Config } from "../../../base/config/index.ts";
import { AppError, type Clock, quote, type SignedIn, toTimestamp } from "../../../base/kernel/index.ts";
import type { Database, Reader, Transactor } from "../../../store/database/index.ts";
import { nothingShown } from "../credentials.ts";
import type { CredentialChange, Notices } from "../notices.ts";
import { checkRecent } from "../own-change.ts";
import type { PasswordCaller, Prover } from "../passwords.ts";
import type { SignIns } from "../sign-ins.ts";
import { emailTaken, setPasswordHash, spendAdminEmail } from "../user-table.ts";
import type { Users } from "../users.ts";
import type { ProviderIdentity } from "./presets.ts";
import type { Provider } from "./provider.ts";
import { findLink, insertLink, type LinkRow, linksOf, removeLink } from "./provider-table.ts";
import { addressOf, checkLink, type Match, matchOf, type ProviderAddress } from "./takeover.ts";

interface AccountsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly users: Users;
  readonly signIns: SignIns;
  readonly notices: Notices;
  readonly config: Config;
}

/** An identity that a provider has proven, and the code of the proof. */
export interface ProvenIdentity {
  readonly identity: ProviderIdentity;
  readonly provider: Provider;
  /** Uses the code up. @throws AppError `bad_request` for a code that was used meanwhile. */
  readonly take: (tx: Transactor) => void;
}

export class ProviderAccounts {
  readonly #options: AccountsOptions;

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /**
   * The user of an identity; see `matchOf`.
   * @throws AppError `conflict`, `forbidden`.
   */
  match(reader: Reader, identity: ProviderIdentity, provider: Provider): Match {
    const { config } = this.#options;
    const match = matchOf(reader, identity, provider);
    if (match.kind !== "new") return match;
    if (!config["auth.registration"])
      throw new AppError("forbidden", "The sign-in has no account here, and registration is switched off.");
    if (config["auth.requireVerified"] && !match.address.isProven)
      throw new AppError(
        "forbidden",
        `${provider.title} has not proven your email address, which an account here needs.`,
      );
    return match;
  }

  /**
   * Signs in as the user of an identity, who may be new. An anonymous user becomes the user of a new identity.
   * @throws AppError as `match`; the refusal of a hook; `conflict` if the account was changed meanwhile, and for an anonymous user
   * if the identity is another user's.
   */
  async signIn(proven: ProvenIdentity, { principal, caller }: Prover): Promise<LoginResponse> {
    const { identity, provider, take } = proven;
    const { database, users, signIns } = this.#options;
    const anonymous = users.anonymous(principal);
    if (principal !== null && anonymous !== null) {
      const { email, isProven } = this.#claimed(database.reader, proven);
      const prove = (tx: Transactor): User => {
        take(tx);
        return this.#claim(tx, proven, { principal, caller }).user;
      };
      return signIns.signInWhole({
        user: { ...anonymous, email, anonymous: false, verified: isProven },
        caller,
        prove,
        isClaim: true,
      });
    }
    const expected = await this.#proven(this.match(database.reader, identity, provider), { identity, by: caller });
    const matchNow = (tx: Transactor): Match => {
      take(tx);
      return this.match(tx, identity, provider);
    };
    if (expected.kind === "new") {
      const { email } = expected.address;
      const role = this.#roleOf(database.reader, expected.address);
      const step = await signIns.beforeRegister({ email, role }, caller);
      const insert = (tx: Transactor): User => {
        const match = matchNow(tx);
        if (match.kind !== "new") throw changed();
        return this.#insertUser(tx, match.address, proven);
      };
      return signIns.signUp(step, caller, insert);
    }
    const { user } = expected;
    const prove = (tx: Transactor): User => {
      const match = matchNow(tx);
      // The hooks have seen the other user.
      if (match.kind === "new" || match.user.id !== user.id) throw changed();
      if (match.kind === "same-email") {
        this.#insertLink(tx, match.user, proven);
        this.#options.notices.tell(tx, match.user, { change: linked(provider), by: caller });
      }
      return match.user;
    };
    return signIns.signIn({ user, caller, prove });
  }

  /**
   * Links an identity to the signed-in user. An anonymous user has the address of the identity then.
   * @throws AppError `unauthorized` for a session that has ended, `conflict`, `bad_request`.
   */
  async addLink(proven: ProvenIdentity, caller: SignedIn, by: PasswordCaller): Promise<Link> {
    const { identity, provider, take } = proven;
    const { database, users, notices, signIns } = this.#options;
    const anonymous = users.anonymous(caller);
    const email = anonymous && this.#claimed(database.reader, proven).email;
    const step = anonymous === null ? database : await signIns.beforeRegister({ email, role: anonymous.role }, by);
    return step.transact((tx) => {
      database.callers.recheck(caller, tx);
      take(tx);
      const { userId, sessionId } = caller;
      if (anonymous !== null) return shown(this.#claim(tx, proven, { principal: caller, caller: by }).link);
      checkLink(tx, identity, { userId, provider });
      const user = users.get(userId, tx);
      const present = findLink(tx, identity);
      if (present !== null) return shown(present);
      const link = this.#insertLink(tx, user, proven);
      notices.tell(tx, user, { change: linked(provider), by });
      this.#proveAddress(tx, user, { identity, sessionId, by });
      return shown(link);
    });
  }

  links(userId: string): Link[] {
    return linksOf(this.#options.database.reader, userId).map(shown);
  }

  /** The address that a new identity gives to an anonymous user. @throws AppError as `match`; `conflict` for an identity of another user. */
  #claimed(reader: Reader, { identity, provider }: ProvenIdentity): ProviderAddress {
    const match = this.match(reader, identity, provider);
    if (match.kind !== "new") throw emailTaken();
    return match.address;
  }

  /** Gives an anonymous user the link and the address of an identity; the session stays. */
  #claim(
    tx: Transactor,
    proven: ProvenIdentity,
    { principal, caller }: Prover & { principal: SignedIn },
  ): { user: User; link: LinkRow } {
    const { users } = this.#options;
    const { email, isProven } = this.#claimed(tx, proven);
    const user = users.anonymous(principal, tx);
    if (user === null) throw changed();
    // The password of a claim of another address, which nobody has proven.
    setPasswordHash(tx, user.id, "");
    const link = this.#insertLink(tx, user, proven);
    if (!isProven) return { user: users.change(tx, { user, email }, null), link };
    const shown = { ...nothingShown, sessionId: principal.sessionId, link: proven.identity };
    return { user: users.prove(tx, user, { shown, email, by: caller }), link };
  }

  /**
   * Removes a link of the signed-in user.
   * @throws AppError `not_found`, `forbidden` without a recent sign-in, `bad_request` for the last way to sign in.
   */
  async removeLink(caller: SignedIn, provider: string, by: PasswordCaller): Promise<void> {
    const { database, users } = this.#options;
    await database.transactFor(caller, (tx) => {
      checkRecent(tx, caller);
      this.remove(tx, users.get(caller.userId, tx), { provider, by });
      users.credentials.requireSignInMethod(tx, caller.userId);
    });
  }

  /** Removes a link of a user, with a notice. @throws AppError `not_found`. */
  remove(tx: Transactor, user: User, { provider, by }: { provider: string; by: CredentialChange["by"] }): Link {
    const link = linksOf(tx, user.id).find((each) => each.provider === provider);
    if (link === undefined) throw new AppError("not_found", `There is no link to ${quote(provider)}.`);
    removeLink(tx, link);
    this.#options.notices.tell(tx, user, { change: `The link to an account at ${provider} was removed.`, by });
    return shown(link);
  }

  /** A match with the user's email proven if the identity proves the email: before hooks and factors are asked, which the proof may change. */
  async #proven(match: Match, from: { identity: ProviderIdentity; by: PasswordCaller }): Promise<Match> {
    if (match.kind === "new" || match.user.verified) return match;
    const { database, users } = this.#options;
    const prove = (tx: Transactor): User =>
      this.#proveAddress(tx, users.get(match.user.id, tx), { ...from, sessionId: null });
    return { ...match, user: await database.upkeep(prove) };
  }

  /** The role of a new user: only a proven email is the email of the configured admin. */
  #roleOf(reader: Reader, { email, isProven }: ProviderAddress): Role {
    return isProven ? this.#options.users.roleOfNew(reader, email) : "authenticated";
  }

  #insertUser(tx: Transactor, address: ProviderAddress, proven: ProvenIdentity): User {
    const { users } = this.#options;
    const { email, isProven } = address;
    const role = this.#roleOf(tx, address);
    if (role === "admin") spendAdminEmail(tx, email);
    const user = users.add(tx, { email, passwordHash: "", role }, null);
    this.#insertLink(tx, user, proven);
    return isProven ? users.change(tx, { user, verified: true }, null) : user;
  }

  #insertLink(tx: Transactor, { id: userId }: User, { identity, provider }: ProvenIdentity): LinkRow {
    const { issuer, subject } = identity;
    const email = addressOf(identity)?.email ?? null;
    const link = { issuer, subject, userId, provider: provider.name, email, createdAt: this.#options.clock.now() };
    insertLink(tx, link);
    return link;
  }

  /** A provider's proof of the user's own email counts as a proof of the email. */
  #proveAddress(
    tx: Transactor,
    user: User,
    { identity, sessionId, by }: { identity: ProviderIdentity; sessionId: string | null; by: PasswordCaller },
  ): User {
    const { users } = this.#options;
    const address = addressOf(identity);
    if (address === null || !address.isProven || address.email !== user.email) return user;
    return users.prove(tx, user, { shown: { ...nothingShown, sessionId, link: identity }, by });
  }
}

function shown({ provider, email, createdAt }: LinkRow): Link {
  return { name: provider, email, createdAt: toTimestamp(createdAt) };
}

function changed(): AppError {
  return new AppError("conflict", "The account was changed during the sign-in. Try again.");
}

function linked({ title }: Provider): string {
  return `An account at ${title} was linked: you can sign in there.`;
}
