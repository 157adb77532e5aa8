/** Calls of endpoints by their paths: `socle.endpoints.orders(id).pay.post({ amount: 5 })`. */

import { searchOf } from "./search.ts";
import type { Source } from "./source.ts";
import { type CallOptions, read } from "./transport.ts";

/** The types of a call: as `Endpoints` of a project has the types by method and path. */
interface EndpointTypes {
  params: unknown;
  query: unknown;
  body: unknown;
  answer: unknown;
}

export interface EndpointOptions<Query = { [name: string]: unknown }> extends CallOptions {
  query?: Query;
  headers?: Readonly<Record<string, string>>;
}

type Method = "get" | "post" | "put" | "patch" | "delete";
const methods = /^(get|post|put|patch|delete)$/;
const methodsWithoutBody = /^(get|delete)$/;

/** The options must be given if the schema of the endpoint demands parameters in the address. */
type OptionsFor<Query> = unknown extends Query
  ? [options?: EndpointOptions]
  : Record<never, never> extends Query
    ? [options?: EndpointOptions<Query>]
    : [options: EndpointOptions<Query> & { query: Query }];

type Call<Types extends EndpointTypes, Name> = Name extends "get" | "delete"
  ? (...options: OptionsFor<Types["query"]>) => Promise<Types["answer"]>
  : unknown extends Types["body"]
    ? (body?: unknown, ...options: OptionsFor<Types["query"]>) => Promise<Types["answer"]>
    : (body: Types["body"], ...options: OptionsFor<Types["query"]>) => Promise<Types["answer"]>;

type PathsIn<Routes> = Routes extends `${string} ${infer Path}` ? Path : never;
type Below<Paths, Prefix extends string> = Paths extends `${Prefix}/${infer Rest}` ? Rest : never;
type Head<Rest> = Rest extends `${infer First}/${string}` ? First : Rest;
type HeadsBelow<Routes, Prefix extends string> = Exclude<Head<Below<PathsIn<keyof Routes>, Prefix>>, "">;
type Parameter = `[${string}]`;
/** The route of a method at a path: `GET /` is the index. */
type RouteAt<Name extends string, Prefix extends string> = `${Uppercase<Name>} ${Prefix extends "" ? "/" : Prefix}`;

/** The endpoints below a path. A part of a path with the name of a method is written with a slash: `endpoints["/get"]`. */
export type EndpointTree<Routes, Prefix extends string = ""> = {
  [Name in Method as RouteAt<Name, Prefix> extends keyof Routes ? Name : never]: Routes[RouteAt<Name, Prefix> &
    keyof Routes] extends infer Types extends EndpointTypes
    ? Call<Types, Name>
    : never;
} & {
  [Part in Exclude<HeadsBelow<Routes, Prefix>, Parameter> as Part extends Method ? `/${Part}` : Part]: EndpointTree<
    Routes,
    `${Prefix}/${Part}`
  >;
} & ParameterCall<Routes, Prefix, Extract<HeadsBelow<Routes, Prefix>, Parameter>>;

type ParameterCall<Routes, Prefix extends string, Parts extends string> = [Parts] extends [never]
  ? unknown
  : Parts extends `[...${string}]`
    ? (...parts: readonly (string | number)[]) => EndpointTree<Routes, `${Prefix}/${Parts}`>
    : (part: string | number) => EndpointTree<Routes, `${Prefix}/${Parts}`>;

/** The endpoints of a client without types: any path, any method. */
export type AnyEndpoint = {
  readonly [Name in Method]: Name extends "get" | "delete"
    ? (options?: EndpointOptions) => Promise<unknown>
    : (body?: unknown, options?: EndpointOptions) => Promise<unknown>;
} & {
  (...parts: readonly (string | number)[]): AnyEndpoint;
  readonly [part: string]: AnyEndpoint;
};

/** @param path of the endpoints so far, without a slash at the end. */
export function endpointsAt(source: Source, path: string): object {
  const add = (parts: readonly unknown[]): object =>
    endpointsAt(source, `${path}/${parts.map((part) => encodeURIComponent(String(part))).join("/")}`);
  return new Proxy(add, {
    get: (_target, name) => {
      // A promise that is resolved with endpoints asks for `then`.
      if (typeof name === "symbol" || name === "then") return undefined;
      if (!methods.test(name)) return endpointsAt(source, `${path}/${name.replace(/^\//, "")}`);
      return (...given: readonly unknown[]) => send(source, { method: name, path, given });
    },
    apply: (_target, _this, parts) => add(parts),
  });
}

async function send(
  { transport }: Source,
  { method, path, given }: { method: string; path: string; given: readonly unknown[] },
): Promise<unknown> {
  const [body, options] = methodsWithoutBody.test(method) ? [undefined, given[0]] : given;
  const { query = {}, headers = {}, signal } = (options ?? {}) as EndpointOptions;
  const content = body === undefined || body instanceof FormData ? body : JSON.stringify(body);
  const response = await transport.fetch(method.toUpperCase(), `${path}${searchOf(query)}`, {
    body: content,
    signal,
    headers,
  });
  if (response.status === 204) return undefined;
  const type = response.headers.get("content-type") ?? "";
  if (/\bjson\b/.test(type)) return read(response, signal);
  return type.startsWith("text/") ? response.text() : response.blob();
}
