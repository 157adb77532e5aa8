/**
 * Tellings: what one change of a record means to each listener, where the read rule is an expression. A change that brings the
 * record into a listener's sight is told as `.created`, one that takes it out of sight as `.deleted` with the id alone.
 */
import type { StoredRecord } from "@socle/protocol";
import type { Collection } from "../collections/index.ts";
import type { LoggedEvent } from "../events/index.ts";
import type { Expression } from "../expressions/index.ts";
import { type RecordTable, recordTableOf } from "../records/index.ts";
import type { Listener } from "./audience.ts";
import { Readers, type RecordState } from "./readers.ts";

/** The types of the changes of a collection's records. */
export function changeTypes(name: string): string[] {
  return [`${name}.created`, `${name}.updated`, `${name}.deleted`];
}

/** The type as which a change is told to a listener who could read the record before it or can after it; null for neither. */
function toldType(name: string, couldRead: boolean, canRead: boolean): string | null {
  if (canRead) return couldRead ? `${name}.updated` : `${name}.created`;
  return couldRead ? `${name}.deleted` : null;
}

/** The text of an event as it is told as one of another type. */
export function toldText(event: LoggedEvent, type: string): string {
  if (!type.endsWith(".deleted")) return event.toText(undefined, type);
  return event.toText(JSON.stringify({ id: event.subject }), type);
}

interface Tellings {
  /** The type as which a listener, who is no admin, is told of the change; null where they are not. */
  typeFor(listener: Listener): string | null;
  text(type: string): string;
}

/** @param event as it is told live, with the record before the change. */
export function tellingsOf(event: LoggedEvent, collection: Collection, readers: Readers): Tellings {
  const table = recordTableOf(collection);
  const decision = collection.policies.read.decide(null);
  const condition = decision.access === "where" ? decision.condition : null;
  const before = readersOf(beforeOf(event, table), { table, condition, readers });
  const after = readersOf(afterOf(event), { table, condition, readers });
  return {
    typeFor: (listener) =>
      toldType(collection.name, Readers.includes(before, listener), Readers.includes(after, listener)),
    text: (type) => toldText(event, type),
  };
}

const nobody: ReadonlySet<string> = new Set();

function readersOf(
  state: RecordState | null,
  { table, condition, readers }: { table: RecordTable; condition: Expression | null; readers: Readers },
): ReadonlySet<string> {
  return state === null || condition === null ? nobody : readers.of(table, condition, state);
}

function afterOf({ type, payload, owner }: LoggedEvent): RecordState | null {
  // The payload of a creation or update that is told live is the whole record.
  return type.endsWith(".deleted") ? null : { record: payload as StoredRecord, owner };
}

function beforeOf({ previous, owner }: LoggedEvent, table: RecordTable): RecordState | null {
  if (previous === null) return null;
  const ownerField = table.fields.find((field) => field.owner === true);
  const shown = ownerField === undefined ? owner : (previous[ownerField.name] ?? null);
  return { record: previous, owner: typeof shown === "string" ? shown : null };
}
