/** The connection for channels and live queries: a single WebSocket, which is opened while something needs it, and again after a break. */
import { type ClientFrame, TOKEN_EXPIRED_CLOSE_CODE } from "@socle/protocol";
import type { LiveSubscribe } from "./live-frames.ts";
import { Observed } from "./observable.ts";
import { searchOf } from "./search.ts";
import type { WebSocketConstructor, WebSocketLike } from "./socket.ts";
import { onWake } from "./wake.ts";

/** `idle`: nothing needs the connection; `offline`: the connection is lost, and is tried again. */
export type ConnectionState = "idle" | "connecting" | "open" | "offline";

/** The caller for whom the connection speaks. */
export interface Identity {
  /** The access token or the API key; null for nobody, undefined while the place of the session does not answer. */
  bearer(): Promise<string | null | undefined>;
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
/** Half as long to one and a half times as long: clients that lost the same service do not come back at the same moment. */
const longestDelayMs = 4_000;
const pingEveryMs = 25_000;
const openWithinMs = 10_000;
const pongWithinMs = 5_000;
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
  /** Of the answer to a ping; null for no ping that waits. */
  #pong: ReturnType<typeof setTimeout> | null = null;
  #renewed: Promise<unknown> | undefined;
  /** Ends the calls of `onWake`, which the connection hears while something needs the connection. */
  #sleep: (() => void) | undefined;

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
    if (!isNeeded) {
      this.#disconnect("idle");
      this.#sleep?.();
      this.#sleep = undefined;
    } else if (this.state.get() === "idle") {
      this.#sleep ??= onWake(() => this.wake());
      void this.#connect();
    }
  }

  /** Opens the socket anew, for another caller. */
  reconnect(): void {
    this.#disconnect("idle");
    this.update();
  }

  /** Does not wait any longer: the network is there again, or somebody looks at the page. */
  wake(): void {
    const state = this.state.get();
    if (state === "open") this.#ping();
    if (state !== "offline") return;
    this.#failures = 0;
    this.#disconnect("offline");
    void this.#connect();
  }

  send(frame: ClientFrame | LiveSubscribe): void {
    if (this.#socket?.readyState === open) this.#socket.send(JSON.stringify(frame));
  }

  #disconnect(state: ConnectionState): void {
    clearTimeout(this.#timer);
    this.#heard();
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
    await this.#renewed;
    // The server of the page, which keeps the session, may be away.
    const bearer = await this.#identity.bearer();
    if (attempt !== this.#attempt) return;
    if (bearer === undefined) return this.#lost();
    this.#bearer = bearer;
    const url = `${this.#baseUrl.replace(/^http/i, "ws")}/api/realtime${searchOf({ token: bearer })}`;
    const socket = new this.#webSocket(url);
    this.#socket = socket;
    // A server that is not the service may leave the handshake without an answer.
    this.#timer = setTimeout(() => this.#lost(), openWithinMs);
    socket.addEventListener("open", () => {
      if (socket !== this.#socket) return;
      clearTimeout(this.#timer);
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
    this.#heard();
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
    this.#renewed = mayBeToken && used !== null ? this.#identity.renew(used).catch(() => undefined) : undefined;
    const delay = Math.min(longestDelayMs, firstDelayMs * 2 ** this.#failures) * (0.5 + Math.random());
    this.#failures += 1;
    this.#timer = setTimeout(() => void this.#connect(), delay);
  }

  /** Asks for a sign of life. The clock of the device may be wrong: timers alone measure the answer. */
  #ping(): void {
    this.send({ action: "ping" });
    this.#pong ??= setTimeout(() => this.#lost(), pongWithinMs);
  }

  #heard(): void {
    clearTimeout(this.#pong ?? undefined);
    this.#pong = null;
  }
}
