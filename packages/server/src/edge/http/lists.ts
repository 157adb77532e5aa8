/** Answers to lists: 304 for an unchanged list, a cached body, or a read of the database. */

import { JsonText, type Principal, randomToken } from "../../base/kernel/index.ts";
import type { Collection } from "../../data/collections/index.ts";
import type { PreparedList, Queries } from "../../data/queries/index.ts";
import { cacheHeaders, hasTag, jsonType } from "./conditions.ts";
import type { Exchange } from "./exchange.ts";
import { ListPieces, openingOf } from "./list-body.ts";
import { ListCache } from "./list-cache.ts";

/** A list that is asked for, and is to be read. */
interface ListRequest {
  readonly collection: Collection;
  readonly principal: Principal;
  readonly list: PreparedList;
  /** Null for a list whose body alone tells a change. */
  readonly tag: string | null;
  /** Keeps an answer of at most `keepable` bytes for the next request. */
  readonly keep: (body: Uint8Array) => void;
  readonly keepable: number;
}

/**
 * Answers lists: with 304 for a client that has the list, from memory if nothing has changed since the last equal
 * request, otherwise from the database.
 */
export class Lists {
  readonly #queries: Queries;
  readonly #cache: ListCache;
  /** The secret of this run: versions belong to a run, too. */
  readonly #secret = randomToken(32);

  /** @param options `cacheSize` in bytes. */
  constructor(options: { queries: Queries; cacheSize: number }) {
    this.#queries = options.queries;
    this.#cache = new ListCache(options.cacheSize);
  }

  /** The caller may read the collection. */
  answer(exchange: Exchange, collection: Collection, principal: Principal): Response | Promise<Response> {
    const list = this.#queries.prepare(collection, principal, exchange.search);
    const { version, isShared } = this.#queries.state(collection, principal, list);
    // Cursors are their caller's own, so whoever is signed in has their own pages.
    const reader = isShared && list.query === null ? "" : (principal?.userId ?? "");
    const address = `${reader} ${collection.name}?${list.search}`;
    const kept = isShared && version !== null ? this.#cache.get(address) : undefined;
    if (kept !== undefined && kept.version === version) return fresh(exchange, kept, principal);
    const tag = version === null ? null : `"${this.#tagOf(`${version} ${address}`)}"`;
    if (tag !== null && hasTag(exchange.request.headers, tag))
      return exchange.respond(304, null, cacheHeaders(tag, principal));
    const keep = (body: Uint8Array): void => {
      if (isShared && version !== null && tag !== null) this.#cache.set(address, { version, tag, body });
    };
    const asked: ListRequest = { collection, principal, list, tag, keep, keepable: isShared ? this.#cache.largest : 0 };
    return list.query === null ? this.#whole(exchange, asked) : this.#page(exchange, asked);
  }

  async #whole(exchange: Exchange, { collection, principal, tag, keep, keepable }: ListRequest): Promise<Response> {
    const signal = (): AbortSignal => exchange.request.signal;
    const waiter = { caller: () => exchange.callerKey(principal), signal };
    const pages = await this.#queries.whole(collection, principal, waiter);
    const { rest } = pages;
    if (rest === null)
      return this.#once(exchange, { principal, tag, keep, keepable }, JsonText.of({ items: pages.first }));
    try {
      const opening = openingOf(pages);
      exchange.reserve(opening.byteLength);
      const collecting = keepable === 0 ? null : this.#cache.collector(keep);
      return exchange.stream(200, new ListPieces(opening, rest, collecting), cacheHeaders(tag, principal));
    } catch (thrown) {
      await rest.return();
      throw thrown;
    }
  }

  async #page(exchange: Exchange, asked: ListRequest): Promise<Response> {
    const { collection, principal, list } = asked;
    const signal = (): AbortSignal => exchange.request.signal;
    const caller = (): string => exchange.callerKey(principal);
    return this.#once(exchange, asked, await this.#queries.page(collection, list, { principal, caller, signal }));
  }

  #once(exchange: Exchange, asked: Omit<ListRequest, "collection" | "list">, json: JsonText): Response {
    const { principal, tag, keep, keepable } = asked;
    // Without a version the text tells whether the list has changed.
    if (tag === null) return fresh(exchange, { tag: `"${this.#tagOf(json.mark)}"`, body: json }, principal);
    const length = json.long === null ? json.start.length : json.long.bytes.byteLength;
    if (length <= keepable) keep(Buffer.concat(json.pieces));
    return exchange.respond(200, json, cacheHeaders(tag, principal, jsonType));
  }

  /** Versions count changes by others, too; a tag must not reveal the counts. */
  #tagOf(text: string): string {
    return new Bun.CryptoHasher("sha256", this.#secret).update(text).digest("base64url").slice(0, 22);
  }
}

/** Answers a cached list that is known to be current. */
function fresh(
  exchange: Exchange,
  { tag, body }: { tag: string; body: Uint8Array | JsonText },
  principal: Principal,
): Response {
  if (hasTag(exchange.request.headers, tag)) {
    if (body instanceof JsonText) body.free();
    return exchange.respond(304, null, cacheHeaders(tag, principal));
  }
  return exchange.respond(200, body, cacheHeaders(tag, principal, jsonType));
}
