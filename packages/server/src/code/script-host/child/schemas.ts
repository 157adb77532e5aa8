/** Schemas of the user's code, as Standard Schema (https://standardschema.dev) describes schemas: the check of a value, and the problems. */
import type { ErrorDetail } from "@socle/protocol";
import { AppError, isObject, messageOf, plainAppError } from "../../../base/kernel/index.ts";
import { cut, handlerFault, kindOf } from "./errors.ts";
import { ServiceError } from "./service-client.ts";

/** The side of a schema that Standard Schema describes. */
export interface UserSchema {
  readonly "~standard": {
    validate(value: unknown): unknown;
    /** Of Standard JSON Schema (https://standardschema.dev/json-schema); absent in libraries without. */
    readonly jsonSchema?: { readonly [side in "input" | "output"]: (options: { target: string }) => unknown };
  };
}

/** Problems of a request that are told, and characters of the parts of a problem. */
const maxProblems = 100;
const maxField = 200;
const maxMessage = 500;

/** @param name for people. @throws TypeError for a value that is no schema. */
export function schemaOf(name: string, given: unknown): UserSchema | undefined {
  if (given === undefined) return undefined;
  if (isSchema(given)) return given;
  throw new TypeError(`${name} is no Standard Schema (https://standardschema.dev)`);
}

/** Some schemas are functions. */
export function isSchema(given: unknown): given is UserSchema {
  if ((typeof given !== "object" && typeof given !== "function") || given === null) return false;
  const standard: unknown = Reflect.get(given, "~standard");
  return isObject(standard) && typeof standard["validate"] === "function";
}

/** The value that a schema makes of a value, with the problems of the value. @throws Error for a schema that throws or gives no result. */
export async function validated(
  part: string,
  schema: UserSchema | undefined,
  given: unknown,
): Promise<{ value: unknown; problems: readonly ErrorDetail[] }> {
  if (schema === undefined) return { value: given, problems: [] };
  const result = await validationOf(part, schema, given);
  // The failure of some libraries is an array that has the issues.
  if (typeof result === "object" && result !== null) {
    const issues: unknown = Reflect.get(result, "issues");
    if (issues === undefined && "value" in result) return { value: result.value, problems: [] };
    if (Array.isArray(issues)) {
      const some: unknown[] = issues.length === 0 ? [null] : issues;
      return { value: undefined, problems: some.map((issue) => detailOf(part, issue)) };
    }
  }
  throw handlerFault(`The schema of ${part} gave ${kindOf(result)}, which is no result of Standard Schema`);
}

/** @throws ServiceError `validation_error`, if there are problems: the answer to the caller. */
export function refuseProblems(problems: readonly ErrorDetail[]): void {
  if (problems.length > 0)
    throw new ServiceError(true).fill(plainAppError(AppError.validation(problems.slice(0, maxProblems))));
}

async function validationOf(part: string, schema: UserSchema, given: unknown): Promise<unknown> {
  try {
    return await schema["~standard"].validate(given);
  } catch (cause) {
    throw handlerFault(`The schema of ${part} threw an error: ${messageOf(cause)}`, { cause });
  }
}

/** An issue as the detail of an error. A part of the path is a key, or an object with the key. */
function detailOf(part: string, issue: unknown): ErrorDetail {
  const { message, path } = isObject(issue) ? issue : {};
  const keys = Array.isArray(path) ? path.map((each: unknown) => String(isObject(each) ? each["key"] : each)) : [];
  const text = typeof message === "string" ? message : "is not valid";
  return { field: cut([part, ...keys].join("."), maxField), rule: "schema", message: cut(text, maxMessage) };
}
