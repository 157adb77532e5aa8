/** `fetch` of the user's code: a request ends with its attempt, and its errors name the line of the call. */
import { scopes } from "./output.ts";

/** Encodings of bodies that `fetch` undoes. */
const undone = /^(?:gzip|x-gzip|deflate|br|zstd)$/i;
/** Responses whose body is in its sent form. */
const encoded = new WeakSet<Response>();

/** Whether `fetch` made the response and has undone this encoding of its body. */
export function isDecoded(response: Response, encoding: string): boolean {
  return response.url !== "" && undone.test(encoding) && !encoded.has(response);
}

/** Has `fetch` end when the time of the attempt is up, beside any signal of the caller. */
export function boundFetch(): void {
  const { fetch } = globalThis;
  const bound = (input: string | URL | Request, init?: BunFetchRequestInit): Promise<Response> => {
    const scope = scopes.getStore();
    if (scope === undefined) return fetch(input, init);
    const own = init?.signal ?? (input instanceof Request ? input.signal : null);
    const signal = own === null ? scope.signal : AbortSignal.any([own, scope.signal]);
    const call = new Error();
    return fetch(input, { ...init, signal }).then(
      (response) => {
        if (init?.decompress === false) encoded.add(response);
        return response;
      },
      (thrown) => {
        // The reason of an abort is the caller's.
        if (thrown instanceof Error && thrown !== signal.reason) thrown.stack = stackOf(thrown, call);
        throw thrown;
      },
    );
  };
  globalThis.fetch = Object.assign(bound, { preconnect: fetch.preconnect });
}

/** The stack of an error that the network has caused: the frames of the call, which the runtime leaves out, and the frames that await the call. */
function stackOf({ name, message, stack }: Error, call: Error): string {
  return [`${name}: ${message}`, ...framesOf(call.stack), ...framesOf(stack)].join("\n");
}

function framesOf(stack = ""): string[] {
  return stack.split("\n").filter((line) => /^\s+at /.test(line));
}
