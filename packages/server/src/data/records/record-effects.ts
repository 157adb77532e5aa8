/** Record effects: what follows the write of a record in its transaction: its event, and its note for the state in memory. */
import type { StoredRecord } from "@socle/protocol";
import type { JsonText, Principal } from "../../base/kernel/index.ts";
import { noteKind, type Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { basisOf } from "./event-basis.ts";
import type { OwnedRow, RecordTable } from "./record-table.ts";
import { changesOf } from "./saved-record.ts";

/** Records of a collection have changed: the owners before and after, and by how many the number of records has grown. */
export const recordsChanged = noteKind<{
  readonly collection: string;
  readonly owners: readonly (string | null)[];
  readonly by: number;
}>("records.changed");

/** A record that was written, by whom, and when. */
export interface Written {
  readonly table: RecordTable;
  /** The record after the write. */
  readonly row: OwnedRow;
  readonly principal: Principal;
  readonly now: number;
  /** The JSON of the record. */
  readonly json: JsonText;
}

export class RecordEffects {
  readonly #events: EventLog;

  constructor(events: EventLog) {
    this.#events = events;
  }

  created(tx: Transactor, { table, row, principal, now, json }: Written): void {
    const { collection } = table;
    const { owner } = row;
    tx.note(recordsChanged.of({ collection: collection.name, owners: [owner], by: 1 }));
    const type = `${collection.name}.created`;
    this.#events.append(tx, { type, source: "collections", payload: json, principal, owner }, now);
  }

  /** @param before the record before the update. */
  updated(tx: Transactor, { table, row, principal, now, json }: Written, before: OwnedRow): void {
    const { name } = table.collection;
    const { record, owner } = row;
    const previous: StoredRecord = before.record;
    tx.note(recordsChanged.of({ collection: name, owners: [owner, before.owner], by: 0 }));
    const changes = (): object => changesOf(record, previous);
    const basis = basisOf(table, before, row);
    const type = `${name}.updated`;
    const event = { type, source: "collections", payload: json, changes, principal, owner, previous, basis } as const;
    this.#events.append(tx, event, now);
  }

  /** @param row the deleted record. */
  deleted(tx: Transactor, { table, row, principal }: Omit<Written, "now" | "json">): void {
    const { collection } = table;
    const { owner } = row;
    tx.note(recordsChanged.of({ collection: collection.name, owners: [owner], by: -1 }));
    this.#events.append(tx, {
      type: `${collection.name}.deleted`,
      source: "collections",
      payload: { id: row.record.id },
      principal,
      owner,
      previous: row.record,
      basis: basisOf(table, row, null),
    });
  }
}
