/** Access tokens: JWT, signed with HS256. The library is loaded with the first token. */
import { AppError, isSameSecret, randomToken, type Secret } from "../../base/kernel/index.ts";

/** The claims of an access token (RFC 7519); `sid` is the session. */
export interface AccessClaims {
  readonly sub: string;
  readonly sid: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

/**
 * Three parts in base64url, the last of 32 bytes without padding and without stray bits (RFC 7515, 2): a decoder ignores
 * padding and stray bits, so a token would have several texts.
 */
const canonical = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;

export class AccessTokens {
  readonly #key: Uint8Array;

  constructor(secret: Secret) {
    this.#key = new TextEncoder().encode(secret.reveal());
  }

  /** A secret derived from the signing key. */
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

  /** @throws AppError `unauthorized` for anything but a token that this service has signed and that is in time. */
  async verify(token: string): Promise<AccessClaims> {
    if (!canonical.test(token)) throw invalidToken(null);
    const { jwtVerify } = await import("jose");
    const { payload } = await jwtVerify(token, this.#key, { algorithms: ["HS256"] }).catch((cause: unknown) => {
      throw invalidToken(cause);
    });
    const { sub, exp } = payload;
    const sid = payload["sid"];
    if (typeof sub !== "string" || typeof sid !== "string") throw invalidToken(null);
    // JavaScript reads a large number of JSON as infinite: the token would have no end.
    if (exp === undefined || !Number.isSafeInteger(exp)) throw invalidToken(null);
    return { sub, sid, exp };
  }
}

export function invalidToken(cause: unknown): AppError {
  return new AppError("unauthorized", "The access token is invalid, expired or revoked.", { cause });
}

/**
 * Refresh tokens: `{session id}.{256 random bits}.{signature}`. The database has only hashes. The successor of a token is
 * computed from the token, so that simultaneous requests with one token get the same successor. The signature proves that
 * the service issued the token, also after the hash was removed.
 */
export class RefreshTokens {
  readonly #key: () => string;

  /** @param key a secret of the service, available once auth has started. */
  constructor(key: () => string) {
    this.#key = key;
  }

  /** The first token of a session. */
  first(sessionId: string): string {
    return this.#signed(`${sessionId}.${randomToken(32)}`);
  }

  /** The token that another is exchanged for: always the same. */
  successor(token: string, sessionId: string): string {
    return this.#signed(`${sessionId}.${this.#digest(`next ${token}`)}`);
  }

  /** The session that a token was issued for, whenever that was; null for a token that this service has not issued. */
  sessionOf(token: string): string | null {
    const unsigned = token.slice(0, Math.max(0, token.lastIndexOf(".")));
    return isSameSecret(token, this.#signed(unsigned)) ? (unsigned.split(".")[0] ?? null) : null;
  }

  #signed(text: string): string {
    return `${text}.${this.#digest(`sign ${text}`)}`;
  }

  #digest(text: string): string {
    return new Bun.CryptoHasher("sha256", this.#key()).update(text).digest("base64url");
  }
}

/** The stored hash of a refresh token: 256 random bits need no slow hash. */
export function hashRefreshToken(token: string): string {
  return Bun.SHA256.hash(token, "hex");
}
