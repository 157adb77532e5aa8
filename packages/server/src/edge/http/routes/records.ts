/** The routes of records: `/api/{collection}` and `/api/{collection}/:id` (spec, "Collection records"). In the descriptions, `:collection` stands for the name of the collection. */
import {
  isReservedCollectionName,
  isView,
  MAX_SEARCHED_COLLECTIONS,
  type Operation,
  type RecordPage,
  type StoredRecord,
} from "@socle/protocol";
import * as wire from "@socle/protocol/wire";
import type { Config } from "../../../base/config/index.ts";
import { AppError, JsonText, LoopTurns, type Principal, quote, readShape } from "../../../base/kernel/index.ts";
import type { Collection } from "../../../data/collections/index.ts";
import { admitOperation } from "../../../data/permissions/index.ts";
import { type Queries, recordWeight } from "../../../data/queries/index.ts";
import { type Records, recordTag, type SavedRecord } from "../../../data/records/index.ts";
import type { Transactor } from "../../../store/database/index.ts";
import { isLarge, requireJsonType } from "../bodies.ts";
import type { Exchange } from "../exchange.ts";
import { NeedsLeader } from "../forwarding.ts";
import { jsonType, nothingHere } from "../headers.ts";
import { type Idempotency, idempotencyKey, keptJson, keyOf } from "../idempotency.ts";
import type { Lists } from "../lists.ts";
import type { RecordOperation, RunOperation } from "../record-operations.ts";
import { jsonBody, type Methods, noContent, ownRoute, parameter, type Routes, route } from "../route.ts";
import { isAboutTrash, restored, trashPage } from "./trash.ts";

/** Two callers may be answered different fields under one tag. */
const recordHeaders = { "Content-Type": jsonType, Vary: "Authorization" };

/**
 * Collection (404), token (401) and role (401, 403), in the order of the arguments, before the body is read. The
 * transaction of a change checks the rights again, because a right may end while a body comes.
 */
function admitted(
  operation: Operation | "upsert",
  collection: Collection,
  principal: Principal,
): [Collection, Principal] {
  admitOperation(collection.policies, operation, principal);
  return [collection, principal];
}

const keys = true;
const rate = "records";
const access = "rules";

function schemaOf(kind: string): { readonly [keyword: string]: unknown } {
  return { $ref: `#/components/schemas/:collection.${kind}` };
}

const selection = {
  fields: parameter("Names and paths, separated by commas: the answer has these fields alone."),
  expand: parameter("Relations, separated by commas: the answer has the records in expand."),
};
const trash = parameter(
  "The deleted records that can be restored, and that the caller may read and delete; with limit and cursor alone.",
  wire.constant("only"),
);
const ifMatch = { "If-Match": parameter("The version that the record must have, from ETag.") };
const record = { description: "The record.", content: { [jsonType]: schemaOf("record") }, headers: ["ETag"] };

interface RecordReadParts {
  readonly records: Records;
  readonly queries: Queries;
  readonly lists: Lists;
}

/** The paths of records, with the reads alone. */
export function recordReads(api: RecordReadParts): {
  readonly "/api/:collection": Methods;
  readonly "/api/:collection/query": Methods;
  readonly "/api/query": Methods;
  readonly "/api/:collection/:id": Methods;
} {
  return {
    "/api/query": {
      POST: route({
        summary: "Search in several collections",
        description: "The best matches first. Each collection is searched by the rules of the collection, as the list.",
        access: {
          kind: "anybody",
          admit(exchange) {
            exchange.isQuery = true;
            return exchange.principal();
          },
        },
        keys,
        body: queryBody(wire.searchRequest),
        answers: { 200: wire.searchResults },
        errors: [403, 404, 413],
        handle: (exchange, principal, asked) => searchAll(api, exchange, { ...asked, principal }),
      }),
    },
    "/api/:collection": {
      GET: ownRoute({
        summary: "List records of :collection",
        description: "Without parameters, all records, newest first.",
        access,
        operation: "read",
        keys,
        rate,
        query: {
          filter: parameter('An expression: status = "open" && points > 3.'),
          sort: parameter("Names and paths, separated by commas; - before a name sorts in descending order."),
          limit: parameter("Records of a page; 1,000 by default.", {
            schema: { type: "integer", minimum: 1, maximum: 1_000 },
          }),
          cursor: parameter("The nextCursor of the page before."),
          offset: parameter("Records that are left out.", wire.count),
          count: parameter("Asks for total.", wire.constant("exact")),
          ...selection,
          search: parameter('Words that the searched fields have: word begin* "two words".'),
          snippet: parameter("Searched fields: the answer has the text around the matches, as HTML."),
          group: parameter("Names and paths, separated by commas: the answer has groups. createdAt:month has a unit."),
          zone: parameter(
            "The time zone of @today in filter and of the units in group: Europe/Berlin. By default UTC.",
          ),
          aggregate: parameter("count, sum(points), avg(points), min(points), max(points)."),
          trash,
        },
        answers: {
          200: { description: "The records.", content: { [jsonType]: schemaOf("list") }, headers: ["ETag"] },
          304: noContent("The client has the list."),
        },
        async handle(exchange) {
          const [collection, principal] = admitted("read", listedAt(api, exchange), await exchange.principal());
          if (isAboutTrash(exchange) && !isView(collection.definition))
            return trashPage(api.records, exchange, { collection, principal });
          return api.lists.answer(exchange, { collection, principal, search: exchange.search });
        },
      }),
    },
    "/api/:collection/query": {
      POST: route({
        summary: "List records of :collection, by parameters in the body",
        description: "As the list; for parameters that are too long for an address. At most 64 KiB.",
        access: {
          kind: access,
          async admit(exchange) {
            exchange.isQuery = true;
            return admitted("read", listedAt(api, exchange), await exchange.principal());
          },
        },
        operation: "read",
        keys,
        rate,
        body: queryBody(wire.listParameters),
        answers: { 200: { description: "The records.", content: { [jsonType]: schemaOf("list") } } },
        errors: [413],
        handle(exchange, [collection, principal], parameters) {
          const texts = Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]);
          const search = String(new URLSearchParams(texts));
          return api.lists.answer(exchange, { collection, principal, search });
        },
      }),
    },
    "/api/:collection/:id": {
      GET: ownRoute({
        summary: "Read a record of :collection",
        access,
        operation: "read",
        keys,
        rate,
        query: selection,
        answers: { 200: record, 304: noContent("The client has the record.") },
        async handle(exchange) {
          const [collection, principal] = admitted("read", listedAt(api, exchange), await exchange.principal());
          const [id, { search }] = [exchange.param("id"), exchange];
          if (search === "" && !isView(collection.definition)) {
            const found = api.records.get(collection, principal, id);
            const tag = recordTag(collection, found);
            return exchange.tagged(principal, { json: JsonText.of(found), tag }, recordHeaders);
          }
          const found = await api.queries.one(collection, id, { search, ...exchange.reader(principal) });
          return exchange.tagged(principal, found, recordHeaders);
        },
      }),
    },
  };
}

/** The most bytes of the body of a query. */
const maxQueryBytes = 64 * 1024;

/** The body of a query. @throws AppError `payload_too_large` beyond 64 KiB. */
function queryBody<T>(shape: wire.Shape<T>) {
  return {
    ...jsonBody(shape),
    async read(exchange: Exchange): Promise<T> {
      requireJsonType(exchange.request);
      return readShape(shape, await exchange.parse(await exchange.body(maxQueryBytes)));
    },
  };
}

interface SearchAsked extends wire.TypeOf<typeof wire.searchRequest> {
  readonly principal: Principal;
}

/** Searches each collection as the list of the collection does, and answers the best matches of all first. */
async function searchAll(
  api: RecordReadParts,
  exchange: Exchange,
  { search, in: names, limit = 20, principal }: SearchAsked,
): Promise<wire.TypeOf<typeof wire.searchResults>> {
  const odd = names.find((name, i) => names.indexOf(name) < i);
  if (odd !== undefined) throw new AppError("bad_request", `"in" names ${quote(odd)} twice.`);
  if (names.length === 0 || names.length > MAX_SEARCHED_COLLECTIONS)
    throw new AppError("bad_request", `"in" names 1 to ${MAX_SEARCHED_COLLECTIONS} collections, not ${names.length}.`);
  if (limit < 1 || limit > 100)
    throw new AppError("bad_request", `"limit" must be a whole number from 1 to 100, not ${limit}.`);
  const collections = names.map((name) => admitted("read", collectionOf(api.records, name), principal)[0]);
  const parameters = String(new URLSearchParams({ search, limit: String(limit) }));
  const turns = new LoopTurns(1);
  let found: { collection: string; record: StoredRecord; weight: number }[] = [];
  for (const collection of collections) {
    const list = api.queries.prepare(collection, principal, parameters);
    const { text } = await api.queries.page(collection, list, exchange.reader(principal));
    const { items } = JSON.parse(text) as RecordPage;
    for (const record of items) {
      found.push({ collection: collection.name, record, weight: recordWeight(collection, record, search) });
      // The texts of a record may be long.
      if (turns.isDue()) await turns.next();
    }
    // No more records than an answer are kept beside a page.
    found = found.sort((a, b) => b.weight - a.weight).slice(0, limit);
  }
  return { items: found.map(({ collection, record }) => ({ collection, record })) };
}

interface RecordParts extends RecordReadParts {
  readonly config: Config;
  /** Runs an operation in the process that writes. */
  readonly run: RunOperation;
  /** Null in another process than the process that writes. */
  readonly idempotency: Idempotency | null;
}

export function recordRoutes(api: RecordParts): Routes {
  const reads = recordReads(api);
  return {
    ...reads,
    "/api/:collection": {
      ...reads["/api/:collection"],
      POST: ownRoute({
        summary: "Create a record of :collection",
        access,
        operation: "create",
        keys,
        rate,
        headers: idempotencyKey,
        body: { content: { [jsonType]: schemaOf("create") } },
        answers: { 201: record },
        errors: [404, 409],
        handle: (exchange) => change(api, exchange, "create"),
      }),
      PUT: ownRoute({
        summary: "Change the record of :collection with the same unique value, or create a record",
        description: "An update, or else a create: an operator then starts from the default value.",
        access,
        operation: "update",
        keys,
        rate,
        query: {
          by: parameter("The unique field that finds the record; the body has the value.", { isRequired: true }),
        },
        headers: { ...ifMatch, ...idempotencyKey },
        body: { content: { [jsonType]: schemaOf("upsert") } },
        answers: { 200: record, 201: { ...record, description: "The new record." } },
        errors: [404, 405, 409, 412],
        handle: (exchange) => change(api, exchange, "upsert"),
      }),
    },
    "/api/:collection/:id": {
      ...reads["/api/:collection/:id"],
      PUT: ownRoute({
        summary: "Change a record of :collection",
        description: "An absent field stays, null clears.",
        access,
        operation: "update",
        keys,
        rate,
        headers: ifMatch,
        body: { content: { [jsonType]: schemaOf("update") } },
        answers: { 200: record },
        errors: [409, 412],
        handle: (exchange) => change(api, exchange, "update"),
      }),
      DELETE: ownRoute({
        summary: "Delete a record of :collection",
        access,
        operation: "delete",
        keys,
        rate,
        query: { trash: { ...trash, description: "The deleted record goes for good." } },
        headers: ifMatch,
        answers: { 204: noContent() },
        errors: [400, 409, 412],
        async handle(exchange) {
          if (!isAboutTrash(exchange)) return change(api, exchange, "delete");
          const { collection, principal } = await inTrash(api, exchange);
          await api.records.trash.remove(collection, principal, exchange.param("id"));
          return exchange.empty();
        },
      }),
    },
    "/api/:collection/:id/restore": {
      POST: ownRoute({
        summary: "Restore a deleted record of :collection",
        description:
          "With the id, the owner and the numbers, and with the records that cascade deleted along. For callers who may read and delete the record.",
        access,
        operation: "delete",
        keys,
        rate,
        answers: { 200: record },
        errors: [404, 409],
        handle: async (exchange) => restored(api.records, exchange, await inTrash(api, exchange)),
      }),
    },
  };
}

/** The collection and the caller of a change of the trash, which the process that writes makes. */
async function inTrash(
  api: RecordParts,
  exchange: Exchange,
): Promise<{ collection: Collection; principal: Principal }> {
  const collection = collectionAt(api, exchange);
  const principal = await exchange.principal();
  if (api.idempotency === null) throw new NeedsLeader();
  return { collection, principal };
}

/** Makes the operation of a request, has the operation run, and makes the response. */
async function change(api: RecordParts, exchange: Exchange, kind: RecordOperation["kind"]): Promise<Response> {
  const { request } = exchange;
  const by = kind === "upsert" ? fieldIn(exchange) : "";
  const [{ name }, principal] = admitted(kind, collectionAt(api, exchange), await exchange.principal());
  const isKeyed = kind === "create" || kind === "upsert";
  const key = isKeyed ? keyOf(exchange) : null;
  const { idempotency } = api;
  if (idempotency === null && (key !== null || (kind !== "delete" && isLarge(request)))) throw new NeedsLeader();
  if (isKeyed && idempotency !== null && key !== null) return saveOnce(api, exchange, { kind, by, key, idempotency });
  const id = exchange.param("id");
  let body: RecordOperation["body"] = {};
  try {
    if (kind !== "delete") body = await bodyOf(api, exchange);
  } catch (thrown) {
    // A missing record, another owner, or a right that has ended is told before the error of the body.
    const [, current] = admitted(kind, collectionAt(api, exchange), await exchange.principal());
    if (kind === "update") api.records.admit(name, kind, { principal: current, id });
    throw thrown;
  }
  const ifMatch = kind === "create" ? null : request.headers.get("if-match");
  const author = exchange.author(principal);
  const operation = { kind, collection: name, id, by, ifMatch, body, principal: author };
  const written = await api.run(operation, () => exchange.callerKey(principal));
  if (written === null) return exchange.empty();
  const headers = { "Content-Type": jsonType, ETag: written.tag };
  return exchange.respond(written.status, written.json, headers);
}

/** The unique field of an upsert. @throws AppError `method_not_allowed` without a field, `bad_request` for several fields. */
function fieldIn({ search }: Exchange): string {
  const [field, ...others] = new URLSearchParams(search).getAll("by");
  if (others.length > 0) throw new AppError("bad_request", '"by" must stand once, with the name of a unique field.');
  if (field !== undefined) return field;
  const allow = "GET, HEAD, POST, OPTIONS";
  const message = `PUT is not possible here without ?by=FIELD, which names a unique field; allowed: ${allow}.`;
  throw new AppError("method_not_allowed", message, { allow });
}

/** The body of a create or update: the object, or the JSON for the process that writes. @throws AppError for anything but a JSON object. */
async function bodyOf(api: RecordParts, exchange: Exchange): Promise<RecordOperation["body"]> {
  requireJsonType(exchange.request);
  if (api.idempotency !== null) return exchange.object();
  const bytes = await exchange.body(api.config["limits.body"]);
  await exchange.parse(bytes);
  return new TextDecoder().decode(bytes);
}

/** Creates or upserts a record for a request with an `Idempotency-Key`: the record and the answer are one transaction. */
async function saveOnce(
  api: RecordParts,
  exchange: Exchange,
  { kind, by, key, idempotency }: { kind: "create" | "upsert"; by: string; key: string; idempotency: Idempotency },
): Promise<Response> {
  requireJsonType(exchange.request);
  const bytes = await exchange.body(api.config["limits.body"]);
  const [{ name }, principal] = admitted(kind, collectionAt(api, exchange), await exchange.principal());
  return idempotency.answer(exchange, { key, body: bytes }, async (keep) => {
    const after = (tx: Transactor, { json, tag, isNew = true }: SavedRecord & { isNew?: boolean }): void =>
      keep(tx, keptJson(isNew ? 201 : 200, json, { ETag: tag() }));
    const callerOf = (): string => exchange.callerKey(principal);
    const save = { collection: name, callerOf, body: await exchange.parse(bytes), after };
    const author = exchange.author(principal);
    if (kind === "create") await api.records.createWith(author, save);
    else await api.records.upsert(author, { ...save, by, ifMatch: exchange.request.headers.get("if-match") });
    return undefined;
  });
}

function collectionAt({ records }: { records: Records }, exchange: Exchange): Collection {
  return collectionOf(records, exchange.param("collection"));
}

/** The collection, or the view, of a path of reads. @throws AppError `not_found`. */
function listedAt({ records }: { records: Records }, exchange: Exchange): Collection {
  return collectionOf(records, exchange.param("collection"), "listed");
}

/**
 * The collection of a path. A name that the service keeps for internal use is an unknown path, rather than a collection that
 * is missing.
 * @param of whether a view is no collection, or is listed, too. @throws AppError `not_found`, `method_not_allowed` for a view.
 */
export function collectionOf(records: Records, name: string, of: "collection" | "listed" = "collection"): Collection {
  try {
    return records[of](name);
  } catch (thrown) {
    throw isReservedCollectionName(name) ? nothingHere() : thrown;
  }
}
