/** The states of a record before and after an event, and the changed values, from the newest event to the oldest. */
import type { FieldChange, JsonValue, StoredRecord } from "@socle/protocol";
import { isSameValue } from "../../data/records/index.ts";
import type { LoggedEvent } from "../../store/events/index.ts";

/** The values and the owner of a record at a moment. */
export interface PastState {
  readonly record: StoredRecord;
  readonly owner: string | null;
}

/** A state; null without a record, undefined where the log does not tell. */
type Known = PastState | null | undefined;

export interface PastChange {
  readonly event: LoggedEvent;
  readonly before: Known;
  readonly after: Known;
  /** By field. A value that the log did not keep is absent. */
  readonly changes: { readonly [field: string]: FieldChange };
  /** Whether the log lacks values before. */
  readonly isPartial: boolean;
}

const systemFields: readonly string[] = ["id", "createdAt", "updatedAt"];

/** @param newer the state before the next change, or now. */
export function pastChange(event: LoggedEvent, newer: Known): PastChange {
  const { type, owner, basis, isPartial } = event;
  // The payload and the basis of an event about a record were written from the record.
  const payload = event.payload as StoredRecord;
  const former = (basis?.fields ?? {}) as Partial<StoredRecord>;
  const lost = basis?.omitted ?? [];
  const isWhole = basis !== null && lost.length === 0;
  if (event.isErased) return { event, before: undefined, after: undefined, changes: {}, isPartial: true };
  if (type.endsWith(".deleted")) {
    // Earlier versions kept short values alone.
    const before = isWhole ? { record: { ...payload, ...former } as StoredRecord, owner: basis.owner } : undefined;
    const changes = Object.entries(former).map(
      ([name, value]) => [name, { before: value ?? null, after: null }] as const,
    );
    const gone = lost.map((name) => [name, { after: null }] as const);
    return { event, before, after: null, changes: named([...changes, ...gone]), isPartial: !isWhole };
  }
  const record = isPartial ? newer?.record : payload;
  const after = record === undefined ? undefined : { record, owner };
  if (type.endsWith(".created")) {
    const changes = Object.entries(payload).map(([name, value]) => [name, { before: null, after: value }] as const);
    return { event, before: null, after, changes: named(changes), isPartial: false };
  }
  const isKnown = after !== undefined && isWhole;
  const before = isKnown ? { record: { ...after.record, ...former } as StoredRecord, owner: basis.owner } : undefined;
  const names = basis === null ? Object.keys(payload) : [...Object.keys(former), ...lost];
  const changes = names
    // The basis may have fields of the read rule that did not change, which a part of a record does not have.
    .filter((name) => Object.hasOwn(payload, name))
    .map((name): [string, FieldChange] => {
      const value = payload[name] ?? null;
      return [name, Object.hasOwn(former, name) ? { before: former[name] ?? null, after: value } : { after: value }];
    });
  return { event, before, after, changes: named(changes), isPartial: !isWhole };
}

/** The changed fields of an event of an update or a deletion, with the values that the log has; null for any other event. */
export function changesIn(event: LoggedEvent): PastChange["changes"] | null {
  return event.basis === null ? null : pastChange(event, undefined).changes;
}

/** The changes of the fields of the definition, without values that stay. */
function named(changes: readonly (readonly [string, FieldChange])[]): PastChange["changes"] {
  const isChange = ({ before, after }: FieldChange): boolean => before === undefined || !isSameValue(before, after);
  return Object.fromEntries(changes.filter(([name, change]) => !systemFields.includes(name) && isChange(change)));
}

/** The ids in a value of a field of files. */
export function idsIn(value: JsonValue | undefined): string[] {
  return [value].flat().filter((each) => typeof each === "string");
}
