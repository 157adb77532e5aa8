/** The listeners of a collection's changes without a filter. The read rule and the rules of fields decide about each listener. */

import { isAdmin } from "../../base/kernel/index.ts";
import type { LoggedEvent } from "../../store/events/index.ts";
import type { Listener } from "./audience.ts";
import { type ListenerClass, Outdated, ruleMs } from "./change-queue.ts";
import { changeTypes, type Telling } from "./tellings.ts";

/** A socket, as a rule's changes need the socket. */
interface Told {
  readonly listener: Listener;
  hears(type: string, seq: number): boolean;
  send(text: string): void;
  replay(after: number, types: readonly string[]): void;
  fail(thrown: unknown): void;
}

/** The sockets, and the changes by the rules of this moment. */
interface Sockets {
  readonly sockets: ReadonlySet<Told>;
  readonly epoch: number;
  candidates(telling: Telling): Iterable<Told>;
  telling(event: LoggedEvent): Telling | null;
  slowRule(collection: string): void;
}

export class RuleListeners implements ListenerClass {
  readonly caller = "";
  readonly #collection: string;
  readonly #sockets: Sockets;

  constructor(collection: string, sockets: Sockets) {
    this.#collection = collection;
    this.#sockets = sockets;
  }

  get epoch(): number {
    return this.#sockets.epoch;
  }

  /** The rule is the operator's: no caller pays. */
  wait(): number {
    return 0;
  }

  telling(event: LoggedEvent): Telling | null {
    return this.#sockets.telling(event);
  }

  tell(telling: Telling): void {
    const { seq } = telling.event;
    const frames: [Told, string][] = [];
    for (const socket of this.#sockets.candidates(telling)) {
      const { listener } = socket;
      // Admins hear changes by a topic.
      const type = isAdmin(listener) ? null : telling.typeFor(listener);
      if (type !== null && socket.hears(type, seq)) frames.push([socket, telling.frame(type, listener)]);
    }
    for (const [socket, text] of frames) socket.send(text);
  }

  async tellFromThread(telling: Telling): Promise<number> {
    this.#sockets.slowRule(this.#collection);
    let took = 0;
    const charge = (ms: number): void => {
      took += ms;
    };
    await telling.learn({ caller: "", limitMs: ruleMs, charge });
    this.tell(telling);
    return took;
  }

  fail(reason: unknown): void {
    const types = changeTypes(this.#collection);
    const seq = reason instanceof Outdated ? reason.seq : Number.POSITIVE_INFINITY;
    for (const socket of [...this.#sockets.sockets]) {
      if (isAdmin(socket.listener) || !types.some((type) => socket.hears(type, Number.POSITIVE_INFINITY))) continue;
      if (reason instanceof Outdated) socket.replay(seq - 1, types);
      else socket.fail(reason);
    }
  }
}
