/** The feed of a client: channels, live queries and the connection, in this tab or in the worker that all tabs share. */

import { Connection, type ConnectionState, type Identity } from "./connection.ts";
import type { LiveQuery } from "./live-frames.ts";
import { LiveQueries, type NewsListener } from "./live-queries.ts";
import type { Observable } from "./observable.ts";
import type { Channels, Listener, SubscribeOptions } from "./realtime.ts";
import { Rooms } from "./rooms.ts";
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

/** The feed with a socket of its own. */
export class OwnFeed implements Feed {
  readonly connection: Observable<ConnectionState>;
  readonly subscribe: Subscribe | undefined;
  readonly #connection: Connection;
  readonly #channels: Channels | undefined;
  readonly #queries: LiveQueries;
  readonly #rooms: Rooms;
  readonly room: Rooms["join"];

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
    this.#rooms = new Rooms(this.#connection);
    this.room = this.#rooms.join.bind(this.#rooms);
  }

  query(query: LiveQuery, listener: NewsListener): () => void {
    return this.#queries.subscribe(query, listener);
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
    this.#rooms.close();
  }
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
