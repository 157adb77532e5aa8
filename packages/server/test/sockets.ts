/** Kit of the tests of realtime: the service behind a real socket, and clients that keep all received frames. */
import { afterAll } from "bun:test";
import type { Event, ServerFrame } from "@socle/protocol";
import { HttpServer, openRouter } from "../src/edge/http/index.ts";
import { openApi, type TestApi } from "./kit.ts";

export interface TestServer extends TestApi {
  url: string;
  /** Connects, as if from `address`; resolves when the socket is open. */
  connect(token?: string, address?: string): Promise<TestSocket>;
}

export async function openServer(options: Parameters<typeof openApi>[0]): Promise<TestServer> {
  const api = await openApi(options);
  return { ...api, ...listen(api) };
}

/** Listens for the requests of a service. @param idleTimeout see `HttpOptions`. */
export function listen(api: TestApi, idleTimeout = 60): Pick<TestServer, "url" | "connect"> {
  const { parts } = api;
  const server = new HttpServer({
    config: { ...api.config, host: "127.0.0.1", port: 0, trustedProxies: 1 },
    parts,
    openRouter: (connections) => openRouter(parts, connections),
    certificate: null,
    acme: null,
    stopping: new AbortController().signal,
    idleTimeout,
  });
  afterAll(async () => {
    await server.refuse(0);
    await server.end();
  });
  return { url: server.url, connect: (token, address) => TestSocket.open(server.url, token, address) };
}

/** A client that keeps every received frame but the greeting. */
export class TestSocket {
  readonly frames: ServerFrame[] = [];
  readonly socket: WebSocket;
  closed: { code: number; reason: string } | null = null;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      const frame: ServerFrame = JSON.parse(String(data));
      if (frame.type !== "connected") this.frames.push(frame);
    };
    socket.onclose = ({ code, reason }) => {
      this.closed = { code, reason };
    };
    afterAll(() => socket.close());
  }

  static async open(url: string, token?: string, address?: string): Promise<TestSocket> {
    const query = token === undefined ? "" : `?token=${token}`;
    const headers: Record<string, string> = address === undefined ? {} : { "X-Forwarded-For": address };
    const client = new TestSocket(new WebSocket(`${url.replace("http", "ws")}/api/realtime${query}`, { headers }));
    await until(() => client.socket.readyState !== WebSocket.CONNECTING);
    if (client.socket.readyState !== WebSocket.OPEN) throw new Error("The socket was not opened");
    return client;
  }

  send(frame: object | string): void {
    this.socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /** Sends a frame and gives its answer, which is the next frame that is no event. */
  async ask(frame: object | string): Promise<ServerFrame> {
    const before = this.#answers().length;
    this.send(frame);
    await until(() => this.#answers().length > before);
    const answer = this.#answers()[before];
    if (answer === undefined) throw new Error("There is no answer");
    return answer;
  }

  async subscribe(channel: string, since?: string, through: { filter?: string; id?: string } = {}): Promise<void> {
    const answer = await this.ask({ action: "subscribe", channel, ...(since !== undefined && { since }), ...through });
    if (answer.type !== "subscribed") throw new Error(`${channel}: ${JSON.stringify(answer)}`);
  }

  /** The events so far. Every event sent before this call has arrived, because the answer to a ping has arrived. */
  async events(): Promise<Event[]> {
    await this.ask({ action: "ping" });
    return this.frames.flatMap((frame) => (frame.type === "event" ? [frame.event] : []));
  }

  async types(): Promise<string[]> {
    return (await this.events()).map(({ type }) => type);
  }

  #answers(): ServerFrame[] {
    return this.frames.filter(({ type }) => type !== "event");
  }
}

/** Waits for a condition; a test that waits too long fails. */
export async function until(condition: () => boolean, milliseconds = 120_000): Promise<void> {
  const end = performance.now() + milliseconds;
  while (!condition()) {
    if (performance.now() > end) throw new Error("Waited too long");
    await Bun.sleep(1);
  }
}
