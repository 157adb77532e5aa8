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
      /** A token for each socket in turn; empty for sockets without a token. */
      tokens: string[];
      /** Whether the sockets read their frames. */
      reads: boolean;
      /** A filter for each socket in turn; empty for a channel without a filter. */
      filters?: string[];
    }
  | {
      do: "write";
      url: string;
      seconds: number;
      /** Events that may be under way. */
      window: number;
      /** Milliseconds between writes; 0 for full speed. */
      intervalMs: number;
      /** Connections that write; 4 by default. */
      writers?: number;
      /** Sockets that each event goes to. */
      perEvent: number;
      /** The path of the collection; `/api/items` by default. */
      path?: string;
      /** A record, with COUNT in the place of a number. */
      body: string;
      /** The headers of each request in turn. */
      headers: Record<string, string>[];
    }
  | { do: "disconnect" };

export interface ListenerResult {
  /** The number of sockets after connecting. */
  ready?: number;
  writesPerSecond?: number;
  deliveriesPerSecond?: number;
  /** Events that did not reach every expected socket. */
  missing?: number;
  /** Sockets that were closed during the load. */
  closed?: number;
  /** Milliseconds from a write's request to the event at a socket. */
  p50?: number;
  p99?: number;
  latest?: number;
}

/** A request in the form of the wire. */
export function toWire(host: string, request: LoadRequest): string {
  const headers = Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
  const body = request.body ?? "";
  if (body !== "") headers.push(`Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`);
  return `${request.method} ${request.path} HTTP/1.1\r\nHost: ${host}\r\n${headers.join("")}\r\n${body}`;
}
