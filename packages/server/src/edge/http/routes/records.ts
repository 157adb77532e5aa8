/** The routes of records: `/api/{collection}` and `/api/{collection}/:id` (spec, "Collection records"). */
import { isReservedCollectionName, type Operation } from "@socle/protocol";
import type { Config } from "../../../base/config/index.ts";
import { AppError, JsonText, type Principal } from "../../../base/kernel/index.ts";
import type { Collection } from "../../../data/collections/index.ts";
import type { Queries } from "../../../data/queries/index.ts";
import { type Records, recordTag } from "../../../data/records/index.ts";
import type { Auth } from "../../../people/auth/index.ts";
import { requireJsonType } from "../bodies.ts";
import type { Exchange } from "../exchange.ts";
import { jsonType, nothingHere } from "../headers.ts";
import { type Idempotency, keptJson } from "../idempotency.ts";
import { Lists } from "../lists.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Methods, Routes } from "../router.ts";

/** Two callers may be answered different fields under one tag. */
const recordHeaders = { "Content-Type": jsonType, Vary: "Authorization" };

/**
 * Collection (404), token (401) and role (401, 403), in the order of the arguments, before the body is read. The
 * transaction of a change checks the rights again, because a right may end while a body comes.
 */
function admitted(operation: Operation, collection: Collection, principal: Principal): [Collection, Principal] {
  collection.policies[operation].admit(principal);
  return [collection, principal];
}

function ifMatchOf({ request }: Exchange): string | null {
  return request.headers.get("if-match");
}

interface RecordReadsOptions {
  records: Records;
  queries: Queries;
  auth: Auth;
  config: Config;
  rates: RateLimiter;
}

/** The paths of records, with the reads alone. */
export function recordReads({ records, queries, auth, config, rates }: RecordReadsOptions): {
  readonly "/api/:collection": Methods;
  readonly "/api/:collection/:id": Methods;
} {
  const lists = new Lists({ queries, cacheSize: config["cache.size"], secret: () => auth.secretFor("tags of lists") });
  const collectionAt = (exchange: Exchange): Collection => collectionOf(records, exchange.param("collection"));
  return {
    "/api/:collection": rates.limit("records", {
      async GET(exchange) {
        const [collection, principal] = admitted("read", collectionAt(exchange), await exchange.principal());
        return lists.answer(exchange, collection, principal);
      },
    }),
    "/api/:collection/:id": rates.limit("records", {
      async GET(exchange) {
        const [collection, principal] = admitted("read", collectionAt(exchange), await exchange.principal());
        const [id, { search }] = [exchange.param("id"), exchange];
        if (search === "") {
          const record = records.get(collection, principal, id);
          const tag = recordTag(collection, record);
          return exchange.tagged(principal, { json: JsonText.of(record), tag }, recordHeaders);
        }
        const found = await queries.one(collection, id, { search, ...exchange.reader(principal) });
        return exchange.tagged(principal, found, recordHeaders);
      },
    }),
  };
}

export function recordRoutes(options: RecordReadsOptions & { idempotency: Idempotency }): Routes {
  const { records, config, rates, idempotency } = options;
  const reads = recordReads(options);

  const collectionAt = (exchange: Exchange): Collection => collectionOf(records, exchange.param("collection"));

  /** The body, or its error. A missing record, another owner, or a right that has ended is told before that error. */
  async function body(exchange: Exchange): Promise<Record<string, unknown> | AppError> {
    try {
      requireJsonType(exchange.request);
      return await exchange.object();
    } catch (thrown) {
      if (thrown instanceof AppError) return thrown;
      throw thrown;
    }
  }

  /** Creates a record for a request with an `Idempotency-Key`: the record and the answer are one transaction. */
  async function createOnce(exchange: Exchange, key: string): Promise<Response> {
    requireJsonType(exchange.request);
    const bytes = await exchange.body(config["limits.body"]);
    const [{ name }, principal] = admitted("create", collectionAt(exchange), await exchange.principal());
    return idempotency.answer(exchange, { key, body: bytes }, async (keep) => {
      await records.createWith(principal, {
        collection: name,
        caller: exchange.callerKey(principal),
        body: await exchange.parse(bytes),
        after: (tx, { json, tag }) => keep(tx, keptJson(201, json, { ETag: tag() })),
      });
      return undefined;
    });
  }

  return {
    "/api/:collection": {
      ...reads["/api/:collection"],
      ...rates.limit("records", {
        async POST(exchange) {
          const [{ name }, principal] = admitted("create", collectionAt(exchange), await exchange.principal());
          const key = idempotency.keyOf(exchange);
          if (key !== null) return createOnce(exchange, key);
          const given = await body(exchange);
          if (given instanceof AppError) {
            admitted("create", collectionAt(exchange), await exchange.principal());
            throw given;
          }
          const caller = exchange.callerKey(principal);
          const { json, tag } = await records.createWith(principal, {
            collection: name,
            body: given,
            caller,
            after: null,
          });
          return exchange.json(201, json, { ETag: tag() });
        },
      }),
    },
    "/api/:collection/:id": {
      ...reads["/api/:collection/:id"],
      ...rates.limit("records", {
        async PUT(exchange) {
          const [{ name }, principal] = admitted("update", collectionAt(exchange), await exchange.principal());
          const given = await body(exchange);
          const id = exchange.param("id");
          if (given instanceof AppError) {
            const [, current] = admitted("update", collectionAt(exchange), await exchange.principal());
            records.admit(name, "update", { principal: current, id });
            throw given;
          }
          const { json, tag } = await records.update(name, principal, {
            record: { id, ifMatch: ifMatchOf(exchange) },
            body: given,
            caller: exchange.callerKey(principal),
          });
          return exchange.json(200, json, { ETag: tag() });
        },
        async DELETE(exchange) {
          const [{ name }, principal] = admitted("delete", collectionAt(exchange), await exchange.principal());
          const id = exchange.param("id");
          const caller = exchange.callerKey(principal);
          await records.delete(name, principal, { id, ifMatch: ifMatchOf(exchange), caller });
          return exchange.empty();
        },
      }),
    },
  };
}

/**
 * The collection of a path. A name that the service keeps for internal use is an unknown path, rather than a collection that
 * is missing.
 * @throws AppError `not_found`.
 */
export function collectionOf(records: Records, name: string): Collection {
  try {
    return records.collection(name);
  } catch (thrown) {
    throw isReservedCollectionName(name) ? nothingHere() : thrown;
  }
}
