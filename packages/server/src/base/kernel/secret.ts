/** Secrets: random tokens, a value that no log shows, and a comparison in constant time. */

const hidden = "[secret]";

/**
 * Whether two texts are the same, in constant time: all bytes of the hashes are compared. (Node's module for this
 * comparison costs an idle service a megabyte.)
 */
export function isSameSecret(a: string, b: string): boolean {
  const [left, right] = [new Uint8Array(32), new Uint8Array(32)];
  Bun.SHA256.hash(a, left);
  Bun.SHA256.hash(b, right);
  let difference = 0;
  for (const [i, byte] of left.entries()) difference |= byte ^ (right[i] ?? 0);
  return difference === 0;
}

/** A value that must not reach a log: printing or serialising a `Secret` gives a placeholder. */
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

/** `bytes` random bytes as base64url. */
export function randomToken(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("base64url");
}
