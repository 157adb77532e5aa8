/**
 * The database's side of the kills: in one snapshot, the events of each record and file must match the stored state.
 * The events are followed from check to check, so that a check costs only the events since the last check.
 */
import type { Database } from "bun:sqlite";
import { eventId } from "../../packages/server/src/store/events/event-table.ts";

export interface LoggedEvent {
  readonly id: string;
  readonly type: string;
  readonly payload: { readonly [name: string]: unknown };
}

interface Row {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly payload: string;
}

/** The part of a record that both sides know: two states of a record differ in this part. */
const compared = ["n", "version", "event", "updatedAt"] as const;
type State = { readonly [name in (typeof compared)[number]]: unknown };

/** @param before the state that the event of a large record's update does not repeat. */
function stateOf(record: { readonly [name: string]: unknown }, before?: State): State {
  const value = (name: (typeof compared)[number]): unknown => record[name] ?? before?.[name] ?? null;
  return { n: value("n"), version: value("version"), event: value("event"), updatedAt: value("updatedAt") };
}

function areSame(a: State, b: State): boolean {
  return compared.every((name) => a[name] === b[name]);
}

export class FollowedLog {
  readonly all: LoggedEvent[] = [];
  #seq = 0;
  /** By collection, then by id. */
  readonly #records = new Map<string, Map<string, State>>();
  readonly #files = new Set<string>();

  /** Reads the events since the last time, and compares. Inside a transaction of `database`. */
  compare(database: Database, collections: readonly string[]): string[] {
    const problems = this.#read(database);
    for (const name of collections) {
      const expected = this.#recordsOf(name);
      const rows = database.query<{ id: string; [column: string]: unknown }, []>(`SELECT * FROM "${name}"`).all();
      for (const row of rows) {
        const state = expected.get(row.id);
        if (state === undefined) problems.push(`${name}: ${row.id} is there without its event`);
        else if (!areSame(state, stateOf(row))) problems.push(`${name}: ${row.id} differs from its last event`);
      }
      const stored = new Set(rows.map(({ id }) => id));
      for (const id of expected.keys())
        if (!stored.has(id)) problems.push(`${name}: the events tell of ${id}, which is not there`);
    }
    const files = new Set(
      database
        .query<{ id: string }, []>("SELECT id FROM _files")
        .all()
        .map(({ id }) => id),
    );
    for (const id of files) if (!this.#files.has(id)) problems.push(`file ${id} is there without its event`);
    for (const id of this.#files)
      if (!files.has(id)) problems.push(`the events tell of file ${id}, which is not there`);
    return problems;
  }

  #recordsOf(collection: string): Map<string, State> {
    const known = this.#records.get(collection) ?? new Map<string, State>();
    this.#records.set(collection, known);
    return known;
  }

  #read(database: Database): string[] {
    const problems: string[] = [];
    const rows = database
      .query<Row, [number]>("SELECT seq, at, type, payload FROM _events WHERE seq > ? ORDER BY seq")
      .all(this.#seq);
    for (const { seq, at, type, payload } of rows) {
      this.#seq = seq;
      const event = { id: eventId(at, seq), type, payload: JSON.parse(payload) as LoggedEvent["payload"] };
      this.all.push(event);
      const problem = this.#follow(event);
      if (problem !== null) problems.push(problem);
    }
    return problems;
  }

  #follow({ id: event, type, payload }: LoggedEvent): string | null {
    const id = String(payload["id"]);
    const [subject = "", step] = type.split(".");
    if (type === "storage.uploaded") this.#files.add(id);
    else if (type === "storage.deleted") this.#files.delete(id);
    else if (step === "created" || step === "updated") {
      const records = this.#recordsOf(subject);
      if (records.has(id) !== (step === "updated")) return `${event} is ${type} of ${id}, against what came before`;
      records.set(id, stateOf(payload, records.get(id)));
    } else if (step === "deleted" && !this.#recordsOf(subject).delete(id)) {
      return `${event} is a deletion of ${id}, which was not there`;
    }
    return null;
  }
}
