/** Events of a page: the moments at which a client does not wait any longer, as the network is there again or somebody looks at the page again. */

/** The part of a page that tells events; other runtimes tell nothing. */
interface Teller<Told> {
  addEventListener?(type: string, listener: (event: Told) => void, options: { signal: AbortSignal }): void;
}

interface Page extends Teller<{ readonly type: string }> {
  readonly document?: { readonly visibilityState: string };
}

/** Calls back with each event. Answers the function that ends the calls. */
export function hear<Told>(page: Teller<Told>, types: readonly string[], listener: (event: Told) => void): () => void {
  const end = new AbortController();
  for (const type of types) page.addEventListener?.(type, listener, end);
  return () => end.abort();
}

/** Calls back at each moment at which a client does not wait any longer. Answers the function that ends the calls. */
export function onWake(listener: () => void): () => void {
  const page = globalThis as Page;
  return hear(page, ["online", "visibilitychange"], ({ type }) => {
    if (type === "online" || page.document?.visibilityState === "visible") listener();
  });
}
