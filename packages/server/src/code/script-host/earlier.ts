/**
 * Earlier records of batches and imports, which hooks see as `earlier`: each process gets the records once, in parts, and a call
 * names the number of the records that come before its change.
 */
import type { Earlier } from "../../data/records/index.ts";
import type { EarlierPart, ToChild } from "./protocol.ts";

/** The time after the last call that names a list until the process may forget the records: the next call may name the list, too. */
const idleMs = 1_000;

/** The records of a batch that a process has. */
interface SentList {
  readonly id: number;
  sent: number;
  /** The calls under way that name the list. */
  calls: number;
  /** Runs while no call is under way. */
  timer: Timer | null;
}

export class EarlierLists {
  readonly #send: (message: ToChild) => void;
  readonly #lists = new Map<Earlier["records"], SentList>();
  #lastId = 0;

  constructor(send: (message: ToChild) => void) {
    this.#send = send;
  }

  /** Sends the records that the process does not have. The process keeps the records until no call has been under way for a while. */
  part({ records, length }: Earlier, over: Promise<unknown>): EarlierPart {
    const list = this.#lists.getOrInsertComputed(records, () => {
      this.#lastId += 1;
      return { id: this.#lastId, sent: 0, calls: 0, timer: null };
    });
    clearTimeout(list.timer ?? undefined);
    if (list.sent < length) this.#send({ type: "earlier", list: list.id, records: records.slice(list.sent, length) });
    list.sent = Math.max(list.sent, length);
    list.calls += 1;
    void over.then(() => {
      list.calls -= 1;
      if (list.calls > 0) return;
      list.timer = setTimeout(() => {
        this.#lists.delete(records);
        this.#send({ type: "forget", list: list.id });
      }, idleMs).unref();
    });
    return { list: list.id, length };
  }
}
