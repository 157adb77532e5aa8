/** The routes of records: `/api/{collection}` and `/api/{collection}/:id` (spec, "Collection records"). */
import type { Operation } from "@socle/protocol";
import type { Collection } from "../../collections/index.ts";
import { AppError, type Awaitable, JsonText, type Principal } from "../../kernel/index.ts";
import type { Queries } from "../../queries/index.ts";
import { type Records, recordTag } from "../../records/index.ts";
import { isJsonType, readObject } from "../body.ts";
import type { Exchange } from "../exchange.ts";
import { Lists } from "../lists.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import { answerRecord } from "../record-answer.ts";
import type { Route } from "../router.ts";
import { collectionOf } from "./collection-of.ts";

function ifMatchOf({ request }: Exchange): string | null {
  return request.headers.get("if-match");
}

export function recordRoutes(options: {
  records: Records;
  queries: Queries;
  bodyLimit: number;
  listCacheSize: number;
  rates: RateLimiter;
}): Route[] {
  const { records, queries, bodyLimit, rates } = options;
  const lists = new Lists({ queries, cacheSize: options.listCacheSize });

  /**
   * Collection (404), token (401) and role (401, 403), in this order, before the body is read. The transaction of a
   * change looks at them again, because a right may end while a body comes.
   */
  function admit(exchange: Exchange, operation: Operation): Awaitable<[Collection, Principal]> {
    const collection = collectionOf(records, exchange.param("collection"));
    const admitted = (principal: Principal): [Collection, Principal] => {
      collection.policies[operation].admit(principal);
      return [collection, principal];
    };
    const found = exchange.principal();
    return found instanceof Promise ? found.then(admitted) : admitted(found);
  }

  /** The body, or the error that it is. The record and its owner, or a right that has ended, are told before that. */
  async function body(exchange: Exchange): Promise<Record<string, unknown> | AppError> {
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
          const [collection, principal] = await admit(exchange, "read");
          return lists.answer(exchange, collection, principal);
        },
        async POST(exchange) {
          const [{ name }, principal] = await admit(exchange, "create");
          const given = await body(exchange);
          if (given instanceof AppError) {
            await admit(exchange, "create");
            throw given;
          }
          const { json, tag } = await records.create(name, principal, given);
          return exchange.json(201, json, { ETag: tag() });
        },
      },
    },
    {
      path: "/api/:collection/:id",
      methods: {
        async GET(exchange) {
          const [collection, principal] = await admit(exchange, "read");
          const [id, { search }] = [exchange.param("id"), exchange];
          if (search === "") {
            const record = await records.get(collection, principal, id);
            const tag = recordTag(collection, record);
            return answerRecord(exchange, principal, { json: JsonText.of(record), tag });
          }
          const signal = (): AbortSignal => exchange.request.signal;
          const caller = (): string => exchange.callerKey(principal);
          const found = await queries.one(collection, id, { search, principal, caller, signal });
          return answerRecord(exchange, principal, found);
        },
        async PUT(exchange) {
          const [{ name }, principal] = await admit(exchange, "update");
          const given = await body(exchange);
          const id = exchange.param("id");
          if (given instanceof AppError) {
            const [, current] = await admit(exchange, "update");
            await records.admit(name, "update", { principal: current, id });
            throw given;
          }
          const { json, tag } = await records.update(name, principal, {
            record: { id, ifMatch: ifMatchOf(exchange) },
            body: given,
          });
          return exchange.json(200, json, { ETag: tag() });
        },
        async DELETE(exchange) {
          const [{ name }, principal] = await admit(exchange, "delete");
          const id = exchange.param("id");
          await records.delete(name, principal, { id, ifMatch: ifMatchOf(exchange) });
          return exchange.empty();
        },
      },
    },
  ];
  return routes.map((route) => rates.limit("records", route));
}
