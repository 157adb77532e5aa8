/** Query files: the name, the access and the timeout of a server query, as the file says. */
import { quote } from "../../base/kernel/index.ts";
import { type EndpointAccess, parseAccess } from "../endpoints/index.ts";
import { parseOptions, parseTimeout, type Script } from "../script-host/index.ts";

/** A server query, as described by the file. */
export interface ServerQuery {
  /** The file's name without the ending. */
  readonly name: string;
  readonly path: string;
  readonly access: EndpointAccess;
  readonly timeoutMs: number;
}

const namePattern = /^[A-Za-z][A-Za-z0-9_-]{0,62}$/;

export function queryNameOf(path: string): string {
  return path.slice("queries/".length, -".ts".length);
}

/** @throws Error that names the fault of the file, and the allowed values. */
export function serverQueryOf({ file: { path }, exports }: Script, defaultTimeoutMs: number): ServerQuery {
  const name = queryNameOf(path);
  if (!namePattern.test(name))
    throw new Error(
      `${quote(name)} cannot be the name of a query; allowed: a letter, then up to 62 letters, digits, _ or -`,
    );
  if (exports.query === undefined)
    throw new Error("has no default export that is a query: export default query({ … }, async ({ db }) => …)");
  const { timeout } = parseOptions(exports.values["options"], ["timeout"]);
  return {
    name,
    path,
    access: parseAccess("access", exports.query),
    timeoutMs: parseTimeout(timeout, defaultTimeoutMs),
  };
}
