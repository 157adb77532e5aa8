/**
 * OpenAPI documents of the service: made when asked for, from the definitions in force, and kept until the definitions or the
 * endpoints change. A document has nothing beyond what the readers may know: admins, signed-in users, or anybody.
 */
import type { Config } from "../../base/config/index.ts";
import { Admission, BoundedMap, isAdmin, type Principal, shareOf } from "../../base/kernel/index.ts";
import type { Endpoint, Endpoints } from "../../code/endpoints/index.ts";
import type { Collections } from "../../data/collections/index.ts";
import type { DocumentPartCache, DocumentParts } from "../openapi/index.ts";
import { codesByStatus } from "./headers.ts";
import { type ApiTable, describedRoutes } from "./route.ts";

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
  /** The table of routes. */
  readonly table: () => ApiTable;
}

/** Makes a document; the code is loaded with the first document, because most services are never asked. */
export async function makeDocument(
  table: ApiTable,
  parts: Omit<DocumentParts, "routes" | "codes">,
  cache: DocumentPartCache,
): Promise<string> {
  const { openApiText } = await import("../openapi/index.ts");
  const routes = table.flatMap(([tag, each]) => describedRoutes(tag, each));
  return openApiText({ ...parts, routes, codes: codesByStatus() }, cache);
}

/** Characters of the parts that documents share. */
const maxParts = 8 * 1024 ** 2;

export function newCache(): DocumentPartCache {
  return new BoundedMap(maxParts, (view, { paths, schemas }) => view.length + paths.length + schemas.length);
}

/** Documents that are kept: of admins, users and anybody, and of a few keys with other scopes. */
const maxKept = 8;
const tooMany = "Too many OpenAPI documents are asked for. Try again in a moment.";

export class OpenApiDocuments {
  readonly #options: DocumentsOptions;
  /** The documents of a state of definitions and endpoints, by the readers. */
  #made = new BoundedMap<string, Promise<DocumentText>>(maxKept);
  #parts = newCache();
  /** Documents are made one at a time, with a share for each caller. */
  readonly #admission = new Admission({ width: 1, maxWaiting: 256, waitingShare: 16, message: tooMany });
  #epoch = -1;
  #endpoints: readonly Endpoint[] = [];

  constructor(options: DocumentsOptions) {
    this.#options = options;
  }

  /** The document for a caller. */
  for(principal: Principal): Promise<DocumentText> {
    this.#followState();
    const scopes = principal !== null && "scopes" in principal ? principal.scopes : null;
    const key = JSON.stringify([readersOf(principal), scopes]);
    const kept = this.#made.use(key);
    if (kept !== undefined) return kept;
    const made = this.#made;
    const text = this.#admission.run(() => this.#textFor(principal), { caller: shareOf(principal) });
    made.set(key, text);
    // The next caller asks anew.
    text.catch(() => made.delete(key));
    return text;
  }

  /** Forgets the documents of former definitions and endpoints. */
  #followState(): void {
    const { collections, endpoints } = this.#options;
    if (this.#epoch === collections.epoch && this.#endpoints === endpoints.list()) return;
    this.#made = new BoundedMap(maxKept);
    this.#parts = newCache();
    this.#epoch = collections.epoch;
    this.#endpoints = endpoints.list();
  }

  async #textFor(principal: Principal): Promise<DocumentText> {
    const { collections, endpoints, config, version, table } = this.#options;
    const { describedFor } = await import("../openapi/index.ts");
    // Definitions are read when nothing is waited for any more: rules are parsed by the definitions in force.
    this.#followState();
    const described = collections.allListed().flatMap((collection) => describedFor(collection, principal) ?? []);
    const parts = { version, url: config.publicUrl, collections: described, endpoints: endpoints.list() };
    const json = new TextEncoder().encode(
      await makeDocument(table(), { ...parts, readers: readersOf(principal) }, this.#parts),
    );
    return { json, tag: `"${Bun.hash(json).toString(36)}"` };
  }
}

function readersOf(principal: Principal): DocumentParts["readers"] {
  if (isAdmin(principal)) return "admins";
  return principal === null ? "anybody" : "users";
}
