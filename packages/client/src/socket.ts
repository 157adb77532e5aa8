/** WebSockets: the interface that the client needs, and the WebSocket of the runtime. */

/** The part of the standard's `WebSocket` that is used here. */
export interface WebSocketLike {
  /** 1 while the socket is open. */
  readonly readyState: number;
  addEventListener(type: "open" | "error", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { readonly code: number }) => void): void;
  send(text: string): void;
  close(): void;
}

/** The standard's `WebSocket`, or that of the package `ws`. */
export type WebSocketConstructor = new (url: string) => WebSocketLike;

/**
 * The implementation that was passed, or the WebSocket of the runtime.
 * @throws Error in a runtime without a WebSocket, for example Node before 22.
 */
export function socketConstructor(given: WebSocketConstructor | undefined): WebSocketConstructor {
  const found: WebSocketConstructor | undefined = given ?? globalThis.WebSocket;
  if (found !== undefined) return found;
  throw new Error("This runtime has no WebSocket: createClient({ webSocket: WebSocket })");
}
