import { isReservedCollectionName, type Operation } from "@socle/protocol";
import type { Collection } from "../../collections/index.ts";
import { AppError, type Principal } from "../../kernel/index.ts";
import type { RecordBody, Records } from "../../records/index.ts";
import { isJsonType, readObject } from "../body.ts";
import type { Exchange } from "../exchange.ts";
import { Lists } from "../lists.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Route } from "../router.ts";

/** `/api/{collection}` and `/api/{collection}/:id` (spec, "Collection records"). */
export function recordRoutes(options: {
  records: Records;
  bodyLimit: number;
  listCacheSize: number;
  rates: RateLimiter;
}): Route[] {
  const { records, bodyLimit, rates } = options;
  const lists = new Lists({ records, cacheSize: options.listCacheSize });

  /** What the service keeps for itself is no collection that is missing: there is nothing at such a path. */
  function collectionOf(name: string): Collection {
    try {
      return records.collection(name);
    } catch (thrown) {
      const isOwn = name !== "users" && isReservedCollectionName(name);
      throw isOwn ? new AppError("not_found", "There is nothing at this path.") : thrown;
    }
  }

  /**
   * Collection (404), token (401) and role (401, 403), in this order. They are looked at before the body is read, and
   * again once it is there, because a right may have ended while it came: in the transaction of the change, or before a
   * body that is wrong is answered.
   */
  async function admit(exchange: Exchange, operation: Operation): Promise<Principal> {
    const collection = collectionOf(exchange.param("collection"));
    const found = exchange.principal();
    const principal = found instanceof Promise ? await found : found;
    records.authorize(collection, operation, principal);
    return principal;
  }

  /** The body, or what is wrong with it: the record and its owner are looked at first. */
  async function body(exchange: Exchange): Promise<RecordBody> {
    try {
      if (!isJsonType(exchange.request))
        throw new AppError("bad_request", "The request needs the header Content-Type: application/json.");
      return await readObject(exchange, bodyLimit);
    } catch (thrown) {
      if (thrown instanceof AppError) return thrown;
      throw thrown;
    }
  }

  const routes: Route[] = [
    {
      path: "/api/:collection",
      methods: {
        async GET(exchange) {
          const principal = await admit(exchange, "read");
          return lists.answer(exchange, records.collection(exchange.param("collection")), principal);
        },
        async POST(exchange) {
          const principal = await admit(exchange, "create");
          const given = await body(exchange);
          if (given instanceof AppError) await admit(exchange, "create");
          const { json } = await records.create(exchange.param("collection"), principal, given);
          return exchange.json(201, json);
        },
      },
    },
    {
      path: "/api/:collection/:id",
      methods: {
        async GET(exchange) {
          const principal = await admit(exchange, "read");
          const collection = records.collection(exchange.param("collection"));
          const [id, { search }] = [exchange.param("id"), exchange];
          if (search === "") return exchange.json(200, await records.get(collection, principal, id));
          const signal = (): AbortSignal => exchange.request.signal;
          const caller = exchange.callerKey(principal);
          return exchange.json(200, await records.getSelected(collection, search, { id, principal, caller, signal }));
        },
        async PUT(exchange) {
          const principal = await admit(exchange, "update");
          const given = await body(exchange);
          if (given instanceof AppError) await admit(exchange, "update");
          const [collection, id] = [exchange.param("collection"), exchange.param("id")];
          const { json } = await records.update(collection, principal, id, given);
          return exchange.json(200, json);
        },
        async DELETE(exchange) {
          const principal = await admit(exchange, "delete");
          await records.delete(exchange.param("collection"), principal, exchange.param("id"));
          return exchange.empty();
        },
      },
    },
  ];
  return routes.map((route) => rates.limit("records", route));
}
