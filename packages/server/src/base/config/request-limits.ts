/** The entries of `limits.requests`: bounds on the requests to routes, for each user, address or API key. */
import { isObject, oneOf, quote, SetupError } from "../kernel/index.ts";
import { duration, jsonFromText, type ValueKind, wholeNumber } from "./values.ts";

/** A bound: `max` requests in `windowMs` milliseconds, for each user, address or API key. */
export interface RequestLimit {
  /** `POST /api/orders`, `/api/function/*` or `*`: a method or all methods, and a path, the paths below a path, or all paths. */
  readonly routes: string;
  readonly per: "user" | "address" | "key";
  readonly max: number;
  readonly windowMs: number;
}

const maxEntries = 32;
const names = ["routes", "per", "max", "window"];
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const pathPattern = /^(?:\*|\/|(?:\/[^\s/*?#]+)+(?:\/\*)?|\/\*)$/;
/** A part of a path that stands for many values in the paths of files and frameworks, and for itself here. */
const paramPattern = /\/(?:\[[^/]*\]|:[^/]+|\{[^/]*\})(?=\/|$)/;
const max = wholeNumber(1, 1_000_000_000);
const window = duration(1_000, 2_592_000_000);

export const requestLimits: ValueKind<readonly RequestLimit[]> = {
  parse: (value) => (Array.isArray(value) && value.length <= maxEntries ? value.map(limitOf) : undefined),
  fromText: jsonFromText,
  allowed: `a list of at most ${maxEntries} entries such as { "routes": "POST /api/orders", "per": "user", "max": 10, "window": "1m" } (in the environment: JSON)`,
};

/** @throws SetupError. */
function limitOf(entry: unknown, index: number): RequestLimit {
  const refuse = (name: string, value: unknown, allowed: string): never => {
    throw new SetupError(`[${index}]${name}: ${quote(value)} is not valid; allowed: ${allowed}`);
  };
  if (!isObject(entry)) return refuse("", entry, `an object with ${names.join(", ")}`);
  const unknown = Object.keys(entry).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new SetupError(`[${index}].${unknown} is unknown; allowed: ${oneOf(names)}`);
  const { routes, per } = entry;
  const fault = typeof routes === "string" ? faultOf(routes) : "a text";
  if (typeof routes !== "string" || fault !== null)
    return refuse(
      ".routes",
      routes,
      `a path with or without a method, such as "POST /api/orders", "/api/function/*" or "*"; ${fault}`,
    );
  if (per !== "user" && per !== "address" && per !== "key") return refuse(".per", per, "user, address or key");
  return {
    routes,
    per,
    max: max.parse(entry["max"]) ?? refuse(".max", entry["max"], max.allowed),
    windowMs: window.parse(entry["window"]) ?? refuse(".window", entry["window"], window.allowed),
  };
}

/** The part of `routes` that is wrong, with the right form; null for right routes. */
function faultOf(routes: string): string | null {
  const [, method = "", path = ""] = /^(?:([^\s/*]+) )?(.*)$/s.exec(routes) ?? [];
  const right = (other: string): string => quote(method === "" ? other : `${method} ${other}`);
  if (method === "HEAD") return `HEAD counts as GET: write ${quote(`GET ${path}`)}`;
  if (method !== "" && !methods.includes(method)) return `${quote(method)} is no method: write ${oneOf(methods)}`;
  const param = paramPattern.exec(path);
  if (param !== null)
    return `${quote(param[0].slice(1))} stands for no other text here: write ${right(`${path.slice(0, param.index)}/*`)}`;
  if (pathPattern.test(path)) return null;
  if (!path.startsWith("/")) return `${quote(path)} must begin with "/"`;
  if (pathPattern.test(path.slice(0, -1)) && path.endsWith("/"))
    return `a slash at the end does not count: write ${right(path.slice(0, -1))}`;
  if (path.includes("*")) return '"*" must be the whole last part, which stands for all paths below';
  return `${quote(path)} must have parts without ${/[?#]/.test(path) ? "? and #" : "spaces, and no empty part"}`;
}

/** The limits as in the configuration file: the inverse of `requestLimits.parse`. */
export function requestLimitEntries(limits: readonly RequestLimit[]): { [name: string]: string | number }[] {
  return limits.map(({ windowMs, ...others }) => ({ ...others, window: `${windowMs / 1_000}s` }));
}
