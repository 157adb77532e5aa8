/**
 * File links: addresses that give a file without a token for some minutes, for `<img src>` and for downloads by a
 * browser. A link is signed and not stored: the link works until the link expires or the file is gone, also after the
 * maker has lost the right.
 */
import type { FileLink } from "@socle/protocol";
import { type Clock, isSameSecret, toTimestamp } from "../../base/kernel/index.ts";

interface FileLinksOptions {
  /** The secret of signatures, made on demand. */
  key: () => string;
  /** How long a link works, in milliseconds. */
  ttlMs: number;
}

export class FileLinks {
  readonly #options: FileLinksOptions;
  readonly #clock: Clock;

  constructor(options: FileLinksOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  make(id: string): FileLink {
    const expires = Math.ceil((this.#clock.ofLeader() + this.#options.ttlMs) / 1_000);
    const query = new URLSearchParams({ expires: String(expires), signature: this.#sign(id, expires) });
    return { url: `/api/storage/${id}?${query}`, expiresAt: toTimestamp(expires * 1_000) };
  }

  /** Whether the parameters of an address belong to a link to this file that has not expired. */
  isValid(id: string, { expires, signature }: { expires: string | null; signature: string | null }): boolean {
    if (expires === null || signature === null || !/^[1-9]\d{0,11}$/.test(expires)) return false;
    if (Number(expires) * 1_000 <= this.#clock.ofLeader()) return false;
    return isSameSecret(signature, this.#sign(id, Number(expires)));
  }

  #sign(id: string, expires: number): string {
    return new Bun.CryptoHasher("sha256", this.#options.key()).update(`${id} ${expires}`).digest("base64url");
  }
}
