/** Record effects: what follows the write of a record in its transaction: its event, and what is kept in memory about it. */
import type { StoredRecord } from "@socle/protocol";
import type { Collection } from "../collections/index.ts";
import type { Transactor } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import type { Awaitable, JsonText, Principal } from "../kernel/index.ts";
import type { RecordCounts } from "./counts.ts";
import { basisOf } from "./event-basis.ts";
import type { OwnedRow, RecordTable } from "./record-table.ts";
import { changesOf } from "./saved-record.ts";
import type { Versions } from "./versions.ts";

/** A record that was written, by whom, and when. */
export interface Written {
  readonly table: RecordTable;
  /** As it stands now. */
  readonly row: OwnedRow;
  readonly principal: Principal;
  readonly now: number;
  /** The JSON of the record. */
  readonly json: JsonText;
}

export class RecordEffects {
  readonly #events: EventLog;
  readonly #counts: RecordCounts;
  readonly #versions: Versions;

  constructor(options: { events: EventLog; counts: RecordCounts; versions: Versions }) {
    this.#events = options.events;
    this.#counts = options.counts;
    this.#versions = options.versions;
  }

  created(tx: Transactor, { table, row, principal, now, json }: Written): Awaitable<unknown> {
    const { collection } = table;
    const { owner } = row;
    tx.onCommit(() => this.#changed(collection, 1, owner));
    const type = `${collection.name}.created`;
    return this.#events.append(tx, { type, source: "collections", payload: json, principal, owner }, now);
  }

  /** @param before as it was. */
  updated(tx: Transactor, { table, row, principal, now, json }: Written, before: OwnedRow): Awaitable<unknown> {
    const { name } = table.collection;
    const { record, owner } = row;
    const previous: StoredRecord = before.record;
    const ownerBefore = before.owner;
    tx.onCommit(() => this.#versions.changed(name, owner, ownerBefore));
    const changes = (): object => changesOf(record, previous);
    const basis = basisOf(table, before, row);
    const type = `${name}.updated`;
    const event = { type, source: "collections", payload: json, changes, principal, owner, previous, basis } as const;
    return this.#events.append(tx, event, now);
  }

  /** @param row as it was. */
  deleted(tx: Transactor, { table, row, principal }: Omit<Written, "now" | "json">): Awaitable<unknown> {
    const { collection } = table;
    // The record itself is not kept until then: a deletion may be one of very many.
    const { owner } = row;
    tx.onCommit(() => this.#changed(collection, -1, owner));
    return this.#events.append(tx, {
      type: `${collection.name}.deleted`,
      source: "collections",
      payload: { id: row.record.id },
      principal,
      owner,
      previous: row.record,
      basis: basisOf(table, row, null),
    });
  }

  /** In the moment of the commit: there is one record more or less. */
  #changed(collection: Collection, by: 1 | -1, owner: string | null): void {
    this.#versions.changed(collection.name, owner);
    this.#counts.changed(collection, by);
  }
}
