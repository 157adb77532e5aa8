/** Realtime: admits sockets, sends events to sockets, and counts the bytes of sockets (spec, "Realtime"). */
import { MAX_FRAME_SIZE } from "@socle/protocol";
import type { Auth } from "../../people/auth/index.ts";
import { SocketConnection } from "./connection.ts";
import { Feed, type FeedOptions } from "./feed.ts";
import { SessionWatch } from "./session-watch.ts";
import type { Publisher } from "./socket-buffers.ts";

/** The seconds after which a socket is closed that sends nothing, not even answers to pings. */
const idleTimeout = 120;

export interface RealtimeOptions extends FeedOptions {
  auth: Auth;
}

export class Realtime {
  readonly #options: RealtimeOptions;
  readonly #connections = new Set<SocketConnection>();
  readonly #feed: Feed;
  readonly #sessions: SessionWatch;
  #stopListening: () => void = () => undefined;

  constructor(options: RealtimeOptions) {
    this.#options = options;
    this.#sessions = new SessionWatch(options.auth);
    this.#feed = new Feed(options, this.#connections);
  }

  /** Begins to send events, through the server that holds the sockets. */
  start(publisher: Publisher): void {
    this.#feed.publishWith(publisher);
    const stops = [
      this.#options.events.listen((event) => this.#feed.publish(event)),
      this.#options.auth.listenToSessions((change) => this.#sessions.changed(change)),
    ];
    this.#stopListening = () => {
      for (const stop of stops) stop();
    };
  }

  /** The number of open sockets. */
  get sockets(): number {
    return this.#connections.size;
  }

  stop(): void {
    this.#stopListening();
    this.#sessions.stop();
    this.#feed.readers.close();
  }

  /**
   * A connection for a socket that is about to be opened.
   * @param address of the client, in the form that limits count.
   * @throws AppError `unauthorized` for a token that is not valid.
   */
  async admit(token: string | null, address: string): Promise<SocketConnection> {
    if (token === null)
      return new SocketConnection({ listener: null, expiresAt: Number.POSITIVE_INFINITY, address }, this.#feed);
    const { principal, expiresAt } = await this.#options.auth.connect(token);
    return new SocketConnection({ listener: principal, expiresAt, address }, this.#feed);
  }

  /** The WebSocket handlers for `Bun.serve`. Bun cuts off slow sockets natively. */
  handlers(): Bun.WebSocketHandler<SocketConnection> {
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
        if (typeof message === "string") socket.data.receive(message);
        else socket.data.close(1003, "Frames are JSON text");
      },
      drain: (socket) => socket.data.drain(),
      close: (socket, code) => {
        this.#connections.delete(socket.data);
        this.#feed.buffers.closed(socket.data, code);
        socket.data.end();
        this.#sessions.remove(socket.data);
      },
    };
  }
}
