import type { Value } from "../database/index.ts";
import { isSameSecret } from "../kernel/index.ts";
import { refuseParameter } from "./query-text.ts";
import type { Place } from "./sort.ts";

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
const blockBytes = 32;

export function digestOf(values: readonly Value[]): string {
  return Bun.SHA256.hash(JSON.stringify(values), "base64url").slice(0, 22);
}

/**
 * Makes and reads cursors: signed, so that nobody asks for a place that they were not given, and veiled, as a place in a
 * collection tells how many records there are that one may not see. (The signature of what it says is what it is veiled
 * with: RFC 5297 has the idea.) Each belongs to a scope, a text that says which list of which caller it is.
 */
export class Cursors {
  readonly #key: () => string;

  /** @param key the secret that signs; asked for when it is needed. */
  constructor(key: () => string) {
    this.#key = key;
  }

  /** The cursor of the record at a place. */
  write({ seq, values }: Place, scope: string): string {
    const json = values.length === 0 ? "[]" : JSON.stringify(values);
    // Of one width, so that its length tells nothing.
    const place = String(seq).padStart(16);
    const text = json.length <= maxCharacters ? `[${place},${json}]` : `[${place},null,"${digestOf(values)}"]`;
    const body = Buffer.from(text);
    const cursor = Buffer.allocUnsafe(macBytes + body.length);
    const mac = this.#sign(text, scope);
    cursor.set(mac);
    this.#veil(body, mac);
    cursor.set(body, macBytes);
    return cursor.toString("base64url");
  }

  /** @throws AppError `bad_request` for a cursor that was changed, or belongs to another list. */
  read(cursor: string, scope: string): CursorPlace {
    const bytes = Buffer.from(cursor, "base64url");
    // Decoders are lenient: one cursor could be written in several ways.
    const isExact = bytes.length > macBytes && bytes.toString("base64url") === cursor;
    const mac = bytes.subarray(0, macBytes);
    const body = bytes.subarray(macBytes);
    this.#veil(body, mac);
    const text = body.toString();
    const isOurs = isExact && isSameSecret(mac.toHex(), this.#sign(text, scope).toHex());
    if (!isOurs)
      throw refuseParameter(
        "cursor",
        "it is none that this list gave: collection, filter, sort and caller must be those of the page before, and the text as it was",
      );
    // It was signed, so it was written above.
    const [seq, values, digest = null] = JSON.parse(text) as [number, Value[] | null, string?];
    return { seq, values, digest };
  }

  #sign(text: string, scope: string): Uint8Array {
    return new Bun.CryptoHasher("sha256", this.#key()).update(`${text}\n${scope}`).digest().subarray(0, macBytes);
  }

  /** Veils and unveils, in place: each block is covered by a hash that nobody else can make. */
  #veil(bytes: Uint8Array, mac: Uint8Array): void {
    const name = mac.toHex();
    for (let start = 0; start < bytes.length; start += blockBytes) {
      const cover = new Uint8Array(blockBytes);
      Bun.SHA256.hash(`${this.#key()} ${name} ${start}`, cover);
      const end = Math.min(start + blockBytes, bytes.length);
      for (let i = start; i < end; i++) bytes[i] = (bytes[i] ?? 0) ^ (cover[i - start] ?? 0);
    }
  }
}
