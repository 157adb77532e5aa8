/**
 * `query`, a global of the user's code: makes the handler of a server query, which checks the arguments by a schema before. The
 * arguments are the enumerable properties of the handler's context: `({ db, user, ...args })` gets all arguments.
 */
import { isObject, oneOf, quote } from "../../../base/kernel/index.ts";
import { kindOf } from "./errors.ts";
import { refuseProblems, schemaOf, validated } from "./schemas.ts";
import { ServiceError } from "./service-client.ts";

const options = ["args", "access"] as const;

type QueryHandler = (context: { readonly args: object }) => Promise<unknown>;

/** The `access` of the handlers that `query` has made. */
const accesses = new WeakMap<object, unknown>();

/** The `access` of a handler that `query` has made; undefined for any other value. */
export function queryAccessOf(handler: unknown): unknown {
  return typeof handler === "function" ? accesses.get(handler) : undefined;
}

/** @throws TypeError that names the fault of the definition, when the file is loaded. */
export function query(definition: unknown, handler: unknown): QueryHandler {
  if (!isObject(definition)) throw new TypeError(`query() needs an object as definition, not ${kindOf(definition)}`);
  if (typeof handler !== "function") throw new TypeError(`query() needs a handler, not ${kindOf(handler)}`);
  for (const name of Object.keys(definition))
    if (!options.some((each) => each === name))
      throw new TypeError(`query(): ${name} is unknown; allowed: ${oneOf(options)}`);
  const { args: given, access = "authenticated" } = definition;
  const schema = schemaOf("query(): args", given);
  const checked: QueryHandler = async (context) => {
    const [name] = Object.keys(context.args);
    if (schema === undefined && name !== undefined) throw new ServiceError(true).fill(unknownArgument(name));
    const { value, problems } = await validated("args", schema, context.args);
    refuseProblems(problems);
    return await handler(contextOf(context, value));
  };
  accesses.set(checked, access);
  return checked;
}

function unknownArgument(name: string): { code: "bad_request"; message: string } {
  const message = `The query takes no arguments, so ${quote(name.slice(0, 100))} is unknown: a query takes the arguments of its schema "args".`;
  return { code: "bad_request", message };
}

/** The context with the arguments. Every other part is not enumerable, and hides an argument of the same name. */
function contextOf(context: object, args: unknown): object {
  const parts = Object.entries(Object.getOwnPropertyDescriptors(context));
  const hidden = Object.fromEntries(parts.map(([name, part]) => [name, { ...part, enumerable: false }]));
  return Object.defineProperties(isObject(args) ? { ...args } : {}, {
    ...hidden,
    args: { value: args, enumerable: false },
  });
}
