/**
 * The feed of events: the listeners of each event, live and in replays, and the parts that all sockets share: channels,
 * filters, buffers and turns of the event loop.
 */

import { isAdmin } from "../../base/kernel/index.ts";
import type { LimitMeter, Logger } from "../../base/logging/index.ts";
import type { Collection, Collections } from "../../data/collections/index.ts";
import { parseSubscriptionFilter } from "../../data/queries/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { Storage } from "../../files/storage/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventHead, EventLog, EventPage, LoggedEvent } from "../../store/events/index.ts";
import { type Listener, mayHear, type Reserved, reservedOf, topicsOfEvent, topicsOfReserved } from "./audience.ts";
import { Budgets } from "./budgets.ts";
import { ChangeQueue, Outdated } from "./change-queue.ts";
import { ChannelTable } from "./channel-table.ts";
import { FilterTable } from "./filter-table.ts";
import { eventText } from "./frames.ts";
import { Inboxes } from "./inbox.ts";
import { nameOf, Readers } from "./reader-table.ts";
import { RuleListeners } from "./rule-listeners.ts";
import { type Buffered, type Publisher, SocketBuffers } from "./socket-buffers.ts";
import { changeTypes, Telling } from "./tellings.ts";
import { Turns } from "./turns.ts";
import { Verdicts } from "./verdicts.ts";
import { type ReplayedEvent, type ReplayedThrough, type ServiceEvents, subjectOf, Visibility } from "./visibility.ts";

/** A socket with the caller behind it. */
export interface ListeningSocket extends Buffered {
  readonly listener: Listener;
  /** Whether the socket is told of a change of a type at a seq, without a filter. */
  hears(type: string, seq: number): boolean;
  send(text: string): void;
  join(topic: string): void;
  leave(topic: string): void;
  /** The socket hears the events of some types after a seq from the log. */
  replay(after: number, types: readonly string[]): void;
  wake(collection: string): void;
  fail(thrown: unknown): void;
}

export interface FeedOptions {
  database: Database;
  collections: Collections;
  events: EventLog;
  records: Records;
  storage: Storage;
  limits: LimitMeter;
  logger: Logger;
  /** Bytes that may wait in a socket. A socket with more is cut off, and resumes with `since`. */
  bufferLimit: number;
  /** Bytes that may wait in all sockets. With more, the slowest sockets are cut off. */
  bufferTotal: number;
  /** Channels that all sockets may hold together. The sockets of an address may hold half of these channels. */
  maxSubscriptions: number;
  /** Units of filters that a collection may have; a caller has a quarter. See `Filter.cost`. */
  maxFilters: number;
  /** Milliseconds of processor time that the filters of a caller may take in a second. */
  filterTime: number;
  /** The users to whom events of auth, storage, functions and jobs are told. */
  serviceEvents: ServiceEvents;
}

/** Milliseconds that a read rule may take on the event loop to decide about a change. */
const ruleLoopMs = 8;

export class Feed {
  /** The open sockets. */
  readonly sockets: ReadonlySet<ListeningSocket>;
  /** The channels that all sockets hold. */
  readonly channels: ChannelTable;
  /** The filters of all subscriptions. */
  readonly filters: FilterTable;
  /** Frames that wait in all sockets. */
  readonly inboxes = new Inboxes();
  readonly turns = new Turns();
  readonly buffers: SocketBuffers;
  readonly readers: Readers;
  readonly #options: FeedOptions;
  readonly #visibility: Visibility;
  /** The sockets that are open, by the names of their listeners. */
  readonly #byListener = new Map<string, Set<ListeningSocket>>();
  /** The types that a socket hears live, each with its collection. */
  readonly #heard = new Map<string, { sockets: number; readonly collection: string | null }>();
  /** The changes that are told to each listener without a filter separately, by collection. */
  readonly #rules = new Map<string, ChangeQueue>();
  /** Subscriptions that replay. */
  #replaying = 0;
  #publisher: Publisher | null = null;

  constructor(options: FeedOptions, sockets: ReadonlySet<ListeningSocket>) {
    this.#options = options;
    this.sockets = sockets;
    const { collections, limits, bufferLimit: limit, bufferTotal: total } = options;
    this.#visibility = new Visibility(options);
    this.readers = new Readers({ database: options.database, users: collections.users.table });
    this.channels = new ChannelTable(options.maxSubscriptions, limits);
    this.buffers = new SocketBuffers({ sockets, limits, limit, total });
    this.filters = new FilterTable({
      readers: this.readers,
      collection: (name) => collections.get(name),
      get epoch() {
        return collections.epoch;
      },
      parse: (collection, listener, text) => parseSubscriptionFilter({ collections, collection }, listener, text),
      capacity: options.maxFilters,
      limits,
      turns: this.turns,
      budgets: new Budgets(options.filterTime),
      telling: (event) => this.telling(event),
    });
  }

  /** From now on events are sent, through the server that holds the sockets. */
  publishWith(publisher: Publisher): void {
    this.#publisher = publisher;
  }

  /** Changes with the definitions. */
  get epoch(): number {
    return this.#options.collections.epoch;
  }

  /** The seq of the newest event that was told. */
  get seq(): number {
    return this.#options.events.flushedSeq;
  }

  /** The seq of the oldest change of a collection that still waits for listeners without a filter; null if no change waits. */
  nextSeq(collection: string | null, listener: Listener): number | null {
    // Admins hear changes by a topic.
    if (collection === null || isAdmin(listener)) return null;
    return this.#rules.get(collection)?.nextSeq ?? null;
  }

  /** The bytes that may wait in a socket while a replay goes on. All replays together leave half of the room to new events. */
  get replayBuffer(): number {
    const { bufferLimit, bufferTotal } = this.#options;
    return Math.max(1, Math.floor(Math.min(bufferLimit, bufferTotal / Math.max(1, this.#replaying)) / 2));
  }

  /** The seq of an event id, or null if the log does not hold all later events. */
  seqOf(id: string): number | null {
    return this.#options.events.seqOf(id);
  }

  /** The events after a seq that may be told under some types; null if the log was trimmed after that seq. */
  page(after: number, width: number, types: readonly string[]): EventPage | null {
    return this.#options.events.page({ after, until: this.seq, width, types: this.#toldFrom(types) });
  }

  mayHear(listener: Listener, event: EventHead, collection: string | null): boolean {
    const audience = this.#visibility.audience(event, collection);
    // The payload says whom an event of the service is about.
    if (collection === null && audience === "owner") return listener !== null;
    return mayHear(listener, audience, event.owner);
  }

  /** Whether some events after a seq were closed to this listener when written, and would be open now. */
  isClosedAfter(seq: number, listener: Listener, collection: string | null): boolean {
    return this.#visibility.isClosedAfter(seq, listener, collection);
  }

  /** An event as a replay tells the event to a listener of its audience, or to a listener with a filter. */
  replayed(event: EventHead, listener: Listener, through: ReplayedThrough): Promise<ReplayedEvent> {
    return this.#visibility.replayed(event, listener, through);
  }

  /** Whether a collection of this name exists, or the name is null. */
  exists(collection: string | null): boolean {
    return collection === null || this.#options.collections.get(collection) !== undefined;
  }

  /** A socket is closed because its frames come too fast. */
  flooded(address: string): void {
    this.#options.limits.reached("socketFrames", { address });
  }

  /** A subscription begins or ends its replays. */
  replaying(change: 1 | -1): void {
    this.#replaying += change;
  }

  /** A socket has joined the topics of a type, or has left the topics. */
  join(type: string, collection: string | null): void {
    const heard = this.#heard.get(type);
    if (heard === undefined) this.#heard.set(type, { sockets: 1, collection });
    else heard.sockets += 1;
  }

  leave(type: string): void {
    const heard = this.#heard.get(type);
    if (heard === undefined) return;
    heard.sockets -= 1;
    if (heard.sockets === 0) this.#heard.delete(type);
  }

  /** A socket's listener has come or gone. */
  listens(socket: ListeningSocket, isHere: boolean): void {
    const { everybody } = this.readers;
    const name = nameOf(socket.listener);
    const sockets = this.#byListener.get(name) ?? new Set();
    if (isHere) {
      everybody.add(socket.listener);
      this.#byListener.set(name, sockets.add(socket));
    } else {
      everybody.remove(socket.listener);
      sockets.delete(socket);
      if (sockets.size === 0) this.#byListener.delete(name);
    }
  }

  /** Logs a failure that no client caused. */
  report(error: unknown): void {
    this.#options.logger.error("A socket failed and was closed", { error });
  }

  /**
   * Tells an event, with a call for each class of listeners. A type without listeners costs nothing.
   * Answers a promise when a large event takes several turns of the event loop; the next event is told after that.
   */
  publish(event: LoggedEvent): Promise<unknown> | undefined {
    if (event.type === "system.collection.created") this.#wake(event);
    const telling = event.source === "collections" ? this.#tellingOf(event) : null;
    if (telling !== null) {
      this.filters.publish(telling);
      if (this.#isToldSingly(telling)) return this.#publishSingly(telling);
    }
    const heard = this.#heard.get(event.type);
    if (heard === undefined) return undefined;
    const audience = this.#visibility.audience(event, heard.collection);
    if (heard.collection !== null)
      return this.#send(eventText(event.toText()), topicsOfEvent(event.type, audience, event.owner));
    const reserved = audience === "users" ? reservedOf(event) : null;
    if (reserved !== null) return this.#publishReserved(event, reserved);
    return this.#send(eventText(event.toText()), topicsOfEvent(event.type, audience, subjectOf(event)));
  }

  /** A change by the definitions and rules of this moment; null if its collection is gone. @throws Outdated. */
  telling(event: LoggedEvent): Telling | null {
    const collection = this.#options.collections.get(collectionOf(event));
    if (collection !== undefined && event.seq <= collection.logMarks.fields) throw new Outdated(event.seq);
    return collection === undefined ? null : this.#telling(event, collection);
  }

  /** A change for listeners who are told separately, or through filters; null if topics are enough. */
  #tellingOf(event: LoggedEvent): Telling | null {
    const name = collectionOf(event);
    const collection = this.#options.collections.get(name);
    if (collection === undefined) return null;
    const isWanted = this.#listensSingly(event, collection) || this.filters.has(name);
    return isWanted ? this.#telling(event, collection) : null;
  }

  #telling(event: LoggedEvent, collection: Collection): Telling | null {
    // An event of a dropped collection of the same name is for admins, and for no filter.
    if (this.#visibility.isOfPredecessor(event, collection)) return null;
    const audience = this.#visibility.audience(event, collection.name);
    const answers = new Verdicts(this.readers, { among: this.readers.everybody, ms: ruleLoopMs });
    return new Telling({ event, collection, audience, answers });
  }

  #isToldSingly({ event, collection }: Telling): boolean {
    return this.#listensSingly(event, collection);
  }

  /** Whether sockets without a filter hear an event, and each socket is told separately. */
  #listensSingly({ type }: LoggedEvent, collection: Collection): boolean {
    const { name } = collection;
    if (!changeTypes(name).some((each) => this.#heard.has(each))) return false;
    const hidesValues = collection.fieldPolicies?.hidesValues === true && !type.endsWith(".deleted");
    const next = this.#rules.get(name)?.nextSeq ?? null;
    return this.#visibility.isConditional(collection) || hidesValues || next !== null;
  }

  /**
   * Tells admins by their topic, and each other listener as the listener's rights say, with the fields that the
   * listener may read.
   */
  #publishSingly(telling: Telling): Promise<unknown> | undefined {
    const { event, collection } = telling;
    const sending = this.#send(eventText(event.toText()), [`${event.type}/admins`]);
    let queue = this.#rules.get(collection.name);
    if (queue === undefined) {
      queue = new ChangeQueue(new RuleListeners(collection.name, this), this.turns);
      this.#rules.set(collection.name, queue);
    }
    queue.publish(telling);
    return sending;
  }

  /**
   * Sends two texts to two sets of topics. A user who gets the whole text has joined the topic of the other text, too,
   * and leaves that topic meanwhile.
   */
  #publishReserved(event: LoggedEvent, { reduced, userId }: Reserved): Promise<unknown> | undefined {
    const { whole, others } = topicsOfReserved(event.type, userId);
    const own = userId === null ? [] : [...this.sockets].filter(({ listener }) => listener?.userId === userId);
    const aside = own.filter((socket) => socket.hasJoined(others));
    for (const socket of aside) socket.leave(others);
    const first = this.#send(eventText(event.toText(reduced)), [others]);
    for (const socket of aside) socket.join(others);
    const second = this.#send(eventText(event.toText()), whole);
    return first === undefined || second === undefined ? (first ?? second) : Promise.all([first, second]);
  }

  #send(text: string, topics: readonly string[]): Promise<unknown> | undefined {
    return this.#publisher === null ? undefined : this.buffers.publish(this.#publisher, topics, text);
  }

  /** A new collection: sockets that subscribed before the collection existed hear its events from the first record on. */
  #wake({ payload }: LoggedEvent): void {
    for (const socket of this.sockets) socket.wake(String(payload["name"]));
  }

  /** The logged types that may be told under some types: an update may take a record out of sight. */
  #toldFrom(types: readonly string[]): readonly string[] {
    const all = new Set(types);
    for (const type of types) {
      const name = type.slice(0, type.indexOf("."));
      const collection = this.#options.collections.get(name);
      if (collection === undefined || !this.#visibility.isConditional(collection)) continue;
      for (const each of changeTypes(name)) all.add(each);
    }
    return [...all];
  }

  /** The sockets to which a change may be told. @throws TooSlow. */
  *candidates(telling: Telling): Iterable<ListeningSocket> {
    const readers = telling.readers();
    if (readers === null) yield* this.sockets;
    else for (const name of readers) yield* this.#byListener.get(name) ?? [];
  }

  /** A read rule takes long to decide about a change. */
  slowRule(collection: string): void {
    this.#options.limits.reached("ruleTime", { collection });
  }
}

function collectionOf({ type }: LoggedEvent): string {
  return type.slice(0, type.indexOf("."));
}
