/**
 * The feed of events: the listeners of each event, and the parts that all sockets share: filters, buffers, and turns of
 * the event loop.
 */

import type { Channel } from "@socle/protocol";
import { BoundedMap, isAdmin } from "../../base/kernel/index.ts";
import type { LimitMeter, Logger } from "../../base/logging/index.ts";
import { type Collection, isOfPredecessor } from "../../data/collections/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventPage, LoggedEvent } from "../../store/events/index.ts";
import { type Membership, type Room, type RoomError, type RoomSocket, Rooms } from "../rooms/index.ts";
import {
  type Listener,
  type LiveListener,
  type Reserved,
  reservedOf,
  subjectOf,
  tally,
  topicsOfEvent,
} from "./audience.ts";
import type { FilterOptions } from "./filter.ts";
import { FilterTable } from "./filter-table.ts";
import { errorText, eventText, FrameError, parseKnown, toText } from "./frames.ts";
import { ListenerClass } from "./listener-class.ts";
import { type LiveOptions, LiveQueries } from "./live-queries.ts";
import { Outdated, PerListenerEvent } from "./per-listener-events.ts";
import { Positions } from "./positions.ts";
import { Readers, type ReadersOptions, Verdicts } from "./reader-table.ts";
import { type Buffered, type Publisher, SocketBuffers } from "./socket-buffers.ts";
import { Budgets, Inboxes, Turns } from "./turns.ts";
import { Visibility, type VisibilityOptions } from "./visibility.ts";

export interface ListeningSocket extends Buffered {
  readonly listener: Listener;
  join(topic: string): void;
  leave(topic: string): void;
  /** A collection has been made, or has another name: subscriptions without a filter that waited for the collection join its topics. */
  appear(collection: string): void;
}

export interface FeedOptions extends Omit<VisibilityOptions, "readers">, Pick<LiveOptions, "lists" | "named"> {
  database: Database;
  limits: LimitMeter;
  logger: Logger;
  emailOf: (userId: string) => string | null;
}

/** Names of channels that are parsed once for all sockets. */
const knownChannels = 1_000;

/** Events, by seq, that a step of a replay looks at. */
const width = 256;

/** Milliseconds that a read rule may take on the event loop to decide about a change. */
const ruleLoopMs = 8;

export class Feed {
  readonly filters: FilterTable;
  readonly live: LiveQueries;
  readonly positions: Positions;
  readonly rooms: Rooms;
  readonly inboxes = new Inboxes();
  readonly turns = new Turns();
  readonly buffers: SocketBuffers;
  readonly readers: Readers;
  readonly visibility: Visibility;
  readonly limits: LimitMeter;
  readonly logger: Logger;
  readonly #options: FeedOptions;
  readonly #sockets: ReadonlySet<ListeningSocket>;
  /** Bytes that may wait in a socket, which is then cut off and resumes with `since`; and in all sockets, of which the slowest are cut off. */
  readonly #bufferLimit: number;
  readonly #bufferTotal: number;
  readonly #shared: FilterOptions;
  readonly #parsed = new BoundedMap<string, Channel>(knownChannels);
  /** The live subscriptions without a filter, by collection. Admins hear by a topic, and do not count. */
  readonly #whole = new Map<string, ListenerClass>();
  /** The channels that the sockets of each address hold, and the channels of all sockets. */
  readonly #byAddress = new Map<string, number>();
  #held = 0;
  /** Subscriptions that replay. */
  #replaying = 0;
  #publisher: Publisher | null = null;

  constructor(options: FeedOptions, sockets: ReadonlySet<ListeningSocket>) {
    this.#options = options;
    this.#sockets = sockets;
    const { collections, config, database, events, limits, lists, logger, named, records, storage } = options;
    this.limits = limits;
    this.logger = logger;
    const { table: users } = collections.users;
    const deleted: ReadersOptions["deleted"] = (names, from) => this.visibility.deleted(names, from);
    this.readers = new Readers({ database, users, deleted });
    this.visibility = new Visibility({ collections, config, events, readers: this.readers, records, storage });
    this.#bufferLimit = config["realtime.bufferLimit"];
    this.#bufferTotal = config["realtime.bufferTotal"];
    this.buffers = new SocketBuffers({ sockets, limits, limit: this.#bufferLimit, total: this.#bufferTotal });
    this.#shared = {
      collections,
      limits,
      readers: this.readers,
      turns: this.turns,
      budgets: new Budgets(config["limits.filterTime"]),
      capacity: config["limits.filters"],
      telling: (event) => this.#tellingNow(event),
    };
    this.filters = new FilterTable(this.#shared);
    const { turns } = this;
    const { budgets } = this.#shared;
    this.live = new LiveQueries({
      budgets,
      collections,
      config,
      database,
      events,
      limits,
      lists,
      logger,
      named,
      turns,
    });
    this.positions = new Positions(() => events.committedSeq);
    this.rooms = new Rooms({
      collections,
      config,
      database,
      emailOf: options.emailOf,
      limits,
      logger,
      records,
      turns,
      broadcast: (room, text, sender) => this.#sendInRoom(room, text, sender),
      onEnd: ({ room: { definition, key }, socket }, error) => {
        socket.send(errorText(frameErrorOf(error, definition.name, key)));
        socket.send(toText({ type: "left", room: definition.name, key }));
      },
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

  /** The bytes that may wait in a socket while a replay goes on. All replays together leave half of the room to new events. */
  get replayBuffer(): number {
    return Math.max(1, Math.floor(Math.min(this.#bufferLimit, this.#bufferTotal / Math.max(1, this.#replaying)) / 2));
  }

  /** A subscription begins or ends its replays. */
  replaying(change: 1 | -1): void {
    this.#replaying += change;
  }

  /** The seq of an event id, or null if some later events are not in the log, or are closed to a listener. */
  seqOf(id: string, listener: Listener, collection: string | null): number | null {
    const seq = this.#options.events.seqOf(id);
    return seq === null || this.visibility.isClosedAfter(seq, listener, collection) ? null : seq;
  }

  /** Whether an id is of an event that was not told here yet. */
  isAhead(id: string): boolean {
    return this.#options.events.isAhead(id);
  }

  /** The events after a seq that may be told to a subscription; null if the log was trimmed after that seq. */
  page(after: number, types: readonly string[], subscription: LiveListener): EventPage | null {
    const sources = this.visibility.sourcesOf(types, subscription);
    return this.#options.events.page({ after, until: this.seq, width, types: sources });
  }

  /** The content of a channel. @throws FrameError `invalid_channel`. */
  channel(name: string): Channel {
    const known = this.#parsed.get(name);
    if (known !== undefined) return known;
    const channel = parseKnown(name);
    this.#parsed.set(name, channel);
    return channel;
  }

  /** The reason why the sockets of an address can hold no further channel; null if there is room. */
  fullFor(address: string): string | null {
    const most = this.#options.config["limits.subscriptions"];
    const isFull = this.#held >= most;
    if (!isFull && (this.#byAddress.get(address) ?? 0) < Math.floor(most / 2)) return null;
    this.limits.reached("subscriptions", { address });
    return isFull
      ? "All sockets together hold as many channels as this service allows. Try again later."
      : "The sockets of your address together hold the most channels of an address. Unsubscribe from some channels first.";
  }

  /** A socket of an address takes a channel, or gives up a channel. */
  countChannel(address: string, change: 1 | -1): void {
    this.#held += change;
    tally(this.#byAddress, address, change);
  }

  /** Whether the collection of a subscription exists. Until then the subscription joins no topics, which take memory. */
  hasCollection({ collection }: LiveListener): boolean {
    return collection === null || this.#options.collections.get(collection) !== undefined;
  }

  /** A subscription without a filter goes live. */
  enter(subscription: LiveListener): void {
    const { collection, listener } = subscription;
    if (collection === null || isAdmin(listener)) return;
    this.#whole.getOrInsertComputed(collection, () => new ListenerClass(null, this.#shared)).live.add(subscription);
  }

  /** A subscription without a filter is not live any more. */
  leave(subscription: LiveListener): void {
    const name = subscription.collection ?? "";
    const whole = this.#whole.get(name);
    whole?.live.delete(subscription);
    if (whole?.live.size !== 0) return;
    whole.clear();
    this.#whole.delete(name);
  }

  /** The seq of the oldest change that waits for a live subscription without a filter; null if no change waits. */
  nextSeq({ collection, listener }: LiveListener): number | null {
    return isAdmin(listener) ? null : (this.#whole.get(collection ?? "")?.nextSeq ?? null);
  }

  /**
   * Tells an event, with a call for each class of listeners. An event without listeners costs nothing.
   * Answers a promise when a large event takes several turns of the event loop; the next event is told after that.
   */
  publish(event: LoggedEvent): Promise<unknown> | undefined {
    if (this.#sockets.size === 0) return undefined;
    const name = collectionOf(event);
    if (name !== null && event.subject !== null) this.rooms.recordChanged(name, event.subject);
    return name === null ? this.#publishOfService(event) : this.#publishChange(event, name);
  }

  #publishChange(event: LoggedEvent, name: string): Promise<unknown> | undefined {
    const { type, owner } = event;
    const collection = this.#options.collections.get(name);
    const whole = this.#whole.get(name);
    const isSingle = whole !== undefined && collection !== undefined && this.#isToldSingly(event, collection, whole);
    const isWanted = collection !== undefined && (isSingle || this.filters.has(name));
    const telling = isWanted ? this.#telling(event, collection) : null;
    if (telling !== null) this.filters.publish(telling);
    if (telling === null || !isSingle)
      return this.#send(event, topicsOfEvent(type, this.visibility.audience(event, name), owner));
    // Admins hear by their topic, and each other listener as the listener's rights say.
    const sending = this.#send(event, topicsOfEvent(type, "admins", owner));
    whole.publish(telling);
    return sending;
  }

  /** Whether each listener is told separately: the rule decides, or fields have rules, or former changes still wait. */
  #isToldSingly({ type }: LoggedEvent, collection: Collection, { nextSeq }: ListenerClass): boolean {
    const hidesValues = collection.fieldPolicies?.hidesValues === true && !type.endsWith(".deleted");
    return this.visibility.isConditional(collection) || hidesValues || nextSeq !== null;
  }

  /** A change by the definitions and rules of this moment; null if its collection is gone. @throws Outdated. */
  #tellingNow(event: LoggedEvent): PerListenerEvent | null {
    const collection = this.#options.collections.get(collectionOf(event) ?? "");
    if (collection !== undefined && event.seq <= collection.logMarks.fields) throw new Outdated(event.seq);
    return collection === undefined ? null : this.#telling(event, collection);
  }

  #telling(event: LoggedEvent, collection: Collection): PerListenerEvent | null {
    // An event of a dropped collection of the same name is for admins, and for no filter.
    if (isOfPredecessor(event, collection)) return null;
    const audience = this.visibility.audience(event, collection.name);
    const answers = new Verdicts(this.readers, { among: this.readers.everybody, ms: ruleLoopMs });
    return new PerListenerEvent(event, collection, { audience, answers });
  }

  #publishOfService(event: LoggedEvent): Promise<unknown> | undefined {
    const isRenamed = event.type === "system.collection.updated" && "renamedFrom" in event.payload;
    if (event.type === "system.collection.created" || isRenamed)
      for (const socket of this.#sockets) socket.appear(String(event.payload["name"]));
    const audience = this.visibility.audience(event, null);
    const reserved = audience === "everybody" ? reservedOf(event) : null;
    if (reserved !== null) return this.#publishReserved(event, reserved);
    return this.#send(event, topicsOfEvent(event.type, audience, subjectOf(event)));
  }

  /** Sends two texts. A user who gets the whole text leaves the topic of the other text meanwhile. */
  #publishReserved(event: LoggedEvent, { reduced, userId }: Reserved): Promise<unknown> | undefined {
    const users = `${event.type}/users`;
    const own = userId === null ? [] : [...this.#sockets].filter(({ listener }) => listener?.userId === userId);
    const aside = own.filter((socket) => socket.hasJoined(users));
    for (const socket of aside) socket.leave(users);
    const first = this.#send(event, [`${event.type}/anonymous`, users], reduced);
    for (const socket of aside) socket.join(users);
    const second = this.#send(event, topicsOfEvent(event.type, "owner", userId));
    return first === undefined || second === undefined ? (first ?? second) : Promise.all([first, second]);
  }

  /** Sends a text to the sockets of a room, without the sender. */
  #sendInRoom({ hearing, topic }: Room, text: string, sender: RoomSocket | null): void {
    this.buffers.sendAtOnce(text, {
      count: hearing.size,
      sockets: () => socketsOf(hearing, sender),
      publish: () => (sender === null ? this.#publisher?.publish(topic, text, false) : sender.publish(topic, text)),
    });
  }

  /** Sends an event to the sockets of some topics. The text is made if there are any. */
  #send(event: LoggedEvent, topics: readonly string[], payload?: string): Promise<unknown> | undefined {
    const publisher = this.#publisher;
    if (publisher === null || topics.every((topic) => publisher.subscriberCount(topic) === 0)) return undefined;
    return this.buffers.publish(publisher, topics, eventText(event.toText(payload)));
  }
}

function* socketsOf(members: ReadonlySet<Membership>, but: RoomSocket | null): Iterable<RoomSocket> {
  for (const { socket } of members) if (socket !== but) yield socket;
}

/** The error of a frame about a room. */
export function frameErrorOf({ code, message }: RoomError, room: string, key: string): FrameError {
  return new FrameError(code, message, { channel: null, room, key });
}

/** The collection whose record an event is about; null for an event of the service. */
function collectionOf({ source, type }: LoggedEvent): string | null {
  return source === "collections" && !type.startsWith("system.") ? type.slice(0, type.indexOf(".")) : null;
}
