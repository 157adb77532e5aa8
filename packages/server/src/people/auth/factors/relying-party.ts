/** The relying party: the host name and the origin for which the passkeys of this service count. */

export interface RelyingParty {
  /** The host name: authenticators use a passkey for this name alone. */
  readonly id: string;
  /** The origin of the pages that may use the passkeys. */
  readonly origin: string;
}

/** Authenticators take names, not addresses of machines. */
const machine = /^[\d.]+$|^\[/;

/**
 * The relying party of `publicUrl`; null for an address without a name. Without `publicUrl`, a page on localhost may use
 * passkeys, for development: an authenticator uses these passkeys for pages of the user's own machine alone, so nobody gains from
 * a false `Origin`.
 * @param origin the header `Origin` of the request.
 */
export function relyingParty(publicUrl: string | undefined, origin: string | null): RelyingParty | null {
  const address = publicUrl ?? origin ?? "";
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  const isGood = publicUrl === undefined ? url.hostname === "localhost" : !machine.test(url.hostname);
  return isGood ? { id: url.hostname, origin: url.origin } : null;
}
