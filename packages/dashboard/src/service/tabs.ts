/**
 * The session among the tabs of a browser. Tokens stay in each tab's session storage (spec, "Authentication" 10); a new tab
 * asks the other tabs for the session, and a tab that renews its tokens tells the other tabs, because a refresh token works once.
 */
import type { SessionStore } from "@socle/client";

/** The text is the session of the client. */
type Message = { type: "ask" } | { type: "session"; text: string | null };

/** How long a new tab waits for an answer: as long as a person does not notice. */
const answerWithinMs = 150;
const storageKey = "socle.tokens";

const channel = new BroadcastChannel("socle.session");
let changed: () => void = () => undefined;

// Unit tests of parts that only import the client have no page.
const load = (): string | null => globalThis.sessionStorage?.getItem(storageKey) ?? null;

function keep(text: string | null): void {
  if (text === null) sessionStorage.removeItem(storageKey);
  else sessionStorage.setItem(storageKey, text);
}

const tell = (text: string | null): void => channel.postMessage({ type: "session", text } satisfies Message);

channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
  if (data.type === "session") {
    keep(data.text);
    changed();
  } else if (load() !== null) tell(load());
});

/** The store of the client: each change is told to the other tabs. */
export const tabSession: SessionStore = {
  load,
  save(text) {
    keep(text);
    tell(text);
  },
  watch(listener) {
    changed = listener;
  },
};

/** Resolves once another tab has given its session, or when no tab answers in time. */
export function askOtherTabs(): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      channel.removeEventListener("message", hear);
      resolve();
    };
    const hear = ({ data }: MessageEvent<Message>): void => {
      if (data.type === "session") end();
    };
    const timer = setTimeout(end, answerWithinMs);
    channel.addEventListener("message", hear);
    channel.postMessage({ type: "ask" } satisfies Message);
  });
}
