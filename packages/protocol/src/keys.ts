/** API keys (contract, "Users and accounts"): the shapes of requests and answers. */

/** The body that makes a key. */
export interface NewApiKey {
  /** 1 to 100 characters. */
  name: string;
  /** `posts:read`, `posts:write`, `*:read`, `*:write`, `function:/path`, `function:/path/*` or `admin`. */
  scopes: string[];
  /** A datetime in the future; without the member, the key does not expire. */
  expiresAt?: string | null;
}

export interface ApiKey {
  /** `key_` and a UUIDv7. */
  id: string;
  name: string;
  scopes: string[];
  createdAt: string;
  /** The service deletes the key at this time; null for a key without an end. */
  expiresAt: string | null;
  /** To about a minute; null for a key that was never used. */
  lastUsedAt: string | null;
}

/** The only answer that has the key. */
export interface CreatedApiKey extends ApiKey {
  /** `sk_` and 256 random bits, for `Authorization: Bearer …`. */
  key: string;
}
