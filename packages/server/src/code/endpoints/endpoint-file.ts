/** Endpoint files: the path that the place of a file stands for, the exports of the file, and the file of a path. */
import type { Config } from "../../base/config/index.ts";
import { AppError, isAdmin, oneOf, type Principal, quote } from "../../base/kernel/index.ts";
import { exportAdvice, type HandlerSchemas, parseOptions, parseTimeout, type Script } from "../script-host/index.ts";

export const ENDPOINT_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
export type EndpointMethod = (typeof ENDPOINT_METHODS)[number];

/** The callers that an endpoint may be for. */
const accesses = ["public", "authenticated", "admin"] as const;
export type EndpointAccess = (typeof accesses)[number];

/** A part of a path: a word, a parameter by name, or, as the last part, a parameter for all further parts. */
export type PathPart = { readonly word: string } | { readonly param: string } | { readonly rest: string };

export interface Endpoint {
  /** The path of the file. */
  readonly path: string;
  readonly parts: readonly PathPart[];
  /** For people: `/api/function/orders/[id]`. */
  readonly route: string;
  readonly methods: readonly EndpointMethod[];
  readonly access: EndpointAccess;
  /** The access of methods that set another than the file. */
  readonly methodAccess: { readonly [method in EndpointMethod]?: EndpointAccess };
  readonly timeoutMs: number;
  /** The JSON Schemas of handlers that `endpoint` has made, as far as the schemas have a JSON form. */
  readonly schemas: { readonly [method in EndpointMethod]?: HandlerSchemas };
}

/** Paths outside `/api` and `/_` that the service answers itself, with a prefix such as `/` too. */
const servicePaths: readonly string[] = ["/", "/health", "/health/ready", "/metrics"];

/** Letters that a path has without encoding (RFC 3986, 2.3). */
const wordPattern = /^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$/;
const paramPattern = /^\[(\.\.\.)?([A-Za-z_][A-Za-z0-9_]*)\]$/;

/** @throws Error that names the fault of the file, and the allowed values. */
export function endpointOf({ file, exports }: Script, config: Config): Endpoint {
  const parts = pathParts(file.path);
  const prefix = config["endpoints.prefix"];
  const route = routeOf(file.path, prefix);
  const isOfService = servicePaths.includes(route) || (prefix === "/" && /^\/api(?:\/|$)/.test(route));
  if (isOfService) throw new Error(`has the path ${route}, which the service answers itself`);
  const methods = ENDPOINT_METHODS.filter((method) => exports.functions.includes(method));
  if (methods.length === 0)
    throw new Error(`exports none of ${oneOf(ENDPOINT_METHODS)}${exportAdvice(exports.functions, ENDPOINT_METHODS)}`);
  for (const name of ["HEAD", "OPTIONS"])
    if (exports.functions.includes(name))
      throw new Error(`${name} is answered by the service itself; a file may export ${oneOf(ENDPOINT_METHODS)}`);
  const { timeout } = parseOptions(exports.values["options"], ["timeout"]);
  const own = methods.flatMap((method) => {
    const given = exports.accesses?.[method];
    return given === undefined ? [] : [[method, parseAccess(`access of ${method}`, given)]];
  });
  return {
    path: file.path,
    parts,
    route,
    methods,
    access: parseAccess("access", exports.values["access"] ?? "authenticated"),
    methodAccess: Object.fromEntries(own),
    timeoutMs: parseTimeout(timeout, config["scripts.timeout"]),
    schemas: exports.schemas ?? {},
  };
}

/** @throws Error that names the fault. */
export function parseAccess(name: string, given: unknown): EndpointAccess {
  const access = accesses.find((each) => each === given);
  if (access !== undefined) return access;
  throw new Error(`${name}: ${quote(given)} is not valid; allowed: ${oneOf(accesses)}`);
}

/** @throws AppError `unauthorized`, `forbidden`: the caller may not call code with this access. */
export function admitAccess(access: EndpointAccess, caller: Principal): void {
  if (access === "public") return;
  if (caller === null) throw new AppError("unauthorized", "Sign in to call this.");
  if (access === "admin" && !isAdmin(caller)) throw new AppError("forbidden", "This is for admins only.");
}

/** The path that a file in `endpoints/` answers, for people: `/api/function/orders/[id]`. */
export function routeOf(path: string, prefix: string): string {
  const names = path.slice("endpoints/".length, -".ts".length).replace(/(?:^|\/)index$/, "");
  return `${prefix === "/" ? "" : prefix}/${names}`.replace(/(?<=.)\/$/, "");
}

/** The parts of the path of a file in `endpoints/`. @throws Error for names that no path can have. */
export function pathParts(path: string): PathPart[] {
  const names = path.slice("endpoints/".length, -".ts".length).split("/");
  if (names.at(-1) === "index") names.pop();
  const parts = names.map(partOf);
  const params = parts.flatMap((part) => nameOf(part) ?? []);
  const twice = params.find((name, i) => params.indexOf(name) !== i);
  if (twice !== undefined) throw new Error(`has the parameter [${twice}] twice in its path`);
  const rest = parts.slice(0, -1).find((part) => "rest" in part);
  if (rest !== undefined) throw new Error(`${shownPart(rest)} takes the rest of a path, and must be the last part`);
  return parts;
}

/** Two files with the same key answer the same requests: the names of parameters tell nothing apart. */
export function routeKey(parts: readonly PathPart[]): string {
  return parts.map((part) => ("word" in part ? part.word : "rest" in part ? "[...]" : "[]")).join("/");
}

/** The name of a parameter; null for a word. */
function nameOf(part: PathPart): string | null {
  if ("word" in part) return null;
  return "rest" in part ? part.rest : part.param;
}

function shownPart(part: PathPart): string {
  if ("word" in part) return part.word;
  return "rest" in part ? `[...${part.rest}]` : `[${part.param}]`;
}

function partOf(name: string): PathPart {
  const [, dots, param] = paramPattern.exec(name) ?? [];
  if (param === "__proto__") throw new Error("[__proto__] cannot be the name of a parameter");
  if (param !== undefined) return dots === undefined ? { param } : { rest: param };
  if (wordPattern.test(name)) return { word: name };
  throw new Error(
    `${quote(name)} cannot be a part of a path; allowed: letters, digits and . _ ~ -, or a parameter such as [id] or [...rest]`,
  );
}

/** The values of the parameters of a path; of a parameter for all further parts, the parts. */
export type PathParams = { readonly [name: string]: string | readonly string[] };

/** The table of paths: finds the entry of a path. From the left to the right, a word goes before a parameter, and a parameter before the rest. */
export class RouteTable<Entry extends { readonly parts: readonly PathPart[] }> {
  /** In the order of precedence. */
  readonly #entries: readonly Entry[];

  constructor(entries: readonly Entry[]) {
    // A path that ends sorts before a path with a rest, which may be empty.
    const rankOf = ({ parts }: Entry): string =>
      parts.map((part) => ("word" in part ? "0" : "rest" in part ? "2" : "1")).join("");
    this.#entries = entries.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1));
  }

  /** @param parts the decoded parts of the path behind the prefix of endpoints. Null without an entry. */
  find(parts: readonly string[]): { readonly entry: Entry; readonly params: PathParams } | null {
    const entry = this.#entries.find((each) => matches(each.parts, parts));
    if (entry === undefined) return null;
    const params = entry.parts.flatMap((part, i): [string, string | readonly string[]][] => {
      if ("word" in part) return [];
      return "rest" in part ? [[part.rest, parts.slice(i)]] : [[part.param, parts[i] ?? ""]];
    });
    return { entry, params: Object.fromEntries(params) };
  }

  /** Whether an entry has paths below a path. */
  hasBelow(path: readonly string[]): boolean {
    return this.#entries.some(({ parts }) => {
      const last = parts.at(-1);
      const isLong = parts.length > path.length || (last !== undefined && "rest" in last);
      return isLong && path.every((part, i) => wordOf(parts[i]) === part || wordOf(parts[i]) === null);
    });
  }
}

/** The word of a part; null for a part that takes any text. */
function wordOf(part: PathPart | undefined): string | null {
  return part !== undefined && "word" in part ? part.word : null;
}

function matches(pattern: readonly PathPart[], parts: readonly string[]): boolean {
  const last = pattern.at(-1);
  const isOpen = last !== undefined && "rest" in last;
  if (isOpen ? parts.length < pattern.length - 1 : parts.length !== pattern.length) return false;
  return pattern.every((part, i) => !("word" in part) || part.word === parts[i]);
}
