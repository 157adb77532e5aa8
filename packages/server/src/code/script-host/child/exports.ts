/** The exports of a module of the user's code, as the service reads the exports. */
import type { ScriptExports } from "../protocol.ts";
import { accessOf } from "./typed-endpoint.ts";

/** Exports that the service reads: the description of a handler, which has a JSON form. */
const plainExports: readonly string[] = ["schedule", "queue", "access", "options"];

export type Module = { readonly [name: string]: unknown };

export function exportsOf(module: Module): ScriptExports {
  const functions: string[] = [];
  const values: Record<string, unknown> = {};
  const accesses: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(module)) {
    if (typeof value === "function") functions.push(name);
    else values[name] = plainExports.includes(name) ? plain(value) : typeof value;
    const access = accessOf(value);
    if (access !== undefined) accesses[name] = plain(access);
  }
  return { functions, values, ...(Object.keys(accesses).length > 0 && { accesses }) };
}

/** The value in JSON form; the type when the value has no JSON form. */
function plain(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value) ?? "null");
  } catch {
    return typeof value;
  }
}
