/** The requests of a client for the parts of the client that are entry points of their own. */
import type { CallOptions, Requests } from "./transport.ts";

/** A client, also of another copy of the module. */
export interface Requesting {
  readonly $source: { readonly transport: Requests };
}

/** The requests of a client; with a signal, requests that the signal aborts. */
export function requestsOf(client: Requesting, { signal }: CallOptions = {}): Requests {
  const { transport } = client.$source;
  if (signal === undefined) return transport;
  const both = <Options extends CallOptions>(options?: Options): Options & CallOptions =>
    ({ ...options, signal: options?.signal ? anyOf([signal, options.signal]) : signal }) as Options;
  return {
    baseUrl: transport.baseUrl,
    call: (method, path, options) => transport.call(method, path, both(options)),
    fetch: (method, path, options) => transport.fetch(method, path, both(options)),
    signIn: (route, proof, options) => transport.signIn(route, proof, both(options)),
    signOut: (method, path, options) => transport.signOut(method, path, both(options)),
  };
}

/** A signal that each of the signals aborts. React Native has no `AbortSignal.any`. */
function anyOf(signals: AbortSignal[]): AbortSignal {
  if (AbortSignal.any !== undefined) return AbortSignal.any(signals);
  const controller = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason);
    signal.addEventListener("abort", () => controller.abort(signal.reason));
  }
  return controller.signal;
}
