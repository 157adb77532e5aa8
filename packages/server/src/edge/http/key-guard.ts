/**
 * Key guard: the routes of credentials and of admins that an API key may use. Every other route under `/api/auth/` and
 * `/api/admin/` is closed to keys, also a route that is added later: a key can neither make nor change credentials, nor read
 * secrets from which credentials follow (mails, backups).
 */

const reads: readonly string[] = ["GET", "HEAD"];

/** Routes that are open to keys, with the methods. */
const openRoutes: ReadonlyMap<string, readonly string[]> = new Map([
  ["/api/auth/me", reads],
  ["/api/admin/overview", reads],
  ["/api/admin/config", reads],
  ["/api/admin/users", reads],
  ["/api/admin/users/:id", reads],
  ["/api/admin/backups", [...reads, "POST"]],
]);

/** Parts of the API of admins that are open to keys, with every route below. */
const openParts: ReadonlySet<string> = new Set([
  "collections",
  "endpoints",
  "events",
  "functions",
  "jobs",
  "logs",
  "runs",
  "schema.json",
  "scripts",
  "storage",
]);

/** @param pattern of the route, or the path of a request without a route. */
export function isClosedToKeys(method: string, pattern: string): boolean {
  const [, api, part = "", noun = ""] = pattern.split("/");
  if (api !== "api" || (part !== "auth" && part !== "admin")) return false;
  if (part === "admin" && openParts.has(noun)) return false;
  return openRoutes.get(pattern)?.includes(method) !== true;
}
