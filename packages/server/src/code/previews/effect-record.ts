/** Effects of a preview: the changed records with the values before and after, the mails, the recorded calls, and the log. */
import {
  type JsonValue,
  type PreviewCall,
  type PreviewChanges,
  type PreviewLogEntry,
  type RunPreview,
  USERS,
} from "@socle/protocol";
import { AppError, LoopTurns, type Preview, system } from "../../base/kernel/index.ts";
import { isSameValue, type Records } from "../../data/records/index.ts";
import type { Users } from "../../people/auth/index.ts";
import type { Mails } from "../../people/mail/index.ts";
import {
  type Database,
  type Note,
  notesOf,
  type Reader,
  type Rehearsal,
  type Transactor,
} from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { rehearsedRun } from "../jobs/index.ts";

/** Items of each list of the answer. */
const maxItems = 100;
/** Characters of a text of the answer. */
const maxText = 2_000;
/** Bytes of stored files that reads of the preview find. */
const maxFileBytes = 16 * 1024 ** 2;
/** Events that are read at a time. */
const eventsAtOnce = 1_000;

export interface EffectSources {
  readonly database: Database;
  readonly events: EventLog;
  readonly records: Records;
  readonly users: Pick<Users, "find">;
  readonly mails: Mails;
}

/** Events and deliveries have numbers that other writes take meanwhile. The preview needs neither after its transaction. */
function keepsStatement(sql: string): boolean {
  return !/\b_(?:event|deliver)/.test(sql);
}

type Values = { [name: string]: JsonValue };
type Change = PreviewChanges["records"][number];
type List<T> = { items: T[]; more: number };

export class EffectRecord implements Preview {
  readonly files = new BoundedFiles();
  readonly #sources: EffectSources;
  readonly #calls: List<PreviewCall> = { items: [], more: 0 };
  readonly #logs: RunPreview["logs"] = { items: [], more: 0 };
  /** The ids of the changed records, by collection. */
  readonly #touched = new Map<string, Set<string>>();
  readonly runs = new Map<string, string>();
  readonly #added = new Set<string>();
  readonly #rehearsal: Rehearsal;

  constructor(sources: EffectSources) {
    this.#sources = sources;
    this.#rehearsal = sources.database.rehearse(this, {
      keeps: keepsStatement,
      onMade: (tx, notes) => this.#onMade(tx, notes),
    });
  }

  get hasChanges(): boolean {
    return this.#rehearsal.hasChanges;
  }

  /** See `Rehearsal`. */
  get torn(): AppError | null {
    return this.#rehearsal.torn;
  }

  record(call: PreviewCall): void {
    const { target, body } = call;
    add(this.#calls, { ...call, target: cut(target), body: body === null ? null : cut(body) });
  }

  log({ level, message, fields }: PreviewLogEntry): void {
    add(this.#logs, { level, message: cut(message), ...(fields !== undefined && { fields: shown(fields, null) }) });
  }

  /** After a transaction of the rehearsal: notes which records have changed, and takes the runs of queues. */
  #onMade(tx: Transactor, notes: readonly Note[]): void {
    const { events } = this.#sources;
    for (let page = events.read(events.lastSeq(), eventsAtOnce, tx); page.length > 0; ) {
      for (const { type, source, subject } of page) {
        const collection = source === "auth" ? USERS : type.slice(0, type.lastIndexOf("."));
        if (subject !== null && source !== "storage")
          this.#touched.getOrInsertComputed(collection, () => new Set()).add(subject);
      }
      page = events.read(page.at(-1)?.seq ?? 0, eventsAtOnce, tx);
    }
    for (const { name, payload, runId } of notesOf(notes, rehearsedRun)) {
      if (this.#added.has(runId)) continue;
      this.#added.add(runId);
      this.record({ kind: "queue", method: "enqueue", target: name, body: payload, answer: runId });
    }
  }

  /** The effects so far. @throws AppError as `Rehearsal.transact`. */
  async collect(): Promise<Pick<RunPreview, "changes" | "mails" | "calls" | "logs">> {
    const found = await this.#rehearsal.conclude(async (tx) => {
      const turns = new LoopTurns();
      const changes: PreviewChanges[] = [];
      for (const [collection, ids] of this.#touched) {
        const told = { collection, created: 0, updated: 0, deleted: 0, records: [] as Change[], more: 0 };
        for (const id of ids) {
          const change = this.#changeOf(tx, collection, id);
          if (change !== null) {
            told[change.change] += 1;
            if (told.records.length < maxItems) told.records.push(change);
            else told.more += 1;
          }
          if (turns.isDue()) await turns.next();
        }
        if (told.records.length > 0) changes.push(told);
      }
      const mails = this.#sources.mails.addedIn(tx, maxItems);
      return { changes, mails: { ...mails, items: mails.items.map((mail) => ({ ...mail, text: cut(mail.text) })) } };
    });
    return { ...found, calls: this.#calls, logs: this.#logs };
  }

  /** The difference of a record; null for a record that is as before. */
  #changeOf(tx: Transactor, collection: string, id: string): Change | null {
    const before = this.#find(this.#sources.database.reader, collection, id);
    const after = this.#find(tx, collection, id);
    if (before === null && after === null) return null;
    if (before === null) return { id, change: "created", before, after: shown(after, null) };
    if (after === null) return { id, change: "deleted", before: shown(before, null), after };
    const names = Object.keys({ ...before, ...after });
    const changed = names.filter((name) => name !== "updatedAt" && !isSameValue(before[name], after[name]));
    if (changed.length === 0) return null;
    return { id, change: "updated", before: shown(before, changed), after: shown(after, changed) };
  }

  #find(reader: Reader, collection: string, id: string): Values | null {
    const { records, users } = this.#sources;
    if (collection === USERS) return asValues(records.users.find(reader, id) ?? users.find(id, reader));
    try {
      return asValues(records.getIn(reader, records.collection(collection), { principal: system, id }));
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === "not_found") return null;
      throw thrown;
    }
  }
}

/** The bytes of the files of a preview, up to a bound. */
class BoundedFiles extends Map<string, Uint8Array> {
  #bytes = 0;

  override set(id: string, data: Uint8Array): this {
    this.#bytes += data.byteLength;
    return this.#bytes > maxFileBytes ? this : super.set(id, data);
  }
}

function add<T>(list: List<T>, item: T): void {
  if (list.items.length < maxItems) list.items.push(item);
  else list.more += 1;
}

function cut(text: string): string {
  return text.length > maxText ? `${text.slice(0, maxText)}…` : text;
}

function asValues(record: object | null): Values | null {
  // A record and a user are JSON.
  return record as Values | null;
}

/** The values of some fields; of all for null. A long value is the begin of its JSON. */
function shown(values: Values | null, names: readonly string[] | null): Values {
  const entries = Object.entries(values ?? {}).filter(([name]) => names?.includes(name) !== false);
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const json = JSON.stringify(value) ?? "";
      return [name, json.length > maxText ? cut(json) : value];
    }),
  );
}
