/** The client of the service that this page came from. Its tokens live as long as the browser's tab (spec, "Authentication" 10). */
import { SocleClient, type Tokens } from "@socle/client";

const storageKey = "socle.tokens";

function storedTokens(): Tokens | null {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey) ?? "null") as Tokens | null;
  } catch {
    return null;
  }
}

const listeners = new Set<(tokens: Tokens | null) => void>();

/** Calls back whenever the tokens change; with null when a session has ended. */
export function onTokens(listener: (tokens: Tokens | null) => void): void {
  listeners.add(listener);
}

const tokens = storedTokens();

export const client = new SocleClient({
  baseUrl: window.location.origin,
  ...(tokens !== null && { tokens }),
  onTokens: (next) => {
    if (next === null) sessionStorage.removeItem(storageKey);
    else sessionStorage.setItem(storageKey, JSON.stringify(next));
    for (const listener of listeners) listener(next);
  },
});
