/** Preparation of a write: every check of a body but the checks of the writing statement. */
import type { ErrorDetail, FieldDefinition, JsonValue, StoredRecord } from "@socle/protocol";
import { AppError, isAdmin, isObject, nearest, type Principal, quote } from "../../base/kernel/index.ts";
import type { Transactor, Value } from "../../store/database/index.ts";
import {
  type CheckedValue,
  type Creation,
  emptyOf,
  mayBeOperators,
  operated,
  storedDefault,
  typeOf,
  type ValueProblem,
} from "../fields/index.ts";
import { isSameValue } from "./record-effects.ts";
import { type OwnedRow, type PlacedField, type RecordTable, systemFields } from "./record-table.ts";
import type { Body, References, TakesTarget, ValidatedBody } from "./references.ts";
import type { RecordState, Rights } from "./rights.ts";
import { numberChanged, numberNew, readonlyProblem } from "./sequences.ts";

/** An imported record may bring system fields and numbers. */
type ValidationMode = "create" | "import" | "update";

const noValue: CheckedValue = { stored: null };
/** The most unknown keys that an error lists. */
const maxUnknownKeys = 50;
const maxKeyLength = 100;
/** Unknown keys that are compared with the names of all fields, for a hint. */
const maxHints = 5;

function keyProblems(table: RecordTable, body: object, mode: ValidationMode): ErrorDetail[] {
  const problems: ErrorDetail[] = [];
  let unknown = 0;
  for (const key of Object.keys(body)) {
    if (table.positions.has(key)) continue;
    if (systemFields.includes(key)) {
      if (mode !== "update") problems.push(systemProblem(key));
      continue;
    }
    unknown += 1;
    if (unknown > maxUnknownKeys) continue;
    const near = unknown > maxHints ? null : nearest(key, table.positions.keys());
    const hint = near === null ? "" : `; did you mean ${near}?`;
    const field = key.length <= maxKeyLength ? key : `${key.slice(0, maxKeyLength)}…`;
    problems.push({ field, rule: "unknown", message: `${quote(key)} is not a field of this collection${hint}` });
  }
  if (unknown > maxUnknownKeys)
    problems.push({ field: "…", rule: "unknown", message: `and ${unknown - maxUnknownKeys} more that are no fields` });
  return problems;
}

function systemProblem(field: string): ErrorDetail {
  return { field, rule: "readonly", message: `${field} is managed by the service` };
}

/**
 * Checks a body without the database. An absent field is null in `create` mode and unchanged in `update` mode. Owner,
 * defaults, numbers and account fields of a new record are filled in later.
 */
export function validateBody(table: RecordTable, body: Body, mode: ValidationMode): ValidatedBody {
  const problems = keyProblems(table, body, mode);
  const values: (Value | undefined)[] = [];
  for (const field of table.fields) {
    const { name, owner, sequence } = field;
    const isNamed = Object.hasOwn(body, name);
    const value = isNamed ? body[name] : null;
    let stored: Value | undefined;
    if (table.accountFields.has(name)) {
      if (isNamed && mode !== "update") problems.push(systemProblem(name));
    } else if (isNamed && sequence !== undefined && mode === "create") problems.push(readonlyProblem(name));
    else if (owner === true && isNamed && value === null) stored = null;
    else if (isNamed || (mode !== "update" && !isFilledIn(field))) {
      const checked = table.checks[values.length]?.(value) ?? noValue;
      if ("stored" in checked) stored = checked.stored;
      else problems.push(valueProblem(name, isObject(value) ? withHint(field, checked) : checked));
    }
    values.push(stored);
  }
  return { values, problems };
}

/** Whether a new record gets a value that the body does not name. */
function isFilledIn({ owner, default: standing, sequence }: FieldDefinition): boolean {
  return owner === true || standing !== undefined || sequence !== undefined;
}

function valueProblem(field: string, { rule, message, item, operator }: ValueProblem): ErrorDetail {
  const place = operator === undefined ? field : `${field}.${operator}`;
  const path = item === undefined ? place : `${place}[${item}]`;
  return { field, ...(item !== undefined && { item }), rule, message: `${path} ${message}` };
}

/** The problem of an object in a create, or among the values that a hook returned. */
function withHint(field: FieldDefinition, problem: ValueProblem): ValueProblem {
  if (typeOf(field).operators.length === 0) return problem;
  return { ...problem, message: `${problem.message}; operators are for the body of an update` };
}

/** Whether a body has an object in the place of a value that is not json. */
function namesOperators(table: RecordTable, body: Body): boolean {
  return Object.entries(body).some(([name, value]) => {
    const field = isObject(value) ? table.field(name) : null;
    return isObject(value) && (field === null || mayBeOperators(field, value));
  });
}

/** A body with the new values in place of operators; a field whose present value stays is left out. */
interface PlainBody {
  readonly body: Body;
  readonly problems: readonly ErrorDetail[];
}

function operatedFields(table: RecordTable, body: Body): readonly FieldDefinition[] {
  return table.fields.filter((field) => mayBeOperators(field, body[field.name]));
}

/** The body of a new record: operators start from the defaults. */
function withDefaultsOperated(table: RecordTable, body: Body): PlainBody {
  const fields = operatedFields(table, body);
  const starts = fields.map((field) => [field.name, field.default ?? (field.multiple === true ? [] : null)]);
  return withoutOperators(table, { body, record: Object.fromEntries(starts), fields });
}

/** @param record the values from which the operators start. */
function withoutOperators(
  table: RecordTable,
  {
    body,
    record,
    fields,
  }: { body: Body; record: Readonly<Record<string, JsonValue>>; fields: readonly FieldDefinition[] },
): PlainBody {
  const plain = { ...body };
  const problems: ErrorDetail[] = [];
  for (const field of fields) {
    const { name, sequence } = field;
    const value = record[name] ?? null;
    const made = operated({ field, pattern: table.collection.patterns.get(name), value }, Object(body[name]));
    delete plain[name];
    if (sequence !== undefined) problems.push(readonlyProblem(name));
    else if ("rule" in made) problems.push(valueProblem(name, made));
    else if (!isSameValue(made.value, value)) plain[name] = made.value;
  }
  return { body: plain, problems };
}

function requiredProblem(field: string): ErrorDetail {
  return { field, rule: "required", message: `${field} is required` };
}

/** Fills in the defaults; `sent` is the body. An empty default of a required field is a problem. */
function fillDefaults(
  table: RecordTable,
  { sent, values, problems }: ValidatedBody & { sent: Body },
  creation: Creation,
): void {
  for (const [position, field] of table.defaults) {
    if (Object.hasOwn(sent, field.name)) continue;
    const value = storedDefault(field, creation);
    values[position] = value;
    if (value === emptyOf(field) && field.required === true) problems.push(requiredProblem(field.name));
  }
}

/**
 * The owner of a new record: the creator. An owner field shows the owner; only an admin may name another user, or null.
 * In `values`, the field's position then holds the owner.
 */
function ownerOfNew(shown: PlacedField, principal: Principal, { values, problems }: ValidatedBody): string | null {
  const [position, field] = shown;
  const creator = principal?.userId ?? null;
  const given = values[position];
  const isLeftToUs = given === undefined || given === creator || (given === null && !isAdmin(principal));
  if (!isLeftToUs && !isAdmin(principal)) refuse(shown, { values, problems });
  const named = typeof given === "string" ? given : null;
  const owner = isLeftToUs ? creator : named;
  if (problems.some((problem) => problem.field === field.name)) return owner;
  if (owner === null && field.required === true) problems.push(requiredProblem(field.name));
  values[position] = owner;
  return owner;
}

/**
 * The owner of a record after a change. In `values`, the owner field's position is undefined unless the owner changes.
 */
function ownerOfChanged(
  shown: PlacedField,
  { principal, owner: current }: { principal: Principal; owner: string | null },
  { values, problems }: ValidatedBody,
): string | null {
  const [position, field] = shown;
  const given = values[position];
  if (given === current) values[position] = undefined;
  else if (given !== undefined && !isAdmin(principal)) refuse(shown, { values, problems });
  if (values[position] === undefined) return current;
  if (given === null && field.required === true) problems.push(requiredProblem(field.name));
  return typeof given === "string" ? given : null;
}

/** Forgets the value, so that no further problem tells whether the value is the id of a user. */
function refuse([position, { name }]: PlacedField, { values, problems }: ValidatedBody): void {
  values[position] = undefined;
  problems.push({ field: name, rule: "readonly", message: `${name} can only be set or changed by an admin` });
}

/** Called with the record after the write, before the rule is asked; not for an invalid body. */
export type Observe = (state: RecordState) => void;

/** The values of the account fields of a user, by name. */
export type AccountValues = Readonly<Record<"email" | "role" | "verified", string | boolean | null>>;

/** The system fields of an imported record or of a user, and the problems that the caller found. */
export interface GivenFields {
  readonly id?: string;
  readonly createdAt?: string;
  readonly updatedAt?: string;
  readonly problems: readonly ErrorDetail[];
  /** Absent for a record that is no user. */
  readonly account?: AccountValues;
  /** Whether required fields are left empty. */
  readonly isOpen?: boolean;
  /** The owner of a record that comes back; absent: the owner follows from the caller. */
  readonly owner?: string | null;
}

/** Puts the values of the account fields in place, but the values that a record has already. */
function fillAccount(
  table: RecordTable,
  account: AccountValues,
  { values, record }: { values: (Value | undefined)[]; record: StoredRecord | null },
): void {
  for (const [name, value] of Object.entries(account)) {
    const position = table.positions.get(name) ?? -1;
    const field = table.fields[position];
    if (field !== undefined && record?.[name] !== value)
      values[position] = value === null ? null : typeOf(field).encode(value);
  }
}

/** Leaves the required fields of a new user empty; the body is empty, too. */
function leaveOpen(table: RecordTable, { values, problems }: ValidatedBody): void {
  problems.length = 0;
  for (const [position, field] of table.fields.entries()) values[position] ??= emptyOf(field);
}

/** Valid values by the positions of the fields, and the owner of the record. */
interface PreparedValues {
  readonly values: readonly (Value | undefined)[];
  readonly owner: string | null;
}

interface BodyToWrite {
  readonly table: RecordTable;
  readonly principal: Principal;
  readonly body: Body;
  /** The values of the body that a hook has set. */
  readonly returned?: Body;
  readonly observe?: Observe | undefined;
  readonly takes?: TakesTarget | undefined;
}

/** `defaultsAt` is the time of the creation for defaults. */
interface NewBody extends BodyToWrite {
  readonly given: GivenFields | undefined;
  /** See `NewRecord`. */
  readonly hasOperators?: boolean;
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly defaultsAt: string;
}

interface ChangedBody extends BodyToWrite {
  readonly row: OwnedRow;
  readonly updatedAt: string;
  /** The account fields of a user after a change of the account. */
  readonly account?: AccountValues | undefined;
  /** The numbers that a record takes back, by field. */
  readonly numbers?: ReadonlyMap<string, number> | undefined;
}

/** Every method runs in the given transaction, and throws as `Records` does. */
export class Preparation {
  readonly #references: References;
  readonly #rights: Rights;

  constructor(options: { references: References; rights: Rights }) {
    this.#references = options.references;
    this.#rights = options.rights;
  }

  /** A record that is to be created; `stored` has the values with separate columns. @throws AppError. */
  create(tx: Transactor, first: NewBody): PreparedValues & { record: StoredRecord; stored: readonly Value[] } {
    const { table, principal, given, observe, id, createdAt, updatedAt, defaultsAt } = first;
    const { collection } = table;
    const { account } = given ?? {};
    const isImported = given !== undefined && account === undefined;
    const plain =
      first.hasOperators === true && namesOperators(table, first.body) ? withDefaultsOperated(table, first.body) : null;
    const { body } = plain ?? first;
    const { values, problems } = validateBody(table, body, isImported ? "import" : "create");
    if (plain !== null) problems.push(...plain.problems);
    // Users own their records.
    const userId = account === undefined ? (given?.owner ?? principal?.userId ?? null) : id;
    const owner =
      table.ownerField === undefined ? userId : ownerOfNew(table.ownerField, principal, { values, problems });
    if (account !== undefined) fillAccount(table, account, { values, record: null });
    if (given !== undefined) problems.push(...given.problems);
    if (given?.id !== undefined && tx.get(table.exists, id) !== null)
      problems.push({ field: "id", rule: "unique", message: "id is taken by another record" });
    if (table.defaults.length > 0) fillDefaults(table, { sent: body, values, problems }, { now: defaultsAt, userId });
    if (table.sequences.length > 0) numberNew(tx, table, values);
    if (given?.isOpen === true) leaveOpen(table, { values, problems });
    const stored: Value[] = [];
    const record: StoredRecord = { id, createdAt, updatedAt };
    let position = 0;
    for (const field of table.fields) {
      const value = values[position++] ?? null;
      if (field.owner !== true) stored.push(value);
      record[field.name] = value;
    }
    table.toRecord(record);
    const state = { table, principal, record, owner };
    if (problems.length === 0) observe?.(state);
    const isAdmitted = this.#isAdmitted(tx, { operation: "create", state, problems });
    if (isAdmitted && collection.fieldPolicies !== null) this.#rights.admitNew(tx, state, body);
    if (problems.length > 0 || table.references.length > 0)
      this.#refuse(tx, first, { id, values, problems, before: null, isAdmitted });
    return { values, record, owner, stored };
  }

  /** The values of an update; `row` is the record before the update. @throws AppError. */
  change(tx: Transactor, change: ChangedBody): PreparedValues {
    const { table, principal, observe, row, updatedAt, account } = change;
    const { collection } = table;
    const { id } = row.record;
    const plain = namesOperators(table, change.body) ? this.#withoutOperators(tx, change) : null;
    const { body } = plain ?? change;
    const { values, problems } = validateBody(table, body, "update");
    if (plain !== null) problems.push(...plain.problems);
    if (account !== undefined) fillAccount(table, account, { values, record: row.record });
    if (table.sequences.length > 0)
      numberChanged(tx, table, { values, record: row.record, problems, numbers: change.numbers });
    if (collection.fieldPolicies !== null) this.#rights.admitChange(tx, { table, principal, ...row }, { body, values });
    const owner =
      table.ownerField === undefined
        ? row.owner
        : ownerOfChanged(table.ownerField, { principal, owner: row.owner }, { values, problems });
    let isAdmitted = true;
    if (observe !== undefined || collection.policies.update.audience === "condition") {
      const record = { ...table.changed(row.record, values), updatedAt };
      const state = { table, principal, record, owner };
      if (problems.length === 0) observe?.(state);
      isAdmitted = this.#isAdmitted(tx, { operation: "update", state, problems });
    }
    if (problems.length > 0 || table.references.length > 0)
      this.#refuse(tx, change, { id, values, problems, before: row.record, isAdmitted });
    return { values, owner };
  }

  /** @throws AppError `forbidden` if the caller may not read a value that an operator starts from. */
  #withoutOperators(tx: Transactor, { table, principal, body, row }: BodyToWrite & { row: OwnedRow }): PlainBody {
    const fields = operatedFields(table, body);
    const names = fields.map(({ name }) => name);
    this.#rights.admitOperators(tx, { table, principal, ...row }, names);
    return withoutOperators(table, { body, record: row.record, fields });
  }

  /**
   * Whether the rule of an operation admits the caller to write the record. False only beside problems of the body, which
   * may be the reason.
   * @throws AppError `forbidden`, `unauthorized`.
   */
  #isAdmitted(
    tx: Transactor,
    write: { operation: "create" | "update"; state: RecordState; problems: readonly ErrorDetail[] },
  ): boolean {
    const { operation, state, problems } = write;
    const policy = state.table.collection.policies[operation];
    if (policy.audience !== "condition" || this.#rights.allowsState(tx, operation, state)) return true;
    if (problems.length > 0) return false;
    throw policy.refusal(state.principal);
  }

  /** Throws every problem of a body at once; a caller that is not admitted is not told whether a unique value is taken. */
  #refuse(
    tx: Transactor,
    { table, principal, takes, returned: trusted = {} }: BodyToWrite,
    { isAdmitted, ...body }: ValidatedBody & { id: string; before: StoredRecord | null; isAdmitted: boolean },
  ): void {
    const { id, values, problems } = body;
    this.#references.check(tx, { table, principal, trusted, isAdmitted, takes }, body);
    if (problems.length === 0) return;
    if (isAdmitted) problems.push(...this.#references.duplicates(tx, table, { id, values, problems }));
    throw AppError.validation(problems);
  }
}
