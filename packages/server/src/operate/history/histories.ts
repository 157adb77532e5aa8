/** Histories: pages of the changes of a record, and the erasure of the values in the log. */
import { type FieldChange, type HistoryEntry, type RecordHistory, type StoredRecord, USERS } from "@socle/protocol";
import { duration } from "../../base/config/index.ts";
import { AppError, type Clock, isAdmin, LoopTurns, type Principal, quote } from "../../base/kernel/index.ts";
import type { Collection, Collections } from "../../data/collections/index.ts";
import {
  eventTypesOf,
  fieldLimits,
  isAnyRecordId,
  missingRecord,
  type Records,
  recordTableOf,
} from "../../data/records/index.ts";
import type { Storage } from "../../files/storage/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import type { Database, Transactor, Waiter } from "../../store/database/index.ts";
import type { EventLog, LoggedEvent } from "../../store/events/index.ts";
import { idsIn, type PastChange, type PastState, pastChange } from "./changes.ts";

interface HistoriesOptions {
  readonly auth: Auth;
  readonly clock: Clock;
  readonly collections: Collections;
  readonly database: Database;
  readonly events: EventLog;
  readonly records: Records;
  readonly storage: Storage;
}

/** The part of a history that a caller asks for. */
export interface HistoryPage {
  readonly id: string;
  /** The seq of the last entry of the page before; null for the first page. */
  readonly before: number | null;
  readonly limit: number;
}

/** The events that a page reads for a caller who may see few of them; a page may then have fewer entries than its limit. */
const maxRead = 2_000;
const readAtOnce = 200;
const newest = Number.MAX_SAFE_INTEGER;
const none: ReadonlySet<string> = new Set();

export class Histories {
  readonly #options: HistoriesOptions;

  constructor(options: HistoriesOptions) {
    this.#options = options;
  }

  /**
   * The changes of a record that a caller may see, newest first.
   * @throws AppError `not_found` for a record without a trace, and for a record that is gone or closed to a caller who is no admin;
   * `forbidden` and `unauthorized` by the rule of the history, and by the read rule.
   */
  async page(
    collection: Collection,
    waiter: Waiter & { principal: Principal },
    asked: HistoryPage,
  ): Promise<RecordHistory> {
    const { principal } = waiter;
    const { id, before, limit } = asked;
    collection.history.admit(principal);
    if (!isAnyRecordId(id)) throw missingRecord(collection, id);
    if (!isAdmin(principal)) this.#options.records.admit(collection.name, "read", { principal, id });
    const items: HistoryEntry[] = [];
    const turns = new LoopTurns();
    let last = before ?? newest;
    let newer: PastState | null | undefined = before === null ? this.#present(collection, id) : undefined;
    for (let read = 0; read < maxRead; ) {
      const events = await this.#options.events.about({ key: id, before: last, limit: readAtOnce }, waiter);
      for (const event of events) {
        last = event.seq;
        read += 1;
        if (!isOf(collection, event)) continue;
        if (this.#isOver(collection, event)) return { items, nextCursor: null };
        if (items.length === limit) return { items, nextCursor: String(items.at(-1)?.seq) };
        if (event.isPartial && newer === undefined && !isAdmin(principal))
          newer = await this.#stateAfter(collection, event, waiter);
        const change = pastChange(event, agreed(event, newer));
        newer = change.before;
        const entry = this.#entry(collection, principal, change);
        if (entry !== null) items.push(entry);
        if (turns.isDue()) await turns.next();
      }
      if (events.length < readAtOnce) {
        if (last === newest && this.#present(collection, id) === null) throw missingRecord(collection, id);
        return { items, nextCursor: null };
      }
    }
    return { items, nextCursor: String(last) };
  }

  /** Whether an event is older than the collection keeps its histories. */
  #isOver({ definition }: Collection, { timestamp }: LoggedEvent): boolean {
    const kept = duration(0).parse(definition.history?.keep);
    return kept !== undefined && Date.parse(timestamp) < this.#options.clock.now() - kept;
  }

  /** Erases the values of a record in the log. Answers the number of events. To be called in a transaction of an admin. */
  erase(tx: Transactor, collection: Collection, id: string): number {
    const erased = isAnyRecordId(id) ? this.#options.events.erase(tx, id, eventTypesOf(collection)) : 0;
    if (erased === 0) throw new AppError("not_found", `The log has no values of ${quote(id)} in "${collection.name}".`);
    return erased;
  }

  /** The whole record as it stands; null without the record. */
  #present(collection: Collection, id: string): PastState | null {
    const table = recordTableOf(collection);
    const row = this.#options.database.reader.get<StoredRecord>(table.byIdWithOwner, id);
    return row && table.toOwned(row);
  }

  /** The state after an event of which the log has the changed fields alone: the present state without the later changes. */
  async #stateAfter(collection: Collection, event: LoggedEvent, waiter: Waiter): Promise<PastState | null | undefined> {
    const id = event.subject ?? "";
    const later = await this.#options.events.about({ key: id, before: newest, limit: maxRead }, waiter);
    const end = later.findIndex(({ seq }) => seq === event.seq);
    let state: PastState | null | undefined = this.#present(collection, id);
    if (end === -1) return undefined;
    for (const each of later.slice(0, end))
      if (isOf(collection, each)) state = pastChange(each, agreed(each, state)).before;
    return state;
  }

  /** The entry of a change for a caller; null if the caller may not see the entry. */
  #entry(collection: Collection, principal: Principal, change: PastChange): HistoryEntry | null {
    const { event, isPartial } = change;
    const hidden = this.#hidden(collection, principal, change);
    if (hidden === "all") return null;
    const shown = Object.entries(change.changes).filter(([name]) => !hidden.has(name));
    const type = event.type.slice(event.type.lastIndexOf(".") + 1) as HistoryEntry["type"];
    // The caller may not know that a hidden value has changed.
    if (shown.length === 0 && type === "updated" && !event.isErased && hidden !== none) return null;
    const { cause } = event;
    return {
      seq: event.seq,
      type,
      at: event.timestamp,
      by: this.#by(principal, event.actor),
      cause: cause === null || isAdmin(principal) ? cause : { kind: cause.kind, id: cause.id },
      changes: Object.fromEntries(shown.map(([name, each]) => [name, this.#withGone(collection, name, each)])),
      ...(event.isErased ? { erased: true as const } : isPartial && { partial: true as const }),
    };
  }

  /** The fields that a caller may not see in an entry: by the present rules, in the state before and in the state after. */
  #hidden(collection: Collection, principal: Principal, change: PastChange): ReadonlySet<string> | "all" {
    if (isAdmin(principal)) return none;
    const { rights } = this.#options.records;
    const { reader } = this.#options.database;
    const { history, logMarks, policies } = collection;
    const { event, before, after } = change;
    // Earlier events may have the value of a hidden field under the name of another field.
    if (event.seq <= (logMarks.names ?? logMarks.fields)) return "all";
    const table = recordTableOf(collection);
    const hidden = new Set(Object.keys(change.changes).filter((name) => table.field(name) === null));
    const isOpen = [history, policies.read].every((policy) => policy.decide(principal).access === "all");
    if (isOpen && fieldLimits(collection, principal) === null) return hidden;
    for (const state of [before, after]) {
      if (state === null) continue;
      if (state === undefined) return "all";
      const past = { table, principal, ...state };
      if (![history, policies.read].every((policy) => rights.permitsState(reader, policy, past))) return "all";
      for (const name of rights.hidden(reader, past)) hidden.add(name);
    }
    return hidden;
  }

  /** The user behind a change; null for no user, and for a user whom the caller may not read. */
  #by(principal: Principal, actor: string | null): HistoryEntry["by"] {
    if (actor === null) return null;
    const { auth, collections, records, database } = this.#options;
    const user = auth.callers.actor(actor);
    const id = user?.id ?? actor;
    const whole = { id, ...(user !== null && user.email !== null && { email: user.email }) };
    if (isAdmin(principal) || principal?.userId === id) return whole;
    const users = collections.get(USERS);
    if (users === undefined || user === null) return null;
    try {
      const { email } = records.getIn(database.reader, users, { principal, id });
      return typeof email === "string" ? { id, email } : { id };
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code !== "unavailable") return null;
      throw thrown;
    }
  }

  /** The change of a field, with the ids of files that are gone. */
  #withGone({ definition }: Collection, name: string, change: FieldChange): FieldChange {
    if (definition.fields.find((field) => field.name === name)?.type !== "file") return change;
    const ids = new Set([...idsIn(change.before), ...idsIn(change.after)]);
    const gone = [...ids].filter((id) => this.#options.storage.find(id) === null);
    return gone.length === 0 ? change : { ...change, gone };
  }
}

/** Whether an event is about a record of a collection, under its present name or a former name. */
function isOf(collection: Collection, { source, type }: LoggedEvent): boolean {
  return source === "collections" && eventTypesOf(collection).includes(type);
}

/** A state that an event has left; undefined if the log lacks a change in between. */
function agreed({ isPartial, payload }: LoggedEvent, newer: PastState | null | undefined): typeof newer {
  return isPartial && newer?.record.updatedAt !== payload["updatedAt"] ? undefined : newer;
}
