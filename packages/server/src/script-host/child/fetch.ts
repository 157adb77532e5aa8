/** `fetch` of the user's code: it ends with the attempt that called it. */
import { scopes } from "./output.ts";

/** Has `fetch` end when the time of the attempt is up, beside any signal that it is given. */
export function boundFetch(): void {
  const { fetch } = globalThis;
  const bound = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const scope = scopes.getStore();
    if (scope === undefined) return fetch(input, init);
    const own = init?.signal ?? (input instanceof Request ? input.signal : null);
    const signal = own === null ? scope.signal : AbortSignal.any([own, scope.signal]);
    return fetch(input, { ...init, signal });
  };
  globalThis.fetch = Object.assign(bound, { preconnect: fetch.preconnect });
}
