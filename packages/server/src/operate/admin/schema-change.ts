/**
 * Schema changes of admins: turns a request (add, remove, change, replace everything) into the definitions that the
 * request asks for.
 */
import type { CollectionDefinition } from "@socle/protocol";
import { AppError, isObject, nearest, oneOf, quote } from "../../base/kernel/index.ts";
import {
  type Definitions,
  keepUnsent,
  type ParsedDefinition,
  parseDefinition,
  type SchemaChange,
} from "../../data/collections/index.ts";

/** Makes a change from the definitions before the change. */
export type ChangeBuilder = (definitions: Definitions) => SchemaChange | Promise<SchemaChange>;

/** The fingerprints of the schemas that the caller is ready to change; null for any. */
export type Expected = readonly string[] | null;

/** The attributes that PUT of a collection takes. */
const attributes = ["name", "fields", "permissions", "indexes", "search"];
/** Attributes that GET answers beside these. PUT ignores the attributes, so that an answer can be sent back. */
const answered = ["$schema", "definition", "createdAt", "updatedAt", "records"];

/** A change of a collection. */
export interface CollectionChange {
  readonly name: string;
  /** @throws AppError as the change says. */
  readonly build: ChangeBuilder;
}

/** A new collection. @throws AppError `bad_request` for a malformed definition; `build` for a name that is taken. */
export async function additionOf(body: unknown): Promise<CollectionChange> {
  const parsed = await parseDefinition(body);
  const { name } = parsed.definition;
  return {
    name,
    build(definitions) {
      if (definitions.has(name))
        throw new AppError("bad_request", `There is a collection "${name}" already; PUT changes it.`);
      return { define: [parsed], drop: [] };
    },
  };
}

/** Drops a collection. `build` throws `not_found`, the migration `bad_request` while another collection points to it. */
export function removalOf(name: string): CollectionChange {
  return { name, build: (definitions) => ({ define: [], drop: [existing(definitions, name).name] }) };
}

/** Attributes that the body leaves out are unchanged. `build` throws `not_found` and `bad_request`. */
export function changeOf(name: string, body: Record<string, unknown>): CollectionChange {
  return { name, build: (definitions) => changedBy(body, existing(definitions, name)) };
}

async function changedBy(body: Record<string, unknown>, definition: CollectionDefinition): Promise<SchemaChange> {
  const { name } = definition;
  refuseUnknown(body, attributes, answered);
  if (body["name"] !== undefined && body["name"] !== name)
    throw new AppError("bad_request", `"name" must be "${name}" or left out: a collection cannot be renamed.`);
  const { fields = definition.fields, permissions = definition.permissions, indexes, search } = body;
  const parsed = await parseDefinition({
    name,
    fields,
    ...(permissions === undefined ? {} : { permissions }),
    indexes,
    search,
  });
  return { define: [keepUnsent(definition, parsed, { indexes, search })], drop: [] };
}

/** A collection that is not defined is dropped. */
export function wholeChange(define: ParsedDefinition[], expected: Expected): ChangeBuilder {
  const names = new Set(define.map(({ definition }) => definition.name));
  return (definitions) => {
    if (expected !== null && !expected.includes(fingerprintOf(definitions)))
      throw new AppError("conflict", "The schema has changed since it was read.");
    return { define, drop: [...definitions.keys()].filter((name) => !names.has(name)) };
  };
}

function existing(definitions: Definitions, name: string): CollectionDefinition {
  const definition = definitions.get(name);
  if (definition === undefined) throw new AppError("not_found", `There is no collection ${quote(name)}.`);
  return definition;
}

/** Definitions are kept in the order of their names, so that the same ones give the same text. */
export function fingerprintOf(definitions: Definitions): string {
  return Bun.SHA256.hash(JSON.stringify([...definitions.values()]), "hex").slice(0, 32);
}

function refuseUnknown(body: Record<string, unknown>, allowed: readonly string[], ignored: readonly string[]): void {
  for (const key of Object.keys(body)) {
    if (allowed.includes(key) || ignored.includes(key)) continue;
    const near = nearest(key, allowed);
    const advice = near === null ? `allowed: ${oneOf(allowed)}` : `did you mean "${near}"?`;
    throw new AppError("bad_request", `Unknown attribute ${quote(key)}; ${advice}`);
  }
}

export async function parseSchema(body: Record<string, unknown>): Promise<ParsedDefinition[]> {
  const { collections } = body;
  refuseUnknown(body, ["collections"], ["$schema"]);
  if (!Array.isArray(collections)) {
    const given = collections === undefined ? "; it is missing" : `, not ${quote(collections)}`;
    throw new AppError("bad_request", `"collections" must be an array of collection definitions${given}.`);
  }
  const parsed: ParsedDefinition[] = [];
  const seen = new Set<string>();
  for (const [i, item] of collections.entries()) {
    const name =
      isObject(item) && typeof item["name"] === "string" ? `collection ${quote(item["name"])}` : `collection ${i + 1}`;
    const one = await parseDefinition(item).catch((thrown: unknown) => {
      throw thrown instanceof AppError ? new AppError("bad_request", `${name}: ${thrown.message}`) : thrown;
    });
    const key = one.definition.name.toLowerCase();
    if (seen.has(key)) throw new AppError("bad_request", `${name} is there twice, also without regard to case.`);
    seen.add(key);
    parsed.push(one);
  }
  return parsed;
}
