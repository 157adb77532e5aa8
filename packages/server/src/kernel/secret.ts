import { timingSafeEqual } from "node:crypto";

const hidden = "[secret]";

/** Whether two texts are the same. How long it takes tells nothing: their hashes are compared, which are of one length. */
export function isSameSecret(a: string, b: string): boolean {
  return timingSafeEqual(Bun.SHA256.hash(a, new Uint8Array(32)), Bun.SHA256.hash(b, new Uint8Array(32)));
}

/** A value that must not reach a log: whoever prints or serialises it gets a placeholder. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return hidden;
  }

  toJSON(): string {
    return hidden;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return hidden;
  }
}
