/** Realtime: admits sockets, publishes events to them, and counts what they hold (spec, "Realtime"). */
import { MAX_FRAME_SIZE } from "@socle/protocol";
import type { Auth, SessionChange } from "../auth/index.ts";
import type { Collection, Collections } from "../collections/index.ts";
import type { Database } from "../database/index.ts";
import type { EventLog, EventPage, LoggedEvent } from "../events/index.ts";
import { type Awaitable, inTurn, isAdmin } from "../kernel/index.ts";
import type { LimitMeter, Logger } from "../logging/index.ts";
import { parseSubscriptionFilter } from "../queries/index.ts";
import type { Records } from "../records/index.ts";
import type { Storage } from "../storage/index.ts";
import { type Listener, mayHear, type Reserved, reservedOf, topicsOfEvent, topicsOfReserved } from "./audience.ts";
import { ChannelTable } from "./channel-table.ts";
import { Connection } from "./connection.ts";
import { FilterTable } from "./filter-table.ts";
import { eventText } from "./frames.ts";
import { Inboxes } from "./inbox.ts";
import { nameOf, Readers } from "./reader-table.ts";
import { SessionWatch } from "./session-watch.ts";
import { type Publisher, SocketBuffers } from "./socket-buffers.ts";
import { changeTypes, Telling } from "./tellings.ts";
import type { Feed, ListeningSocket } from "./types.ts";
import { Visibility } from "./visibility.ts";

/** Seconds after which a socket that does not even answer pings is closed. */
const idleTimeout = 120;

export interface RealtimeOptions {
  database: Database;
  auth: Auth;
  collections: Collections;
  events: EventLog;
  records: Records;
  storage: Storage;
  limits: LimitMeter;
  logger: Logger;
  /** Bytes that may wait in a socket; with more it is cut off, and resumes with `since`. */
  bufferLimit: number;
  /** Bytes that may wait in all sockets; with more the slowest are cut off. */
  bufferTotal: number;
  /** Channels that all sockets may hold together; those of one address half of them. */
  maxSubscriptions: number;
  /** Units of filters that one collection may have; see `Filter.cost`. */
  maxFilters: number;
}

export class Realtime {
  readonly #options: RealtimeOptions;
  readonly #feed: Feed;
  readonly #visibility: Visibility;
  readonly #readers: Readers;
  readonly #filters: FilterTable;
  readonly #buffers: SocketBuffers;
  readonly #connections = new Set<Connection>();
  /** The sockets that are open, by the names of their listeners. */
  readonly #byListener = new Map<string, Set<ListeningSocket>>();
  readonly #sessions: SessionWatch;
  /** The types that at least one socket hears live, and the collection that each is about. */
  readonly #heard = new Map<string, { sockets: number; readonly collection: string | null }>();
  /** Sockets that replay. */
  #replaying = 0;
  #publisher: Publisher | null = null;
  #stopListening: () => void = () => undefined;

  constructor(options: RealtimeOptions) {
    this.#options = options;
    this.#sessions = new SessionWatch(options.auth);
    this.#visibility = new Visibility(options);
    const { database, collections } = options;
    this.#readers = new Readers({ open: (onProbe) => database.openScratch(onProbe), users: collections.users.table });
    const { limits, bufferLimit: limit, bufferTotal: total, maxFilters: capacity } = options;
    this.#filters = new FilterTable({
      readers: this.#readers,
      collection: (name) => collections.get(name),
      get epoch() {
        return collections.epoch;
      },
      parse: (collection, listener, text) => parseSubscriptionFilter({ collections, collection }, listener, text),
      capacity,
      limits,
    });
    this.#buffers = new SocketBuffers({ sockets: this.#connections, limits, limit, total });
    this.#feed = this.#makeFeed();
  }

  /** Begins to send events, through the server that holds the sockets. */
  start(publisher: Publisher): void {
    this.#publisher = publisher;
    const stops = [
      this.#options.events.listen((event) => {
        if (event.type === "system.collection.created") this.#wake(event);
        return this.#publish(event);
      }),
      this.#options.auth.listenToSessions((change: SessionChange) => this.#sessions.changed(change)),
    ];
    this.#stopListening = () => {
      for (const stop of stops) stop();
    };
  }

  /** How many sockets are open. */
  get sockets(): number {
    return this.#connections.size;
  }

  stop(): void {
    this.#stopListening();
    this.#sessions.stop();
    this.#readers.close();
  }

  /**
   * A connection for a socket that is about to be opened.
   * @param address of the client, as limits count it.
   * @throws AppError `unauthorized` for a token that is not valid.
   */
  async admit(token: string | null, address: string): Promise<Connection> {
    if (token === null)
      return new Connection({ listener: null, expiresAt: Number.POSITIVE_INFINITY, address }, this.#feed);
    const { principal, expiresAt } = await this.#options.auth.connect(token);
    return new Connection({ listener: principal, expiresAt, address }, this.#feed);
  }

  /** The WebSocket handlers for `Bun.serve`. Bun cuts off slow sockets natively. */
  handlers(): Bun.WebSocketHandler<Connection> {
    return {
      maxPayloadLength: MAX_FRAME_SIZE,
      backpressureLimit: this.#options.bufferLimit,
      closeOnBackpressureLimit: true,
      perMessageDeflate: false,
      idleTimeout,
      open: (socket) => {
        this.#connections.add(socket.data);
        socket.data.open(socket);
        this.#sessions.add(socket.data);
      },
      message(socket, message) {
        if (typeof message === "string") void socket.data.receive(message);
        else socket.data.close(1003, "Frames are JSON text");
      },
      drain: (socket) => socket.data.drain(),
      close: (socket, code) => {
        this.#connections.delete(socket.data);
        this.#buffers.closed(socket.data, code);
        socket.data.end();
        this.#sessions.remove(socket.data);
      },
    };
  }

  /** Nothing is done for a type that nobody hears; else one call for each class of listeners, not for each socket. */
  #publish(event: LoggedEvent): Awaitable<unknown> {
    const telling = this.#tellingOf(event);
    if (telling !== null) {
      this.#filters.publish(telling);
      if (this.#isToldSingly(event, telling.collection)) return this.#publishSingly(event, telling);
    }
    const heard = this.#heard.get(event.type);
    if (heard === undefined) return undefined;
    const reserved = heard.collection === null ? reservedOf(event) : null;
    if (reserved !== null) return this.#publishReserved(event, reserved);
    const audience = this.#visibility.audience(event, heard.collection);
    return this.#send(eventText(event.toText()), topicsOfEvent(event.type, audience, event.owner));
  }

  /**
   * The change of a record as each listener is told of it: where the database says who may read it, listeners are told different
   * fields, or filters are asked. Null where topics are enough, or nobody hears it.
   */
  #tellingOf(event: LoggedEvent): Telling | null {
    if (event.source !== "collections") return null;
    const name = event.type.slice(0, event.type.indexOf("."));
    const collection = this.#options.collections.get(name);
    if (collection === undefined) return null;
    if (!this.#isToldSingly(event, collection) && !this.#filters.has(name)) return null;
    // An event of another collection of that name, which is gone, is for admins, and no filter is about it.
    if (this.#visibility.isOfPredecessor(event, collection)) return null;
    const audience = this.#visibility.audience(event, name);
    return new Telling({ event, collection, audience, readers: this.#readers });
  }

  /** Whether sockets without a filter hear an event, and are told it one after the other. */
  #isToldSingly({ type }: LoggedEvent, collection: Collection): boolean {
    const hidesValues = collection.fieldPolicies?.hidesValues === true && !type.endsWith(".deleted");
    if (!this.#visibility.isConditional(collection) && !hidesValues) return false;
    return changeTypes(collection.name).some((each) => this.#heard.has(each));
  }

  /**
   * To admins by their topic; to each other listener by what the change means for them: the record has come into their
   * sight, has gone out of it, or has changed before their eyes; and with the fields that they may read.
   */
  #publishSingly(event: LoggedEvent, telling: Telling): Awaitable<unknown> {
    const sending = this.#send(eventText(event.toText()), [`${event.type}/admins`]);
    for (const socket of this.#candidates(telling)) {
      const { listener } = socket;
      if (isAdmin(listener)) continue;
      const type = telling.typeFor(listener);
      if (type !== null && socket.isLive(type)) socket.send(telling.frame(type, listener));
    }
    return sending;
  }

  /** Two texts for two sets of topics. A user who gets the whole one has joined the others' topic, and steps aside. */
  #publishReserved(event: LoggedEvent, { reduced, userId }: Reserved): Awaitable<unknown> {
    const { whole, others } = topicsOfReserved(event.type, userId);
    const aside = userId === null ? [] : this.#connectionsOf(userId).filter((own) => own.hasJoined(others));
    for (const own of aside) own.leave(others);
    const sending = this.#send(eventText(event.toText(reduced)), [others]);
    for (const own of aside) own.join(others);
    return inTurn([sending, this.#send(eventText(event.toText()), whole)], (sent) => sent);
  }

  #connectionsOf(userId: string): Connection[] {
    return [...this.#connections].filter(({ listener }) => listener?.userId === userId);
  }

  #send(text: string, topics: readonly string[]): Awaitable<unknown> {
    return this.#publisher === null ? undefined : this.#buffers.publish(this.#publisher, topics, text);
  }

  /** Before any event of its records: who has subscribed to a collection that was not there hears them. */
  #wake({ payload }: LoggedEvent): void {
    const name = String(payload["name"]);
    for (const connection of this.#connections) connection.wake(name);
  }

  /** The types of the events that may be told as one of these: an update may take a record out of sight. */
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

  /** The sockets to which a change may be told. */
  *#candidates(telling: Telling): Iterable<ListeningSocket> {
    const readers = telling.readers();
    if (readers === null) yield* this.#connections;
    else for (const name of readers) yield* this.#byListener.get(name) ?? [];
  }

  #listens(socket: ListeningSocket, isHere: boolean): void {
    const { everybody } = this.#readers;
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

  #makeFeed(): Feed {
    const { collections, events, limits, bufferLimit, bufferTotal, maxSubscriptions, logger } = this.#options;
    const replaying = (): number => this.#replaying;
    return {
      channels: new ChannelTable(maxSubscriptions, limits),
      flooded: (address) => limits.reached("socketFrames", { address }),
      filters: this.#filters,
      inboxes: new Inboxes(),
      get seq() {
        return events.flushedSeq;
      },
      get replayBuffer() {
        // All replays together leave half of the room to new events.
        return Math.max(1, Math.floor(Math.min(bufferLimit, bufferTotal / Math.max(1, replaying())) / 2));
      },
      seqOf: (id) => events.seqOf(id),
      page: (after, width, types): Promise<EventPage | null> =>
        events.page({ after, until: events.flushedSeq, width, types: this.#toldFrom(types) }),
      mayHear: (listener: Listener, event, collection) =>
        mayHear(listener, this.#visibility.audience(event, collection), event.owner),
      isClosedAfter: (seq, listener, collection) => this.#visibility.isClosedAfter(seq, listener, collection),
      replayed: (event, listener, through) => this.#visibility.replayed(event, listener, through),
      exists: (collection) => collection === null || collections.get(collection) !== undefined,
      sent: (bytes) => this.#buffers.sent(bytes),
      catchUp: (socket) => this.#buffers.catchUp(socket),
      ending: (socket) => this.#buffers.ending(socket),
      replaying: (change) => {
        this.#replaying += change;
      },
      join: (type, collection) => {
        const heard = this.#heard.get(type);
        if (heard === undefined) this.#heard.set(type, { sockets: 1, collection });
        else heard.sockets += 1;
      },
      leave: (type) => {
        const heard = this.#heard.get(type);
        if (heard === undefined) return;
        heard.sockets -= 1;
        if (heard.sockets === 0) this.#heard.delete(type);
      },
      listens: (socket, isHere) => this.#listens(socket, isHere),
      report: (error) => logger.error("A socket failed and was closed", { error }),
    };
  }
}
