/** The configuration as plain data, for another process of the service: secrets are told, because the process needs the secrets. */
import { isObject, Secret } from "../kernel/index.ts";
import type { Config } from "./keys.ts";

/** A secret as plain data has this member alone. */
const mark = "$secret";

export interface PlainConfig {
  readonly [key: string]: unknown;
}

export function plainConfig(config: Config): PlainConfig {
  return plain(config) as PlainConfig;
}

/** The configuration that `plainConfig` was made of, also after a way as JSON. */
export function configOf(values: PlainConfig): Config {
  return Object.freeze(revived(values)) as Config;
}

function plain(value: unknown): unknown {
  if (value instanceof Secret) return { [mark]: value.reveal() };
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

function revived(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revived);
  if (!isObject(value)) return value;
  const { [mark]: secret } = value;
  if (typeof secret === "string") return new Secret(secret);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, revived(member)]));
}
