/** Realtime: admits sockets, sends events to sockets, and closes the sockets of ended sessions (spec, "Realtime"). */
import { MAX_FRAME_SIZE, type Role } from "@socle/protocol";
import type { Auth } from "../../people/auth/index.ts";
import type { Rooms } from "../rooms/index.ts";
import { SocketConnection } from "./connection.ts";
import { Feed, type FeedOptions } from "./feed.ts";
import type { Publisher } from "./socket-buffers.ts";
import { type SocketPart, type SocketQuery, socketList } from "./socket-list.ts";

export interface RealtimeOptions extends Omit<FeedOptions, "emailOf"> {
  auth: Auth;
  /**
   * In a reader process and in an instance of a cluster: resolves when the events arrive that a new socket is to hear. Answers whether each event is told
   * here that a client may have heard elsewhere by now.
   */
  beforeSocket?: (() => Promise<boolean>) | undefined;
}

export class Realtime {
  readonly #options: RealtimeOptions;
  readonly #connections = new Set<SocketConnection>();
  /** The connections of callers with a token or a key, by the id of the session or key. */
  readonly #bySession = new Map<string, Set<SocketConnection>>();
  readonly #feed: Feed;
  #expiry: Timer | null = null;
  #stops: readonly (() => void)[] = [];

  constructor(options: RealtimeOptions) {
    this.#options = options;
    const { users } = options.auth;
    const emailOf = (id: string): string | null => users.find(id)?.email ?? null;
    this.#feed = new Feed({ ...options, emailOf }, this.#connections);
  }

  /** Begins to send events, through the server that holds the sockets. */
  start(publisher: Publisher): void {
    this.#feed.publishWith(publisher);
    this.#stops = [
      this.#options.events.listen((event) => this.#feed.publish(event)),
      this.#options.auth.sessions.listen(({ sessionId, role }) => {
        if (role !== null) this.#feed.live.rolesChanged();
        this.#sessionChanged(sessionId, role);
      }),
    ];
  }

  /** The seq of the newest committed event: no answered write has a later event. Some events up to the seq may not be told yet. */
  get seq(): number {
    return this.#options.events.committedSeq;
  }

  /** Whether somebody waits for the position of an answered write. */
  get hasViewers(): boolean {
    return this.#feed.positions.sockets.size > 0;
  }

  /** See `Positions.wrote`. */
  wrote(caller: string | null, seq?: number): void {
    this.#feed.positions.wrote(caller, seq);
  }

  get rooms(): Rooms {
    return this.#feed.rooms;
  }

  get sockets(): number {
    return this.#connections.size;
  }

  /** The open sockets of this process. */
  list(query: SocketQuery): SocketPart {
    return socketList(this.#connections, query);
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    clearTimeout(this.#expiry ?? undefined);
    this.#feed.readers.close();
    this.#feed.live.close();
    this.#feed.positions.close();
    this.#feed.rooms.close();
  }

  /**
   * A connection for a socket that is about to be opened.
   * @param address of the client, in the form that limits count.
   * @throws AppError `unauthorized` for a token that is not valid.
   */
  async admit(token: string | null, address: string): Promise<SocketConnection> {
    const anonymous = { principal: null, expiresAt: Number.POSITIVE_INFINITY };
    const { principal: listener, expiresAt } =
      token === null ? anonymous : await this.#options.auth.callers.connect(token);
    const isNewest = (await this.#options.beforeSocket?.()) ?? true;
    return new SocketConnection({ listener, expiresAt, isNewest }, address, this.#feed);
  }

  /** The WebSocket handlers for `Bun.serve`. Bun cuts off slow sockets natively. */
  handlers(): Bun.WebSocketHandler<SocketConnection> {
    return {
      maxPayloadLength: MAX_FRAME_SIZE,
      backpressureLimit: this.#options.config["realtime.bufferLimit"],
      closeOnBackpressureLimit: true,
      perMessageDeflate: false,
      // The seconds after which a socket is closed that sends nothing, not even answers to pings.
      idleTimeout: 120,
      open: (socket) => {
        this.#connections.add(socket.data);
        socket.data.open(socket);
        this.#watch(socket.data);
      },
      message(socket, message) {
        if (typeof message === "string") socket.data.receive(message);
        else socket.data.close(1003, "Frames are JSON text");
      },
      ping: (socket) => socket.data.seen(),
      pong: (socket) => socket.data.seen(),
      drain: (socket) => socket.data.drain(),
      close: (socket, code) => {
        this.#connections.delete(socket.data);
        this.#feed.buffers.closed(socket.data, code);
        socket.data.end();
        this.#forget(socket.data);
      },
    };
  }

  /** A connection ends with its session, or when its token expires. */
  #watch(connection: SocketConnection): void {
    if (connection.listener === null) return;
    const { sessionId } = connection.listener;
    this.#bySession.getOrInsertComputed(sessionId, () => new Set()).add(connection);
    this.#expiry ??= this.#nextSecond();
    // The session may have ended between the check of the token and now.
    this.#sessionChanged(sessionId, this.#roleOf(sessionId));
  }

  #forget(connection: SocketConnection): void {
    const sessionId = connection.listener?.sessionId ?? "";
    const connections = this.#bySession.get(sessionId);
    connections?.delete(connection);
    if (connections?.size === 0) this.#bySession.delete(sessionId);
  }

  /** @param role of the session's user from now on; null for an ended session. */
  #sessionChanged(sessionId: string, role: Role | null): void {
    for (const connection of this.#bySession.get(sessionId) ?? []) {
      const { listener } = connection;
      if (listener === null || role === listener.role) continue;
      // Another role opens or closes channels to a key: the client subscribes anew.
      if (role === null || "scopes" in listener) this.#expire(connection);
      else connection.changeListener({ ...listener, role });
    }
  }

  #expire(connection: SocketConnection): void {
    this.#forget(connection);
    connection.expire();
  }

  /** A session that cannot be looked at counts as ended: its sockets come back with their token. */
  #roleOf(sessionId: string): Role | null {
    try {
      return this.#options.auth.callers.roleOf(sessionId);
    } catch {
      return null;
    }
  }

  /** A single timer serves all tokens: each second the expired connections end. */
  #nextSecond(): Timer {
    const endExpired = (): void => {
      for (const connection of this.#connections) if (connection.expiresAt <= Date.now()) this.#expire(connection);
      this.#expiry = this.#bySession.size > 0 ? this.#nextSecond() : null;
    };
    return setTimeout(endExpired, 1_001 - (Date.now() % 1_000)).unref();
  }
}
