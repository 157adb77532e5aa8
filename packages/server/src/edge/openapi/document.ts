/** The document: OpenAPI 3.1 of a service, made from the descriptions of the routes, the definitions in force and the endpoints. */
import { USERS } from "@socle/protocol";
import * as wire from "@socle/protocol/wire";
import { type BoundedMap, LoopTurns } from "../../base/kernel/index.ts";
import type { Endpoint } from "../../code/endpoints/index.ts";
import { collectionMark, collectionPaths } from "./collection-paths.ts";
import { collectionSchemas, type DescribedCollection } from "./collection-schemas.ts";
import type { DescribedRoute } from "./description.ts";
import { endpointPaths } from "./endpoint-paths.ts";
import { errorAnswers, errorSchemas, type StatusCodes } from "./errors.ts";
import { fixedPaths, type Paths } from "./operations.ts";
import type { Schema } from "./schema.ts";

/** The readers of a document: a document has nothing beyond what its readers may know. */
type DocumentReaders = "anybody" | "users" | "admins";

export interface DocumentParts {
  readonly version: string;
  /** The address of the service; without an address, paths count from the address of the document. */
  readonly url?: string | undefined;
  readonly routes: readonly DescribedRoute[];
  readonly codes: StatusCodes;
  readonly collections: readonly Omit<DescribedCollection, "knows">[];
  readonly endpoints: readonly Endpoint[];
  readonly readers: DocumentReaders;
}

/** An OpenAPI document: JSON. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Paths;
  readonly components: { readonly schemas: { readonly [name: string]: Schema }; readonly [kind: string]: object };
  readonly [member: string]: unknown;
}

const introduction =
  "Bodies are JSON. Every error has the same body; each status has a schema with its codes. " +
  "Sign in with POST /api/auth/login, and send the access token, or an API key, as Authorization: Bearer TOKEN. " +
  "The schemas of lists and records are of requests without fields, group and aggregate: with these parameters, the answer has the parts that were asked for.";

function isOfRecords({ path }: DescribedRoute): boolean {
  return path.startsWith(`/api/${collectionMark}`);
}

function isShownTo(readers: DocumentReaders): (access: Endpoint["access"]) => boolean {
  return (access) => readers === "admins" || access === "public" || (access === "authenticated" && readers === "users");
}

/** A part of a document, which documents for several readers share: members of JSON objects, and the schemas that the part refers to. */
interface DocumentPart {
  readonly paths: string;
  readonly schemas: string;
  readonly refers: ReadonlySet<string>;
}

/** The parts of one state of definitions and endpoints, by the view of the readers. */
export type DocumentPartCache = BoundedMap<string, DocumentPart>;

type Schemas = { readonly [name: string]: Schema };

/** The JSON of an object, without the braces. */
function membersOf(value: object): string {
  return JSON.stringify(value).slice(1, -1);
}

/** Adds the names of the schemas that a JSON text refers to, also through other schemas. */
function addUsed(json: string, all: Schemas, found: Set<string>): Set<string> {
  for (const [, name = ""] of json.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (found.has(name)) continue;
    found.add(name);
    if (all[name] !== undefined) addUsed(JSON.stringify(all[name]), all, found);
  }
  return found;
}

/** The named shapes of the wire. */
function wireSchemas(): Schemas {
  const shapes = Object.values(wire).filter((each) => each instanceof wire.Named);
  return Object.fromEntries(shapes.map(({ name, definition }) => [name, definition]));
}

/** The members of the used schemas. */
function usedOf(all: Schemas, used: ReadonlySet<string>): string {
  return membersOf(Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name))));
}

function ofCollection(routes: readonly DescribedRoute[], collection: DescribedCollection): DocumentPart {
  const json = membersOf(collectionPaths(routes, collection));
  const own = collectionSchemas(collection);
  const refers = addUsed(json, own, new Set());
  return { paths: json, schemas: usedOf(own, refers), refers };
}

/** The paths that are the same for all readers of a kind. */
function ofReaders({
  routes,
  endpoints,
  readers,
}: Pick<DocumentParts, "routes" | "endpoints" | "readers">): DocumentPart {
  const paths = fixedPaths(routes, readers === "admins");
  const json = membersOf({ ...paths, ...endpointPaths(endpoints, isShownTo(readers)) });
  return { paths: json, schemas: "", refers: addUsed(json, {}, new Set()) };
}

/** The view of a collection that a document has: equal views have equal parts. */
function viewOf(collection: DescribedCollection): string {
  const { definition, operations, unread, unwritten, isForAdmins, knows } = collection;
  const known = definition.fields.map(({ collection: target }) => target !== undefined && knows(target));
  return JSON.stringify([definition.name, [...operations], [...unread], [...unwritten], isForAdmins, known]);
}

/** The document as JSON. The event loop turns between the parts. */
export async function openApiText(parts: DocumentParts, cache: DocumentPartCache): Promise<string> {
  const { version, url = "/", routes, codes, readers } = parts;
  const names = new Set([USERS, ...parts.collections.map(({ definition }) => definition.name)]);
  const turns = new LoopTurns(1);
  const made: DocumentPart[] = [];
  const add = async (view: string, make: () => DocumentPart): Promise<void> => {
    const part = cache.use(view) ?? make();
    cache.set(view, part);
    made.push(part);
    if (turns.isDue()) await turns.next();
  };
  await add(readers, () => ofReaders({ ...parts, routes: routes.filter((each) => !isOfRecords(each)) }));
  const ofRecords = routes.filter(isOfRecords);
  for (const each of parts.collections) {
    const collection = { ...each, knows: (name: string) => names.has(name) };
    await add(viewOf(collection), () => ofCollection(ofRecords, collection));
  }
  const responses = errorAnswers(codes);
  const general = { ...wireSchemas(), ...errorSchemas(codes) };
  const used = new Set<string>();
  const refers = [...new Set(made.flatMap((part) => [...part.refers]))].map((name) => `"#/components/schemas/${name}"`);
  addUsed(`${refers.join()}${JSON.stringify(responses)}`, general, used);
  const join = (members: readonly string[]): string => `{${members.filter((text) => text !== "").join()}}`;
  const securitySchemes = {
    bearer: { type: "http", scheme: "bearer", description: "An access token, or an API key (sk_…)." },
  };
  const head = {
    openapi: "3.1.0",
    info: { title: "Socle", version, description: introduction },
    servers: [{ url }],
  };
  const paths = join(made.map((part) => part.paths));
  const schemas = join([usedOf(general, used), ...made.map((part) => part.schemas)]);
  const components = `{${membersOf({ securitySchemes })},"schemas":${schemas},${membersOf({ responses })}}`;
  return `{${membersOf(head)},"paths":${paths},"components":${components}}`;
}
