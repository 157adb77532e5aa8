/** Operations of the document: the methods of paths, made from the descriptions of routes. */
import type { AnswerDescription, DescribedRoute, Method, Parameter, RouteDescription } from "./description.ts";
import { errorName } from "./errors.ts";
import { string } from "./schema.ts";

/** The operations of paths, by path and method in lower case. */
export type Paths = { [path: string]: { [method: string]: object } };

/** Errors that every request may meet. */
const everywhere: readonly number[] = [429, 500, 503];

export interface Site {
  readonly path: string;
  /** The path that the id of the operation is made of; by default, the path. */
  readonly named?: string;
  readonly method: Method;
  readonly tag: string;
  /** Begins the id of the operation. */
  readonly verb: string;
}

/** `/api/posts/:id` as `/api/posts/{id}`. */
export function templateOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, "{$1}");
}

/** `getAuthMe` for GET and `/api/auth/me`. */
function operationId(verb: string, path: string): string {
  const words = path.replace(/^\/api(?=\/)/, "").split("/");
  const names = words.flatMap((word) => {
    const isParameter = /^[:{]/.test(word);
    const names = word.split(/[^A-Za-z0-9_]+/).map((name) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`);
    const name = names.join("");
    return name === "" ? [] : [`${isParameter ? "By" : ""}${name}`];
  });
  return `${verb}${names.join("") || "Root"}`;
}

function parametersOf(
  place: "query" | "header",
  given: { readonly [name: string]: Parameter } = {},
): readonly object[] {
  return Object.entries(given).map(([name, { schema, description, isRequired }]) => ({
    name,
    in: place,
    description,
    ...(isRequired === true && { required: true }),
    schema,
    // A list is a text with commas.
    ...(schema["type"] === "array" && { style: place === "query" ? "form" : "simple", explode: false }),
  }));
}

function pathParameters(path: string): readonly object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: "path", required: true, schema: string }));
}

function answerOf({ description, content, headers }: AnswerDescription): object {
  const types = Object.entries(content).map(([type, schema]) => [type, { schema }]);
  const named = headers?.map((name) => [name, { schema: string }]) ?? [];
  return {
    description,
    ...(named.length > 0 && { headers: Object.fromEntries(named) }),
    ...(types.length > 0 && { content: Object.fromEntries(types) }),
  };
}

function errorsOf({ access, query, body, errors = [] }: RouteDescription, hasParameters: boolean): number[] {
  const all = [
    ...errors,
    ...(access === "anybody" ? [] : [401, 403]),
    ...(hasParameters ? [404] : []),
    ...(query === undefined ? [] : [400]),
    ...(body === undefined ? [] : [400, 413, 415]),
    ...everywhere,
  ];
  return [...new Set(all)].sort((a, b) => a - b);
}

/** @param isOpen whether callers without a token may send the request. */
export function operationOf(
  description: RouteDescription,
  { path, named = path, method, tag, verb }: Site,
  isOpen: boolean,
): object {
  const template = templateOf(path);
  const parameters = [
    ...pathParameters(template),
    ...parametersOf("query", description.query),
    ...parametersOf("header", description.headers),
  ];
  const errors = errorsOf(description, template.includes("{"));
  const answers = Object.entries(description.answers).map(([status, answer]) => [status, answerOf(answer)]);
  const refusals = errors.map((status) => [String(status), { $ref: `#/components/responses/${errorName(status)}` }]);
  const { body } = description;
  return {
    operationId: operationId(verb === "" ? method.toLowerCase() : verb, named),
    tags: [tag],
    summary: description.summary,
    ...(description.description !== undefined && { description: description.description }),
    security: isOpen ? [{}, { bearer: [] }] : [{ bearer: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: body.isOptional !== true,
        content: Object.fromEntries(Object.entries(body.content).map(([type, schema]) => [type, { schema }])),
      },
    }),
    responses: Object.fromEntries([...answers, ...refusals]),
  };
}

/** The operations of routes that are the same for every project. Callers who are no admins learn nothing of the routes for admins. */
export function fixedPaths(routes: readonly DescribedRoute[], isForAdmins: boolean): Paths {
  const paths: Paths = {};
  for (const each of routes) {
    if (each.access === "admin" && !isForAdmins) continue;
    const at = templateOf(each.path);
    paths[at] = {
      ...paths[at],
      [each.method.toLowerCase()]: operationOf(each, { ...each, verb: "" }, each.access === "anybody"),
    };
  }
  return paths;
}
