/**
 * Forms of new users: the email, the password, and the fields of a definition of `users`, with all problems together. A
 * form is tried in a transaction that is taken back, before hooks are asked and the password is hashed.
 */
import type { Credentials, ErrorDetail, StoredRecord } from "@socle/protocol";
import { AppError, type Principal } from "../../base/kernel/index.ts";
import type { UserRecords } from "../../data/records/index.ts";
import type { Database } from "../../store/database/index.ts";
import { checkNewCredentials, invalid, readCredentials } from "./read-body.ts";
import { emailTaken, findByEmail } from "./user-table.ts";
import type { TriedUser, Users } from "./users.ts";

/** A checked form. */
export interface UserForm {
  readonly credentials: Credentials;
  /** The fields of the body; without a definition of `users`, nothing reads the fields. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The fields of the future record, with defaults; empty without a definition. */
  readonly record: Partial<StoredRecord>;
}

interface UserFormsOptions {
  readonly database: Database;
  readonly users: Users;
  readonly records: UserRecords;
}

/** Thrown to take the transaction of a trial back. */
const takenBack = new Error("The transaction of a trial is taken back");

export class UserForms {
  readonly #options: UserFormsOptions;

  constructor(options: UserFormsOptions) {
    this.#options = options;
  }

  /**
   * Checks a form.
   * @param creator null for a user who registers.
   * @param tellsTaken false for a check that is alike for new and for taken emails.
   * @throws AppError `validation_error` with every problem, `conflict` for a taken email, `forbidden` for a field that
   * the creator may not write.
   */
  async check(
    body: Record<string, unknown>,
    { creator, tellsTaken = true }: { creator: Principal; tellsTaken?: boolean },
  ): Promise<UserForm> {
    const { database, records, users } = this.#options;
    const { credentials, problems } = readNew(body, users.passwordMinLength);
    // Nobody chooses the own role; whoever makes another user has read the role before.
    const { email: _, password: __, role: ___, ...fields } = body;
    const email = (tellsTaken && credentials?.email) || "";
    const record = records.isOn ? await this.#try({ email, problems, fields }, creator) : {};
    if (credentials === null) throw AppError.validation([...problems]);
    if (tellsTaken && findByEmail(database.reader, credentials.email) !== null) throw emailTaken();
    return { credentials, fields, record };
  }

  /**
   * Checks the fields of a user whose password comes later.
   * @throws AppError `validation_error` also without a definition of `users`; `conflict` and `forbidden` as `check`.
   */
  async checkFields(form: Omit<TriedUser, "problems">, creator: Principal): Promise<void> {
    if (!this.#options.records.isOn)
      throw invalid("data", "users have no fields: define the fields in collections/users.json", "unknown");
    await this.#try({ ...form, problems: [] }, creator);
  }

  /** The fields of the future record. @throws as `check`. */
  async #try(form: TriedUser, creator: Principal): Promise<Partial<StoredRecord>> {
    const { database, users } = this.#options;
    let record: Partial<StoredRecord> = {};
    await database
      .upkeep((tx) => {
        record = users.try(tx, form, creator);
        throw takenBack;
      })
      .catch((thrown: unknown) => {
        if (thrown !== takenBack) throw thrown;
      });
    return record;
  }
}

/** @throws AppError `bad_request` for a body that is no object. */
function readNew(
  body: Record<string, unknown>,
  passwordMinLength: number,
): { credentials: Credentials | null; problems: readonly ErrorDetail[] } {
  try {
    return { credentials: checkNewCredentials(readCredentials(body), passwordMinLength), problems: [] };
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.details === undefined) throw thrown;
    return { credentials: null, problems: thrown.details };
  }
}
