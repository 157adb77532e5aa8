import { AppError, BoundedMap, randomToken, type Secret } from "../kernel/index.ts";

/** What an access token says (RFC 7519); `sid` is the session that it belongs to. */
export interface AccessClaims {
  readonly sub: string;
  readonly sid: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

/** Verified tokens that are remembered: a signature does not change, only its session and its time do. */
const capacity = 5_000;

/**
 * Three parts in base64url, the last of them 32 bytes without padding and without stray bits (RFC 7515, 2): a decoder
 * ignores those, so that a token could be written in several ways.
 */
const canonical = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;

/** Access tokens: JWT, HS256. The library is loaded with the first one. */
export class AccessTokens {
  readonly #key: Uint8Array;
  readonly #verified = new BoundedMap<string, AccessClaims>(capacity);

  constructor(secret: Secret) {
    this.#key = new TextEncoder().encode(secret.reveal());
  }

  /** A secret that is made of the signing key, and does not give it away. */
  secretFor(purpose: string): string {
    return new Bun.CryptoHasher("sha256", this.#key).update(`socle ${purpose}`).digest("hex");
  }

  async issue(claims: { sub: string; role: string; sid: string }, now: number, ttlMs: number): Promise<string> {
    const { SignJWT } = await import("jose");
    const issuedAt = Math.floor(now / 1_000);
    return new SignJWT({ role: claims.role, sid: claims.sid })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setSubject(claims.sub)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + Math.ceil(ttlMs / 1_000))
      .sign(this.#key);
  }

  /** The claims of a token whose signature was checked before; its time is not. */
  known(token: string): AccessClaims | undefined {
    return this.#verified.get(token);
  }

  /** @throws AppError `unauthorized` for anything but a token that this service has signed and that is in time. */
  async verify(token: string): Promise<AccessClaims> {
    if (!canonical.test(token)) throw invalidToken(null);
    const { jwtVerify } = await import("jose");
    const { payload } = await jwtVerify(token, this.#key, { algorithms: ["HS256"] }).catch((cause: unknown) => {
      throw invalidToken(cause);
    });
    const { sub, exp } = payload;
    const sid = payload["sid"];
    if (typeof sub !== "string" || typeof sid !== "string" || typeof exp !== "number") throw invalidToken(null);
    const claims: AccessClaims = { sub, sid, exp };
    this.#verified.set(token, claims);
    return claims;
  }
}

export function invalidToken(cause: unknown): AppError {
  return new AppError("unauthorized", "The access token is invalid, expired or revoked.", { cause });
}

/** A new refresh token, and what is kept of it: 256 random bits need no slow hash. */
export function newRefreshToken(): { token: string; hash: string } {
  const token = randomToken(32);
  return { token, hash: hashRefreshToken(token) };
}

export function hashRefreshToken(token: string): string {
  return Bun.SHA256.hash(token, "hex");
}
