/** The client of the service, the state of its socket, and its tokens, which live as long as the tab (spec, "Authentication" 10). */
import { SocleClient, type Tokens } from "@socle/client";
import { useSyncExternalStore } from "react";
import { shareTokens, tell } from "./tabs.ts";

const storageKey = "socle.tokens";

function storedTokens(): Tokens | null {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey) ?? "null") as Tokens | null;
  } catch {
    return null;
  }
}

let listener: (tokens: Tokens | null) => void = () => undefined;

/** Calls back whenever the tokens change, here or in another tab; with null when a session has ended. There is a single listener. */
export function onTokens(next: typeof listener): void {
  listener = next;
}

function changed(tokens: Tokens | null): void {
  if (tokens === null) sessionStorage.removeItem(storageKey);
  else sessionStorage.setItem(storageKey, JSON.stringify(tokens));
  listener(tokens);
}

const tokens = storedTokens();

export const client = new SocleClient({
  // Unit tests of parts that only import the client have no page.
  baseUrl: globalThis.location?.origin ?? "",
  ...(tokens !== null && { tokens }),
  worker: false,
  // Somebody looks at the page and can press the button again, with the values still there.
  retries: 2,
  onTokens: (next) => {
    changed(next);
    tell(next);
  },
});

shareTokens({
  current: storedTokens,
  adopt: (next) => {
    client.adoptTokens(next);
    changed(next);
  },
});

/** Forgets the tokens here and in the other tabs, also when the service cannot be told. */
export function forgetTokens(): void {
  client.adoptTokens(null);
  changed(null);
  tell(null);
}

/** False from a break until the socket is open again; true before the first connection. */
export function useIsLive(): boolean {
  const { connection } = client;
  const state = useSyncExternalStore(
    (changed) => connection.subscribe(changed),
    () => connection.get(),
  );
  return state === "idle" || state === "open";
}
