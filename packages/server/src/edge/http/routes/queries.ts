/** `GET /api/query/:name?args=JSON`: the value of a server query. */
import { MAX_QUERY_ARGUMENTS } from "@socle/protocol";
import { type Admission, AppError, isObject } from "../../../base/kernel/index.ts";
import type { ServerQueries } from "../../../code/server-queries/index.ts";
import { callFailure } from "../call-failure.ts";
import type { Exchange } from "../exchange.ts";
import type { KeepOpen, Methods, Routes } from "../router.ts";

const encoder = new TextEncoder();

export function queryRoutes(options: { serverQueries: ServerQueries; calls: Admission; keepOpen: KeepOpen }): Routes {
  const { serverQueries, calls, keepOpen } = options;

  /** Name (404), method (405), token (401), scope and role (401, 403), and arguments (400), before anything of the user's code runs. */
  async function answer(exchange: Exchange, name: string): Promise<Response> {
    const caller = await exchange.principal();
    serverQueries.admit(name, caller);
    const args = argsOf(exchange);
    const { signal } = exchange.request;
    const place = await calls.take({ caller: exchange.callerKey(caller), signal });
    try {
      // A right may end during the wait.
      const query = serverQueries.admit(name, await exchange.principal());
      const { requestId } = exchange;
      const running = serverQueries.call({ query, args, caller, requestId, signal });
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

  return {
    "/api/query/:name": (exchange): Methods => {
      const name = exchange.param("name");
      serverQueries.find(name);
      return { GET: () => answer(exchange, name) };
    },
  };
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
