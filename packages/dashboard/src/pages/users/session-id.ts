/** The session of an access token, so that the list of sessions can mark the current session. */

/** The claim `sid` of a JWT; null for any other text. The signature is not verified: only the service verifies tokens. */
export function sessionIdOf(token: string | null): string | null {
  const [, payload = ""] = (token ?? "").split(".");
  try {
    const claims: unknown = JSON.parse(atob(payload.replace(/-/g, "+").replace(/_/g, "/")));
    if (typeof claims !== "object" || claims === null || !("sid" in claims)) return null;
    return typeof claims.sid === "string" ? claims.sid : null;
  } catch {
    return null;
  }
}
