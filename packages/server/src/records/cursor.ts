import type { Value } from "../database/index.ts";
import { isSameSecret } from "../kernel/index.ts";
import { refuseParameter } from "./query-text.ts";
import type { Place } from "./sort.ts";

/** What a cursor belongs to: it is refused with any other list. */
export interface CursorScope {
  /** Which collection of its name. */
  readonly collection: string;
  readonly sort: string;
  readonly filter: string;
  /** The caller; null for nobody. */
  readonly userId: string | null;
}

/** What a cursor says. */
export interface CursorPlace {
  readonly seq: number;
  /** Null where they were too long: then they are looked up, and must have this digest. */
  readonly values: readonly Value[] | null;
  readonly digest: string | null;
}

/** Longer values stay out of the cursor, which is part of an address; the record is looked at again instead. */
const maxCharacters = 1_000;
const macBytes = 16;
const macLength = 22;

export function digestOf(values: readonly Value[]): string {
  return Bun.SHA256.hash(JSON.stringify(values), "base64url").slice(0, macLength);
}

/**
 * Makes and reads cursors: signed, so that nobody asks for a place that they were not given, and veiled, as a place in a
 * collection tells how many records there are that one may not see. (The signature of what it says is what it is veiled
 * with: RFC 5297 has the idea.)
 */
export class Cursors {
  readonly #key: () => string;

  /** @param key the secret that signs; asked for when it is needed. */
  constructor(key: () => string) {
    this.#key = key;
  }

  /** The cursor of the record at a place. */
  write({ seq, values }: Place, scope: CursorScope): string {
    const json = JSON.stringify(values);
    const text = json.length <= maxCharacters ? `[${seq},${json}]` : `[${seq},null,"${digestOf(values)}"]`;
    const mac = this.#sign(text, scope);
    return Buffer.concat([mac, this.#veil(Buffer.from(text), mac)]).toString("base64url");
  }

  /** @throws AppError `bad_request` for a cursor that was changed, or belongs to another list. */
  read(cursor: string, scope: CursorScope): CursorPlace {
    const bytes = Buffer.from(cursor, "base64url");
    const mac = bytes.subarray(0, macBytes);
    const text = this.#veil(bytes.subarray(macBytes), mac).toString();
    // Decoders are lenient: one cursor could be written in several ways.
    const isOurs =
      bytes.toString("base64url") === cursor &&
      isSameSecret(mac.toString("hex"), this.#sign(text, scope).toString("hex"));
    if (!isOurs)
      throw refuseParameter(
        "cursor",
        "it is none that this list gave: collection, filter, sort and caller must be those of the page before, and the text as it was",
      );
    // It was signed, so it was written above.
    const [seq, values, digest = null] = JSON.parse(text) as [number, Value[] | null, string?];
    return { seq, values, digest };
  }

  #sign(text: string, { collection, sort, filter, userId }: CursorScope): Buffer {
    const signed = JSON.stringify([text, collection, sort, filter, userId]);
    return new Bun.CryptoHasher("sha256", this.#key()).update(signed).digest().subarray(0, macBytes);
  }

  /** Veils and unveils: each block is covered by a hash that nobody else can make. */
  #veil(bytes: Buffer, mac: Buffer): Buffer {
    const veiled = Buffer.alloc(bytes.length);
    for (let start = 0; start < bytes.length; start += 32) {
      const cover = new Bun.CryptoHasher("sha256", this.#key()).update(mac).update(`veil ${start}`).digest();
      for (let i = start; i < Math.min(start + 32, bytes.length); i++)
        veiled[i] = (bytes[i] ?? 0) ^ (cover[i - start] ?? 0);
    }
    return veiled;
  }
}
