/**
 * Cursors: the position of a record in one list of one caller, as text. A cursor holds the id of the record and the values that
 * the list is sorted by, encrypted and bound to its list (AES-256-GCM): the rank of a search depends on words of records that the
 * caller may not read.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import type { Value } from "../database/index.ts";
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
const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

export function digestOf(values: readonly Value[]): string {
  return Bun.SHA256.hash(JSON.stringify(values), "base64url").slice(0, 22);
}

export class Cursors {
  readonly #key: () => string;
  #cipherKey: Buffer | null = null;

  /** @param key the secret of the encryption; asked for when it is needed. */
  constructor(key: () => string) {
    this.#key = key;
  }

  /** The cursor of a record. @param list a text that says which list of which caller it belongs to. */
  write({ id, values }: { id: string; values: readonly Value[] }, list: string): string {
    const json = JSON.stringify(values);
    const text = JSON.stringify(json.length <= maxCharacters ? [id, values] : [id, null, digestOf(values)]);
    // A nonce from the content gives an unchanged list the same text again.
    const nonce = this.#digest(`${text}\n${list}`).subarray(0, nonceBytes);
    const cipher = createCipheriv(algorithm, this.#encryptionKey, nonce, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(list));
    const encrypted = Buffer.concat([cipher.update(text), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString("base64url");
  }

  /** @throws AppError `bad_request` for a cursor that was changed, or belongs to another list. */
  read(cursor: string, list: string): CursorPosition {
    const bytes = Buffer.from(cursor, "base64url");
    // Decoders are lenient: one cursor could be written in several ways.
    const isExact = bytes.length > nonceBytes + tagBytes && bytes.toString("base64url") === cursor;
    const text = isExact ? this.#decrypt(bytes, list) : null;
    if (text === null)
      throw refuseParameter(
        "cursor",
        "it is none that this list gave: collection, filter, sort and caller must be those of the page before, and the text as it was",
      );
    // The tag proves that the function above wrote the text.
    const [id, values, digest = null] = JSON.parse(text) as [string, Value[] | null, string?];
    return { id, values, digest };
  }

  /** The content of a cursor; null where it was changed, or belongs to another list. */
  #decrypt(bytes: Buffer, list: string): string | null {
    const nonce = bytes.subarray(0, nonceBytes);
    const decipher = createDecipheriv(algorithm, this.#encryptionKey, nonce, { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(list));
    decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    const text = decipher.update(bytes.subarray(nonceBytes + tagBytes));
    try {
      return Buffer.concat([text, decipher.final()]).toString();
    } catch {
      // The tag does not fit; there is no other reason to throw.
      return null;
    }
  }

  get #encryptionKey(): Buffer {
    this.#cipherKey ??= this.#digest("key");
    return this.#cipherKey;
  }

  #digest(text: string): Buffer {
    const digest = new Bun.CryptoHasher("sha256", this.#key()).update(text).digest();
    return Buffer.from(digest.buffer, digest.byteOffset, digest.byteLength);
  }
}
