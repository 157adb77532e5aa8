/**
 * Registrations: people make their own accounts. With mail on and `requireVerified`, a registration answers alike for new and
 * for known addresses, and the owner of a known address gets a mail.
 */
import type { Role, TokenResponse, VerificationRequired } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError } from "../../base/kernel/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";
import { ownCaller, type PasswordCaller, type Passwords } from "./passwords.ts";
import type { Proofs } from "./proofs/proofs.ts";
import type { SignIns } from "./sign-ins.ts";
import type { UserForms } from "./user-forms.ts";
import { findByEmail, spendAdminEmail } from "./user-table.ts";
import type { NewUser, Users } from "./users.ts";

interface RegistrationsOptions {
  database: Database;
  passwords: Passwords;
  users: Users;
  forms: UserForms;
  signIns: SignIns;
  proofs: Proofs;
  config: Config;
}

export class Registrations {
  readonly #options: RegistrationsOptions;

  constructor(options: RegistrationsOptions) {
    this.#options = options;
  }

  /**
   * Makes an anonymous user, and signs the user in. Required fields are left empty.
   * @throws AppError `forbidden` when anonymous users are off; the refusal of a hook, which sees a user without an email.
   */
  async makeAnonymous(caller: PasswordCaller): Promise<TokenResponse> {
    const { users, signIns, config } = this.#options;
    if (!config["auth.anonymous"]) throw new AppError("forbidden", "Anonymous users are switched off.");
    const { cause } = caller;
    const values = { email: null, passwordHash: "", role: "authenticated", cause } as const;
    const step = await signIns.beforeRegister({ email: null, role: values.role }, caller);
    return signIns.signUp(step, caller, (tx) => users.add(tx, values, null));
  }

  /**
   * Answers tokens, or that the address has to be proven first.
   * @param body the email, the password, and the fields of a definition of `users`.
   * @throws AppError `validation_error`, `forbidden` when registration is off and for a field that the user may not write,
   * `unavailable` when too many passwords wait to be hashed; `conflict` for a taken email, unless the address has to be
   * proven first; the refusal of a hook.
   */
  async register(
    body: Record<string, unknown>,
    caller: PasswordCaller = ownCaller,
  ): Promise<TokenResponse | VerificationRequired> {
    const { database, passwords, users, forms, signIns, proofs, config } = this.#options;
    if (!config["auth.registration"]) throw new AppError("forbidden", "Registration is switched off.");
    const isSilent = proofs.demandsProof;
    const { credentials, fields, record } = await forms.check(body, { creator: null, tellsTaken: !isSilent });
    const { email, password } = credentials;
    const step = await signIns.beforeRegister(
      { ...record, email, role: users.roleOfNew(database.reader, email) },
      caller,
    );
    const passwordHash = await passwords.hash(password, caller);
    const { cause } = caller;
    const make = (tx: Transactor): NewUser & { role: Role } => {
      const role = users.roleOfNew(tx, email);
      if (role === "admin") spendAdminEmail(tx, email);
      return { email, passwordHash, role, fields, cause };
    };
    if (!isSilent)
      return signIns.signUp(step, caller, (tx) => {
        const user = users.add(tx, make(tx), null);
        proofs.welcome(tx, user, caller);
        return user;
      });
    await step.transact((tx) => {
      if (findByEmail(tx, email) === null) proofs.mailNew(tx, users.create(tx, make(tx), null), caller);
      else proofs.mailTaken(tx, email, caller);
    });
    return { next: "verify" };
  }
}
