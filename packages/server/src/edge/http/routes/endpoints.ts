/** Requests to the endpoints of the user's code, at `/api/function/…` or another prefix. */
import type { Config } from "../../../base/config/index.ts";
import { type Admission, AppError, type Bearer } from "../../../base/kernel/index.ts";
import {
  admitAccess,
  ENDPOINT_METHODS,
  type EndpointMethod,
  type Endpoints,
  type FoundEndpoint,
} from "../../../code/endpoints/index.ts";
import type { BodyPieces, ScriptExchange, ScriptResponse } from "../../../code/script-host/index.ts";
import { admitCall } from "../../../data/permissions/index.ts";
import type { Auth } from "../../../people/auth/index.ts";
import { brokenOff, declaredLength, tooLarge } from "../bodies.ts";
import { callFailure } from "../call-failure.ts";
import type { Exchange } from "../exchange.ts";
import { decodePart, nothingHere, pathIn } from "../headers.ts";
import { type Idempotency, type Keep, keyOf } from "../idempotency.ts";
import type { Methods, Routes } from "../route.ts";
import { type KeepOpen, withBody } from "../router.ts";

/** First parts of paths that are the service's, also behind the prefix `/`. */
const reserved: readonly string[] = ["api", "_"];
/** A body up to this size is read before the handler is called. */
const wholeBytes = 64 * 1024;

/** Headers of the connection to the client (RFC 9110, 7.6.1), and the headers that instances of a cluster send each other. */
const ofConnection: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "socle-client",
  "socle-instance-secret",
]);

/**
 * Headers that may differ when a client sends a request again: of the connection, of proxies, of traces, and `Authorization`, which
 * the service has turned into the user. Every other header may tell callers apart, for example an API key or a tenant.
 */
const ofAttempt: ReadonlySet<string> = new Set([
  ...ofConnection,
  ..."authorization content-length date forwarded idempotency-key priority socle-position user-agent via".split(" "),
  ..."x-forwarded-for x-forwarded-port x-real-ip true-client-ip cf-connecting-ip fly-client-ip".split(" "),
  ..."x-request-id x-request-start x-correlation-id cf-ray fly-request-id x-azure-ref x-vercel-id".split(" "),
  ..."traceparent tracestate baggage b3 x-b3-traceid x-b3-spanid x-b3-parentspanid sentry-trace".split(" "),
  ..."x-amzn-trace-id x-cloud-trace-context x-datadog-trace-id x-datadog-parent-id".split(" "),
]);

/** A call for a request with an `Idempotency-Key`, with the whole body of the request. */
interface KeyedCall {
  readonly body: Uint8Array;
  readonly keep: Keep;
}

/** The handlers of a path; null for a path without an endpoint. */
type FindEndpoint = (exchange: Exchange) => Methods | null;

/** The routes of endpoints. Endpoints outside `/api` are no routes: `besideFiles` finds these after the files of `public`. */
export function endpointRoutes(options: {
  endpoints: Endpoints;
  auth: Auth;
  config: Config;
  /** The calls of the user's code that requests wait for. */
  calls: Admission;
  idempotency: Idempotency;
  keepOpen: KeepOpen;
}): {
  routes: Routes;
  besideFiles: FindEndpoint | null;
} {
  const { endpoints, auth, config, calls, idempotency, keepOpen } = options;
  const prefix = config["endpoints.prefix"];

  /** Path (404), method (405), token (401) and role (401, 403), before anything of the user's code runs. */
  async function admit(
    exchange: Exchange,
    { endpoint }: FoundEndpoint,
    method: EndpointMethod,
  ): Promise<Bearer | null> {
    const caller = await exchange.principal();
    const access = endpoint.methodAccess[method] ?? endpoint.access;
    if (caller !== null && "scopes" in caller) admitCall(caller, partsBehind(prefix, exchange) ?? []);
    admitAccess(access, caller);
    return caller;
  }

  /** Answers undefined if the answer is kept. */
  async function call(
    exchange: Exchange,
    found: FoundEndpoint,
    { method, keyed }: { method: EndpointMethod; keyed: KeyedCall | null },
  ): Promise<Response | undefined> {
    const first = await admit(exchange, found, method);
    const place = await calls.take({ caller: exchange.callerKey(first), signal: exchange.request.signal });
    let isGoing = false;
    try {
      const { body, pieces } =
        keyed === null
          ? await bodyOf(exchange, config["limits.endpointBody"])
          : { body: keyed.body.byteLength === 0 ? null : keyed.body, pieces: null };
      // A right may end while the body comes.
      const second = await admit(exchange, found, method);
      const user = second && auth.callers.userOf(second);
      const headers = [...exchange.request.headers].filter(([name]) => !ofConnection.has(name));
      const request = { method, url: urlOf(exchange, config), headers, body };
      const { cause, address } = exchange;
      // A client that has left sends a request with a key again: the answer is for that request.
      const caller = keyed === null ? exchange.request.signal : new AbortController().signal;
      const running = endpoints.call({ found, method, user, address, cause, request, pieces, caller });
      // The handler and the stream of the response have a time limit of their own.
      keepOpen(
        exchange.request,
        running.then(({ over }) => over),
        found.endpoint.timeoutMs,
      );
      const answer = await exchange.untilStop(running);
      const first = answer.response === null ? null : await begun(answer.response);
      if (first === null) return callFailure(exchange, "endpoint", await answer.over);
      isGoing = true;
      void answer.over.then(() => place.release());
      return keyed === null
        ? exchange.forward(first.status, first.body, first.headers)
        : await idempotency.keepResponse(exchange, first, keyed.keep);
    } finally {
      if (!isGoing) place.release();
    }
  }

  /** Calls the handler, a single time for all requests with the same `Idempotency-Key`. */
  async function callOnce(
    exchange: Exchange,
    found: FoundEndpoint,
    method: EndpointMethod,
  ): Promise<Response | undefined> {
    const key = method === "POST" ? keyOf(exchange) : null;
    if (key === null) return call(exchange, found, { method, keyed: null });
    await admit(exchange, found, method);
    const body = await exchange.body(config["limits.endpointBody"]);
    // A right may end while the body comes.
    await admit(exchange, found, method);
    const headers = headersOfCaller(exchange.request.headers);
    return idempotency.answer(exchange, { key, body, headers }, (keep) =>
      call(exchange, found, { method, keyed: { body, keep } }),
    );
  }

  function methodsOf(exchange: Exchange): Methods | null {
    const parts = partsBehind(prefix, exchange);
    const found = parts === null ? null : endpoints.find(parts);
    if (found === null) return null;
    if (found === "broken") return Object.fromEntries(ENDPOINT_METHODS.map((method) => [method, notLoaded]));
    return Object.fromEntries(
      found.endpoint.methods.map((method) => [method, () => callOnce(exchange, found, method)]),
    );
  }

  if (!prefix.startsWith("/api/")) return { routes: {}, besideFiles: methodsOf };
  const route = (exchange: Exchange): Methods => {
    const methods = methodsOf(exchange);
    if (methods === null) throw nothingHere();
    return methods;
  };
  return { routes: { [prefix]: route, [`${prefix}/*`]: route }, besideFiles: null };
}

/** The answer for a file without a version that loads. The log had the reason at the load. */
function notLoaded(exchange: Exchange): Response {
  return exchange.error(new AppError("internal_error", "The endpoint does not load; the log of the service says why."));
}

/** The headers that a repeated request must have, too: the code of an endpoint may tell callers apart by any of these headers. */
function headersOfCaller(headers: Headers): string {
  return `${JSON.stringify([...headers].filter(([name]) => !ofAttempt.has(name)))}\n`;
}

/** The decoded parts of the path behind a prefix; null for another path, and with a part that no endpoint can have. */
function partsBehind(prefix: string, exchange: Exchange): string[] | null {
  const path = pathIn(exchange.request.url).replace(/\/$/, "");
  const start = prefix === "/" ? "" : prefix;
  if (path === start) return [];
  if (!path.startsWith(`${start}/`)) return null;
  const sent = path.slice(start.length + 1).split("/");
  const parts = sent.map((part) => decodePart(part) ?? "");
  if (parts.some((part) => part === "" || /[/\0]/.test(part))) return null;
  return prefix === "/" && reserved.includes(parts[0] ?? "") ? null : parts;
}

/**
 * The URL for the handler: `publicUrl`, the first domain of the certificate, or the address at which the service listens, with the path
 * of the request. The header `Host` is the client's to choose, and must not get into links of the user's code.
 */
function urlOf({ request, search, listenUrl }: Exchange, config: Config): string {
  const [domain] = config["tls.acme.domains"] ?? [];
  const certified = domain === undefined ? undefined : `https://${domain}:${config.port}`;
  return `${config.publicUrl ?? certified ?? listenUrl}${pathIn(request.url)}${search === "" ? "" : `?${search}`}`;
}

/** A small body whole; a large body, or a body without a declared length, in pieces. */
async function bodyOf(
  exchange: Exchange,
  limit: number,
): Promise<{ body: ScriptExchange["request"]["body"]; pieces: ScriptExchange["pieces"] }> {
  const { request } = exchange;
  const none = { body: null, pieces: null };
  if (!withBody.includes(request.method)) return none;
  const length = declaredLength(request.headers);
  if (length === 0 || request.body === null) return none;
  if (length !== null && (length <= wholeBytes || length > limit))
    return { body: await exchange.body(limit), pieces: null };
  return { body: "pieces", pieces: piecesOfBody(request.body, limit) };
}

/**
 * A response with a body that has begun: the runtime sends the head with the first bytes, and until then an error can still be
 * answered. Null for a body that broke off before.
 */
async function begun(response: ScriptResponse): Promise<ScriptResponse | null> {
  const { body } = response;
  if (body === null || body instanceof Uint8Array) return response;
  const first = await body.next().catch(() => null);
  if (first === null) return null;
  if (first.done === true) return { ...response, body: null };
  let isFirst = true;
  const next: BodyPieces["next"] = () => {
    if (!isFirst) return body.next();
    isFirst = false;
    return Promise.resolve(first);
  };
  return { ...response, body: { next, return: () => body.return() } };
}

/**
 * The body of a request in pieces, each read on demand, up to a limit.
 * @param limit bytes of the whole body.
 * The `next` throws AppError `payload_too_large`, or `bad_request` for a body that breaks off.
 */
function piecesOfBody(body: ReadableStream<Uint8Array>, limit: number): BodyPieces {
  const reader = body.getReader();
  let bytes = 0;
  return {
    async next() {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw brokenOff(cause);
      });
      if (done || value === undefined) return { done: true, value: undefined };
      bytes += value.byteLength;
      if (bytes > limit) {
        void reader.cancel().catch(() => undefined);
        throw tooLarge(limit);
      }
      return { done: false, value };
    },
    async return() {
      await reader.cancel().catch(() => undefined);
    },
  };
}
