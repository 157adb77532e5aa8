/** First steps: the commands that lead a person that has just started the service to a first record. */
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import type { Collection } from "../data/collections/index.ts";
import type { Service } from "./service.ts";

const json = "-H 'Content-Type: application/json'";
const bearer = '-H "Authorization: Bearer $TOKEN"';

/** A value that a field takes; undefined for a field without a value to guess: a pattern, an id, or several items. */
function example(field: FieldDefinition): JsonValue | undefined {
  if (field.multiple !== true) return exampleItem(field);
  const { min: fewest = 0, max: most, ...item } = field;
  const value = fewest > 1 || most === 0 ? undefined : exampleItem(item);
  return value === undefined ? undefined : [value];
}

function exampleItem({ type, regex, min, max, values }: FieldDefinition): JsonValue | undefined {
  if (values !== undefined) return values[0];
  if (type === "string" || type === "text")
    return regex === undefined ? "Hello".padEnd(min ?? 0, "o").slice(0, max) : undefined;
  if (type === "integer" || type === "float") {
    if (min !== undefined) return Math.ceil(min);
    return max === undefined || max >= 1 ? 1 : Math.floor(max);
  }
  const others = {
    boolean: true,
    datetime: "2026-01-01",
    json: { hello: "world" },
    relation: undefined,
    file: undefined,
    geo: { lat: 52.52, lon: 13.405 },
    vector: undefined,
  };
  return others[type];
}

/** A body that makes a record of the collection, or null. */
function exampleBody({ definition }: Collection): Record<string, JsonValue> | null {
  const body: Record<string, JsonValue> = {};
  // The service fills the others.
  const own = definition.fields.filter(
    ({ owner, sequence, default: value }) => owner !== true && sequence === undefined && value === undefined,
  );
  for (const field of own.filter(({ required }) => required === true)) {
    const value = example(field);
    if (value === undefined) return null;
    body[field.name] = value;
  }
  const first = own.find((field) => example(field) !== undefined);
  if (Object.keys(body).length === 0 && first !== undefined) body[first.name] = example(first) ?? null;
  return body;
}

function freeEmail({ auth }: Service): string {
  for (let n = 1; ; n++) {
    const email = `me${n === 1 ? "" : n}@example.com`;
    if (auth.users.findByEmail(email) === null) return email;
  }
}

/**
 * The commands, for a POSIX shell with curl: a registration if the collection needs a user, a first record, the list
 * with the record. Empty for a service with records, or without a collection that every registered user can write and
 * read.
 */
export function firstSteps(service: Service, url: string, config: Config): string[] {
  const collections = service.collections.all();
  for (const collection of collections) if (service.records.count(collection) > 0) return [];
  for (const collection of collections) {
    const { name, policies } = collection;
    const { create, read } = policies;
    const body = exampleBody(collection);
    const needsUser = !create.isOpen || !read.isOpen;
    if (body === null || create.audience === "admins" || read.audience === "admins") continue;
    if (needsUser && !config["auth.registration"]) continue;
    const password = "a long password".padEnd(config["auth.passwordMinLength"], "!");
    const credentials = JSON.stringify({ email: freeEmail(service), password });
    const token = `sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/'`;
    const as = needsUser ? ` ${bearer}` : "";
    return [
      ...(needsUser ? [`TOKEN=$(curl -s ${url}/api/auth/register ${json} -d '${credentials}' | ${token})`] : []),
      `curl -s ${url}/api/${name}${as} ${json} -d '${JSON.stringify(body)}'`,
      `curl -s ${url}/api/${name}${as}`,
    ];
  }
  return [];
}
