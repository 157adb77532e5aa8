/**
 * Cursors: the position of a record in one list of one caller, as text. A cursor holds the id of the record and the
 * values that the list is sorted by, which the caller may read anyway, and a signature (HMAC-SHA-256) that binds it to
 * its list.
 */
import type { Value } from "../database/index.ts";
import { isSameSecret } from "../kernel/index.ts";
import { refuseParameter } from "./query-text.ts";

/** The content of a cursor. */
export interface CursorPosition {
  /** Of the last record of the page before. */
  readonly id: string;
  /** Null where they were too long: then they are read again, and must have this digest. */
  readonly values: readonly Value[] | null;
  readonly digest: string | null;
}

/** Longer values stay out of the cursor, which is part of an address; the record is read again instead. */
const maxCharacters = 1_000;
const signatureBytes = 16;

export function digestOf(values: readonly Value[]): string {
  return Bun.SHA256.hash(JSON.stringify(values), "base64url").slice(0, 22);
}

export class Cursors {
  readonly #key: () => string;

  /** @param key the secret that signs; asked for when it is needed. */
  constructor(key: () => string) {
    this.#key = key;
  }

  /** The cursor of a record. @param list a text that says which list of which caller it belongs to. */
  write({ id, values }: { id: string; values: readonly Value[] }, list: string): string {
    const json = JSON.stringify(values);
    const text = JSON.stringify(json.length <= maxCharacters ? [id, values] : [id, null, digestOf(values)]);
    return Buffer.concat([this.#sign(text, list), Buffer.from(text)]).toString("base64url");
  }

  /** @throws AppError `bad_request` for a cursor that was changed, or belongs to another list. */
  read(cursor: string, list: string): CursorPosition {
    const bytes = Buffer.from(cursor, "base64url");
    const text = bytes.subarray(signatureBytes).toString();
    const signature = bytes.subarray(0, signatureBytes).toHex();
    // Decoders are lenient: one cursor could be written in several ways.
    const isExact = bytes.length > signatureBytes && bytes.toString("base64url") === cursor;
    if (!isExact || !isSameSecret(signature, this.#sign(text, list).toHex()))
      throw refuseParameter(
        "cursor",
        "it is none that this list gave: collection, filter, sort and caller must be those of the page before, and the text as it was",
      );
    // The signature proves that the function above wrote the text.
    const [id, values, digest = null] = JSON.parse(text) as [string, Value[] | null, string?];
    return { id, values, digest };
  }

  #sign(text: string, list: string): Buffer {
    const digest = new Bun.CryptoHasher("sha256", this.#key()).update(`${text}\n${list}`).digest();
    return Buffer.from(digest.buffer, digest.byteOffset, signatureBytes);
  }
}
