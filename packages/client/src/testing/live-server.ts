/** A service for tests of live queries: a real WebSocket and HTTP on 127.0.0.1; the test decides every frame and answer. */
import type { ServerWebSocket } from "bun";

/** A frame of a client, as the test reads the frame. */
export interface ClientAsk {
  readonly action: string;
  readonly id?: string;
  readonly channel?: string;
  readonly query?: { readonly [name: string]: unknown };
  readonly since?: number | string;
}

interface Socket {
  readonly token: string | null;
}

type Answer = (request: Request) => Response | Promise<Response>;

export class LiveServer {
  readonly asked: ClientAsk[] = [];
  readonly tokens: (string | null)[] = [];
  readonly sockets = new Set<ServerWebSocket<Socket>>();
  answer: Answer = () => new Response(null, { status: 404 });
  #waiting: (() => void)[] = [];
  readonly #server: Bun.Server<Socket>;

  constructor(port = 0) {
    this.#server = Bun.serve<Socket>({
      port,
      hostname: "127.0.0.1",
      fetch: (request, server) => {
        const { pathname, searchParams } = new URL(request.url);
        if (pathname !== "/api/realtime") return this.answer(request);
        return server.upgrade(request, { data: { token: searchParams.get("token") } }) ? undefined : new Response();
      },
      websocket: {
        open: (socket) => {
          this.sockets.add(socket);
          this.tokens.push(socket.data.token);
          // As the service greets; and a type of a later version, with the name of a subscription.
          socket.send('{"type":"connected","clientId":"1"}');
          socket.send('{"type":"later","id":"q1","channel":"posts.*"}');
          this.#wake();
        },
        message: (_socket, text) => {
          const ask = JSON.parse(String(text)) as ClientAsk;
          if (ask.action !== "ping") this.asked.push(ask);
          this.#wake();
        },
        close: (socket) => {
          this.sockets.delete(socket);
          this.#wake();
        },
      },
    });
  }

  get url(): string {
    return this.#server.url.origin;
  }

  /** Resolves once the condition holds; looked at after each frame. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Resolves with the next frame that asks for something, from the number of the frame on. */
  async next(from: number): Promise<ClientAsk> {
    await this.until(() => this.asked.length > from);
    const ask = this.asked[from];
    if (ask === undefined) throw new Error("no frame");
    return ask;
  }

  send(frame: object): void {
    for (const socket of this.sockets) socket.send(JSON.stringify(frame));
  }

  /** Breaks every connection. */
  drop(): void {
    for (const socket of this.sockets) socket.close(1001);
  }

  stop(): void {
    void this.#server.stop(true);
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** The states that a listener was called with, and a wait for the next state. */
export class States<State> {
  readonly all: State[] = [];
  #waiting: (() => void)[] = [];
  readonly add = (state: State): void => {
    this.all.push(state);
    for (const resolve of this.#waiting.splice(0)) resolve();
  };

  get last(): State {
    const state = this.all.at(-1);
    if (state === undefined) throw new Error("no state");
    return state;
  }

  async until(condition: (state: State) => boolean): Promise<State> {
    while (this.all.length === 0 || !condition(this.last))
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.last;
  }
}
