/** Collections for the tools of `socle mcp`, read from the OpenAPI document of the service. */
import { isObject } from "../../base/kernel/index.ts";
import { maxAnswer, ToolError, type ToolService } from "./service.ts";

type Json = Readonly<Record<string, unknown>>;

const tagPattern = /^Records: (\w+)$/;

/** The operations of ids such as `listPosts`, in words. */
const operations: readonly (readonly [prefix: string, operation: string])[] = [
  ["list", "read"],
  ["create", "create"],
  ["update", "update"],
  ["remove", "delete"],
];

interface Entry {
  readonly operations: string[];
  readonly fields: { readonly [name: string]: string };
}

function member(value: unknown, name: string): Json {
  const inner = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return isObject(inner) ? inner : {};
}

/** The document. @throws ToolError with a way out for a key without the right. */
async function readDocument(service: ToolService): Promise<Json> {
  try {
    const document = await service.json({ method: "GET", path: "/api/openapi.json" });
    if (isObject(document) && isObject(document["paths"])) return document;
  } catch (thrown) {
    if (!(thrown instanceof ToolError) || !/^forbidden /.test(thrown.message)) throw thrown;
    throw new ToolError(
      'The key may not read the OpenAPI document, so that the collections cannot be listed: the operator of the service sets "openapi.public" to true, or gives a key with the scope admin. Records of a known collection can be read all the same.',
    );
  }
  throw new ToolError("The answer of the service is no OpenAPI document.");
}

/** A schema in a few words: `string, required`. */
function wordsOf(schema: unknown, isNeeded: boolean): string {
  const { type, enum: values, format, items, description } = isObject(schema) ? schema : ({} as Json);
  const types = (Array.isArray(type) ? type : [type ?? "json"]).filter((each) => each !== "null");
  const name = format === "date-time" ? "datetime" : types.join(" or ");
  const words = [
    types[0] === "array" ? `several of ${wordsOf(items, false)}` : name,
    ...(Array.isArray(values) ? [`one of ${values.filter((value) => value !== null).join(", ")}`] : []),
    ...(isNeeded ? ["required on create"] : []),
    ...(typeof description === "string" ? [description] : []),
  ];
  return words.join("; ");
}

function entriesOf(document: Json): Map<string, Entry> {
  const schemas = member(member(document, "components"), "schemas");
  const entries = new Map<string, Entry>();
  for (const path of Object.values(member(document, "paths")))
    for (const operation of Object.values(isObject(path) ? path : {})) {
      if (!isObject(operation) || !Array.isArray(operation["tags"])) continue;
      const [, name] = tagPattern.exec(String(operation["tags"][0])) ?? [];
      if (name === undefined) continue;
      const entry = entries.getOrInsertComputed(name, () => ({ operations: [], fields: fieldsOf(schemas, name) }));
      const [, word] = operations.find(([prefix]) => String(operation["operationId"]).startsWith(prefix)) ?? [];
      if (word !== undefined) entry.operations.push(word);
    }
  return entries;
}

function fieldsOf(schemas: Json, name: string): Entry["fields"] {
  const required = member(schemas, `${name}.create`)["required"];
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const properties = {
    ...member(member(schemas, `${name}.create`), "properties"),
    ...member(member(schemas, `${name}.record`), "properties"),
  };
  const own = Object.entries(properties).filter(([field]) => field !== "expand" && field !== "snippet");
  return Object.fromEntries(own.map(([field, schema]) => [field, wordsOf(schema, needed.includes(field))]));
}

/** The collections that the key reaches, as JSON: with fields, or in a large project the names alone. @throws ToolError. */
export async function listCollections(service: ToolService): Promise<string> {
  const entries = entriesOf(await readDocument(service));
  const whole = JSON.stringify({ collections: Object.fromEntries(entries) });
  if (whole.length <= maxAnswer) return whole;
  const names = Object.fromEntries([...entries].map(([name, entry]) => [name, entry.operations]));
  return JSON.stringify({ collections: names, note: "Fields are left out here; ask with describe_collection." });
}

/** The JSON Schemas of a collection. @throws ToolError, also for a collection that the key does not reach. */
export async function describeCollection(service: ToolService, collection: string): Promise<string> {
  const document = await readDocument(service);
  const entry = entriesOf(document).get(collection);
  if (entry === undefined)
    throw new ToolError(
      `There is no collection ${JSON.stringify(collection)} that the key reaches; see list_collections.`,
    );
  const schemas = member(member(document, "components"), "schemas");
  const text = JSON.stringify({
    operations: entry.operations,
    record: schemas[`${collection}.record`],
    create: schemas[`${collection}.create`],
    update: schemas[`${collection}.update`],
  });
  return text.length <= maxAnswer ? text : JSON.stringify(entry);
}
