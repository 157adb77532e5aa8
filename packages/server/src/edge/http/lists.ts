/**
 * Answers to lists: 304 for an unchanged list, a body from memory, or a read of the database. A long list is streamed page by page,
 * and collected for the memory on the way out.
 */

import { BoundedMap, identityOf, JsonText, nextTurn, type Principal, releasedText } from "../../base/kernel/index.ts";
import type { Collection } from "../../data/collections/index.ts";
import type { LaterPages, PreparedList, Queries } from "../../data/queries/index.ts";
import type { Exchange } from "./exchange.ts";
import { cacheHeaders, jsonType } from "./headers.ts";
import type { Pieces } from "./response-stream.ts";

const encoder = new TextEncoder();
const comma = 0x2c;

/** A list that is asked for, and is to be read. */
interface ListRequest {
  readonly collection: Collection;
  readonly principal: Principal;
  readonly list: PreparedList;
  /** Null for a list that tells a change by the body alone. */
  readonly tag: string | null;
  /** Keeps the body for the next request; null for a list that is not the same for everybody. */
  readonly keep: ((body: Uint8Array) => void) | null;
}

/**
 * Answers lists: with 304 for a client that has the list, from memory if nothing has changed since the last equal
 * request, otherwise from the database.
 */
export class Lists {
  readonly #queries: Queries;
  readonly #cache: ListCache;
  /** The same in every process of the service. */
  readonly #secretOf: () => string;
  #secret: string | null = null;

  /** @param options `cacheSize` in bytes; `secret` of the service for tags, asked for at the first list. */
  constructor(options: { queries: Queries; cacheSize: number; secret: () => string }) {
    this.#queries = options.queries;
    this.#cache = new ListCache(options.cacheSize);
    this.#secretOf = options.secret;
  }

  /** The caller may read the collection. @param asked.search the percent-encoded parameters. */
  answer(
    exchange: Exchange,
    { collection, principal, search }: Pick<ListRequest, "collection" | "principal"> & { readonly search: string },
  ): Response | Promise<Response> {
    const list = this.#queries.prepare(collection, principal, search);
    const { version, isShared } = this.#queries.state(collection, principal, list);
    // Cursors are the caller's own, so whoever is signed in has separate pages.
    const reader = isShared && list.query === null ? "" : (identityOf(principal) ?? "");
    const address = `${reader} ${collection.name}?${list.search}`;
    if (version === null) return this.#read(exchange, { collection, principal, list, tag: null, keep: null });
    const kept = isShared ? this.#cache.get(address) : undefined;
    if (kept?.version === version) return exchange.tagged(principal, { tag: kept.tag, json: kept.body });
    const tag = this.#tagOf(`${version} ${address}`);
    if (exchange.hasTag(tag)) return exchange.respond(304, null, cacheHeaders(tag, principal));
    const keep = isShared ? (body: Uint8Array): void => this.#cache.set(address, { version, tag, body }) : null;
    return this.#read(exchange, { collection, principal, list, tag, keep });
  }

  async #read(exchange: Exchange, asked: ListRequest): Promise<Response> {
    const { collection, principal, list, tag, keep } = asked;
    const reader = exchange.reader(principal);
    if (list.query !== null) return this.#once(exchange, asked, await this.#queries.page(collection, list, reader));
    const { first, rest } = await this.#queries.whole(collection, principal, reader);
    if (rest === null) return this.#once(exchange, asked, JsonText.of({ items: first }));
    const opening = encoder.encode(`{"items":${JSON.stringify(first).slice(0, -1)}`);
    const pieces = new ListPieces(opening, rest, keep && this.#cache.collector(keep));
    return exchange.stream(200, pieces, { headers: cacheHeaders(tag, principal, jsonType), made: opening.byteLength });
  }

  #once(exchange: Exchange, { principal, tag, keep }: ListRequest, json: JsonText): Response {
    const length = json.long?.bytes.byteLength ?? json.start.length;
    if (keep !== null && length <= this.#cache.largest) keep(json.bytes);
    // Without a version the text tells whether the list has changed.
    return exchange.tagged(principal, { tag: tag ?? this.#tagOf(json.mark), json });
  }

  /** Versions count changes by others, too; a tag must not reveal the counts. */
  #tagOf(text: string): string {
    this.#secret ??= this.#secretOf();
    return `"${new Bun.CryptoHasher("sha256", this.#secret).update(text).digest("base64url").slice(0, 22)}"`;
  }
}

/** The answer to a list that is the same for everybody. */
interface KeptList {
  /** The version of the records in the answer. */
  readonly version: string;
  readonly tag: string;
  readonly body: Uint8Array;
}

/** Bytes of an entry beside body and key. */
const overhead = 500;

/** Answers to lists, by address. The cache forgets the answers that were not asked for the longest once all take too much. */
export class ListCache {
  /** Larger answers are not kept: a single large answer would push out all others. */
  readonly largest: number;
  readonly #size: number;
  readonly #lists: BoundedMap<string, KeptList>;
  /** Bytes of answers that are under way, and may be kept: an eighth of the size at most. */
  #collected = 0;

  /** @param size in bytes; 0 keeps nothing. */
  constructor(size: number) {
    this.#size = size;
    this.largest = Math.floor(size / 16);
    this.#lists = new BoundedMap(size, (address, { body }) => address.length * 4 + body.byteLength + overhead);
  }

  /** The caller checks that the list is still current. */
  get(address: string): KeptList | undefined {
    return this.#lists.use(address);
  }

  /** Collects an answer under way; null without a cache. */
  collector(keep: (body: Uint8Array) => void): Collecting | null {
    if (this.#size === 0) return null;
    let own = 0;
    return {
      take: (bytes) => {
        if (own + bytes > this.largest || this.#collected + bytes > this.#size / 8) return false;
        own += bytes;
        this.#collected += bytes;
        return true;
      },
      release: () => {
        this.#collected -= own;
        own = 0;
      },
      keep,
    };
  }

  set(address: string, list: KeptList): void {
    if (list.body.byteLength <= this.largest) this.#lists.set(address, list);
    else this.#lists.delete(address);
  }
}

/** Collects the pieces of a body that may be kept. */
interface Collecting {
  /** Whether so many more bytes have room. */
  take(bytes: number): boolean;
  /** Gives back all taken room. */
  release(): void;
  /** Called with the whole body, once the body has gone. */
  keep(body: Uint8Array): void;
}

/**
 * The body of a long list, in pieces: (1) the opening, (2) each later page, (3) the ending. The body holds a page at a
 * time, and the sent pages as long as `collecting` has room; null collects nothing. A generator would not do: the
 * frame of a waiting generator would keep the sent pages in memory.
 */
class ListPieces implements Pieces {
  #opening: Uint8Array | null;
  readonly #rest: LaterPages;
  /** Null once the body is too large to be kept. */
  #collecting: Collecting | null;
  #sent: Uint8Array[] = [];
  #hasEnded = false;

  constructor(opening: Uint8Array, rest: LaterPages, collecting: Collecting | null) {
    this.#opening = opening;
    this.#rest = rest;
    this.#collecting = collecting;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#hasEnded) return this.return();
    const piece = this.#opening ?? (await this.#page());
    this.#opening = null;
    this.#collect(piece);
    if (this.#hasEnded) this.#collecting?.keep(Buffer.concat(this.#sent));
    return { done: false, value: piece };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#hasEnded = true;
    this.#opening = null;
    this.#forget();
    await this.#rest.return();
    return { done: true, value: undefined };
  }

  async #page(): Promise<Uint8Array> {
    await nextTurn();
    const page = await this.#rest.next();
    if (page.done === true) {
      this.#hasEnded = true;
      return encoder.encode("]}");
    }
    const text = JSON.stringify(page.value);
    releasedText(text);
    // The array's brackets go in the bytes, which spares two copies of the text: "[" becomes ",", "]" is left out.
    const piece = encoder.encode(text);
    piece[0] = comma;
    return piece.subarray(0, -1);
  }

  #collect(piece: Uint8Array): void {
    if (this.#collecting === null) return;
    // A copy: the yielded bytes belong to the receiver.
    if (this.#collecting.take(piece.byteLength)) this.#sent.push(piece.slice());
    else this.#forget();
  }

  #forget(): void {
    this.#collecting?.release();
    this.#collecting = null;
    this.#sent = [];
  }
}
