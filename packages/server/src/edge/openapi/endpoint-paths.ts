/** Paths of endpoints: the methods of the files of `endpoints/`, with the schemas that the files give. */

import { isObject } from "../../base/kernel/index.ts";
import type { Endpoint, EndpointMethod } from "../../code/endpoints/index.ts";
import type { AnswerDescription, Parameter, RouteDescription } from "./description.ts";
import { operationOf, type Paths } from "./operations.ts";
import type { Schema } from "./schema.ts";

const tag = "Endpoints";

/** Statuses of errors of an endpoint beside those of every request. */
const errors: readonly number[] = [400, 401, 403, 404, 409, 413, 502, 504];

function bytes(description: string): AnswerDescription {
  return { description, content: { "*/*": {} } };
}

/** The members of a schema of an object, as parameters. */
function parametersOf(schema: Schema | undefined): { [name: string]: Parameter } {
  const properties = schema?.["properties"];
  if (!isObject(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [
      name,
      { schema: isObject(each) ? each : {}, description: "See the schema." },
    ]),
  );
}

function descriptionOf(
  { route, path, methodAccess, access, schemas }: Endpoint,
  method: EndpointMethod,
): RouteDescription {
  const { query, body, answer } = schemas[method] ?? {};
  const who = methodAccess[method] ?? access;
  const hasBody = method !== "GET" && method !== "DELETE";
  const given = parametersOf(query);
  return {
    summary: `${method} of ${path}`,
    ...(/\[\.\.\./.test(route) && { description: "The last parameter takes all further parts of the path." }),
    access: who === "public" ? "anybody" : who === "admin" ? "admin" : "user",
    ...(Object.keys(given).length > 0 && { query: given }),
    ...(hasBody && {
      body:
        body === undefined ? { content: { "*/*": {} }, isOptional: true } : { content: { "application/json": body } },
    }),
    answers:
      answer === undefined
        ? {
            200: bytes("The response of the handler."),
            default: bytes("The response of the handler with another status."),
          }
        : { 200: { description: "The response of the handler.", content: { "application/json": answer } } },
    errors,
  };
}

/** @param isShown whether the reader of the document may know the methods with an access. */
export function endpointPaths(endpoints: readonly Endpoint[], isShown: (access: Endpoint["access"]) => boolean): Paths {
  const paths: Paths = {};
  for (const endpoint of endpoints) {
    const path = endpoint.route.replaceAll(/\[(?:\.\.\.)?(\w+)\]/g, "{$1}");
    const methods = endpoint.methods.filter((method) => isShown(endpoint.methodAccess[method] ?? endpoint.access));
    if (methods.length === 0) continue;
    paths[path] = Object.fromEntries(
      methods.map((method) => {
        const description = descriptionOf(endpoint, method);
        const site = { path, method, tag, verb: `call${method.charAt(0)}${method.slice(1).toLowerCase()}` };
        return [method.toLowerCase(), operationOf(description, site, description.access === "anybody")];
      }),
    );
  }
  return paths;
}
