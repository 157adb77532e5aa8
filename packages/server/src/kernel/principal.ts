import type { Role } from "@socle/protocol";

/** A caller with a valid access token. */
export interface SignedIn {
  readonly userId: string;
  readonly role: Role;
  readonly sessionId: string;
}

/** The service itself, where it acts for nobody: a seed file, later the user's own functions. No rule holds it back. */
export interface System {
  readonly userId: null;
  readonly role: "admin";
}

export const system: System = { userId: null, role: "admin" };

/** Who asks: a signed-in user, the service itself, or null for somebody without a token. */
export type Principal = SignedIn | System | null;

/** Admins bypass all collection rules (spec, "Authentication" 6). */
export function isAdmin(principal: Principal): boolean {
  return principal !== null && principal.role === "admin";
}
