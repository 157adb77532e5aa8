/**
 * Documents of Firestore in the two forms that exports have: the nested form of `node-firestore-import-export` (`__collections__`,
 * `__datatype__`), and documents of the REST API with typed values. Both become documents with values in the nested form.
 */
import { isObject, SetupError } from "../../../base/kernel/index.ts";

export const howToExport = "npx -p node-firestore-import-export firestore-export -a KEY.json -b firestore.json";

export interface SourceDocument {
  /** Names and ids in turn: `["posts", "p1", "comments", "c1"]`. */
  readonly path: readonly string[];
  readonly fields: Readonly<Record<string, unknown>>;
  /** Empty where the export has no times of documents. */
  readonly createTime: string;
  readonly updateTime: string;
}

/** @throws SetupError for JSON of another form. */
export function* documentsOf(json: unknown): Iterable<SourceDocument> {
  if (isObject(json) && isObject(json["__collections__"])) yield* nested(json["__collections__"], []);
  else if (isObject(json) && Array.isArray(json["documents"])) {
    if (json["nextPageToken"] !== undefined)
      throw new SetupError("firestore.json: is one page of several (nextPageToken): join the documents of all pages");
    yield* json["documents"].map(ofRest);
  } else if (Array.isArray(json)) yield* json.map(ofRest);
  else
    throw new SetupError(
      `firestore.json: is neither a whole export with "__collections__" nor a list of "documents" of the REST API. Export so: ${howToExport}`,
    );
}

function* nested(collections: unknown, parents: readonly string[]): Iterable<SourceDocument> {
  for (const [name, documents] of membersOf(collections, parents))
    for (const [id, document] of membersOf(documents, [...parents, name])) {
      const path = [...parents, name, id];
      const { __collections__: inner = {}, ...fields } = Object.fromEntries(membersOf(document, path));
      yield { path, fields, createTime: "", updateTime: "" };
      yield* nested(inner, path);
    }
}

function membersOf(value: unknown, path: readonly string[]): [string, unknown][] {
  if (!isObject(value)) throw new SetupError(`firestore.json: ${path.join("/") || "__collections__"} is no object`);
  return Object.entries(value);
}

function ofRest(entry: unknown, at: number): SourceDocument {
  const document = isObject(entry) && isObject(entry["document"]) ? entry["document"] : entry;
  const name = isObject(document) ? String(document["name"]) : "";
  const [, place = ""] = /^projects\/[^/]+\/databases\/[^/]+\/documents\/(.+)$/.exec(name) ?? [];
  const path = place.split("/");
  if (!isObject(document) || place === "" || path.length % 2 === 1)
    throw new SetupError(
      `firestore.json: entry ${at} has no "name" as projects/P/databases/D/documents/COLLECTION/ID, as documents of the REST API have`,
    );
  try {
    const { fields = {}, createTime = "", updateTime = "" } = document;
    return { path, fields: ofMap(fields), createTime: String(createTime), updateTime: String(updateTime) };
  } catch (thrown) {
    throw thrown instanceof SyntaxError ? new SetupError(`firestore.json: ${place}: ${thrown.message}`) : thrown;
  }
}

function ofMap(fields: unknown): Record<string, unknown> {
  if (!isObject(fields)) throw new SyntaxError("the fields are no object");
  return Object.fromEntries(Object.entries(fields).map(([name, typed]) => [name, ofTyped(typed)]));
}

/** @throws SyntaxError for a value that the REST API does not write. */
function ofTyped(typed: unknown): unknown {
  const [kind, value] = (isObject(typed) ? Object.entries(typed)[0] : undefined) ?? [];
  const inner = isObject(value) ? value : {};
  const special = (__datatype__: string, given: unknown): object => ({ __datatype__, value: given });
  switch (kind) {
    case "nullValue":
      return null;
    case "booleanValue":
    case "stringValue":
      return value;
    case "integerValue":
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    case "doubleValue":
      return typeof value === "number" ? value : special("number", value);
    case "timestampValue":
      return special("timestamp", value);
    case "geoPointValue":
      return special("geopoint", { _latitude: inner["latitude"] ?? 0, _longitude: inner["longitude"] ?? 0 });
    case "referenceValue":
      return special("documentReference", String(value).replace(/^.*?\/documents\//, ""));
    case "bytesValue":
      return special("bytes", value);
    case "arrayValue":
      return (Array.isArray(inner["values"]) ? inner["values"] : []).map(ofTyped);
    case "mapValue":
      return ofMap(inner["fields"] ?? {});
    default:
      throw new SyntaxError(`${JSON.stringify(typed)?.slice(0, 60)} is no typed value of Firestore`);
  }
}
