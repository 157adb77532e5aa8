/**
 * Cursors: the position of a record in one list of one caller, as text. A cursor holds the id of the record and the values that
 * the list is sorted by, and is signed together with its list (HMAC-SHA256). A cursor holds nothing that its caller may not read: no list is
 * sorted by a hidden value, and the rank of a search counts the words of readable records alone.
 */
import { timingSafeEqual } from "node:crypto";
import type { Value } from "../../store/database/index.ts";
import { refuseParameter } from "./query-text.ts";

/** The content of a cursor. */
export interface CursorPosition {
  /** The id of the last record of the page before. */
  readonly id: string;
  /** Null for values that were too long: the values are read again, and must have this digest. */
  readonly values: readonly Value[] | null;
  readonly digest: string | null;
}

/** Longer values stay out of the cursor, which is part of an address; the record is read again instead. */
const maxCharacters = 1_000;
/** Characters of a signature: 132 bits in base64url. */
const signatureLength = 22;

export function digestOf(values: readonly Value[]): string {
  return Bun.SHA256.hash(JSON.stringify(values), "base64url").slice(0, 22);
}

export class Cursors {
  readonly #key: () => string;
  #knownKey: string | null = null;

  /** @param key the secret of the signatures; called once, for the first cursor. */
  constructor(key: () => string) {
    this.#key = key;
  }

  /** The cursor of a record. @param list a text that names the list and the caller of the cursor. */
  write({ id, values }: { id: string; values: readonly Value[] }, list: string): string {
    const json = JSON.stringify(values);
    const text = JSON.stringify(json.length <= maxCharacters ? [id, values] : [id, null, digestOf(values)]);
    return this.#signature(text, list) + Buffer.from(text).toString("base64url");
  }

  /** @throws AppError `bad_request` for a cursor that was changed, or belongs to another list. */
  read(cursor: string, list: string): CursorPosition {
    const [signature, content] = [cursor.slice(0, signatureLength), cursor.slice(signatureLength)];
    const text = Buffer.from(content, "base64url").toString();
    const expected = Buffer.from(this.#signature(text, list));
    const given = Buffer.from(signature);
    const isSigned = given.length === expected.length && timingSafeEqual(given, expected);
    // Decoders are lenient: several texts could stand for the same cursor.
    if (!isSigned || Buffer.from(text).toString("base64url") !== content)
      throw refuseParameter(
        "cursor",
        "it is none that this list gave: collection, filter, sort and caller must be those of the page before, and the text as it was",
      );
    // The signature proves that the function above wrote the text.
    const [id, values, digest = null] = JSON.parse(text) as [string, Value[] | null, string?];
    return { id, values, digest };
  }

  /** @param text JSON, without a line break: a line break separates the text from the list. */
  #signature(text: string, list: string): string {
    this.#knownKey ??= this.#key();
    const digest = new Bun.CryptoHasher("sha256", this.#knownKey).update(`${text}\n${list}`).digest("base64url");
    return digest.slice(0, signatureLength);
  }
}
