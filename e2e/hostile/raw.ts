/** Raw HTTP connections of an attacker: requests that no normal client library would send, and answers that stay unread. */
import { connect, type Socket } from "node:net";

/** The target of an attack, and the attacker's means. */
export interface Target {
  /** `http://localhost:PORT` */
  readonly url: string;
  /** The claimed address of the attacker, as a reverse proxy in front would write the address. */
  readonly address: string;
  /** Access tokens of registered users. */
  readonly tokens: readonly string[];
  /** Access tokens of eight more users that attack together. */
  readonly crowd: readonly string[];
  /** Ids and the like that the preparation has made, addresses of files, refresh tokens. */
  readonly made: { readonly [name: string]: string };
}

/** A connection. Errors are the attacker's own business: the service may close the connection at any time. */
export function open({ url }: Target): Promise<Socket | null> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname === "localhost" ? "127.0.0.1" : hostname, port: Number(port) });
    socket.once("connect", () => resolve(socket));
    socket.on("error", () => resolve(null));
    socket.on("close", () => resolve(null));
  });
}

/** The head of a request. */
export function head(target: Target, line: string, headers: { readonly [name: string]: string } = {}): string {
  const all = { Host: "localhost", "X-Forwarded-For": target.address, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

export function bearer(token: string | undefined): { Authorization: string } {
  return { Authorization: `Bearer ${token ?? ""}` };
}

/** Sends a whole request and answers the status; the body is read and dropped. 0 when the connection broke. */
export async function send(
  target: Target,
  path: string,
  init: { method?: string; headers?: Record<string, string>; body?: string | FormData; signal?: AbortSignal } = {},
): Promise<number> {
  try {
    const headers = { "X-Forwarded-For": target.address, ...init.headers };
    const answer = await fetch(`${target.url}${path}`, { ...init, headers });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    // A refusal, a reset and an abort are answers to an attack.
    return 0;
  }
}

/** Does `work` again and again in `width` lines until the attack is over. */
export async function flood(signal: AbortSignal, width: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let n = 0;
  const line = async (): Promise<void> => {
    while (!signal.aborted) {
      n += 1;
      await work(n);
    }
  };
  await Promise.all(Array.from({ length: width }, line));
}

/** Resolves when the attack is over. */
export function over(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
