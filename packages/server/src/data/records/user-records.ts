/**
 * User records: the record of each user in the collection `users`, if a definition adds fields to users. The record is
 * created, changed and deleted in the transaction of the account, which calls.
 */
import { type ErrorDetail, type StoredRecord, USERS, type User } from "@socle/protocol";
import { actingFor, actorOf, type Cause, causeOf, type Principal } from "../../base/kernel/index.ts";
import type { Reader, Transactor } from "../../store/database/index.ts";
import type { Collection, Collections } from "../collections/index.ts";
import type { RecordChanges } from "./changes.ts";
import type { Deletions } from "./deletions.ts";
import type { AccountValues } from "./preparation.ts";
import { type RecordEffects, recordsChanged } from "./record-effects.ts";
import { recordTableOf, systemFields, withoutFields } from "./record-table.ts";
import type { Body, TakesTarget } from "./references.ts";
import { withoutNumbers } from "./sequences.ts";

/** The fields of a new user. */
interface NewFields {
  /** Null for the user: a user who registers is the creator of the own record. */
  readonly creator: Principal;
  /** Null for a user without a form: required fields are left empty until the first update. */
  readonly fields: Body | null;
  /** See `NewRecord`. */
  readonly takes?: TakesTarget | undefined;
  /** By default, the time of the creation. */
  readonly updatedAt?: string | undefined;
  /** The cause of the creation by the user. */
  readonly cause?: Cause | undefined;
  /** The problems of the email and the password, which are told beside the problems of the fields. */
  readonly problems?: readonly ErrorDetail[];
}

export class UserRecords {
  readonly #collections: Collections;
  readonly #changes: RecordChanges;
  readonly #deletions: Deletions;
  readonly #effects: RecordEffects;

  constructor(options: {
    collections: Collections;
    changes: RecordChanges;
    deletions: Deletions;
    effects: RecordEffects;
  }) {
    this.#effects = options.effects;
    this.#collections = options.collections;
    this.#changes = options.changes;
    this.#deletions = options.deletions;
  }

  /** Whether a definition adds fields to users. Otherwise every method does nothing. */
  get isOn(): boolean {
    return this.#collection !== undefined;
  }

  get #collection(): Collection | undefined {
    return this.#collections.get(USERS);
  }

  /** The whole record; null for no user, and without a definition. */
  find(reader: Reader, id: string): StoredRecord | null {
    const collection = this.#collection;
    if (collection === undefined) return null;
    const table = recordTableOf(collection);
    const row = reader.get<StoredRecord>(table.byId, id);
    return row && table.toRecord(row);
  }

  /**
   * Answers the fields of the record, without numbers, which are not certain before the commit.
   * @throws AppError `validation_error` with every problem, `forbidden` for fields that the creator may not write.
   */
  create(
    tx: Transactor,
    user: User,
    { creator, fields, takes, cause, updatedAt, problems = [] }: NewFields,
  ): Partial<StoredRecord> {
    const collection = this.#collection;
    if (collection === undefined) return this.#note(tx, user.id);
    const { id, createdAt, role } = user;
    const given = {
      ...{ id, createdAt, problems, account: accountOf(user), isOpen: fields === null },
      ...(updatedAt !== undefined && { updatedAt }),
    };
    const first = { collection: USERS, body: fields ?? {}, given, takes, hooks: null };
    const { record } = this.#changes.create(tx, creator ?? { userId: id, role, ...(cause && { cause }) }, first);
    return withoutFields(withoutNumbers(recordTableOf(collection), record), new Set(systemFields));
  }

  /** Brings the account fields of a record up to date. @param principal whose change of the account this is. */
  follow(tx: Transactor, user: User, principal: Principal): void {
    if (!this.isOn) {
      this.#note(tx, user.id);
      return;
    }
    const target = { collection: USERS, id: user.id, ifMatch: null, body: {}, hooks: null };
    // The right to change the account was checked: the rules of the record are for the other fields.
    const cause = causeOf(principal);
    const account = { ...actingFor(actorOf(principal), 0), ...(cause !== null && { cause }) };
    this.#changes.update(tx, account, { ...target, account: accountOf(user) });
  }

  /** Deletes the record of a user whose account is deleted, with the values in the log. */
  delete(tx: Transactor, id: string, principal: Principal): void {
    const collection = this.#collection;
    if (collection === undefined) this.#note(tx, id);
    else {
      this.#deletions.remove(tx, principal, { table: recordTableOf(collection), id });
      this.#effects.erase(tx, collection, id);
    }
  }

  /** Without a definition, users have no records: the note tells readers of the table of users. */
  #note(tx: Transactor, id: string): Partial<StoredRecord> {
    tx.note(recordsChanged.of({ collection: USERS, owners: [id], by: 0 }));
    return {};
  }
}

function accountOf({ email, role, verified = false }: User): AccountValues {
  return { email, role, verified };
}
