/** Invitations: an admin or the user's code invites an address, whose owner makes the account with a password. */
import { type Invitation, ROLES, type Role, type TokenResponse } from "@socle/protocol";
import { isObject, type Principal, readChoice, system, toTimestamp } from "../../../base/kernel/index.ts";
import type { Database, Transactor } from "../../../store/database/index.ts";
import type { Mails } from "../../mail/index.ts";
import { nothingShown } from "../credentials.ts";
import { mailFor, type PasswordCaller } from "../passwords.ts";
import { addProof, consume, findProof, invalidProof, lifetimeOf, newToken } from "../proof-table.ts";
import { invalid, readEmail } from "../read-body.ts";
import type { SignIns } from "../sign-ins.ts";
import type { UserForms } from "../user-forms.ts";
import { emailTaken, findByEmail } from "../user-table.ts";
import type { Users } from "../users.ts";
import type { MailRequests } from "./mail-requests.ts";

/** Characters of the data of an invitation, as JSON. */
const maxData = 16_384;

interface InvitationsOptions {
  database: Database;
  mails: Mails;
  requests: MailRequests;
  users: Users;
  forms: UserForms;
  signIns: SignIns;
}

/** The account that an invitation makes. */
interface InvitedUser {
  readonly role: Role;
  /** Fields of users, which the inviter has set; null without fields. */
  readonly fields: Readonly<Record<string, unknown>> | null;
  /** The id of the admin who invites; null for the user's code. */
  readonly inviter: string | null;
}

/** A checked invitation. `write` keeps the invitation and writes the mail, in the inviter's transaction. */
interface NewInvitation {
  write(tx: Transactor): Invitation;
}

export class Invitations {
  readonly #options: InvitationsOptions;

  constructor(options: InvitationsOptions) {
    this.#options = options;
  }

  /**
   * Checks an invitation. A newer invitation of an address ends the older invitation.
   * @param body `email`, `role`, and `data` with fields of users.
   * @throws AppError `validation_error`, `bad_request` for an unknown role; `conflict` for the email of a user;
   * `unavailable` when mail is off, and without `publicUrl`.
   */
  async prepare(
    body: Readonly<Record<string, unknown>>,
    inviter: Principal,
    caller: PasswordCaller,
  ): Promise<NewInvitation> {
    const { forms, mails, requests } = this.#options;
    requests.check("link");
    const email = readEmail(body);
    const role = body["role"] === undefined ? "authenticated" : readChoice("role", body["role"], ROLES);
    const fields = readData(body["data"]);
    if (fields !== null) await forms.checkFields({ email, fields }, inviter);
    const details = JSON.stringify({ role, fields, inviter: inviter?.userId ?? null } satisfies InvitedUser);
    return {
      write(tx) {
        if (findByEmail(tx, email) !== null) throw emailTaken();
        const token = newToken();
        addProof(tx, token, { purpose: "invitation", userId: null, email, details });
        const link = requests.link("invitation", token);
        mails.add(tx, { kind: "invitation", to: email, values: { link }, ...mailFor(caller) });
        return { email, role, expiresAt: toTimestamp(Date.now() + lifetimeOf("invitation")) };
      },
    };
  }

  /**
   * Makes the account of an invitation, also while registration is off, and signs in. The address is proven.
   * @throws AppError `bad_request` for a token that does not work; `conflict` if the address has a user meanwhile, and
   * `validation_error` for a password that is not allowed, which both leave the token; the refusal of a hook.
   */
  async accept(
    { token, password }: { token: string; password: string },
    caller: PasswordCaller,
  ): Promise<TokenResponse> {
    const { database, users, signIns } = this.#options;
    const proof = findProof(database.reader, "invitation", token);
    if (proof === null) throw invalidProof();
    const { email } = proof;
    if (findByEmail(database.reader, email) !== null) throw emailTaken();
    // The service has written these details.
    const { role, fields, inviter } = JSON.parse(proof.details ?? "") as InvitedUser;
    const passwordHash = await users.preparePassword(password, caller);
    const step = await signIns.beforeRegister({ ...fields, email, role }, caller);
    return signIns.signUp(step, caller, (tx) => {
      consume(tx, "invitation", token);
      // An admin whose right has ended makes no admins.
      if (role === "admin" && inviter !== null && users.find(inviter, tx)?.role !== "admin") throw invalidProof();
      const user = users.add(tx, { email, passwordHash, role, ...(fields !== null && { fields }) }, system);
      // The password comes with the token.
      return users.prove(tx, user, { shown: { ...nothingShown, password: true }, by: null });
    });
  }
}

/** @throws AppError `validation_error` for a value that is no object, and for a large object. */
function readData(data: unknown): Record<string, unknown> | null {
  if (data === undefined || data === null) return null;
  if (!isObject(data)) throw invalid("data", "data must be an object with fields of users", "type");
  if (JSON.stringify(data).length > maxData)
    throw invalid("data", `data must have at most ${maxData} characters as JSON`, "max");
  return Object.keys(data).length === 0 ? null : data;
}
