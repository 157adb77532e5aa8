/** The feed of a client: channels, live queries and the connection, in this tab or in the worker that all tabs share. */

import { Connection, type ConnectionState, type Identity } from "./connection.ts";
import { Late, lateRoom } from "./late.ts";
import type { LiveQuery } from "./live-frames.ts";
import { LiveQueries, type NewsListener } from "./live-queries.ts";
import type { Observable } from "./observable.ts";
import type { Channels, Listener, SubscribeOptions } from "./realtime.ts";
import type { RoomHandle, RoomJoin, RoomListener, Rooms } from "./rooms.ts";
import type { TabMessage, WorkerMessage } from "./shared-messages.ts";
import type { WebSocketConstructor } from "./socket.ts";
import type { Transport } from "./transport.ts";

export interface Feed {
  readonly connection: Observable<ConnectionState>;
  /** Undefined for a client without channels. */
  readonly subscribe: Subscribe | undefined;
  query(query: LiveQuery, listener: NewsListener): () => void;
  /** See `Rooms.join`. */
  room: Rooms["join"];
  /** Connects as the caller who is signed in now. */
  reconnect(): void;
  close(): void;
}

export type Subscribe = (channel: string, listener: Listener, options: SubscribeOptions) => () => void;

/** A subscription of this tab at the worker that all tabs share. */
export interface Opened {
  readonly message: TabMessage;
  readonly heard: (message: WorkerMessage) => void;
  /** Opens the subscription at the feed of this tab. */
  readonly openAt: (feed: Feed) => () => void;
  /** Ends the subscription at the feed of this tab. */
  stop?: () => void;
}

/** The channels of a client: a part of the connection of this tab, or subscriptions of the worker. */
export interface ChannelFeature {
  own(connection: Connection): Channels;
  /** @param open opens a subscription at the worker; `make` gets the number of the subscription. */
  shared(open: (make: (n: number) => Opened) => () => void): Subscribe;
}

type RoomsPart = Pick<Rooms, "join" | "close">;

/** The feed with a socket of its own. */
export class OwnFeed implements Feed {
  readonly connection: Observable<ConnectionState>;
  readonly subscribe: Subscribe | undefined;
  readonly #connection: Connection;
  readonly #channels: Channels | undefined;
  readonly #queries: LiveQueries;
  /** Loaded with the first join. */
  #rooms: Late<RoomsPart> | undefined;

  constructor(options: {
    baseUrl: string;
    identity: Identity;
    webSocket: WebSocketConstructor;
    channels?: Pick<ChannelFeature, "own"> | undefined;
  }) {
    this.#connection = new Connection(options);
    this.connection = this.#connection.state;
    const channels = options.channels?.own(this.#connection);
    this.#channels = channels;
    this.subscribe = channels?.subscribe.bind(channels);
    this.#queries = new LiveQueries(this.#connection);
  }

  query(query: LiveQuery, listener: NewsListener): () => void {
    return this.#queries.subscribe(query, listener);
  }

  room(asked: RoomJoin, listener: RoomListener): RoomHandle {
    this.#rooms ??= new Late(
      import("./rooms.ts").then(
        ({ Rooms }) => new Rooms(this.#connection),
        (thrown) => {
          // The next join loads the code again.
          this.#rooms = undefined;
          return refusing(String(thrown));
        },
      ),
    );
    return lateRoom(this.#rooms, asked, (rooms, frame) => rooms.join(frame, listener));
  }

  reconnect(): void {
    this.#connection.reconnect();
    this.#channels?.reset();
    this.#queries.reset();
  }

  /** A tab of the worker tells what the worker does not hear: see `onWake`. */
  wake(): void {
    this.#connection.wake();
  }

  close(): void {
    this.#channels?.close();
    this.#queries.close();
    this.#rooms?.open((rooms) => {
      rooms.close();
      return () => undefined;
    });
  }
}

/** Rooms without the code of rooms: each join is refused. */
function refusing(message: string): RoomsPart {
  return {
    join({ room, key }, listener) {
      listener({ type: "error", room, key, code: "offline", message });
      listener({ type: "left", room, key });
      return { send: () => undefined, leave: () => undefined };
    },
    close: () => undefined,
  };
}

/** The user of a client, with the tokens that the transport renews. */
export function identityOf(transport: Transport): Identity {
  const { session } = transport;
  return {
    bearer: () =>
      session.loaded().then(
        () => transport.bearer,
        () => undefined,
      ),
    async renew(used) {
      const { tokens } = session;
      if (tokens?.accessToken === used) await session.renew(tokens);
    },
  };
}
