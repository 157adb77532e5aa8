/** States of keys: the value of each key with its source, from the file or as text, and as admins see the key. */
import type { ConfigEntry, ConfigSource, JsonValue } from "@socle/protocol";
import { messageOf, quote, SetupError } from "../kernel/index.ts";
import { environmentName, type KeyPath, keys } from "./keys.ts";
import { type RequestLimit, requestLimitEntries } from "./request-limits.ts";
import { rateText, type ValueKind } from "./values.ts";

/** The value in force and the default as the service uses both; undefined for no value. */
export interface KeyState {
  readonly path: KeyPath;
  readonly value: unknown;
  readonly fallback: unknown;
  readonly source: ConfigSource;
}

export const paths = Object.keys(keys) as KeyPath[];
/** The variable of each key. */
export const variables = Object.fromEntries(paths.map((path) => [path, environmentName(path)])) as Record<
  KeyPath,
  string
>;

export function fromText(path: KeyPath, text: string): unknown {
  return keys[path].kind.fromText?.(text) ?? text;
}

export function parseValue(path: KeyPath, value: unknown, where: string): unknown {
  const parsed = parsedBy(keys[path].kind, value, `${where}: ${path}`);
  if (parsed !== undefined) return parsed;
  const shown = keys[path].kind.isSecret ? "its value" : quote(value);
  throw new SetupError(`${where}: ${shown} is not valid for "${path}"; allowed: ${keys[path].kind.allowed}`);
}

/** @throws SetupError that begins with the place. */
function parsedBy(kind: ValueKind<unknown>, value: unknown, place: string): unknown {
  try {
    return kind.parse(value);
  } catch (thrown) {
    throw new SetupError(`${place}${messageOf(thrown)}`);
  }
}

/** A key as admins see the key: its value, the source of the value, and nothing of a secret. */
export function describeKey({ path, value, fallback, source }: KeyState): Omit<ConfigEntry, "isLive"> {
  const { kind, meaning } = keys[path];
  const isSecret = kind.isSecret === true;
  return {
    key: path,
    value: isSecret ? null : shown(path, value),
    default: isSecret ? null : shown(path, fallback),
    source,
    isSecret,
    isSet: value !== undefined,
    unit: kind.unit ?? null,
    variable: variables[path],
    description: `${meaning}: ${kind.allowed}`,
  };
}

/** A value as JSON; rates and limits of requests as in the file. */
function shown(path: KeyPath, value: unknown): JsonValue {
  if (value === undefined) return null;
  if (path === "limits.requests") return requestLimitEntries(value as readonly RequestLimit[]);
  if (path.startsWith("limits.rate.")) return rateText(value);
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  if (Array.isArray(value)) return value.map((item) => shown(path, item));
  throw new Error(`The value of ${path} has no form for admins`);
}
