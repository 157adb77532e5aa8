/** Endpoint files: the path that the place of a file stands for, the exports of the file, and the file of a path. */
import { oneOf, quote } from "../../base/kernel/index.ts";
import { exportAdvice, parseOptions, parseTimeout, type Script } from "../script-host/index.ts";

const ENDPOINT_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
export type EndpointMethod = (typeof ENDPOINT_METHODS)[number];

/** The callers that an endpoint may be for. */
const accesses = ["public", "authenticated", "admin"] as const;

/** A part of a path: a word, or a parameter by name. */
export type PathPart = { readonly word: string } | { readonly param: string };

export interface Endpoint {
  /** The path of the file. */
  readonly path: string;
  readonly parts: readonly PathPart[];
  /** For people: `/api/function/orders/[id]`. */
  readonly route: string;
  readonly methods: readonly EndpointMethod[];
  readonly access: (typeof accesses)[number];
  readonly timeoutMs: number;
}

/** Letters that a path has without encoding (RFC 3986, 2.3). */
const wordPattern = /^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$/;
const paramPattern = /^\[([A-Za-z_][A-Za-z0-9_]*)\]$/;

/** @throws Error that names the fault of the file, and the allowed values. */
export function endpointOf({ file, exports }: Script, defaultTimeoutMs: number): Endpoint {
  const parts = pathParts(file.path);
  const methods = ENDPOINT_METHODS.filter((method) => exports.functions.includes(method));
  if (methods.length === 0)
    throw new Error(`exports none of ${oneOf(ENDPOINT_METHODS)}${exportAdvice(exports.functions, ENDPOINT_METHODS)}`);
  for (const name of ["HEAD", "OPTIONS"])
    if (exports.functions.includes(name))
      throw new Error(`${name} is answered by the service itself; a file may export ${oneOf(ENDPOINT_METHODS)}`);
  const { timeout } = parseOptions(exports.values["options"], ["timeout"]);
  const given = exports.values["access"] ?? "authenticated";
  const access = accesses.find((each) => each === given);
  if (access === undefined) throw new Error(`access: ${quote(given)} is not valid; allowed: ${oneOf(accesses)}`);
  return {
    path: file.path,
    parts,
    route: ["/api/function", ...parts.map((part) => ("param" in part ? `[${part.param}]` : part.word))].join("/"),
    methods,
    access,
    timeoutMs: parseTimeout(timeout, defaultTimeoutMs),
  };
}

/** The path of a file in `endpoints/`. @throws Error for names that no path can have. */
export function pathParts(path: string): PathPart[] {
  const names = path.slice("endpoints/".length, -".ts".length).split("/");
  if (names.at(-1) === "index") names.pop();
  const parts = names.map(partOf);
  const params = parts.flatMap((part) => ("param" in part ? [part.param] : []));
  const twice = params.find((name, i) => params.indexOf(name) !== i);
  if (twice !== undefined) throw new Error(`has the parameter [${twice}] twice in its path`);
  return parts;
}

/** Two files with the same key answer the same requests: the names of parameters tell nothing apart. */
export function routeKey(parts: readonly PathPart[]): string {
  return parts.map((part) => ("param" in part ? "[]" : part.word)).join("/");
}

function partOf(name: string): PathPart {
  const param = paramPattern.exec(name)?.[1];
  if (param === "__proto__") throw new Error("[__proto__] cannot be the name of a parameter");
  if (param !== undefined) return { param };
  if (wordPattern.test(name)) return { word: name };
  throw new Error(
    `${quote(name)} cannot be a part of a path; allowed: letters, digits and . _ ~ -, or a parameter such as [id]`,
  );
}

/** An endpoint with the values of its parameters. */
export interface FoundEndpoint {
  readonly endpoint: Endpoint;
  readonly params: { readonly [name: string]: string };
}

/** The table of endpoints: finds the endpoint of a path. A word goes before a parameter, from the left to the right. */
export class RouteTable {
  /** In the order of precedence, by the number of parts. */
  readonly #endpoints: ReadonlyMap<number, readonly Endpoint[]>;

  constructor(endpoints: readonly Endpoint[]) {
    const rankOf = ({ parts }: Endpoint): string => parts.map((part) => ("param" in part ? "1" : "0")).join("");
    const ordered = endpoints.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1));
    this.#endpoints = Map.groupBy(ordered, ({ parts }) => parts.length);
  }

  /** @param parts the decoded parts of the path behind `/api/function`. Null without an endpoint. */
  find(parts: readonly string[]): FoundEndpoint | null {
    const endpoint = this.#endpoints
      .get(parts.length)
      ?.find((each) => each.parts.every((part, i) => "param" in part || part.word === parts[i]));
    if (endpoint === undefined) return null;
    const params = endpoint.parts.flatMap((part, i) => ("param" in part ? [[part.param, parts[i] ?? ""]] : []));
    return { endpoint, params: Object.fromEntries(params) };
  }
}
