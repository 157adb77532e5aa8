import type { Collection } from "../collections/index.ts";
import type { Principal } from "../kernel/index.ts";
import { type ListState, type QueryText, type Records, readQueryText } from "../records/index.ts";
import { hasTag } from "./conditions.ts";
import type { Exchange } from "./exchange.ts";
import { piecesOf } from "./list-body.ts";
import { ListCache } from "./list-cache.ts";

const encoder = new TextEncoder();

/** A list that is asked for. */
interface Asked {
  readonly collection: Collection;
  readonly principal: Principal;
  readonly text: QueryText | null;
  /** Collection and query, as they were sent. */
  readonly address: string;
  readonly state: ListState;
  /** Null where only the body can tell whether it has changed. */
  readonly tag: string | null;
}

/**
 * Answers lists: with 304 when the client has what it asks for, from memory when nothing has changed since somebody asked
 * the same, else from the database.
 */
export class Lists {
  readonly #records: Records;
  readonly #cache: ListCache;

  /** @param options `cacheSize` in bytes. */
  constructor(options: { records: Records; cacheSize: number }) {
    this.#records = options.records;
    this.#cache = new ListCache(options.cacheSize);
  }

  /** The caller may read the collection. */
  answer(exchange: Exchange, collection: Collection, principal: Principal): Response | Promise<Response> {
    const { search } = exchange;
    const address = `${collection.name}?${search}`;
    const kept = this.#cache.get(address);
    const text = kept === undefined ? readQueryText(new URLSearchParams(search)) : kept.text;
    const state = this.#records.listState(collection, principal, text);
    if (kept !== undefined && state.isShared && kept.version === state.version) {
      const headers = headersOf(kept.tag, principal);
      if (hasTag(exchange.request.headers, kept.tag)) return exchange.respond(304, null, headers);
      return exchange.respond(200, kept.body, { ...headers, ...json });
    }
    const tag = tagOf(state, principal, search);
    if (tag !== null && hasTag(exchange.request.headers, tag))
      return exchange.respond(304, null, headersOf(tag, principal));
    const asked: Asked = { collection, principal, text, address, state, tag };
    return text === null ? this.#whole(exchange, asked) : this.#page(exchange, asked, text);
  }

  async #whole(exchange: Exchange, asked: Asked): Promise<Response> {
    const { collection, principal, tag } = asked;
    const pages = await this.#records.list(collection, principal);
    if (pages.rest === null) return this.#once(exchange, asked, JSON.stringify({ items: pages.first }));
    const pieces = piecesOf(pages, asked.state.isShared ? this.#cache.largest : 0, (body) => this.#keep(asked, body));
    return exchange.stream(200, pieces, headersOf(tag, principal));
  }

  async #page(exchange: Exchange, asked: Asked, text: QueryText): Promise<Response> {
    const { collection, principal } = asked;
    const { signal } = exchange.request;
    return this.#once(
      exchange,
      asked,
      JSON.stringify(await this.#records.page(collection.name, { principal, text, signal })),
    );
  }

  #once(exchange: Exchange, asked: Asked, text: string): Response {
    const { principal } = asked;
    if (asked.tag === null) {
      const tag = `"${Bun.hash(text).toString(36)}"`;
      if (hasTag(exchange.request.headers, tag)) return exchange.respond(304, null, headersOf(tag, principal));
      return exchange.respond(200, text, { ...headersOf(tag, principal), ...json });
    }
    const isKept = asked.state.isShared && this.#cache.largest > 0;
    if (isKept) this.#keep(asked, encoder.encode(text));
    return exchange.respond(200, text, { ...headersOf(asked.tag, principal), ...json });
  }

  #keep({ address, text, state: { version }, tag }: Asked, body: Uint8Array): void {
    if (version !== null && tag !== null) this.#cache.set(address, { text, version, tag, body });
  }
}

const json = { "Content-Type": "application/json" } as const;

/** With a version, an address and a caller, a list is known. */
function tagOf({ version, isShared }: ListState, principal: Principal, search: string): string | null {
  if (version === null) return null;
  const caller = isShared ? "" : `-${principal?.userId ?? ""}`;
  const query = search === "" ? "" : `-${Bun.hash(search).toString(36)}`;
  return `"${version}${query}${caller}"`;
}

/** A list may be kept by whoever asked for it, and must be asked for again before it is shown. */
function headersOf(tag: string | null, principal: Principal): Record<string, string> {
  const control = principal === null ? "no-cache" : "private, no-cache";
  return tag === null ? { "Cache-Control": control } : { "Cache-Control": control, ETag: tag };
}
