/** `GET /api/query/:name?args=JSON`: the value of a server query. */
import { MAX_QUERY_ARGUMENTS } from "@socle/protocol";
import * as wire from "@socle/protocol/wire";
import { type Admission, AppError, isObject } from "../../../base/kernel/index.ts";
import type { ServerQueries } from "../../../code/server-queries/index.ts";
import { callFailure } from "../call-failure.ts";
import type { Exchange } from "../exchange.ts";
import { answer, methodsAfter, noContent, ownRoute, parameter, type Routes } from "../route.ts";
import type { KeepOpen } from "../router.ts";

const encoder = new TextEncoder();

interface Parts {
  readonly serverQueries: ServerQueries;
  /** The calls of the user's code that requests wait for. */
  readonly calls: Admission;
  readonly keepOpen: KeepOpen;
}

export function queryRoutes(api: Parts): Routes {
  const find = (exchange: Exchange): unknown => api.serverQueries.find(exchange.param("name"));
  return {
    "/api/query/:name": methodsAfter(find, {
      GET: ownRoute({
        summary: "The value of a server query of the project",
        access: "anybody",
        keys: true,
        query: { args: parameter("The arguments of the query: a JSON object.") },
        answers: {
          200: answer(wire.anything, "The value.", ["ETag"]),
          304: noContent("The value is the value that the client has."),
        },
        errors: [401, 403, 404, 502, 503, 504],
        handle: (exchange) => answerQuery(api, exchange),
      }),
    }),
  };
}

/** Name (404), method (405), token (401), scope and role (401, 403), and arguments (400), before anything of the user's code runs. */
async function answerQuery({ serverQueries, calls, keepOpen }: Parts, exchange: Exchange): Promise<Response> {
  const name = exchange.param("name");
  const caller = await exchange.principal();
  serverQueries.admit(name, caller);
  const args = argsOf(exchange);
  const { signal } = exchange.request;
  const place = await calls.take({ caller: exchange.callerKey(caller), signal });
  try {
    // A right may end during the wait.
    const query = serverQueries.admit(name, await exchange.principal());
    const { cause } = exchange;
    const running = serverQueries.call({ query, args, caller, cause, signal });
    keepOpen(exchange.request, running, query.timeoutMs);
    const { end } = await exchange.untilStop(running);
    if (end.status !== "answered") return callFailure(exchange, "query", end);
    const json = encoder.encode(end.value);
    const tag = `"${new Bun.CryptoHasher("sha256").update(json).digest("base64url")}"`;
    return exchange.tagged(caller, { json, tag }, { Vary: "Authorization" });
  } finally {
    place.release();
  }
}

/** @throws AppError `bad_request`. */
function argsOf(exchange: Exchange): { readonly [name: string]: unknown } {
  const text = exchange.query("args") ?? "";
  if (text === "") return {};
  if (text.length > MAX_QUERY_ARGUMENTS)
    throw new AppError("bad_request", `"args" must have ${MAX_QUERY_ARGUMENTS} characters of JSON at most.`);
  const args = parsed(text);
  if (isObject(args)) return args;
  throw new AppError("bad_request", '"args" must be a JSON object, such as ?args={"status":"open"} in encoded form.');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
