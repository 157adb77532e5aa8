/** A proxy between a browser and the service, which the test cuts like a network: connections break, and no new connection is made. */
import { afterAll } from "bun:test";
import { connect, createServer, type Server, type Socket } from "node:net";

export interface Proxy {
  readonly url: string;
  cut(): Promise<void>;
  restore(): Promise<void>;
}

/** @param service the address of the service: `http://127.0.0.1:8080`. */
export async function proxyTo(service: string): Promise<Proxy> {
  const target = Number(new URL(service).port);
  const sockets = new Set<Socket>();
  const keep = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    // "close" follows, and ends the other side.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      other.destroy();
    });
    socket.pipe(other);
  };
  const listen = async (port: number): Promise<Server> => {
    const server = createServer((browser) => {
      const upstream = connect(target, "127.0.0.1");
      keep(browser, upstream);
      keep(upstream, browser);
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", resolve);
    });
    return server;
  };
  let server = await listen(0);
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The proxy has no port");
  const { port } = address;
  const cut = async (): Promise<void> => {
    const isClosed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await isClosed;
  };
  afterAll(cut);
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    async restore() {
      server = await listen(port);
    },
  };
}
