/**
 * Browser cookie: a secret of a browser, which ties the steps of a sign-in to the browser that has begun the sign-in. The cookie
 * signs nobody in.
 */
import { isSameSecret, randomToken } from "../../base/kernel/index.ts";
import type { Exchange } from "./exchange.ts";

/** Seconds for which a browser is known; a person may take so long on a page. */
const ageSeconds = 3_600;

export class BrowserCookie {
  readonly #name: string;
  readonly #attributes: string;

  /** @param isSecure whether browsers reach the service by HTTPS. */
  constructor(isSecure: boolean) {
    // The prefix keeps other hosts of the domain from setting the cookie; without HTTPS (in development) browsers know no such cookies.
    this.#name = isSecure ? "__Host-socle_sign_in" : "socle_sign_in";
    // With Lax, a form of another site brings no cookie.
    this.#attributes = `Path=/; Max-Age=${ageSeconds}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  }

  /** The secret of the browser; null for a browser without the cookie. */
  secretOf({ request }: Exchange): string | null {
    const cookies = (request.headers.get("cookie") ?? "").split(";").map((cookie) => cookie.trim());
    const prefix = `${this.#name}=`;
    const secret = cookies.find((cookie) => cookie.startsWith(prefix))?.slice(prefix.length) ?? "";
    return /^[\w-]{43}$/.test(secret) ? secret : null;
  }

  /** The secret of the browser, and the header that keeps the secret. Sign-ins in several tabs share the secret. */
  keep(exchange: Exchange): { secret: string; headers: Record<string, string> } {
    const secret = this.secretOf(exchange) ?? randomToken(32);
    return { secret, headers: { "Set-Cookie": `${this.#name}=${secret}; ${this.#attributes}` } };
  }

  /** The text by which a form proves that the form comes from a page in the browser of the secret. */
  static formToken(secret: string): string {
    return new Bun.CryptoHasher("sha256").update(`form ${secret}`).digest("base64url");
  }

  /** Whether the text of a form comes from a page that this browser has opened. */
  hasOpened(exchange: Exchange, formToken: string): boolean {
    const secret = this.secretOf(exchange);
    return secret !== null && isSameSecret(formToken, BrowserCookie.formToken(secret));
  }
}
