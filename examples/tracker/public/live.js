/** The records of one collection as the service has them: a list, and the events that come after it. */
export class Live {
  /** By id, the newest first. */
  records = new Map();
  #client;
  #name;
  #onChange;
  /** Which records are wanted: all that may be read, until `show` says otherwise. */
  #wanted = { filter: undefined, matches: () => true };
  /** Changes that were heard while the list was read: they are newer than it, or the same. */
  #heard = new Map();
  #reads = 0;

  /** @param onChange called after each change, with the record before it and after it; without them after a list. */
  constructor(client, name, onChange) {
    this.#client = client;
    this.#name = name;
    this.#onChange = onChange;
  }

  get all() {
    return [...this.records.values()];
  }

  /** Hears the channel, and reads the list each time that the channel is heard anew. */
  start() {
    this.#client.subscribe(`${this.#name}.*`, (event) => this.#hear(event), { onReset: () => this.load() });
  }

  /** Wants other records: those of a filter. @param matches tells the same of a record that an event brings. */
  show(filter, matches) {
    if (this.#wanted.filter === filter) return;
    this.#wanted = { filter, matches };
    this.records = new Map();
    this.load();
  }

  async load() {
    const read = ++this.#reads;
    const { filter } = this.#wanted;
    this.#heard = new Map();
    const items = [];
    for (let cursor; cursor !== null; ) {
      const page = await this.#client.collection(this.#name).page({ filter, cursor });
      items.push(...page.items);
      cursor = page.nextCursor;
    }
    // A later read is on its way.
    if (read !== this.#reads) return;
    this.records = new Map(items.map((record) => [record.id, record]));
    for (const [id, record] of this.#heard) this.#put(id, record);
    this.#onChange();
  }

  #hear({ type, payload }) {
    const before = this.records.get(payload.id);
    const after = type.endsWith(".deleted") || !this.#wanted.matches(payload) ? undefined : payload;
    this.#heard.set(payload.id, after);
    this.#put(payload.id, after);
    if (before !== undefined || after !== undefined) this.#onChange({ before, after });
  }

  #put(id, record) {
    if (record === undefined) this.records.delete(id);
    else if (this.records.has(id)) this.records.set(id, record);
    else this.records = new Map([[id, record], ...this.records]);
  }
}
