/** Middlewares of endpoints in a script process: the files `_middleware.ts` of the folders above an endpoint, around the handler. */
import { handlerFault, kindOf } from "./errors.ts";

/** The default export of a `_middleware.ts`. */
export interface Middleware {
  /** The path of the file. */
  readonly path: string;
  readonly run: (request: Request, context: object, next: (request?: unknown) => Promise<Response>) => unknown;
}

/** Exports of endpoints, which a middleware does not set for the endpoints below. */
const exportsOfEndpoints = ["access", "options"];

/** @throws Error for a module that is no middleware. */
export function middlewareOf(path: string, module: { readonly [name: string]: unknown }): Middleware {
  const { default: run } = module;
  if (typeof run !== "function") throw new Error("it has no default function (request, context, next)");
  for (const name of exportsOfEndpoints)
    if (module[name] !== undefined) throw new Error(`it exports ${name}, which only an endpoint may export`);
  return { path, run: (request, context, next) => run(request, context, next) };
}

interface Call {
  readonly request: Request;
  readonly context: object;
  readonly handler: (request: Request, context: object) => unknown;
}

/** The response of a handler behind middlewares, the outermost first. @throws the errors of the code; Error for no Response. */
export async function answerOf(middlewares: readonly Middleware[], call: Call): Promise<Response> {
  const { request, context, handler } = call;
  const [first, ...others] = middlewares;
  if (first === undefined) {
    const answer = await handler(request, context);
    if (answer instanceof Response) return answer;
    throw handlerFault(`The handler returned ${kindOf(answer)}, which is no Response`);
  }
  const { path, run } = first;
  let isCalled = false;
  const answer = await run(request, context, (other = request) => {
    if (isCalled) throw new Error(`${path} called next() twice`);
    isCalled = true;
    if (other instanceof Request) return answerOf(others, { ...call, request: other });
    throw new TypeError(`${path} called next() with ${kindOf(other)}; allowed: a Request`);
  });
  if (answer instanceof Response) return answer;
  throw new Error(`${path} returned ${kindOf(answer)}, which is no Response: it must return next() or a Response`);
}
