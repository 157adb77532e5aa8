/** The connection for channels and live queries: a single WebSocket, which is opened while something needs it, and again after a break. */
import { type ClientFrame, TOKEN_EXPIRED_CLOSE_CODE } from "@socle/protocol";
import type { LiveSubscribe } from "./live-frames.ts";
import { Observed } from "./observable.ts";
import { searchOf } from "./search.ts";
import type { WebSocketConstructor, WebSocketLike } from "./socket.ts";

/** `idle`: nothing needs the connection; `offline`: the connection is lost, and is tried again. */
export type ConnectionState = "idle" | "connecting" | "open" | "offline";

/** The caller for whom the connection speaks. */
export interface Identity {
  /** The access token or the API key; null for nobody. */
  bearer(): string | null | Promise<string | null>;
  /** Renews a token that may have been refused. */
  renew(used: string): Promise<unknown>;
}

/** A part of the client that uses the connection. Frames are of the service; each part knows its own. */
export interface ConnectionPart {
  readonly isNeeded: boolean;
  opened(): void;
  heard(frame: ReceivedFrame): void;
  lost(): void;
}

/** A frame of the service, before a part has looked at the frame. */
export interface ReceivedFrame {
  readonly type: string;
  readonly id?: string;
}

const firstDelayMs = 250;
const longestDelayMs = 15_000;
const pingEveryMs = 25_000;
const answerWithinMs = 10_000;
/** `WebSocket.OPEN`. */
const open = 1;

export class Connection {
  readonly state = new Observed<ConnectionState>("idle");
  readonly #baseUrl: string;
  readonly #identity: Identity;
  readonly #webSocket: WebSocketConstructor;
  readonly #parts: ConnectionPart[] = [];
  #socket: WebSocketLike | null = null;
  /** The last attempt to open a socket. */
  #attempt = 0;
  #bearer: string | null = null;
  #failures = 0;
  /** Of the next attempt, of the end of an attempt, or of the pings; `clearTimeout` ends an interval, too. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #heardAt = 0;

  constructor(options: { baseUrl: string; identity: Identity; webSocket: WebSocketConstructor }) {
    this.#baseUrl = options.baseUrl;
    this.#identity = options.identity;
    this.#webSocket = options.webSocket;
  }

  add(part: ConnectionPart): void {
    this.#parts.push(part);
  }

  /** Opens or closes the socket, as the parts need the socket now. */
  update(): void {
    const isNeeded = this.#parts.some((part) => part.isNeeded);
    if (!isNeeded) this.#disconnect("idle");
    else if (this.state.get() === "idle") void this.#connect();
  }

  /** Opens the socket anew, for another caller. */
  reconnect(): void {
    this.#disconnect("idle");
    this.update();
  }

  send(frame: ClientFrame | LiveSubscribe): void {
    if (this.#socket?.readyState === open) this.#socket.send(JSON.stringify(frame));
  }

  #disconnect(state: ConnectionState): void {
    clearTimeout(this.#timer);
    this.#attempt += 1;
    const socket = this.#socket;
    this.#socket = null;
    const before = this.state.get();
    // Also after the first failed attempt, and not after each further attempt.
    if (before === "open" || (before !== state && state === "offline")) for (const part of this.#parts) part.lost();
    this.state.set(state);
    socket?.close();
  }

  async #connect(): Promise<void> {
    this.#attempt += 1;
    const attempt = this.#attempt;
    if (this.state.get() !== "offline") this.state.set("connecting");
    const bearer = await this.#identity.bearer();
    if (attempt !== this.#attempt) return;
    this.#bearer = bearer;
    const url = `${this.#baseUrl.replace(/^http/i, "ws")}/api/realtime${searchOf({ token: bearer })}`;
    const socket = new this.#webSocket(url);
    this.#socket = socket;
    // A server that is not the service may leave the handshake without an answer.
    this.#timer = setTimeout(() => this.#lost(), answerWithinMs);
    socket.addEventListener("open", () => {
      if (socket !== this.#socket) return;
      clearTimeout(this.#timer);
      this.#heardAt = Date.now();
      this.#timer = setInterval(() => this.#ping(), pingEveryMs);
      this.state.set("open");
      for (const part of this.#parts) part.opened();
    });
    socket.addEventListener("message", ({ data }) => {
      if (socket === this.#socket) this.#receive(JSON.parse(String(data)) as ReceivedFrame);
    });
    socket.addEventListener("close", ({ code }) => {
      if (socket === this.#socket) this.#lost(code);
    });
    // "close" follows. `ws` ends the program when "error" has no listener.
    socket.addEventListener("error", () => undefined);
  }

  #receive(frame: ReceivedFrame): void {
    this.#heardAt = Date.now();
    // The service does the work that was asked for: the next break begins with a short wait.
    if (frame.type === "subscribed" || frame.type === "joined") this.#failures = 0;
    for (const part of this.#parts) part.heard(frame);
  }

  /** @param code with which the service has closed the socket. */
  #lost(code?: number): void {
    const used = this.#bearer;
    // A socket that could not be opened may have had an old token: the browser does not say.
    const mayBeToken = code === TOKEN_EXPIRED_CLOSE_CODE || this.state.get() !== "open";
    this.#disconnect("offline");
    // Without new tokens, the socket is opened anonymously; while the service is away, with the old tokens.
    const renewed = mayBeToken && used !== null && this.#identity.renew(used).catch(() => undefined);
    const delay = Math.min(longestDelayMs, firstDelayMs * 2 ** this.#failures) * (0.5 + Math.random());
    this.#failures += 1;
    const attempt = this.#attempt;
    this.#timer = setTimeout(async () => {
      await renewed;
      if (attempt === this.#attempt) void this.#connect();
    }, delay);
  }

  #ping(): void {
    if (Date.now() - this.#heardAt > pingEveryMs + answerWithinMs) this.#lost();
    else this.send({ action: "ping" });
  }
}
