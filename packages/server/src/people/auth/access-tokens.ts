/** Access tokens: JWT, issued and verified. */
import { AppError, type Secret } from "../../base/kernel/index.ts";

/** The claims of an access token (RFC 7519); `sid` is the session. */
export interface AccessClaims {
  readonly sub: string;
  readonly sid: string;
  /** Seconds since 1970. */
  readonly exp: number;
  /** The generation of a token that came with a refresh; null for a token of a login. */
  readonly gen: string | null;
}

/**
 * Three parts in base64url, the last of 32 bytes without padding and without stray bits (RFC 7515, 2): a decoder ignores
 * padding and stray bits, so a token would have several texts.
 */
const canonical = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;

/** Access tokens, signed with HS256. The library is loaded with the first token. */
export class AccessTokens {
  readonly #key: Uint8Array;

  constructor(secret: Secret) {
    this.#key = new TextEncoder().encode(secret.reveal());
  }

  /** A secret derived from the signing key. */
  secretFor(purpose: string): string {
    return new Bun.CryptoHasher("sha256", this.#key).update(`socle ${purpose}`).digest("hex");
  }

  async issue(claims: { sub: string; role: string; sid: string; gen?: string }, ttlMs: number): Promise<string> {
    const { SignJWT } = await import("jose");
    const issuedAt = Math.floor(Date.now() / 1_000);
    return new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + Math.ceil(ttlMs / 1_000))
      .sign(this.#key);
  }

  /** @throws AppError `unauthorized` for anything but a token that this service has signed and that is in time, at the time `now`. */
  async verify(token: string, now: number): Promise<AccessClaims> {
    if (!canonical.test(token)) throw invalidToken(null);
    const { jwtVerify } = await import("jose");
    const how = { algorithms: ["HS256"], currentDate: new Date(now) };
    const { payload } = await jwtVerify(token, this.#key, how).catch((cause: unknown) => {
      throw invalidToken(cause);
    });
    const { sub, exp, sid, gen } = payload;
    if (typeof sub !== "string" || typeof sid !== "string") throw invalidToken(null);
    // JavaScript reads a large number of JSON as infinite: the token would have no end.
    if (exp === undefined || !Number.isSafeInteger(exp)) throw invalidToken(null);
    return { sub, sid, exp, gen: typeof gen === "string" ? gen : null };
  }
}

export function invalidToken(cause: unknown): AppError {
  return new AppError("unauthorized", "The access token is invalid, expired or revoked.", { cause });
}
