/**
 * Routes as values: the callers, the rate, the body, the answers and the handler of a method of a path. The router and the OpenAPI
 * document read the same table of routes. Every request takes the same steps in the same order: see `handlerOf` and `inOrder`.
 */
import type { Shape } from "@socle/protocol/wire";
import { type Bearer, readShape, type SignedIn } from "../../base/kernel/index.ts";
import type {
  AnswerDescription,
  BodyDescription,
  DescribedRoute,
  Method,
  Parameter,
  RouteDescription,
} from "../openapi/index.ts";
import type { Exchange, Handler, HandlerResult } from "./exchange.ts";
import type { RateGroup, RateLimiter } from "./rate-limiter.ts";

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const satisfies Method[];

/** The callers that a route is for. */
interface Access<C> {
  readonly kind: RouteDescription["access"];
  /** The caller, as the handler gets the caller. @throws AppError `unauthorized`, `forbidden`. */
  admit(exchange: Exchange): C | Promise<C>;
}

export const anybody: Access<null> = { kind: "anybody", admit: () => null };
export const admins: Access<SignedIn> = { kind: "admin", admit: (exchange) => exchange.admin() };

/** @param purpose completes the message "To …, sign in." */
export function users(purpose: string): Access<SignedIn> {
  return { kind: "user", admit: (exchange) => exchange.user(purpose) };
}

/** Users and API keys. @param purpose as in `users`. */
export function bearers(purpose: string): Access<Bearer> {
  return { kind: "user", admit: (exchange) => exchange.bearer(purpose) };
}

/** A user, or nobody. An API key is refused. */
export const userOrNobody: Access<SignedIn | null> = { kind: "anybody", admit: (exchange) => exchange.session() };

/** The body of a request. */
interface Body<B> extends BodyDescription {
  read(exchange: Exchange): Promise<B>;
}

const jsonType = "application/json";
type Schema = Pick<Shape<unknown>, "schema">;

/** The description of a JSON body. */
export function jsonBody({ schema }: Schema, options: Pick<BodyDescription, "isOptional"> = {}): BodyDescription {
  return { content: { [jsonType]: schema }, ...options };
}

function required<B>(shape: Shape<B>): Body<B> {
  return { ...jsonBody(shape), read: async (exchange) => readShape(shape, await exchange.object()) };
}

/** A body that may be left out. */
export function optionalBody<B>(shape: Shape<B>): Body<B> {
  const read: Body<B>["read"] = async (exchange) => readShape(shape, (await exchange.optionalObject()) ?? {});
  return { ...jsonBody(shape, { isOptional: true }), read };
}

/** A JSON object whose members are checked by the module that takes the body. */
export function unchecked(shape: Schema): Body<Record<string, unknown>> {
  return { ...jsonBody(shape), read: (exchange) => exchange.object() };
}

/** A body that the handler reads itself. */
export function readByHandler(content: { readonly [type: string]: Schema }): Body<null> {
  const schemas = Object.entries(content).map(([type, { schema }]) => [type, schema]);
  return { content: Object.fromEntries(schemas), read: async () => null };
}

/** An answer of a shape, with a description. */
interface ShapedAnswer<T> extends AnswerDescription {
  readonly shape: Shape<T>;
}

/** An answer of a shape. */
export function answer<T>(shape: Shape<T>, description = "Done.", headers: readonly string[] = []): ShapedAnswer<T> {
  return { description, content: { [jsonType]: shape.schema }, ...(headers.length > 0 && { headers }), shape };
}

/** An answer without a body. */
export function noContent(description = "Done."): AnswerDescription {
  return { description, content: {} };
}

export function textAnswer(type: string, description: string): AnswerDescription {
  return { description, content: { [type]: { type: "string" } } };
}

/** An answer of bytes of any type. */
export function bytes(description: string, headers: readonly string[]): AnswerDescription {
  return { description, content: { "*/*": {} }, headers };
}

/** A parameter of the query, or a header: by default, a text that may be left out. */
export function parameter(
  description: string,
  { schema = { type: "string" }, isRequired = false }: Partial<Schema> & Pick<Parameter, "isRequired"> = {},
): Parameter {
  return { schema, description, isRequired };
}

/** By status. null stands for an answer without a body. */
type Answers = { readonly [status: number]: Shape<unknown> | AnswerDescription | null };

/** The values of the answers: the handler answers a value, which leaves with the status of the first answer of a shape, or a response. */
type ValueOf<A> = A extends null ? unknown : A extends ShapedAnswer<infer T> ? T : A extends Shape<infer T> ? T : never;
type Result<A extends Answers> = Response | ValueOf<A[keyof A]>;

interface Common extends Omit<RouteDescription, "access" | "body" | "answers"> {
  /** Whether API keys may use the route. */
  readonly keys?: true;
  /** The group of `limits.rate` that the requests count for. */
  readonly rate?: RateGroup;
}

interface Steps<C, A extends Answers> extends Common {
  readonly access: Access<C>;
  /** Refuses a request about a thing that is not there, before the body is read. */
  readonly find?: (exchange: Exchange) => unknown;
  readonly answers: A;
}

interface WithoutBody<C, A extends Answers> extends Steps<C, A> {
  readonly body?: undefined;
  handle(exchange: Exchange, caller: C): Result<A> | Promise<Result<A>>;
}

interface WithBody<C, A extends Answers, B> extends Steps<C, A> {
  readonly body: Shape<B> | Body<B>;
  handle(exchange: Exchange, caller: C, body: B): Result<A> | Promise<Result<A>>;
}

/** A method of a path, ready for the router and for the document. */
export interface Route extends Common, RouteDescription {
  /** The steps of a request after the checks of key and rate. */
  readonly run: Handler;
}

function describedAnswer(given: Answers[number]): AnswerDescription {
  if (given === null) return noContent();
  return "schema" in given ? answer(given) : given;
}

/** A route of which the router takes the steps: access, body, answer. */
export function route<C, const A extends Answers, B>(given: WithoutBody<C, A> | WithBody<C, A, B>): Route {
  const { access, find } = given;
  const answers = Object.entries<Answers[number]>(given.answers);
  const [status] = answers.find(([, each]) => each === null || "schema" in each || "shape" in each) ?? [];
  const reply = (exchange: Exchange, result: unknown): HandlerResult => {
    if (result instanceof Response) return result;
    return typeof result === "object" && result !== null ? exchange.json(Number(status), result) : exchange.empty();
  };
  const described = {
    ...given,
    access: access.kind,
    answers: Object.fromEntries(answers.map(([each, shape]) => [each, describedAnswer(shape)])),
  };
  if (given.body === undefined)
    return {
      ...described,
      body: undefined,
      async run(exchange) {
        const caller = await access.admit(exchange);
        find?.(exchange);
        return reply(exchange, await given.handle(exchange, caller));
      },
    };
  const body = "content" in given.body ? given.body : required(given.body);
  return {
    ...described,
    body,
    async run(exchange) {
      await access.admit(exchange);
      find?.(exchange);
      const [caller, read] = await readThenAdmit(exchange, access, body);
      return reply(exchange, await given.handle(exchange, caller, read));
    },
  };
}

/** The body, and the caller after the body has come: a right may end meanwhile, which is told before the error of a body. */
async function readThenAdmit<C, B>(exchange: Exchange, access: Access<C>, body: Body<B>): Promise<[C, B]> {
  const [read] = await Promise.allSettled([body.read(exchange)]);
  const caller = await access.admit(exchange);
  if (read.status === "rejected") throw read.reason;
  return [caller, read.value];
}

/**
 * A route of which the handler takes the steps after the checks of key and rate itself: another check comes before the access, or the body
 * or the answer is no JSON.
 */
export function ownRoute({ handle, ...description }: Common & RouteDescription & { readonly handle: Handler }): Route {
  return { ...description, run: handle };
}

/** The handler of a route: the check of API keys, the rate, and the steps of the route. */
export function handlerOf({ keys, rate, run }: Route, rates: Pick<RateLimiter, "limit">): Handler {
  const limited = rate === undefined ? run : rates.limit(rate, run);
  return keys === true ? limited : (exchange) => closedToKeys(exchange, limited);
}

/** Refuses a request with an API key. @throws AppError `forbidden`; `unauthorized` for a key that is not valid. */
export function closedToKeys(exchange: Exchange, handler: Handler): ReturnType<Handler> {
  return exchange.hasKey ? exchange.session().then(() => handler(exchange)) : handler(exchange);
}

/** The methods of a path, or a function that finds the methods for a request. */
export type Methods = { readonly [method in Method]?: Route | Handler };
export interface FindMethods {
  (exchange: Exchange): Methods;
  /** The methods that the document has. */
  readonly described?: Methods;
}

/**
 * The methods of paths, in the order in which paths are matched. `:name` matches a single part of a path, `*` at the end all
 * further parts.
 */
export interface Routes {
  readonly [path: string]: Methods | FindMethods;
}

/** Methods of a path that is there for a request alone. @param find throws AppError for a path that is not there. */
export function methodsAfter(find: (exchange: Exchange) => unknown, methods: Methods): FindMethods {
  const found = (exchange: Exchange): Methods => {
    find(exchange);
    return methods;
  };
  return Object.assign(found, { described: methods });
}

/** The routes of a part of the API for the document. @param tag the title of the part. */
export function describedRoutes(tag: string, routes: Routes): DescribedRoute[] {
  const found: DescribedRoute[] = [];
  for (const [path, methods] of Object.entries(routes)) {
    const described = typeof methods === "function" ? (methods.described ?? {}) : methods;
    for (const method of METHODS) {
      const each = described[method];
      if (typeof each === "object") found.push({ ...each, path, method, tag });
    }
  }
  return found;
}

/** All routes of the API, by the title of the part in the document. */
export type ApiTable = readonly (readonly [tag: string, routes: Routes])[];

export function merged(table: ApiTable): Routes {
  return Object.assign({}, ...table.map(([, routes]) => routes));
}
