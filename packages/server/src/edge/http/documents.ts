/**
 * OpenAPI documents of the service: made when asked for, from the definitions in force, and kept until the definitions or the
 * endpoints change. A document has nothing beyond what the readers may know: admins, signed-in users, or anybody.
 */
import type { CollectionDefinition } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { BoundedMap, isAdmin, type Principal } from "../../base/kernel/index.ts";
import type { Endpoint, Endpoints } from "../../code/endpoints/index.ts";
import type { Collections } from "../../data/collections/index.ts";
import type { DocumentParts, OpenApiDocument } from "../openapi/index.ts";
import { codesByStatus } from "./headers.ts";

/** A document as JSON, with the strong tag. */
interface DocumentText {
  readonly json: Uint8Array;
  readonly tag: string;
}

interface DocumentsOptions {
  readonly collections: Collections;
  readonly endpoints: Pick<Endpoints, "list">;
  readonly config: Config;
  readonly version: string;
}

/** Makes a document; the code is loaded with the first document, because most services are never asked. */
async function make(parts: Omit<DocumentParts, "routes" | "codes">): Promise<OpenApiDocument> {
  const [{ openApiDocument }, { describedRoutes }] = await Promise.all([
    import("../openapi/index.ts"),
    import("./routes/described.ts"),
  ]);
  return openApiDocument({ ...parts, routes: describedRoutes, codes: codesByStatus() });
}

/** The document for admins of a project that does not run. */
export async function projectDocument(project: {
  definitions: readonly CollectionDefinition[];
  endpoints: readonly Endpoint[];
  version: string;
  url: string | undefined;
}): Promise<OpenApiDocument> {
  const { describedForAdmins } = await import("../openapi/index.ts");
  const collections = project.definitions.map(describedForAdmins);
  return make({ ...project, collections, readers: "admins" });
}

/** Documents that are kept: of admins, users and anybody, and of a few keys with other scopes. */
const maxKept = 8;

export class OpenApiDocuments {
  readonly #options: DocumentsOptions;
  /** The documents of a state of definitions and endpoints, by the readers. */
  #made = new BoundedMap<string, Promise<DocumentText>>(maxKept);
  #epoch = -1;
  #endpoints: readonly Endpoint[] = [];

  constructor(options: DocumentsOptions) {
    this.#options = options;
  }

  /** The document for a caller. */
  for(principal: Principal): Promise<DocumentText> {
    const { collections, endpoints } = this.#options;
    if (this.#epoch !== collections.epoch || this.#endpoints !== endpoints.list()) this.#made = new BoundedMap(maxKept);
    this.#epoch = collections.epoch;
    this.#endpoints = endpoints.list();
    const scopes = principal !== null && "scopes" in principal ? principal.scopes : null;
    const key = JSON.stringify([readersOf(principal), scopes]);
    const kept = this.#made.use(key);
    if (kept !== undefined) return kept;
    const text = this.#textFor(principal);
    this.#made.set(key, text);
    return text;
  }

  async #textFor(principal: Principal): Promise<DocumentText> {
    const { collections, endpoints, config, version } = this.#options;
    const { describedFor } = await import("../openapi/index.ts");
    // Definitions are read when nothing is waited for any more: rules are parsed by the definitions in force.
    const described = collections.all().flatMap((collection) => describedFor(collection, principal) ?? []);
    const document = await make({
      version,
      url: config.publicUrl,
      collections: described,
      endpoints: endpoints.list(),
      readers: readersOf(principal),
    });
    const json = new TextEncoder().encode(JSON.stringify(document));
    return { json, tag: `"${Bun.hash(json).toString(36)}"` };
  }
}

function readersOf(principal: Principal): DocumentParts["readers"] {
  if (isAdmin(principal)) return "admins";
  return principal === null ? "anybody" : "users";
}
