/** Preparation of a write: every check of a body but the checks of the writing statement. */
import type { ErrorDetail, StoredRecord } from "@socle/protocol";
import { AppError, type Principal } from "../../base/kernel/index.ts";
import type { Transactor, Value } from "../../store/database/index.ts";
import type { FieldRights } from "./field-rights.ts";
import type { OwnedRow, RecordTable } from "./record-table.ts";
import type { References } from "./references.ts";
import type { RecordState, Rights } from "./rights.ts";
import { numberChanged, numberNew } from "./sequences.ts";
import { type Body, fillDefaults, ownerOfChanged, ownerOfNew, type ValidatedBody, validateBody } from "./validate.ts";

/** Called with the record after the write, before the rule is asked; not for an invalid body. */
export type Observe = (state: RecordState) => void;

/** The system fields of an imported record, and the problems that the import found. */
export interface GivenFields {
  readonly id?: string;
  readonly createdAt?: string;
  readonly updatedAt?: string;
  readonly problems: readonly ErrorDetail[];
}

/** Valid values by the positions of the fields, and the owner of the record. */
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
  /** The values of the body that a hook has set. */
  readonly returned?: Body;
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
  /** The record before the change. */
  readonly row: OwnedRow;
  readonly updatedAt: string;
}

/** Every method runs in the given transaction, and throws as `Records` does. */
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
  create(tx: Transactor, first: NewBody): PreparedRecord {
    const { table, principal, body, given, observe, id, defaultsAt } = first;
    const { collection } = table;
    const { values, problems } = validateBody(table, body, given === undefined ? "create" : "import");
    const userId = principal?.userId ?? null;
    const owner = table.ownerPosition < 0 ? userId : ownerOfNew(table, principal, { values, problems });
    if (given !== undefined) problems.push(...given.problems, ...this.#idProblems(tx, table, given));
    if (table.defaults.length > 0) fillDefaults(table, { sent: body, values, problems }, { now: defaultsAt, userId });
    if (table.sequences.length > 0) numberNew(tx, table, values);
    const made = newRecord(first, { values, owner });
    const state = { table, principal, record: made.record, owner };
    if (problems.length === 0) observe?.(state);
    const isAdmitted = this.#isAdmitted(tx, "create", { ...state, problems });
    if (isAdmitted && collection.fieldPolicies !== null) this.#fieldRights.admitNew(tx, state, body);
    if (problems.length > 0 || table.references.length > 0)
      this.#refuse(tx, first, { id, values, problems, before: null, isAdmitted });
    return made;
  }

  /** The values of an update. @throws AppError. */
  change(tx: Transactor, change: ChangedBody): Prepared {
    const { table, principal, body, observe, row, updatedAt } = change;
    const { collection } = table;
    const { id } = row.record;
    const { values, problems } = validateBody(table, body, "update");
    if (table.sequences.length > 0) numberChanged(tx, table, { values, record: row.record, problems });
    if (collection.fieldPolicies !== null) {
      const after = (): StoredRecord => table.changed(row.record, values);
      this.#fieldRights.admitChange(tx, { table, principal, ...row }, { body, values, after });
    }
    const owner =
      table.ownerPosition < 0
        ? row.owner
        : ownerOfChanged(table, { principal, owner: row.owner }, { values, problems });
    let isAdmitted = true;
    if (observe !== undefined || collection.policies.update.audience === "condition") {
      const record = { ...table.changed(row.record, values), updatedAt };
      const state = { table, principal, record, owner };
      if (problems.length === 0) observe?.(state);
      isAdmitted = this.#isAdmitted(tx, "update", { ...state, problems });
    }
    if (problems.length > 0 || table.references.length > 0)
      this.#refuse(tx, change, { id, values, problems, before: row.record, isAdmitted });
    return { values, owner };
  }

  /** An id that another record has. */
  #idProblems(tx: Transactor, table: RecordTable, { id }: GivenFields): ErrorDetail[] {
    if (id === undefined || tx.get(table.exists, id) === null) return [];
    return [{ field: "id", rule: "unique", message: "id is taken by another record" }];
  }

  /**
   * Whether the rule of an operation admits the caller to write the record. False only beside problems of the body, which
   * may be the reason.
   * @throws AppError `forbidden`, `unauthorized`.
   */
  #isAdmitted(
    tx: Transactor,
    operation: "create" | "update",
    { problems, ...state }: RecordState & { problems: readonly ErrorDetail[] },
  ): boolean {
    const policy = state.table.collection.policies[operation];
    if (policy.audience !== "condition" || this.#rights.allowsState(tx, operation, state)) return true;
    if (problems.length > 0) return false;
    throw policy.refusal(state.principal);
  }

  /** Throws every problem of a body at once; a caller who is not admitted is not told whether a unique value is taken. */
  #refuse(
    tx: Transactor,
    { table, principal, returned: trusted = {} }: BodyToWrite,
    { isAdmitted, ...body }: ValidatedBody & { id: string; before: StoredRecord | null; isAdmitted: boolean },
  ): void {
    const { id, values, problems } = body;
    this.#references.check(tx, { table, principal, trusted, isAdmitted }, body);
    if (problems.length === 0) return;
    if (isAdmitted) problems.push(...this.#references.duplicates(tx, table, { id, values, problems }));
    throw AppError.validation(problems);
  }
}

/** The record of valid values, by the positions of the fields. */
function newRecord({ table, id, times }: NewBody, { values, owner }: Prepared): PreparedRecord {
  const stored: Value[] = [];
  const record: StoredRecord = { id, ...times };
  for (const [position, field] of table.fields.entries()) {
    const value = values[position] ?? null;
    if (field.owner !== true) stored.push(value);
    record[field.name] = value;
  }
  return { values, record: table.toRecord(record), owner, stored };
}
