/**
 * The globals of a script process, for the user's code: the environment, `fetch`, `Response`, `Refusal`, `filter`, `endpoint`, `query` and `onCreate`; and guards of the
 * functions of the runtime that would end the process.
 */
import { filter } from "@socle/protocol/query";
import type { PlainAppError } from "../../../base/kernel/index.ts";
import { missingVariables, readEnvironmentFile, variablesOf } from "../environment.ts";
import { cut } from "./errors.ts";
import { mockableFetch, requestFor } from "./mocked-fetch.ts";
import { scopes } from "./output.ts";
import { isRecorded, recordFetch } from "./recorded-fetch.ts";
import { endpoint } from "./typed-endpoint.ts";
import { query } from "./typed-query.ts";

/** Adds the variables of the project's `.env` file. The service's environment wins. Variables that configure the service are removed. */
export function loadEnvironment(root: string): void {
  for (const [name, value] of Object.entries(readEnvironmentFile(root, ".env"))) process.env[name] ??= value;
  // The runtime reads `.env` at the start of a process, if the runtime runs the source.
  for (const name of Object.keys(process.env)) if (name.startsWith("SERVICE_")) delete process.env[name];
}

/** The `env` of handlers: the present values of the declared variables. A missing required variable throws when read. */
export function declaredEnvironment(declared: readonly string[]): object {
  const env = {};
  const missing = missingVariables(declared, process.env);
  for (const { name } of variablesOf(declared)) {
    const refuse = (): never => {
      throw new Error(`${name} is not set: put it into the environment of the service, or into .env`);
    };
    const property = missing.includes(name) ? { get: refuse } : { value: process.env[name], enumerable: true };
    Object.defineProperty(env, name, property);
  }
  return Object.freeze(env);
}

/**
 * Replaces globals for the user's code. To be called before the code is loaded.
 * @param registering `onCreate` and the other functions that register handlers, by name; also the module `socle/functions`.
 */
export function defineGlobals(registering: { readonly [name: string]: unknown }): void {
  guardProcess();
  Bun.plugin({
    name: "socle/functions",
    setup(build) {
      build.module("socle/functions", () => ({ exports: registering, loader: "object" }));
    },
  });
  globalThis.fetch = Object.assign(boundFetch, { preconnect: runtimeFetch.preconnect });
  globalThis.Response = typedResponse;
  for (const [name, value] of Object.entries({ Refusal, filter, endpoint, query, ...registering }))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

/**
 * Replaces functions of the runtime that would end the process, which all functions share, or the parent. A guard against
 * accidents, not against malice: the author of a function owns the service.
 */
function guardProcess(): void {
  const refuse = (name: string, instead: string) => (): never => {
    throw new Error(
      `${name} is not available in functions, jobs, endpoints and queries: the call would end the handlers that run beside this handler. ${instead}`,
    );
  };
  const leave = "To end this handler, return or throw.";
  const guarded = {
    exit: refuse("process.exit()", leave),
    reallyExit: refuse("process.reallyExit()", leave),
    abort: refuse("process.abort()", leave),
    kill: refuse("process.kill()", "A process that you started has a kill() of its own."),
    disconnect: () => undefined,
    send: undefined,
  };
  for (const [name, value] of Object.entries(guarded))
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
  // A signal to the parent by number reaches this process instead.
  Object.defineProperty(process, "ppid", { value: process.pid, configurable: true });
}

/** Encodings of bodies that `fetch` undoes. */
const undone = /^(?:gzip|x-gzip|deflate|br|zstd)$/i;
/** Responses with a body in sent form. */
const encoded = new WeakSet<Response>();

/** Whether `fetch` made the response and has undone this encoding of the body. */
export function isDecoded(response: Response, encoding: string): boolean {
  return response.url !== "" && undone.test(encoding) && !encoded.has(response);
}

const { fetch: runtimeFetch } = globalThis;

/**
 * `fetch` of the user's code: the end of the attempt's time aborts a request, errors name the line of the call, and a request over HTTP carries the
 * `traceparent` of the attempt.
 */
function boundFetch(input: string | URL | Request, init?: BunFetchRequestInit): Promise<Response> {
  const scope = scopes.getStore();
  if (isRecorded(input)) return recordFetch(() => requestFor(input, init), scope?.calls ?? null);
  if (scope === undefined) return mockableFetch(input, init);
  const own = init?.signal ?? (input instanceof Request ? input.signal : null);
  const signal = own === null ? scope.signal : AbortSignal.any([own, scope.signal]);
  const call = new Error();
  return tracedFetch(input, { ...init, signal }, scope.traceparent).then(
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
}

/** `fetch` with a `traceparent`, unless the request has one. */
async function tracedFetch(
  input: string | URL | Request,
  init: BunFetchRequestInit,
  traceparent: string,
): Promise<Response> {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : {}));
  if (headers.has("traceparent")) return mockableFetch(input, init);
  headers.set("traceparent", traceparent);
  return mockableFetch(input, { ...init, headers });
}

/** The stack of an error that the network has caused: the frames of the call, which the runtime leaves out, and the frames that await the call. */
function stackOf({ name, message, stack }: Error, call: Error): string {
  return [`${name}: ${message}`, ...framesOf(call.stack), ...framesOf(stack)].join("\n");
}

function framesOf(stack = ""): string[] {
  return stack.split("\n").filter((line) => /^\s+at /.test(line));
}

/**
 * `new Response("text")` has the type at once (Fetch standard). The runtime adds the type only to a response that the
 * runtime sends.
 */
const typedResponse = new Proxy(Response, {
  construct(target, args, newTarget) {
    const response: Response = Reflect.construct(target, args, newTarget);
    if (typeof args[0] === "string" && !response.headers.has("content-type"))
      response.headers.set("content-type", "text/plain;charset=utf-8");
    return response;
  },
});

const statuses = [400, 403] as const;
/** Characters of a message, and of the name of a field. */
const maxMessage = 2_000;
const maxField = 100;

/** A global of the user's code: thrown in a handler that a request waits for, a refusal is the answer to the client. */
class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: (typeof statuses)[number];
  readonly field: string | null;

  constructor(message: unknown, options: { field?: unknown; status?: unknown } = {}) {
    if (typeof message !== "string" || message === "") throw new TypeError("A Refusal needs a message");
    super(message);
    const { field = null, status = 400 } = options ?? {};
    const known = statuses.find((each) => each === status);
    if (known === undefined) throw new TypeError(`The status of a Refusal is 400 or 403, not ${String(status)}`);
    if (field !== null && typeof field !== "string") throw new TypeError("The field of a Refusal is a name");
    this.status = known;
    this.field = field;
  }
}

/** The thrown refusal as an error for the caller; null for any other value. Never throws. */
export function refusalOf(thrown: unknown): PlainAppError | null {
  try {
    if (!(thrown instanceof Refusal)) return null;
    const { status, field } = thrown;
    const message = cut(String(thrown.message), maxMessage);
    const code = status === 403 ? "forbidden" : field === null ? "bad_request" : "validation_error";
    if (field === null) return { code, message };
    return { code, message, details: [{ field: cut(field, maxField), rule: "refused", message }] };
  } catch {
    return null;
  }
}
