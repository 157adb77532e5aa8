/** A load, independent of its generator. */
export interface Load {
  /** `http://localhost:PORT` */
  url: string;
  connections: number;
  seconds: number;
  /** Sent in turn, over and over. */
  requests: readonly LoadRequest[];
  /** Each request once, however long that takes; `seconds` is the most. */
  once?: boolean;
}

export interface LoadRequest {
  method: "GET" | "POST" | "PUT";
  path: string;
  body?: string;
  headers?: Record<string, string>;
}

export interface LoadResult {
  requestsPerSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Answers with a status of 400 or more, and broken connections. */
  errors: number;
}

/** A command to the process of listeners. */
export type ListenerCommand =
  | {
      do: "connect";
      url: string;
      count: number;
      channel: string;
      /** One for each socket in turn; none for sockets without. */
      tokens: string[];
      /** Whether the sockets read what comes. */
      reads: boolean;
      /** One for each socket in turn; none for a channel without. */
      filters?: string[];
    }
  | {
      do: "write";
      url: string;
      seconds: number;
      /** Events that may be on their way. */
      window: number;
      /** Milliseconds between writes; 0 for as fast as it goes. */
      intervalMs: number;
      /** Sockets that each event goes to. */
      perEvent: number;
      /** The collection; `/api/items` without one. */
      path?: string;
      /** A record, with COUNT where a number is to stand. */
      body: string;
      /** Of each request in turn. */
      headers: Record<string, string>[];
    }
  | { do: "disconnect" };

export interface ListenerResult {
  /** After connecting: how many sockets there are. */
  ready?: number;
  writesPerSecond?: number;
  deliveriesPerSecond?: number;
  /** Events that did not come to every socket that they should have come to. */
  missing?: number;
  /** Sockets that were closed meanwhile. */
  closed?: number;
  /** Milliseconds from a write's request to its event at a socket. */
  p50?: number;
  p99?: number;
  latest?: number;
}

/** One request as it goes over the wire. */
export function toWire(host: string, request: LoadRequest): string {
  const headers = Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
  const body = request.body ?? "";
  if (body !== "") headers.push(`Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`);
  return `${request.method} ${request.path} HTTP/1.1\r\nHost: ${host}\r\n${headers.join("")}\r\n${body}`;
}
