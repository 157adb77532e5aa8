/**
 * The environment of React Native (Hermes, without polyfills) in this process: removes the globals and methods that React Native
 * does not have, and puts the forms of React Native in their place. To be imported before the client.
 */

/** Removes members of an object; a member that React Native has, and that does nothing there, throws. */
function limit(target: object, { absent = [], refused = [] }: { absent?: string[]; refused?: string[] }): void {
  for (const name of absent) {
    // Some members of Bun cannot be removed, only replaced.
    if (!Reflect.deleteProperty(target, name) && !Reflect.set(target, name, undefined))
      throw new Error(`${name} stays`);
  }
  for (const name of refused)
    Object.defineProperty(target, name, {
      configurable: true,
      get: () => {
        throw new Error(`${name} is not implemented`);
      },
    });
}

limit(globalThis, {
  absent: [
    ...["SharedWorker", "Worker", "BroadcastChannel", "MessageChannel", "structuredClone", "crypto", "DOMException"],
    ...["ReadableStream", "TextDecoderStream", "CompressionStream", "EventSource", "location", "document", "navigator"],
  ],
});
limit(AbortSignal, { absent: ["any", "timeout"] });
limit(AbortSignal.prototype, { absent: ["reason", "throwIfAborted"] });
limit(Blob.prototype, { absent: ["arrayBuffer", "text", "stream", "bytes"] });
limit(FormData.prototype, { absent: ["set", "get", "has", "delete", "entries", "keys", "values", "forEach"] });
limit(URL.prototype, { refused: ["origin", "host", "hostname", "port", "pathname", "protocol", "search"] });
limit(URLSearchParams.prototype, { refused: ["set", "get", "getAll", "has", "delete", "sort", "size"] });
limit(Array.prototype, { absent: ["toReversed", "toSorted", "toSpliced", "with"] });
limit(Array, { absent: ["fromAsync"] });
limit(Promise, { absent: ["withResolvers", "try"] });
limit(Object, { absent: ["groupBy"] });
limit(Map, { absent: ["groupBy"] });
limit(Map.prototype, { absent: ["getOrInsert", "getOrInsertComputed"] });

/** The options of the third parameter are headers alone. */
const Native = WebSocket;
class ReactWebSocket extends Native {
  constructor(url: string, protocols?: string | string[] | null, { headers = {} }: { headers?: object } = {}) {
    super(url, { protocols: protocols ?? [], headers: { ...headers } });
  }
}
Reflect.set(globalThis, "WebSocket", ReactWebSocket);

/** React Native has the XMLHttpRequest of browsers; here, over `fetch`. */
class ReactRequest extends EventTarget {
  readonly upload = new EventTarget();
  status = 0;
  response: unknown = null;
  responseType = "";
  #request: [method: string, url: string] = ["", ""];
  #headers: Record<string, string> = {};
  #answered = new Headers();

  open(...request: [method: string, url: string]): void {
    this.#request = request;
  }

  setRequestHeader(name: string, value: string): void {
    this.#headers[name] = value;
  }

  getAllResponseHeaders(): string {
    return [...this.#answered].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  }

  async send(body: FormData | string | null): Promise<void> {
    const [method, url] = this.#request;
    const answer = await fetch(url, { method, headers: this.#headers, body });
    this.upload.dispatchEvent(Object.assign(new Event("progress"), { lengthComputable: true, loaded: 1, total: 1 }));
    this.#answered = answer.headers;
    this.status = answer.status;
    this.response = await answer.blob();
    this.dispatchEvent(new Event("load"));
  }
}
Reflect.set(globalThis, "XMLHttpRequest", ReactRequest);
