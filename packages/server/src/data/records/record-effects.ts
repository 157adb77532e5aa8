/** Record effects: what follows the write of a record in its transaction: its event, and what is kept in memory about it. */
import type { StoredRecord } from "@socle/protocol";
import type { JsonText, Principal } from "../../base/kernel/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { Collection } from "../collections/index.ts";
import type { RecordCounts } from "./counts.ts";
import { basisOf } from "./event-basis.ts";
import type { OwnedRow, RecordTable } from "./record-table.ts";
import { changesOf } from "./saved-record.ts";
import type { Versions } from "./versions.ts";

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

/** The deleted records of one transaction, counted by collection and owner. */
export class DeletedRecords {
  readonly #owners = new Map<Collection, { n: number; readonly owners: Set<string | null> }>();

  add(collection: Collection, owner: string | null): void {
    const known = this.#owners.get(collection);
    if (known === undefined) this.#owners.set(collection, { n: 1, owners: new Set([owner]) });
    else {
      known.n += 1;
      known.owners.add(owner);
    }
  }

  [Symbol.iterator](): Iterator<[Collection, { readonly n: number; readonly owners: ReadonlySet<string | null> }]> {
    return this.#owners.entries();
  }
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

  created(tx: Transactor, { table, row, principal, now, json }: Written): void {
    const { collection } = table;
    const { owner } = row;
    tx.onCommit(() => {
      this.#versions.changed(collection.name, owner);
      this.#counts.changed(collection, 1);
    });
    const type = `${collection.name}.created`;
    this.#events.append(tx, { type, source: "collections", payload: json, principal, owner }, now);
  }

  /** @param before the record before the update. */
  updated(tx: Transactor, { table, row, principal, now, json }: Written, before: OwnedRow): void {
    const { name } = table.collection;
    const { record, owner } = row;
    const previous: StoredRecord = before.record;
    const ownerBefore = before.owner;
    tx.onCommit(() => this.#versions.changed(name, owner, ownerBefore));
    const changes = (): object => changesOf(record, previous);
    const basis = basisOf(table, before, row);
    const type = `${name}.updated`;
    const event = { type, source: "collections", payload: json, changes, principal, owner, previous, basis } as const;
    this.#events.append(tx, event, now);
  }

  /** In the moment of the commit of a deletion, the records are gone that are in `deleted` by then. */
  onDeleted(tx: Transactor, deleted: DeletedRecords): void {
    tx.onCommit(() => {
      for (const [collection, { n, owners }] of deleted) {
        for (const owner of owners) this.#versions.changed(collection.name, owner);
        this.#counts.changed(collection, -n);
      }
    });
  }

  /** The event of a deletion. @param row the deleted record. */
  deleted(tx: Transactor, { table, row, principal }: Omit<Written, "now" | "json">): void {
    const { collection } = table;
    const { owner } = row;
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
