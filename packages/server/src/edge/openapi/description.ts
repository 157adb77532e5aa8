/**
 * Descriptions of routes: the part of the document that stands beside the handlers. A description names the parameters, the body,
 * the answers and the errors of a method of a route.
 */
import type { Operation } from "@socle/protocol";
import { type Schema, string } from "./schema.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The callers that a method is for. The rules of a collection decide about `rules`. */
type Access = "anybody" | "user" | "admin" | "rules";

export interface Parameter {
  readonly schema: Schema;
  readonly description: string;
}

export interface DescribedAnswer {
  readonly description: string;
  /** The schema by the type of the content; empty for an answer without a body. */
  readonly content: { readonly [type: string]: Schema };
  /** Headers beside those that every answer has. */
  readonly headers?: readonly string[];
}

export interface DescribedBody {
  readonly content: { readonly [type: string]: Schema };
  readonly isOptional?: true;
}

export interface RouteDescription {
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** For a route of records: the operation whose rule decides. */
  readonly operation?: Operation;
  readonly query?: { readonly [name: string]: Parameter };
  readonly headers?: { readonly [name: string]: Parameter };
  readonly body?: DescribedBody;
  /** By status; `default` stands for all other statuses. */
  readonly answers: { readonly [status: string]: DescribedAnswer };
  /** Statuses of errors beside those that follow from access, path, parameters and body. */
  readonly errors?: readonly number[];
}

/** The descriptions of a group of routes, by path and method. The paths are as in the table of the routes. */
export interface DescribedRoutes {
  /** The title of the group. */
  readonly tag: string;
  readonly routes: { readonly [path: string]: { readonly [method in Method]?: RouteDescription } };
}

const jsonType = "application/json";

export function jsonBody(schema: Schema): DescribedBody {
  return { content: { [jsonType]: schema } };
}

export function optionalBody(schema: Schema): DescribedBody {
  return { content: { [jsonType]: schema }, isOptional: true };
}

export function json(schema: Schema, description = "Done.", headers: readonly string[] = []): DescribedAnswer {
  return { description, content: { [jsonType]: schema }, ...(headers.length > 0 && { headers }) };
}

/** An answer without a body. */
export function noContent(description = "Done."): DescribedAnswer {
  return { description, content: {} };
}

export function textOf(type: string, description: string): DescribedAnswer {
  return { description, content: { [type]: string } };
}

/** An answer of bytes of any type. */
export function bytes(description: string, headers: readonly string[] = []): DescribedAnswer {
  return { description, content: { "*/*": {} }, headers };
}

export function parameter(description: string, schema: Schema = string): Parameter {
  return { schema, description };
}
