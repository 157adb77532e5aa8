/** Bodies of the authentication API: users, roles, credentials and tokens. */

export const ROLES = ["admin", "authenticated", "public"] as const;
export type Role = (typeof ROLES)[number];

export interface User {
  /** `usr_` and a UUIDv7. */
  id: string;
  email: string;
  role: Role;
  createdAt: string;
}

/** The body of a register or login request. */
export interface Credentials {
  email: string;
  password: string;
}

/** The answer of register, login and refresh. */
export interface TokenResponse {
  /** A JWT for `Authorization: Bearer …`. */
  accessToken: string;
  /** The same as `accessToken`. */
  token: string;
  /** Works once; the answer to the use carries the next. */
  refreshToken: string;
  tokenType: "Bearer";
  /** Seconds until the access token expires. */
  expiresIn: number;
  user: User;
}

/** The answer of `GET /api/auth/setup` without a token: `open` while the service waits for the first admin. */
export interface SetupStatus {
  status: "open" | "over";
}

/** The answer of `GET /api/auth/setup` with the token: how long the set-up link works. */
export interface SetupInvitation {
  expiresAt: string;
  /** Characters that a password has at least. */
  passwordMinLength: number;
}
