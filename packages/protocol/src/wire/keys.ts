/** API keys (contract, "Users and accounts"): the forms of scopes, and the shapes of requests and answers. */
import { parseDatetime } from "../cells/datetime.ts";
import {
  about,
  arrayOf,
  closed,
  named,
  object,
  optional,
  orNull,
  type Shape,
  string,
  type TypeOf,
  time,
} from "./shape.ts";

const ofRecords = /^(?:\*|[A-Za-z][A-Za-z0-9_]{0,62}):(?:read|write)$/;
const ofEndpoints = /^function:(?:\/|(?:\/[^\s/*?#]{1,200}){1,20}(?:\/\*)?|\/\*)$/;
const ofQueries = /^query:(?:\*|[A-Za-z][A-Za-z0-9_-]{0,62})$/;
const scopeForms =
  '"posts:read", "posts:write", "*:read", "*:write", "function:/path", "function:/path/*", "query:name", "query:*" or "admin"';

const maxName = 100;
const maxScopes = 50;

function isScope(text: unknown): text is string {
  if (typeof text !== "string") return false;
  return text === "admin" || ofRecords.test(text) || ofEndpoints.test(text) || ofQueries.test(text);
}

const keyName: Shape<string> = {
  schema: { type: "string", minLength: 1, maxLength: maxName },
  read(value, field, problems) {
    const name = typeof value === "string" && value.isWellFormed() ? value.trim() : "";
    const length = [...name].length;
    if (length >= 1 && length <= maxName && !/\p{Cc}/u.test(name)) return name;
    const rule = value === undefined || value === null || value === "" ? "required" : length > maxName ? "max" : "type";
    const message = `${field} must be a text of 1 to ${maxName} characters without control characters`;
    return problems.add({ field, rule, message });
  },
};

/** Answers each scope once, in order. */
const scopes: Shape<string[]> = {
  schema: { type: "array", items: { type: "string" }, minItems: 1, maxItems: maxScopes },
  read(value, field, problems) {
    if (!Array.isArray(value) || value.length === 0 || value.length > maxScopes) {
      const rule = value === undefined || value === null ? "required" : Array.isArray(value) ? "max" : "type";
      return problems.add({ field, rule, message: `${field} must be an array of 1 to ${maxScopes} scopes` });
    }
    for (const [item, scope] of value.entries())
      if (!isScope(scope))
        problems.add({ field, rule: "type", message: `${field}[${item}] must be ${scopeForms}`, item });
    return [...new Set<string>(value.filter(isScope))].sort();
  },
};

const end: Shape<string> = {
  schema: { type: "string", format: "date-time" },
  read(value, field, problems) {
    const parsed = typeof value === "string" ? parseDatetime(value) : null;
    if (parsed !== null && Date.parse(parsed) > Date.now()) return parsed;
    const message = `${field} must be a datetime in the future, such as 2030-01-31T00:00:00Z, or null`;
    return problems.add({ field, rule: parsed === null ? "type" : "min", message });
  },
};

/** The body that makes a key. */
export const newApiKey = named("NewApiKey", () =>
  closed({
    /** 1 to 100 characters. */
    name: keyName,
    /** `posts:read`, `posts:write`, `*:read`, `*:write`, `function:/path`, `function:/path/*` or `admin`. */
    scopes,
    /** A datetime in the future; without the member, the key does not expire. */
    expiresAt: optional(orNull(end)),
  }),
);
export type NewApiKey = TypeOf<typeof newApiKey>;

const keyMembers = {
  /** `key_` and a UUIDv7. */
  id: string,
  name: string,
  scopes: arrayOf(string),
  createdAt: time,
  /** The service deletes the key at this time; null for a key without an end. */
  expiresAt: orNull(time),
  /** To about a minute; null for a key that was never used. */
  lastUsedAt: orNull(time),
};

export const apiKey = named("ApiKey", () => object(keyMembers));
export type ApiKey = TypeOf<typeof apiKey>;

/** The only answer that has the key. */
export const createdApiKey = named("CreatedApiKey", () =>
  object({
    ...keyMembers,
    /** `sk_` and 256 random bits, for `Authorization: Bearer …`. */
    key: about(string, "The only answer that has the key."),
  }),
);
export type CreatedApiKey = TypeOf<typeof createdApiKey>;
