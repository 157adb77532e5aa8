/**
 * Field rights: the fields of a record that a caller may not read or write. The field policies of the collection decide;
 * the database checks conditions on the record.
 */
import type { ErrorDetail, StoredRecord } from "@socle/protocol";
import { AppError, allOf } from "../../base/kernel/index.ts";
import type { Reader, Value } from "../../store/database/index.ts";
import type { Expression } from "../expressions/index.ts";
import { decode } from "../fields/index.ts";
import { type FieldLimits, isOwnRecord } from "../permissions/index.ts";
import { fieldLimits, type RecordTable } from "./record-table.ts";
import type { RecordState, Rights } from "./rights.ts";

const none: ReadonlySet<string> = new Set();

/** A body that is to be written, with its stored values by the positions of the fields. */
interface Written {
  readonly body: Readonly<Record<string, unknown>>;
  readonly values: (Value | undefined)[];
}

/** A record without some of its fields. */
export function withoutFields(record: StoredRecord, fields: ReadonlySet<string>): StoredRecord {
  if (fields.size === 0) return record;
  const shown = { ...record };
  for (const field of fields) delete shown[field];
  return shown;
}

export class FieldRights {
  readonly #rights: Rights;

  constructor(rights: Rights) {
    this.#rights = rights;
  }

  /** The fields of a record that its reader may not read. */
  hidden(reader: Reader, state: RecordState): ReadonlySet<string> {
    const limits = fieldLimits(state.table.collection, state.principal);
    return limits === null ? none : this.#closed(reader, limits, state);
  }

  /** The readable part of a record. */
  shown(reader: Reader, state: RecordState & { record: StoredRecord }): StoredRecord {
    return withoutFields(state.record, this.hidden(reader, state));
  }

  /**
   * Refuses a new record whose body names fields that the caller may not write.
   * @param state the record after the create.
   * @throws AppError `forbidden` with the fields.
   */
  admitNew(reader: Reader, state: RecordState, body: Written["body"]): void {
    const limits = limitsOf(state, body);
    if (limits !== null) refuse(this.#closed(reader, limits, state));
  }

  /**
   * Refuses an update that changes fields which the caller may not write, before the update or after. A readable value that
   * is sent back unchanged is no change, and is removed from the values.
   * @param before the record before the update. @param after makes the record after the update.
   * @throws AppError `forbidden` with the fields.
   */
  admitChange(
    reader: Reader,
    before: RecordState & { record: StoredRecord },
    { after, ...written }: Written & { after: () => StoredRecord },
  ): void {
    const limits = limitsOf(before, written.body);
    if (limits === null) return;
    const closed = new Set(this.#closed(reader, limits, before));
    for (const field of this.#closed(reader, limits, { ...before, record: after() })) closed.add(field);
    const hidden = closed.size === 0 ? none : this.hidden(reader, before);
    const changed = [...closed].filter((field) => {
      if (hidden.has(field) || !isUnchanged(before, field, written.values)) return true;
      written.values[before.table.positions.get(field) ?? -1] = undefined;
      return false;
    });
    refuse(new Set(changed));
  }

  /** The fields that limits close in a record. */
  #closed(reader: Reader, limits: FieldLimits, state: RecordState): ReadonlySet<string> {
    const closed = new Set(limits.closed);
    const asked = new Map<Expression, string[]>();
    for (const [field, { access, condition }] of limits.conditional) {
      if (access === "where") asked.set(condition, [...(asked.get(condition) ?? []), field]);
      else if (!isOwnRecord(state.principal, state.owner)) closed.add(field);
    }
    const outcomes = this.#rights.stateOutcomes(reader, [...asked.keys()], state);
    for (const [i, fields] of [...asked.values()].entries())
      if (outcomes[i] !== true) for (const field of fields) closed.add(field);
    return closed;
  }
}

/** The limits of writing for the fields that a body names; null if the body names no limited field. */
function limitsOf({ table, principal }: RecordState, body: Written["body"]): FieldLimits | null {
  const limits = table.collection.fieldPolicies?.limits("update", principal) ?? null;
  if (limits === null) return null;
  const closed = new Set([...limits.closed].filter((field) => Object.hasOwn(body, field)));
  const conditional = new Map([...limits.conditional].filter(([field]) => Object.hasOwn(body, field)));
  return closed.size === 0 && conditional.size === 0 ? null : { closed, conditional };
}

function isUnchanged(
  { table, record }: { table: RecordTable; record: StoredRecord },
  name: string,
  values: readonly (Value | undefined)[],
): boolean {
  const value = values[table.positions.get(name) ?? -1];
  const field = table.field(name);
  if (value === undefined || field === null) return false;
  return JSON.stringify(decode(field, value)) === JSON.stringify(record[name]);
}

function refuse(fields: ReadonlySet<string>): void {
  if (fields.size === 0) return;
  const names = [...fields];
  const details = names.map(
    (field): ErrorDetail => ({ field, rule: "readonly", message: `You may not write ${field}` }),
  );
  throw new AppError("forbidden", `You may not write ${allOf(names.map((name) => `"${name}"`))}.`, { details });
}
