/** Prefixes of ids. */
type IdPrefix = "rec" | "usr" | "ses" | "fil" | "run";

/**
 * A new id: the prefix and a UUIDv7 (RFC 9562). The ids of a process sort by creation, which keeps their index
 * append-only.
 */
export function newId(prefix: IdPrefix, time: number): string {
  return `${prefix}_${Bun.randomUUIDv7("hex", time)}`;
}

/** `bytes` random bytes as base64url. */
export function randomToken(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("base64url");
}
