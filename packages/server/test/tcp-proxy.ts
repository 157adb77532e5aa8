/** A proxy for any protocol over TCP, which holds back or cuts the bytes of each direction, as a bad network does. */
import { afterAll } from "bun:test";
import { connect, createServer, type Server, type Socket } from "node:net";

/** Bytes from the clients, or bytes from the server behind. */
type Direction = "requests" | "answers";

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

export class TcpProxy {
  readonly #pairs = new Set<Pair>();
  readonly #server: Server;
  readonly #held = new Map<Direction, Buffer[]>();
  #waiting: (() => void)[] = [];
  #isStalled = false;
  port = 0;

  constructor(targetPort: number) {
    this.#server = createServer((client) => this.#join(client, connect(targetPort, "127.0.0.1")));
  }

  async listen(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    const address = this.#server.address();
    if (typeof address === "object" && address !== null) this.port = address.port;
  }

  /** Connections that are open. */
  get open(): number {
    return this.#pairs.size;
  }

  /** Keeps the bytes of a direction from now on. */
  hold(direction: Direction): void {
    this.#held.set(direction, []);
  }

  /** Resolves when bytes of a held direction have arrived. */
  async arrival(direction: Direction): Promise<void> {
    while ((this.#held.get(direction)?.length ?? 0) === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    }
  }

  /** Breaks every connection, and drops the bytes that are held. */
  cut(): void {
    this.#held.clear();
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
  }

  /** Gives on the held bytes, also when the client has gone. Only for tests with a single connection. */
  release(direction: Direction): void {
    const held = this.#held.get(direction) ?? [];
    this.#held.delete(direction);
    for (const pair of this.#pairs)
      for (const bytes of held) (direction === "requests" ? pair.server : pair.client).write(bytes);
  }

  /** Lets no bytes through in either direction from now on, also of new connections; the ends stay open, and wait. */
  stall(): void {
    this.#isStalled = true;
    for (const { client, server } of this.#pairs) for (const socket of [client, server]) socket.pause();
  }

  /** Ends a stall: all bytes that have come meanwhile arrive, also from clients that have gone. */
  flow(): void {
    this.#isStalled = false;
    for (const { client, server } of this.#pairs) for (const socket of [client, server]) socket.resume();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(client: Socket, server: Socket): void {
    const pair = { client, server };
    this.#pairs.add(pair);
    this.#forward(client, server, "requests");
    this.#forward(server, client, "answers");
    if (this.#isStalled) for (const socket of [client, server]) socket.pause();
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      // "close" follows, and ends the other side.
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        // A client that went has still sent the held requests.
        if (socket === client && this.#held.has("requests")) return;
        this.#pairs.delete(pair);
        other.destroy();
      });
    }
  }

  #forward(from: Socket, to: Socket, direction: Direction): void {
    from.on("data", (bytes: Buffer) => {
      const held = this.#held.get(direction);
      if (held === undefined) to.write(bytes);
      else held.push(bytes);
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
  }
}

/** A proxy to a port of this machine, closed after the file's tests. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const proxy = new TcpProxy(targetPort);
  await proxy.listen();
  afterAll(() => proxy.close());
  return proxy;
}
