/**
 * `endpoint`, a global of the user's code: makes the handler of an endpoint that checks the request by schemas before, and the
 * answer after. Schemas are those of Standard Schema (https://standardschema.dev).
 */
import type { ErrorDetail } from "@socle/protocol";
import { AppError, excerpt, isObject, messageOf, oneOf } from "../../../base/kernel/index.ts";
import { callErrorOf, type HandlerSchemas } from "../protocol.ts";
import { cut, handlerFault, kindOf } from "./errors.ts";
import { ServiceError } from "./service-client.ts";

const parts = ["params", "query", "body"] as const;
type Part = (typeof parts)[number] | "answer";
const options = [...parts, "answer", "access"] as const;

/** The side of a schema that Standard Schema describes. */
interface Schema {
  readonly "~standard": {
    validate(value: unknown): unknown;
    /** Of Standard JSON Schema (https://standardschema.dev/json-schema); absent in libraries without. */
    readonly jsonSchema?: { readonly [side in "input" | "output"]: (options: { target: string }) => unknown };
  };
}

type Handler = (request: Request, context: { readonly params: unknown }) => Promise<Response>;

/** Problems of a request that are told, and characters of the parts of a problem. */
const maxProblems = 100;
const maxField = 200;
const maxMessage = 500;

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
  const [params, query, body, result] = [...parts, "answer" as const].map((part) => schemaOf(part, definition[part]));
  const handler: Handler = async (request, context) => {
    const problems: ErrorDetail[] = [];
    const check = async (part: Part, schema: Schema | undefined, given: unknown): Promise<unknown> => {
      const { value, issues } = await validated(part, schema, given);
      for (const issue of issues) problems.push(detailOf(part, issue));
      return value;
    };
    const given = {
      params: await check("params", params, context.params),
      query: await check("query", query, queryOf(request.url)),
      body: body && (await check("body", body, await bodyOf(request))),
    };
    if (problems.length > 0)
      throw new ServiceError(true).fill(callErrorOf(AppError.validation(problems.slice(0, maxProblems))));
    const answered: unknown = await answer({ ...context, request, ...given });
    if (answered instanceof Response) return answered;
    const { value, issues } = await validated("answer", result, answered);
    const [first] = issues;
    if (first === undefined) return responseOf(value);
    const { field, message } = detailOf("answer", first);
    throw handlerFault(`The handler returned a value that the schema of answer refuses: ${field}: ${message}`);
  };
  definitions.set(handler, definition);
  return handler;
}

function schemaOf(part: Part, given: unknown): Schema | undefined {
  if (given === undefined) return undefined;
  if (isSchema(given)) return given;
  throw new TypeError(`endpoint(): ${part} is no Standard Schema (https://standardschema.dev)`);
}

/** Some schemas are functions. */
function isSchema(given: unknown): given is Schema {
  if ((typeof given !== "object" && typeof given !== "function") || given === null) return false;
  const standard: unknown = Reflect.get(given, "~standard");
  return isObject(standard) && typeof standard["validate"] === "function";
}

/** The value that a schema makes of a value, or the issues. @throws Error for a schema that throws or gives no result. */
async function validated(
  part: Part,
  schema: Schema | undefined,
  given: unknown,
): Promise<{ value: unknown; issues: readonly unknown[] }> {
  if (schema === undefined) return { value: given, issues: [] };
  const result = await validationOf(part, schema, given);
  // The failure of some libraries is an array that has the issues.
  if (typeof result === "object" && result !== null) {
    const issues: unknown = Reflect.get(result, "issues");
    if (issues === undefined && "value" in result) return { value: result.value, issues: [] };
    if (Array.isArray(issues)) return { value: undefined, issues: issues.length === 0 ? [null] : issues };
  }
  throw handlerFault(`The schema of ${part} gave ${kindOf(result)}, which is no result of Standard Schema`);
}

async function validationOf(part: Part, schema: Schema, given: unknown): Promise<unknown> {
  try {
    return await schema["~standard"].validate(given);
  } catch (cause) {
    throw handlerFault(`The schema of ${part} threw an error: ${messageOf(cause)}`, { cause });
  }
}

/** An issue as the detail of an error. A part of the path is a key, or an object with the key. */
function detailOf(part: Part, issue: unknown): ErrorDetail {
  const { message, path } = isObject(issue) ? issue : {};
  const keys = Array.isArray(path) ? path.map((each: unknown) => String(isObject(each) ? each["key"] : each)) : [];
  const text = typeof message === "string" ? message : "is not valid";
  return { field: cut([part, ...keys].join("."), maxField), rule: "schema", message: cut(text, maxMessage) };
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
