import type { Collection } from "../collections/index.ts";
import { type Database, identifier } from "../database/index.ts";
import type { EventLog, LoggedEvent } from "../events/index.ts";

interface Counted {
  /** Which collection of this name it is about. */
  readonly createdAt: string;
  /** The last event that is in the number. */
  readonly place: number;
  records: number;
}

/** How many records there are. A collection is counted once; from then on its events tell. */
export class RecordCounts {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #counted = new Map<string, Counted>();
  /** By the type of an event: what it does to which number. */
  readonly #changes = new Map<string, { counted: Counted; by: 1 | -1 }>();
  #isListening = false;

  constructor(options: { database: Database; events: EventLog }) {
    this.#database = options.database;
    this.#events = options.events;
  }

  async of({ name, table, createdAt }: Collection): Promise<number> {
    const known = this.#counted.get(name);
    if (known?.createdAt === createdAt) return known.records;
    if (!this.#isListening) this.#events.listen((event) => this.#follow(event));
    this.#isListening = true;
    const { reader } = this.#database;
    // Both are asked for at once, so that they are of the same moment.
    const [row, place] = await Promise.all([
      reader.get<{ n: number }>(`SELECT count(*) AS n FROM ${identifier(table)}`),
      this.#events.lastPlace(reader),
    ]);
    const counted: Counted = { createdAt, place, records: row?.n ?? 0 };
    this.#counted.set(name, counted);
    this.#changes.set(`${name}.created`, { counted, by: 1 });
    this.#changes.set(`${name}.deleted`, { counted, by: -1 });
    return counted.records;
  }

  #follow(event: LoggedEvent): void {
    const { type, seq } = event;
    if (type === "system.collection.deleted") this.#forget(String(event.payload["name"]), event.timestamp);
    const change = this.#changes.get(type);
    if (change !== undefined && seq > change.counted.place) change.counted.records += change.by;
  }

  /** Unless there is another of that name by now. */
  #forget(name: string, at: string): void {
    const counted = this.#counted.get(name);
    if (counted === undefined || counted.createdAt > at) return;
    this.#counted.delete(name);
    this.#changes.delete(`${name}.created`);
    this.#changes.delete(`${name}.deleted`);
  }
}
