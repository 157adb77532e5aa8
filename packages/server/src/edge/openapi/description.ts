/** Descriptions of routes, as the document reads them: parameters, body, answers and errors of a method of a path. */
import type { Operation } from "@socle/protocol";
import type { JsonSchema } from "@socle/protocol/wire";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The callers that a method is for. The rules of a collection decide about `rules`. */
type Access = "anybody" | "user" | "admin" | "rules";

export interface Parameter {
  readonly schema: JsonSchema;
  readonly description: string;
  readonly isRequired?: boolean;
}

export interface AnswerDescription {
  readonly description: string;
  /** The schema by the type of the content; empty for an answer without a body. */
  readonly content: { readonly [type: string]: JsonSchema };
  /** Headers beside those that every answer has. */
  readonly headers?: readonly string[];
}

export interface BodyDescription {
  readonly content: { readonly [type: string]: JsonSchema };
  readonly isOptional?: true;
}

export interface RouteDescription {
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** For a route of records: the operation whose rule decides. */
  readonly operation?: Operation | "history";
  readonly query?: { readonly [name: string]: Parameter };
  readonly headers?: { readonly [name: string]: Parameter };
  readonly body?: BodyDescription | undefined;
  /** By status; `default` stands for all other statuses. */
  readonly answers: { readonly [status: string]: AnswerDescription };
  /** Statuses of errors beside those that follow from access, path, parameters and body. */
  readonly errors?: readonly number[];
}

/** A route of the table of routes. */
export interface DescribedRoute extends RouteDescription {
  /** As in the table. */
  readonly path: string;
  readonly method: Method;
  /** The title of the part of the API. */
  readonly tag: string;
}
