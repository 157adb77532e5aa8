/** Loading the configuration: file, environment and command line, checked as a whole. */
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { ConfigSource } from "@socle/protocol";
import { isObject, nearest, quote, readJsonFile, SetupError } from "../kernel/index.ts";
import type { LogFormat } from "../logging/index.ts";
import { type Config, type KeyPath, keys, type Values } from "./keys.ts";
import { LiveSettings } from "./live.ts";
import { fromText, type KeyState, parseValue, paths, variables } from "./states.ts";

export interface LoadOptions {
  /** The configuration file that was asked for, or null for `./config.json`, which may be missing. */
  file: string | null;
  environment: { readonly [name: string]: string | undefined };
  /** Defaults that differ from the defaults of the keys. */
  defaults?: { readonly [path in KeyPath]?: unknown };
  /** Values from the command line, which win over the environment. */
  overrides?: { readonly [path in KeyPath]?: string };
}

export interface LoadedConfig {
  config: Config;
  /** The configuration file that was looked for, and whether the file exists. */
  file: { path: string; isThere: boolean };
  /** The settings of admins, which `config` has from the moment of each change; every key with its value and source. */
  live: LiveSettings;
  /** Warnings for the log, which does not exist yet. */
  warnings: string[];
  /** The warnings of unknown keys and variables. */
  unknown: string[];
  notes: string[];
}

const pathPaths: readonly KeyPath[] = [
  "database",
  "storage",
  "public",
  "dashboard.path",
  "auth.pages.logo",
  "backup.target",
  "backup.continuous",
  "tls.cert",
  "tls.key",
];

/** The variables that hold secrets. After the configuration is read, the variables are not needed. */
export const secretVariables: readonly string[] = paths
  .filter((path) => keys[path].kind.isSecret)
  .map((path) => variables[path]);

/** The values of a file by dotted path. */
function flatten(object: Record<string, unknown>, file: string, prefix = ""): Map<string, unknown> {
  const values = new Map<string, unknown>();
  for (const [name, value] of Object.entries(object)) {
    const path = `${prefix}${name}`;
    const group = paths.filter((candidate) => candidate.startsWith(`${path}.`));
    // `database` is a key and the beginning of others.
    const isKey = group.length === 0 || (Object.hasOwn(keys, path) && !isObject(value));
    if (isKey) {
      values.set(path, value);
    } else if (isObject(value)) {
      for (const [inner, innerValue] of flatten(value, file, `${path}.`)) values.set(inner, innerValue);
    } else {
      const names = group.map((key) => key.slice(path.length + 1));
      throw new SetupError(
        `${file}: ${quote(value)} is not valid for "${path}"; allowed: an object with ${names.join(", ")}`,
      );
    }
  }
  return values;
}

function unknownKeys(values: Map<string, unknown>, file: string): string[] {
  const warnings: string[] = [];
  for (const path of values.keys()) {
    if (Object.hasOwn(keys, path) || path === "$schema") continue;
    const near = nearest(path, paths);
    warnings.push(`${file}: unknown key "${path}"${near === null ? "" : `; did you mean "${near}"?`}`);
  }
  return warnings;
}

/** Variables with the prefix of the service that override no key. */
function unknownVariables(environment: LoadOptions["environment"]): string[] {
  const names = new Set(Object.values(variables));
  return Object.keys(environment)
    .filter((name) => name.startsWith("SERVICE_") && !names.has(name))
    .map((name) => {
      const near = nearest(name, names);
      return `unknown variable ${name}${near === null ? "" : `; did you mean ${near}?`}`;
    });
}

/**
 * File, then environment, then command line; checked as a whole, relative paths resolved, frozen but for the live settings.
 * @throws SetupError for a file that cannot be read and for the first value that is not allowed.
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const file = resolve(options.file ?? "config.json");
  const notes: string[] = [];
  let fromFile = new Map<string, unknown>();
  const isThere = options.file !== null || existsSync(file);
  if (isThere) {
    const content = await readJsonFile(file);
    if (!isObject(content)) throw new SetupError(`${file}: must hold a JSON object, not ${quote(content)}`);
    fromFile = flatten(content, file);
  } else {
    notes.push(`No ${file}: defaults apply`);
  }

  const folder = dirname(file);
  const values: Record<string, unknown> = {};
  const states: KeyState[] = [];
  for (const path of paths) {
    const name = variables[path];
    const override = options.overrides?.[path];
    const variable = options.environment[name];
    const fallback = options.defaults?.[path] ?? keys[path].default;
    // Each given value is checked, even when a stronger source overrides the value.
    let source: ConfigSource = "default";
    let value: unknown;
    const take = (from: ConfigSource, given: unknown, where: string): void => {
      value = absolute(path, parseValue(path, given, where), folder);
      source = from;
    };
    if (fallback !== undefined) take("default", fallback, "default");
    const usual = value;
    if (fromFile.has(path) && fromFile.get(path) !== null) take("file", fromFile.get(path), file);
    if (variable !== undefined && variable !== "") take("environment", fromText(path, variable), name);
    if (override !== undefined) take("command line", fromText(path, override), `--${path}`);
    if (value !== undefined) values[path] = value;
    states.push({ path, value, source, fallback: usual });
  }
  // Every key of the table has just been parsed by the kind of the key.
  const live = new LiveSettings({ file, fileExists: isThere, states });
  const config = live.over({ ...(values as Values), folder });
  const unknown = [...unknownKeys(fromFile, file), ...unknownVariables(options.environment)];
  const warnings = [...unknown, ...advice(config)];
  return { config, file: { path: file, isThere }, live, warnings, unknown, notes };
}

/** Relative paths count from the configuration file's folder. */
function absolute(path: KeyPath, value: unknown, folder: string): unknown {
  const isPath = pathPaths.includes(path) && typeof value === "string" && !value.startsWith("s3://");
  return isPath ? resolve(folder, value) : value;
}

/** Whether HTTPS is served. */
export function isSecure(config: Config): boolean {
  return config["tls.cert"] !== undefined || config["tls.acme.domains"] !== undefined;
}

function advice(config: Config): string[] {
  const warnings: string[] = [];
  const length = config["auth.jwtSecret"]?.reveal().length;
  if (length !== undefined && length < 32)
    warnings.push(`auth.jwtSecret has ${length} characters; use at least 32 random ones (RFC 7518, 3.2)`);
  if (config["admin.password"] !== undefined && config["admin.email"] === undefined)
    warnings.push("admin.password has no effect without admin.email");
  if (config["mail.smtp"] !== undefined && config["mail.from"] === undefined)
    warnings.push("mail.smtp has no effect without mail.from");
  if (config["telemetry.otlp.headers"] !== undefined && config["telemetry.otlp.url"] === undefined)
    warnings.push("telemetry.otlp.headers has no effect without telemetry.otlp.url");
  if (config["tls.redirectPort"] !== undefined && !isSecure(config))
    warnings.push("tls.redirectPort has no effect without tls.cert or tls.acme.domains");
  if (/^http:\/\/(?!localhost\b|127\.|\[::1\])/.test(config.publicUrl ?? ""))
    warnings.push("publicUrl begins with http: links that sign in or set a password are sent and opened in the open");
  return warnings;
}

/**
 * The format that the environment names; otherwise the format of a file that can be read; otherwise text. A value that
 * is not allowed counts as not given: the loader of the configuration reports the value.
 */
export async function logFormatOf({
  file,
  environment,
}: Pick<LoadOptions, "file" | "environment">): Promise<LogFormat> {
  const { kind } = keys["log.format"];
  const variable = environment[variables["log.format"]] ?? "";
  return (
    kind.parse(fromText("log.format", variable)) ?? kind.parse(await formatIn(resolve(file ?? "config.json"))) ?? "text"
  );
}

async function formatIn(file: string): Promise<unknown> {
  const content = await readJsonFile(file).catch(() => null);
  if (!isObject(content)) return undefined;
  return isObject(content["log"]) ? content["log"]["format"] : content["log.format"];
}
