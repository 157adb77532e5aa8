/** A key of the configuration as admins see the key: its value and the source of the value, and nothing of a secret. */
import type { ConfigEntry, ConfigSource, JsonValue } from "@socle/protocol";
import { environmentName, type KeyPath, keys } from "./keys.ts";
import { rateText, secret } from "./values.ts";

/** The value in force and the default as the service uses both; undefined for no value. */
export interface KeyState {
  readonly value: unknown;
  readonly fallback: unknown;
  readonly source: ConfigSource;
}

/** Every key that has a state, in the order of the documentation. */
export function describeKeys(states: { readonly [path in KeyPath]?: KeyState }): ConfigEntry[] {
  const entries: ConfigEntry[] = [];
  for (const path of Object.keys(keys) as KeyPath[]) {
    const state = states[path];
    if (state !== undefined) entries.push(describeKey(path, state));
  }
  return entries;
}

function describeKey(path: KeyPath, { value, fallback, source }: KeyState): ConfigEntry {
  const { kind, meaning } = keys[path];
  const isSecret = kind === secret;
  return {
    key: path,
    value: isSecret ? null : shown(path, value),
    default: isSecret ? null : shown(path, fallback),
    source,
    isSecret,
    isSet: value !== undefined,
    unit: kind.unit ?? null,
    variable: environmentName(path),
    description: `${meaning}: ${kind.allowed}`,
  };
}

/** A value as JSON; a rate as the file would have it. */
function shown(path: KeyPath, value: unknown): JsonValue {
  if (value === undefined) return null;
  if (path.startsWith("limits.rate.")) return rateText(value);
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  if (Array.isArray(value)) return value.map((item) => shown(path, item));
  throw new Error(`The value of ${path} has no form for admins`);
}
