/** Roles of users, and the set-up of the first admin. */

export const ROLES = ["admin", "authenticated", "public"] as const;
export type Role = (typeof ROLES)[number];

/** The answer of `GET /api/auth/setup` with the token: how long the set-up link works. */
export interface SetupInvitation {
  expiresAt: string;
  /** Characters that a password has at least. */
  passwordMinLength: number;
}
