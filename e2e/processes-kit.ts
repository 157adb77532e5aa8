/** Kit of the tests of several processes: a client of a single connection, by which a test chooses the process. */

import { afterAll } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { Running } from "./kit.ts";

export interface PinnedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface PinnedRequest {
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Most connections that are opened to reach each process: the system spreads connections by chance. */
const mostConnections = 500;

/** A client that sends all requests over one connection, one after the other: the same process takes all. */
export class PinnedClient {
  readonly #socket: Socket;
  readonly #host: string;
  #bytes = Buffer.alloc(0);
  #wake: (() => void) | null = null;
  #isClosed = false;
  /** Names the process among the processes of the service. */
  process = "";

  private constructor(socket: Socket, host: string) {
    this.#socket = socket;
    this.#host = host;
    socket.on("data", (bytes: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      this.#wake?.();
    });
    const close = (): void => {
      this.#isClosed = true;
      this.#wake?.();
    };
    socket.on("close", close);
    socket.on("error", close);
    afterAll(() => {
      socket.destroy();
    });
  }

  static async open(url: string): Promise<PinnedClient> {
    const { hostname, port, host } = new URL(url);
    const socket = await new Promise<Socket>((resolve, reject) => {
      const opening: Socket = connect(Number(port), hostname, () => resolve(opening));
      opening.once("error", reject);
    });
    const client = new PinnedClient(socket, host);
    const { headers } = await client.request("GET", "/health");
    // Each process begins the ids of its requests with a text of its own.
    client.process = headers.get("x-request-id")?.split("-")[0] ?? "";
    return client;
  }

  close(): void {
    this.#socket.destroy();
  }

  /** @throws Error when the connection is closed before the answer is complete. */
  async request(method: string, path: string, { body = "", headers = {} }: PinnedRequest = {}): Promise<PinnedAnswer> {
    const lines = Object.entries({ Host: this.#host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    const bytes = Buffer.from(body);
    if (bytes.byteLength > 0) lines.push(`Content-Length: ${bytes.byteLength}\r\n`);
    this.#socket.write(Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), bytes]));
    const head = await this.#until("\r\n\r\n");
    const [first = "", ...fields] = head.split("\r\n");
    const answered = new Headers(fields.filter((field) => field !== "").map((field) => splitField(field)));
    const status = Number(first.split(" ")[1]);
    const hasBody = method !== "HEAD" && status !== 204 && status !== 304;
    const isChunked = hasBody && answered.get("transfer-encoding") === "chunked";
    const length = Number(answered.get("content-length") ?? 0);
    const content = isChunked ? await this.#chunks() : (await this.#take(hasBody ? length : 0)).toString();
    return { status, headers: answered, text: hasBody ? content : "" };
  }

  /** Sends JSON, and answers the JSON of the answer. */
  async json<T extends object>(method: string, path: string, body: object): Promise<T> {
    const headers = { "Content-Type": "application/json" };
    const { text } = await this.request(method, path, { body: JSON.stringify(body), headers });
    return JSON.parse(text) as T;
  }

  async #chunks(): Promise<string> {
    const pieces: Buffer[] = [];
    for (;;) {
      const size = Number.parseInt(await this.#until("\r\n"), 16);
      pieces.push(await this.#take(size));
      await this.#until("\r\n");
      if (size === 0) return Buffer.concat(pieces).toString();
    }
  }

  /** The text up to and including an end. */
  async #until(end: string): Promise<string> {
    for (let at = this.#bytes.indexOf(end); ; at = this.#bytes.indexOf(end)) {
      if (at >= 0) return (await this.#take(at + end.length)).toString();
      await this.#more();
    }
  }

  async #take(length: number): Promise<Buffer> {
    while (this.#bytes.byteLength < length) await this.#more();
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return taken;
  }

  async #more(): Promise<void> {
    if (this.#isClosed) throw new Error("The connection was closed");
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }
}

function splitField(field: string): [string, string] {
  const at = field.indexOf(":");
  return [field.slice(0, at), field.slice(at + 1).trim()];
}

/** A client of each process. @throws Error when the processes are not reached. */
export async function onEachProcess(url: string, processes: number): Promise<PinnedClient[]> {
  const found = new Map<string, PinnedClient>();
  for (let tries = 0; tries < mostConnections && found.size < processes; tries++) {
    const client = await PinnedClient.open(url);
    if (found.has(client.process)) client.close();
    else found.set(client.process, client);
  }
  if (found.size < processes) throw new Error(`${mostConnections} connections reached ${found.size} processes`);
  return [...found.values()];
}

/** The reader processes of a service. */
export function readersOf({ pid }: Running): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  return children.map(Number).filter((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, "utf8").split("\0")[1] === "reader";
    } catch {
      // The process has ended meanwhile.
      return false;
    }
  });
}

export function isRunning(pid: number): boolean {
  try {
    // A process that has ended and was not waited for has the state Z.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
