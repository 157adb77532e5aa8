/**
 * `endpoint`, a global of the user's code: makes the handler of an endpoint that checks the request by schemas before, and the
 * answer after.
 */
import type { ErrorDetail } from "@socle/protocol";
import { excerpt, isObject, messageOf, oneOf } from "../../../base/kernel/index.ts";
import type { HandlerSchemas } from "../protocol.ts";
import { handlerFault, kindOf } from "./errors.ts";
import { isSchema, refuseProblems, schemaOf, type UserSchema, validated } from "./schemas.ts";
import { ServiceError } from "./service-client.ts";

const parts = ["params", "query", "body"] as const;
const options = [...parts, "answer", "access"] as const;

type Handler = (request: Request, context: { readonly params: unknown }) => Promise<Response>;

const jsonType = /^application\/(?:[\w.!#$&^+-]+\+)?json\s*(?:;|$)/i;

/** The definitions of the handlers that `endpoint` has made. */
const definitions = new WeakMap<object, Record<string, unknown>>();

function definitionOf(handler: unknown): Record<string, unknown> {
  return (typeof handler === "function" && definitions.get(handler)) || {};
}

export function accessOf(handler: unknown): unknown {
  return definitionOf(handler)["access"];
}

/** Characters of a JSON Schema; a larger schema is left out. */
const maxSchema = 65_536;

/** The JSON Schemas of a handler, for the OpenAPI document. */
export function schemasOf(handler: unknown): HandlerSchemas {
  const definition = definitionOf(handler);
  const described = [...parts, "answer" as const].flatMap((part) => {
    const schema = jsonSchemaOf(definition[part], part === "answer" ? "output" : "input");
    return schema === null ? [] : [[part, schema]];
  });
  return Object.fromEntries(described);
}

/** The JSON Schema of a schema; null for a schema without a JSON form. */
function jsonSchemaOf(schema: unknown, side: "input" | "output"): object | null {
  if (!isSchema(schema)) return null;
  try {
    const made = schema["~standard"].jsonSchema?.[side]({ target: "draft-2020-12" });
    const text = made === undefined ? "" : JSON.stringify(made);
    // A reference would lead from the root of the OpenAPI document.
    if (text === "" || text.length > maxSchema || text.includes('"$ref"')) return null;
    const { $schema, ...described } = JSON.parse(text);
    return described;
  } catch {
    // A schema with a transformation, for example, has no JSON form. The endpoint works without.
    return null;
  }
}

/** @throws TypeError that names the fault of the definition, when the file is loaded. */
export function endpoint(definition: unknown, answer: unknown): Handler {
  if (!isObject(definition)) throw new TypeError(`endpoint() needs an object as definition, not ${kindOf(definition)}`);
  if (typeof answer !== "function") throw new TypeError(`endpoint() needs a handler, not ${kindOf(answer)}`);
  for (const name of Object.keys(definition))
    if (!options.some((each) => each === name))
      throw new TypeError(`endpoint(): ${name} is unknown; allowed: ${oneOf(options)}`);
  const [params, query, body, result] = [...parts, "answer"].map((part) =>
    schemaOf(`endpoint(): ${part}`, definition[part]),
  );
  const handler: Handler = async (request, context) => {
    const problems: ErrorDetail[] = [];
    const check = async (part: string, schema: UserSchema | undefined, given: unknown): Promise<unknown> => {
      const checked = await validated(part, schema, given);
      problems.push(...checked.problems);
      return checked.value;
    };
    const given = {
      params: await check("params", params, context.params),
      query: await check("query", query, queryOf(request.url)),
      body: body && (await check("body", body, await bodyOf(request))),
    };
    refuseProblems(problems);
    const answered: unknown = await answer({ ...context, request, ...given });
    if (answered instanceof Response) return answered;
    const { value, problems: faults } = await validated("answer", result, answered);
    const [first] = faults;
    if (first === undefined) return responseOf(value);
    const { field, message } = first;
    throw handlerFault(`The handler returned a value that the schema of answer refuses: ${field}: ${message}`);
  };
  definitions.set(handler, definition);
  return handler;
}

/** The parameters of an address: a text, and an array of texts for a name that comes several times. */
function queryOf(url: string): object {
  const byName = Map.groupBy(new URL(url).searchParams, ([name]) => name);
  return Object.fromEntries(
    [...byName].map(([name, pairs]) => {
      const values = pairs.map(([, value]) => value);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}

/** A body of JSON; undefined for an empty body. @throws ServiceError `bad_request`. */
async function bodyOf(request: Request): Promise<unknown> {
  const text = await request.text();
  if (text === "") return undefined;
  const refuse = (message: string): never => {
    throw new ServiceError(true).fill({ code: "bad_request", message });
  };
  if (!jsonType.test(request.headers.get("content-type") ?? ""))
    return refuse("The request needs the header Content-Type: application/json.");
  try {
    return JSON.parse(text);
  } catch (thrown) {
    return refuse(`The body is not valid JSON: ${excerpt(messageOf(thrown).replace(/^JSON Parse error: /, ""), 100)}.`);
  }
}

/** A value as JSON; 204 without a value. @throws Error for a value without a JSON form. */
function responseOf(value: unknown): Response {
  if (value === undefined) return new Response(null, { status: 204 });
  const json = JSON.stringify(value);
  if (json === undefined) throw handlerFault(`The handler returned ${kindOf(value)}, which has no JSON form`);
  return new Response(json, { headers: { "Content-Type": "application/json;charset=utf-8" } });
}
