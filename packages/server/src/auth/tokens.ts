/** Access tokens: JWT, signed with HS256. The library is loaded with the first one. */
import { AppError, BoundedMap, isSameSecret, randomToken, type Secret } from "../kernel/index.ts";

/** The claims of an access token (RFC 7519); `sid` is the session that it belongs to. */
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

/**
 * Refresh tokens: `{session id}.{256 random bits}.{signature}`. Only their hashes are kept. The successor of a token is
 * computed from it, so that requests which exchange one token at the same moment get the same one. The signature shows
 * that a token was issued for its session when its hash is no longer kept.
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

/** The hash by which a refresh token is stored: 256 random bits need no slow one. */
export function hashRefreshToken(token: string): string {
  return Bun.SHA256.hash(token, "hex");
}
