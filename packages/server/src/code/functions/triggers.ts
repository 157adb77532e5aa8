/** Triggers: the handlers that a function file exports, and the events of the handlers. */
import { oneOf } from "../../base/kernel/index.ts";
import { linear, type RetryPolicy } from "../runs/index.ts";
import {
  exportAdvice,
  parseOptions,
  parseRetries,
  parseTimeout,
  type Script,
  type ScriptExports,
} from "../script-host/index.ts";
import { hookNames, hookNamesOf } from "./hook-files.ts";

/** The handlers of a collection, with the last word of the type of their event. */
const recordHandlers: { readonly [handler: string]: string } = {
  onCreate: "created",
  onUpdate: "updated",
  onDelete: "deleted",
};
/** The handlers of `functions/users/`, with the type of their event. */
const userHandlers: { readonly [handler: string]: string } = { onCreate: "auth.register", onLogin: "auth.login" };
const allHandlers = ["onCreate", "onUpdate", "onDelete", "onLogin", ...hookNames];

/** Whether a file exports a handler that runs after an event. */
export function hasTriggers({ functions }: ScriptExports): boolean {
  return functions.some((name) => Object.hasOwn(recordHandlers, name) || Object.hasOwn(userHandlers, name));
}

/** A handler and its events. */
export interface Trigger {
  readonly path: string;
  /** The name of the export. */
  readonly handler: string;
  readonly collection: string;
  readonly eventType: string;
  readonly timeoutMs: number;
  readonly policy: RetryPolicy;
}

/**
 * The triggers of a function file. A file may have hooks alone.
 * @throws Error that names the fault of the file, and the allowed values.
 */
export function triggersOf({ file, exports }: Script, defaultTimeoutMs: number): Trigger[] {
  const collection = file.collection ?? "";
  const isUsers = collection === "users";
  const handlers = isUsers ? userHandlers : recordHandlers;
  const names = [...Object.keys(handlers), ...hookNamesOf(collection)];
  const allowed = oneOf(names);
  for (const name of allHandlers) {
    const type = exports.values[name];
    if (type !== undefined) throw new Error(`${name} must be a function, not of type ${String(type)}`);
    if (exports.functions.includes(name) && !names.includes(name))
      throw new Error(`${name} does not work in functions/${collection}/, where a file may export ${allowed}`);
  }
  const found = Object.keys(handlers).filter((name) => exports.functions.includes(name));
  if (!names.some((name) => exports.functions.includes(name)))
    throw new Error(`exports none of ${allowed}${exportAdvice(exports.functions, names)}`);
  const { timeoutMs, policy } = optionsOf(exports.values["options"], defaultTimeoutMs);
  return found.map((handler) => {
    const type = handlers[handler] ?? "";
    const eventType = isUsers ? type : `${collection}.${type}`;
    return { path: file.path, handler, collection, eventType, timeoutMs, policy };
  });
}

function optionsOf(options: unknown, defaultTimeoutMs: number): Pick<Trigger, "timeoutMs" | "policy"> {
  const { timeout, retries } = parseOptions(options, ["timeout", "retries"]);
  return { timeoutMs: parseTimeout(timeout, defaultTimeoutMs), policy: linear(parseRetries(retries, 0)) };
}
