/** Preparation of a record that is to be written: every check of its body but those of the statement that writes it. */
import type { ErrorDetail, StoredRecord } from "@socle/protocol";
import type { Transactor, Value } from "../database/index.ts";
import { decode } from "../fields/index.ts";
import { AppError, type Awaitable, type Principal } from "../kernel/index.ts";
import { fillDefaults } from "./defaults.ts";
import type { FieldRights } from "./field-rights.ts";
import { ownerOfChanged, ownerOfNew } from "./ownership.ts";
import type { OwnedRow, RecordTable } from "./record-table.ts";
import type { References } from "./references.ts";
import type { RecordState, Rights } from "./rights.ts";
import { numberChanged, numberNew } from "./sequences.ts";
import { type ValidatedBody, validateBody } from "./validate.ts";

export type Body = Record<string, unknown>;

/** Called with a record as it is to be, before its rule looks at it; not for a body that is not valid. */
export type Observe = (state: RecordState) => Promise<void>;

/** The system fields that an imported record brings, and what is wrong with them and with its other values already. */
export interface GivenFields {
  readonly id?: string;
  readonly createdAt?: string;
  readonly updatedAt?: string;
  readonly problems: readonly ErrorDetail[];
}

/** Valid values by the positions of the fields, which the caller may write, and the owner of the record with them. */
interface Prepared {
  readonly values: readonly (Value | undefined)[];
  readonly owner: string | null;
}

interface PreparedRecord extends Prepared {
  readonly record: StoredRecord;
  /** The values that have columns of their own. */
  readonly stored: readonly Value[];
}

interface BodyToWrite {
  readonly table: RecordTable;
  readonly principal: Principal;
  readonly body: Body;
  readonly observe: Observe | undefined;
}

/** The body of a new record. `defaultsAt` is the time of the creation for defaults. */
interface NewBody extends BodyToWrite {
  readonly given: GivenFields | undefined;
  readonly id: string;
  readonly times: Pick<StoredRecord, "createdAt" | "updatedAt">;
  readonly defaultsAt: string;
}

/** The body of a change. */
interface ChangedBody extends BodyToWrite {
  /** The record as it is. */
  readonly row: OwnedRow;
  readonly updatedAt: string;
}

/** A body whose values are known, and the owner that the record gets. */
type Owned = ValidatedBody & { readonly owner: string | null };

/**
 * Every method runs in the transaction that it is given, and throws as `Records` does. A plain record is prepared when it returns:
 * neither the database nor a promise is asked.
 */
export class Preparation {
  readonly #references: References;
  readonly #rights: Rights;
  readonly #fieldRights: FieldRights;

  constructor(options: { references: References; rights: Rights; fieldRights: FieldRights }) {
    this.#references = options.references;
    this.#rights = options.rights;
    this.#fieldRights = options.fieldRights;
  }

  /** A record that is to be created. @throws AppError. */
  create(tx: Transactor, first: NewBody): Awaitable<PreparedRecord> {
    const { table, principal, body, given } = first;
    const { values, problems } = validateBody(table, body, given === undefined ? "create" : "import");
    const owner = ownerOfNew(table, principal, { values, problems });
    const isPlain = isPlainly("create", first, problems) && given === undefined;
    return isPlain ? newRecord(first, { values, owner }) : this.#create(tx, first, { values, problems, owner });
  }

  async #create(tx: Transactor, first: NewBody, { values, problems, owner }: Owned): Promise<PreparedRecord> {
    const { table, principal, body, given, observe, id, defaultsAt } = first;
    const { collection } = table;
    if (given !== undefined) problems.push(...given.problems, ...(await this.#idProblems(tx, table, given)));
    const creation = { now: defaultsAt, userId: principal?.userId ?? null };
    if (table.defaults.length > 0) fillDefaults(table, { sent: body, values, problems }, creation);
    if (table.sequences.length > 0) await numberNew(tx, table, values);
    const made = newRecord(first, { values, owner });
    const state = { table, principal, record: made.record, owner };
    if (observe !== undefined && problems.length === 0) await observe(state);
    if (collection.policies.create.audience === "condition")
      await this.#admitState(tx, "create", { ...state, problems });
    if (collection.fieldPolicies !== null) await this.#fieldRights.admitNew(tx, state, body);
    if (problems.length > 0 || table.references.length > 0)
      await this.#refuse(tx, { table, principal }, { id, values, problems, before: null });
    return made;
  }

  /** The values of an update. @throws AppError. */
  change(tx: Transactor, change: ChangedBody): Awaitable<Prepared> {
    const { table, body, row } = change;
    const { values, problems } = validateBody(table, body, "update");
    const isPlain = isPlainly("update", change, problems) && values[table.ownerPosition] === undefined;
    return isPlain ? { values, owner: row.owner } : this.#change(tx, change, { values, problems });
  }

  async #change(tx: Transactor, change: ChangedBody, { values, problems }: ValidatedBody): Promise<Prepared> {
    const { table, principal, body, observe, row, updatedAt } = change;
    const { collection } = table;
    const { id } = row.record;
    if (table.sequences.length > 0) await numberChanged(tx, table, { values, record: row.record, problems });
    if (collection.fieldPolicies !== null) {
      const after = (): StoredRecord => table.changed(row.record, values);
      await this.#fieldRights.admitChange(tx, { table, principal, ...row }, { body, values, after });
    }
    const owner = ownerOfChanged(table, { principal, owner: row.owner }, { values, problems });
    if (observe !== undefined || collection.policies.update.audience === "condition") {
      const record = { ...table.changed(row.record, values), updatedAt };
      const state = { table, principal, record, owner };
      if (problems.length === 0) await observe?.(state);
      await this.#admitState(tx, "update", { ...state, problems });
    }
    if (problems.length > 0 || table.references.length > 0)
      await this.#refuse(tx, { table, principal }, { id, values, problems, before: row.record });
    return { values, owner };
  }

  /** An id that another record has. */
  async #idProblems(tx: Transactor, table: RecordTable, { id }: GivenFields): Promise<ErrorDetail[]> {
    if (id === undefined || (await tx.get(table.exists, id)) === null) return [];
    return [{ field: "id", rule: "unique", message: "id is taken by another record" }];
  }

  /**
   * Looks whether a rule that is an expression lets the caller write a record as it is to be. To a caller whom it does not let,
   * only those problems of the body are told that need no database: not whether a value is taken, or a record is there.
   * @throws AppError `validation_error`, `forbidden`, `unauthorized`.
   */
  async #admitState(
    tx: Transactor,
    operation: "create" | "update",
    { problems, ...state }: RecordState & { problems: readonly ErrorDetail[] },
  ): Promise<void> {
    const policy = state.table.collection.policies[operation];
    if (policy.audience !== "condition" || (await this.#rights.allowsState(tx, operation, state))) return;
    if (problems.length > 0) throw AppError.validation([...problems]);
    throw policy.refusal(state.principal);
  }

  /** Throws every problem of a body at once. */
  async #refuse(
    tx: Transactor,
    by: { table: RecordTable; principal: Principal },
    body: ValidatedBody & { id: string; before: StoredRecord | null },
  ): Promise<void> {
    const { id, values, problems } = body;
    await this.#references.check(tx, by, body);
    if (problems.length === 0) return;
    problems.push(...(await this.#references.duplicates(tx, by.table, { id, values, problems })));
    throw AppError.validation(problems);
  }
}

/** Whether a valid body is all that has to be looked at. */
function isPlainly(
  operation: "create" | "update",
  { table, observe }: BodyToWrite,
  problems: readonly ErrorDetail[],
): boolean {
  const { policies } = table.collection;
  return (
    table.isPlain && problems.length === 0 && observe === undefined && policies[operation].audience !== "condition"
  );
}

/** The record of valid values, by the positions of the fields. */
function newRecord({ table, id, times }: NewBody, { values, owner }: Prepared): PreparedRecord {
  const stored: Value[] = [];
  const record: StoredRecord = { id, ...times };
  for (const [position, field] of table.fields.entries()) {
    const value = values[position] ?? null;
    if (field.owner !== true) stored.push(value);
    record[field.name] = decode(field, value);
  }
  return { values, record, owner, stored };
}
