/** The body of a request for an API key: name, scopes and end. */
import type { ErrorDetail } from "@socle/protocol";
import { AppError, parseDatetime } from "../../../base/kernel/index.ts";
import { isScope, scopeForms } from "../../../data/permissions/index.ts";

const maxName = 100;
const maxScopes = 50;
const members = ["name", "scopes", "expiresAt"];

export interface NewKey {
  readonly name: string;
  /** Each scope once, in order. */
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; null for a key without an end. */
  readonly expiresAt: number | null;
}

/** @throws AppError `validation_error` with all problems. */
export function readNewKey(body: Record<string, unknown>, now: number): NewKey {
  const problems: ErrorDetail[] = [];
  const name = readName(body["name"], problems);
  const scopes = readScopes(body["scopes"], problems);
  const expiresAt = readEnd(body["expiresAt"] ?? null, now, problems);
  for (const field of Object.keys(body))
    if (!members.includes(field)) problems.push({ field, rule: "unknown", message: `${field} is unknown` });
  if (problems.length > 0) throw AppError.validation(problems);
  return { name, scopes, expiresAt };
}

function readName(value: unknown, problems: ErrorDetail[]): string {
  const name = typeof value === "string" && value.isWellFormed() ? value.trim() : "";
  const length = [...name].length;
  if (length >= 1 && length <= maxName && !/\p{Cc}/u.test(name)) return name;
  const rule = value === undefined || value === null || value === "" ? "required" : length > maxName ? "max" : "type";
  const message = `name must be a text of 1 to ${maxName} characters without control characters`;
  problems.push({ field: "name", rule, message });
  return "";
}

function readScopes(value: unknown, problems: ErrorDetail[]): string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxScopes) {
    const rule = value === undefined || value === null ? "required" : Array.isArray(value) ? "max" : "type";
    problems.push({ field: "scopes", rule, message: `scopes must be an array of 1 to ${maxScopes} scopes` });
    return [];
  }
  const scopes = new Set<string>();
  for (const [item, scope] of value.entries())
    if (typeof scope === "string" && isScope(scope)) scopes.add(scope);
    else problems.push({ field: "scopes", item, rule: "type", message: `scopes[${item}] must be ${scopeForms}` });
  return [...scopes].sort();
}

function readEnd(value: unknown, now: number, problems: ErrorDetail[]): number | null {
  if (value === null) return null;
  const text = typeof value === "string" ? parseDatetime(value) : null;
  const time = text === null ? Number.NaN : Date.parse(text);
  if (time > now) return time;
  const message = "expiresAt must be a datetime in the future, such as 2030-01-31T00:00:00Z, or null";
  problems.push({ field: "expiresAt", rule: Number.isNaN(time) ? "type" : "min", message });
  return null;
}
