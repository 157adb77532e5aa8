import { MAX_FRAME_SIZE, type PermissionRule } from "@socle/protocol";
import type { Auth, SessionChange } from "../auth/index.ts";
import type { Collections } from "../collections/index.ts";
import type { EventHead, EventLog, EventPage, LoggedEvent } from "../events/index.ts";
import type { Logger } from "../logging/index.ts";
import { type Listener, mayHear, topicsOfEvent } from "./audience.ts";
import { Connection } from "./connection.ts";
import { eventText } from "./frames.ts";
import { SessionWatch } from "./session-watch.ts";
import type { Feed } from "./types.ts";

/** Seconds after which a socket that does not even answer pings is closed. */
const idleTimeout = 120;

/** Sends a text to every socket that has joined a topic; Bun's server has it. */
export interface Publisher {
  publish(topic: string, text: string, compress: boolean): unknown;
}

export interface RealtimeOptions {
  auth: Auth;
  collections: Collections;
  events: EventLog;
  logger: Logger;
  /** Bytes that may wait in a socket; with more it is cut off, and resumes with `since`. */
  bufferLimit: number;
}

/** Sockets, their subscriptions, and who may hear what (spec, "Realtime"). */
export class Realtime {
  readonly #options: RealtimeOptions;
  readonly #feed: Feed;
  readonly #sessions: SessionWatch;
  /** The types that at least one socket hears live, and the collection that each is about. */
  readonly #heard = new Map<string, { sockets: number; readonly collection: string | null }>();
  #sockets = 0;
  #publisher: Publisher | null = null;
  #stopListening: () => void = () => undefined;

  constructor(options: RealtimeOptions) {
    this.#options = options;
    this.#sessions = new SessionWatch(options.auth);
    this.#feed = this.#makeFeed();
  }

  /** Begins to send events, through the server that holds the sockets. */
  start(publisher: Publisher): void {
    this.#publisher = publisher;
    const stops = [
      this.#options.events.listen((event) => this.#publish(event)),
      this.#options.auth.listenToSessions((change: SessionChange) => this.#sessions.changed(change)),
    ];
    this.#stopListening = () => {
      for (const stop of stops) stop();
    };
  }

  /** How many sockets are open. */
  get sockets(): number {
    return this.#sockets;
  }

  stop(): void {
    this.#stopListening();
    this.#sessions.stop();
  }

  /**
   * A connection for a socket that is about to be opened.
   * @throws AppError `unauthorized` for a token that is not valid.
   */
  async admit(token: string | null): Promise<Connection> {
    if (token === null) return new Connection(null, Number.POSITIVE_INFINITY, this.#feed);
    const { principal, expiresAt } = await this.#options.auth.connect(token);
    return new Connection(principal, expiresAt, this.#feed);
  }

  /** What `Bun.serve` is to do with sockets. Slow ones are cut off natively. */
  handlers(): Bun.WebSocketHandler<Connection> {
    return {
      maxPayloadLength: MAX_FRAME_SIZE,
      backpressureLimit: this.#options.bufferLimit,
      closeOnBackpressureLimit: true,
      perMessageDeflate: false,
      idleTimeout,
      open: (socket) => {
        this.#sockets += 1;
        socket.data.open(socket);
        this.#sessions.add(socket.data);
      },
      message(socket, message) {
        if (typeof message === "string") void socket.data.receive(message);
        else socket.data.close(1003, "Frames are JSON text");
      },
      drain: (socket) => socket.data.drain(),
      close: (socket) => {
        this.#sockets -= 1;
        socket.data.end();
        this.#sessions.remove(socket.data);
      },
    };
  }

  /** Nothing is done for a type that nobody hears; else one call for each class of listeners, not for each socket. */
  #publish(event: LoggedEvent): void {
    const heard = this.#heard.get(event.type);
    if (heard === undefined || this.#publisher === null) return;
    const text = eventText(event.toText());
    for (const topic of topicsOfEvent(event.type, this.#rule(event, heard.collection), event.owner))
      this.#publisher.publish(topic, text, false);
  }

  /**
   * The rule in force. Other events than those of records are for all who are signed in (spec, "Authentication" 9 and
   * realtime rule 4); what is left of a collection that is gone is for admins, also when there is another of its name.
   */
  #rule(event: EventHead, name: string | null): PermissionRule {
    if (name === null) return "authenticated";
    const collection = this.#options.collections.get(name);
    return collection === undefined || event.timestamp < collection.createdAt ? "admin" : collection.rules.read;
  }

  #makeFeed(): Feed {
    const { events, bufferLimit, logger } = this.#options;
    return {
      get place() {
        return events.flushedSeq;
      },
      replayBuffer: Math.floor(bufferLimit / 2),
      placeOf: (id) => events.placeOf(id),
      page: (after, width, types): Promise<EventPage | null> =>
        events.page({ after, until: events.flushedSeq, width, types }),
      at: (place) => events.at(place),
      mayHear: (listener: Listener, event, collection) =>
        mayHear(listener, event.type, this.#rule(event, collection), event.owner),
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
      report: (error) => logger.error("A socket failed and was closed", { error }),
    };
  }
}
