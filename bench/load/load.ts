/** What a load is, whoever generates it. */
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

/** One request as it goes over the wire. */
export function toWire(host: string, request: LoadRequest): string {
  const headers = Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
  const body = request.body ?? "";
  if (body !== "") headers.push(`Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`);
  return `${request.method} ${request.path} HTTP/1.1\r\nHost: ${host}\r\n${headers.join("")}\r\n${body}`;
}
