/** Stores of sessions in a browser: the storage of all tabs, or of a tab, and the turns in which tabs renew tokens. */
import type { WebStorage } from "./lease.ts";
import { longestTurnMs, memoryStore, type SessionOption, type SessionStore, type Tokens, textOf } from "./session.ts";
import { hear } from "./wake.ts";

/** The copies of a tab tell each other the text of the session, and the text before. */
type Message = readonly [before: string | null, after: string | null];

/** The parts of a browser that the stores use; the types of server runtimes do not have these parts. */
export interface SessionPage {
  readonly document?: object;
  readonly localStorage: WebStorage;
  readonly sessionStorage: WebStorage;
  readonly BroadcastChannel?: new (
    name: string,
  ) => {
    onmessage: ((event: { readonly data: Message }) => void) | null;
    postMessage(message: Message): void;
  };
  readonly navigator?: {
    readonly locks?: {
      request(name: string, options: { signal: AbortSignal | undefined }, work: () => Promise<void>): Promise<void>;
    };
  };
  addEventListener(
    type: string,
    listener: (event: { readonly key?: string | null }) => void,
    options: { signal: AbortSignal },
  ): void;
  dispatchEvent(event: Event): void;
}
const thisPage = globalThis as unknown as SessionPage;

/** A text is as long as this, or longer: tokens that are renewed then fit into the place of the old tokens, also when the storage is full. */
const length = 1_024;

/** Takes turns with other tabs by a lock of the browser. A page without HTTPS has no locks: then by an entry of the storage. */
function inTurn(page: SessionPage, key: string, work: () => Promise<void>): Promise<void> {
  const { locks } = page.navigator ?? {};
  let begun: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    begun ??= work();
    return begun;
  };
  const signal = AbortSignal.timeout?.(longestTurnMs);
  const turn = locks
    ? locks.request(key, { signal }, begin)
    : import("./lease.ts").then(({ leased }) => leased(page.localStorage, key, { begin, ms: longestTurnMs }));
  return turn.catch(begin);
}

/** The store of all tabs, or of a tab and the copies of the tab. */
export function webStore(place: "local" | "tab", key: string, page = thisPage): SessionStore {
  // A browser that forbids the storage throws at each use.
  const kind = place === "local" ? "localStorage" : "sessionStorage";
  const load = (): string | null => page[kind].getItem(key);
  const put = (text: string | null): void =>
    text === null ? page[kind].removeItem(key) : page[kind].setItem(key, text.padEnd(length));
  const channel = place === "tab" && page.BroadcastChannel ? new page.BroadcastChannel(key) : undefined;
  return {
    load,
    save(text) {
      const before = load();
      try {
        put(text);
      } catch (thrown) {
        // The old tokens are used up: another tab that used the old tokens would end the session.
        put(null);
        throw thrown;
      }
      channel?.postMessage([before, text]);
      // A browser tells other pages alone of a change; this page may have other clients.
      page.dispatchEvent(Object.assign(new Event("storage"), { key }));
    },
    watch(changed) {
      // Also after a sleep of the page, which may have missed a change.
      const stop = hear(page, ["storage", "visibilitychange"], (event) => {
        if ((event.key ?? key) === key) changed();
      });
      // The copy of a tab has the session of the tab.
      if (channel)
        channel.onmessage = ({ data: [before, after] }) => {
          if (before === null || before !== load()) return;
          put(after);
          changed();
        };
      return () => {
        stop();
        if (channel) channel.onmessage = null;
      };
    },
    exclusive: (work) => inTurn(page, key, work),
  };
}

interface Options {
  readonly session?: SessionOption | undefined;
  readonly tokens?: Tokens | undefined;
  readonly onTokens?: ((tokens: Tokens | null) => void) | undefined;
  readonly key?: string | undefined;
}

let isTold = false;

/** The store of a client: in a browser, that of all tabs, unless the caller keeps the tokens or has an API key. */
export function storeOf(baseUrl: string, { session, tokens, onTokens, key }: Options): SessionStore {
  const isKept = tokens !== undefined || onTokens !== undefined;
  const place = session ?? (thisPage.document && !isKept && !key ? "local" : "memory");
  if (typeof place === "object") return place;
  // The key has the address: services of one page do not mix.
  if (place !== "memory") return webStore(place, `socle ${baseUrl}`);
  if (isKept && !isTold) console.warn("tokens and onTokens go with the next version: use session");
  isTold ||= isKept;
  return memoryStore(textOf(tokens ?? null), onTokens);
}
