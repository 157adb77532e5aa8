/**
 * OpenAPI documents of the service: made when asked for, from the definitions in force, and kept until the definitions or the
 * endpoints change. A document has nothing beyond what the readers may know: admins, signed-in users, or anybody.
 */
import type { CollectionDefinition } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { isAdmin, type Principal } from "../../base/kernel/index.ts";
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

export class OpenApiDocuments {
  readonly #options: DocumentsOptions;
  /** The documents of a state of definitions and endpoints, by the class of the readers. */
  readonly #made = new Map<string, Promise<DocumentText>>();
  #epoch = -1;
  #endpoints: readonly Endpoint[] = [];

  constructor(options: DocumentsOptions) {
    this.#options = options;
  }

  /** The document for a caller. */
  for(principal: Principal): Promise<DocumentText> {
    const { collections, endpoints } = this.#options;
    if (this.#epoch !== collections.epoch || this.#endpoints !== endpoints.list()) this.#made.clear();
    this.#epoch = collections.epoch;
    this.#endpoints = endpoints.list();
    // The scopes of a key narrow the document; there are many scopes.
    const isKept = principal === null || !("scopes" in principal);
    const text = (): Promise<DocumentText> => this.#textFor(principal);
    return isKept ? this.#made.getOrInsertComputed(readersOf(principal), text) : text();
  }

  async #textFor(principal: Principal): Promise<DocumentText> {
    const { collections, config, version } = this.#options;
    const [all, endpoints] = [collections.all(), this.#endpoints];
    const { describedFor } = await import("../openapi/index.ts");
    const document = await make({
      version,
      url: config.publicUrl,
      collections: all.flatMap((collection) => describedFor(collection, principal) ?? []),
      endpoints,
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
