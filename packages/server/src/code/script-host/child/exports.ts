/** The exports of a module of the user's code, as the service reads the exports. */
import type { HandlerSchemas, ScriptExports } from "../protocol.ts";
import { accessOf, schemasOf } from "./typed-endpoint.ts";
import { queryAccessOf } from "./typed-query.ts";

/** Exports that the service reads: the description of a handler, which has a JSON form. */
const plainExports: readonly string[] = ["schedule", "queue", "access", "options"];

export type Module = { readonly [name: string]: unknown };

export function exportsOf(module: Module): ScriptExports {
  const functions: string[] = [];
  const values: Record<string, unknown> = {};
  const accesses: Record<string, unknown> = {};
  const schemas: Record<string, HandlerSchemas> = {};
  for (const [name, value] of Object.entries(module)) {
    if (typeof value === "function") functions.push(name);
    else values[name] = plainExports.includes(name) ? plain(value) : typeof value;
    const access = accessOf(value);
    if (access !== undefined) accesses[name] = plain(access);
    const described = schemasOf(value);
    if (Object.keys(described).length > 0) schemas[name] = described;
  }
  const query = queryAccessOf(module["default"]);
  return {
    functions,
    values,
    ...(Object.keys(accesses).length > 0 && { accesses }),
    ...(Object.keys(schemas).length > 0 && { schemas }),
    ...(query !== undefined && { query: plain(query) }),
  };
}

/** The value in JSON form; the type when the value has no JSON form. */
function plain(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value) ?? "null");
  } catch {
    return typeof value;
  }
}
