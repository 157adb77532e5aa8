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

/** Longer values stay out of the cursor, which is part of an address; the record is looked at again instead. */
const maxCharacters = 1_000;
const macLength = 22;

/** Makes and reads cursors: opaque, and signed, so that nobody asks for a place that they were not given. */
export class Cursors {
  readonly #key: () => string;

  /** @param key the secret that signs; asked for when it is needed. */
  constructor(key: () => string) {
    this.#key = key;
  }

  /** The cursor of the record at a place. */
  write({ seq, values }: Place, scope: CursorScope): string {
    const json = values.length === 0 ? "" : JSON.stringify(values);
    const isKept = json !== "" && json.length <= maxCharacters;
    const payload = `${seq.toString(36)}${isKept ? `.${Buffer.from(json).toString("base64url")}` : ""}`;
    return `${this.#sign(payload, scope)}${payload}`;
  }

  /**
   * The place of a cursor; `values` is null where they are to be looked up.
   * @throws AppError `bad_request` for one that was changed, or belongs to another list.
   */
  read(cursor: string, scope: CursorScope): { readonly seq: number; readonly values: readonly Value[] | null } {
    const [mac, payload] = [cursor.slice(0, macLength), cursor.slice(macLength)];
    if (!isSameSecret(mac, this.#sign(payload, scope)))
      throw refuseParameter(
        "cursor",
        "it is none that this list gave: collection, filter, sort and caller must be those of the page before, and the text as it was",
      );
    const [seq = "", encoded] = payload.split(".");
    // It was signed, so it was written above.
    const values = encoded === undefined ? null : (JSON.parse(Buffer.from(encoded, "base64url").toString()) as Value[]);
    return { seq: Number.parseInt(seq, 36), values };
  }

  #sign(payload: string, { collection, sort, filter, userId }: CursorScope): string {
    const signed = JSON.stringify([payload, collection, sort, filter, userId]);
    const mac = new Bun.CryptoHasher("sha256", this.#key()).update(signed).digest("base64url");
    return mac.slice(0, macLength);
  }
}
