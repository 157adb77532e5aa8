/**
 * Sign-ins that lead through a browser, at providers and on the pages of the service, and links to accounts at providers:
 * `client.auth.signInWith`, `client.auth.signInWithPage` and `client.auth.links`.
 */
import type { Link, LinkResponse, User } from "@socle/protocol";
import { searchOf } from "./search.ts";
import type { Requests } from "./transport.ts";

/** A way through a provider, or through the pages of the service, that has begun. */
export interface ProviderVisit<Outcome> {
  /** The address to open in a browser. */
  readonly url: string;
  /**
   * Ends the visit with the address at which the browser came back.
   * @throws ProviderError if the visit has failed; SecondFactorRequired for a user with a second factor; SocleError.
   */
  finish(address: string): Promise<Outcome>;
}

export interface VisitOptions {
  /**
   * The address of your app at which the browser comes back: below the service's `publicUrl` or `auth.redirects`. In a
   * browser, the default is the present page.
   */
  redirect?: string;
}

/** A failed visit of a provider. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  /** `access_denied` when the person has cancelled; otherwise a code of the service, for example `conflict`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The parts of a browser that a visit uses; the types of server runtimes do not have these parts. */
interface Page {
  readonly location: { readonly href: string; assign(url: string): void };
  readonly history: { replaceState(data: unknown, unused: string, url: string): void };
  /** Lasts as long as the tab, and belongs to the app's origin alone. */
  readonly sessionStorage: {
    getItem(key: string): string | null;
    setItem(key: string, value: string): void;
    removeItem(key: string): void;
  };
}

/** Null outside browsers. */
function currentPage(): Page | null {
  const global = globalThis as Partial<Page> & { document?: unknown };
  const { location, history, sessionStorage } = global;
  if (global.document === undefined || !location || !history || !sessionStorage) return null;
  return { location, history, sessionStorage };
}

/** A kind of visit: the place of the verifier in the tab, and the request at the end. */
interface VisitKind<Outcome> {
  readonly storageKey: string;
  readonly end: (proof: { code: string; verifier: string }) => Promise<Outcome>;
}

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The secret of a visit and its hash (RFC 7636): only the app that has begun the visit can end the visit. */
async function newVerifier(): Promise<{ verifier: string; challenge: string }> {
  if (globalThis.crypto?.subtle === undefined)
    throw new Error(
      "This runtime has no crypto.subtle, which this sign-in needs: a page needs HTTPS, React Native a package",
    );
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return { verifier, challenge: base64url(new Uint8Array(hash)) };
}

/** The code of an address at which a browser came back; null for another address. @throws ProviderError. */
function codeOf(address: string): string | null {
  const start = address.indexOf("#");
  const parts = start < 0 ? [] : address.slice(start + 1).split("&");
  // The `URLSearchParams` of React Native cannot read parameters.
  const valueAt = (name: string): string | null => {
    const value = parts.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
    return value === undefined ? null : decodeURIComponent(value.replaceAll("+", " "));
  };
  const error = valueAt("error");
  if (error !== null) throw new ProviderError(error, valueAt("error_description") ?? "The sign-in failed.");
  return valueAt("code");
}

/** Begins a visit. In a browser, the tab keeps the verifier and leaves for the provider or the page. */
async function beginVisit<Outcome>(
  { storageKey, end }: VisitKind<Outcome>,
  begin: (asked: Record<string, string>) => Promise<string>,
  { redirect }: VisitOptions,
): Promise<ProviderVisit<Outcome>> {
  const page = currentPage();
  const address = redirect ?? page?.location.href.replace(/#.*$/s, "");
  if (address === undefined) throw new Error("Outside a browser, redirect is needed: the address of your app");
  const { verifier, challenge } = await newVerifier();
  const url = await begin({ redirect: address, challenge });
  page?.sessionStorage.setItem(storageKey, verifier);
  page?.location.assign(url);
  return {
    url,
    async finish(back) {
      const code = codeOf(back);
      if (code === null) throw new Error("The address has no code");
      return end({ code, verifier });
    },
  };
}

/** Ends the visit that the tab has begun, on the page at which the browser came back. Null on any other page. */
async function finishHere<Outcome>({ storageKey, end }: VisitKind<Outcome>): Promise<Outcome | null> {
  const page = currentPage();
  const verifier = page?.sessionStorage.getItem(storageKey) ?? null;
  if (page === null || verifier === null || !/#(?:.*&)?(?:code|error)=/.test(page.location.href)) return null;
  const back = page.location.href;
  page.sessionStorage.removeItem(storageKey);
  // The code stays neither in the address nor in the history.
  page.history.replaceState(null, "", back.replace(/#.*$/s, ""));
  const code = codeOf(back);
  return code === null ? null : end({ code, verifier });
}

/** Sign-ins at providers and on the pages of the service. */
export class BrowserSignIns {
  readonly #baseUrl: string;
  readonly #kind: VisitKind<User>;

  constructor(transport: Requests) {
    this.#baseUrl = transport.baseUrl;
    this.#kind = { storageKey: "socle.signIn", end: (proof) => transport.signIn("oauth/token", proof) };
  }

  /** @param path of the service, at which the sign-in begins. */
  begin(path: string, options: VisitOptions): Promise<ProviderVisit<User>> {
    const begin = async (asked: Record<string, string>) => `${this.#baseUrl}${path}${searchOf(asked)}`;
    return beginVisit(this.#kind, begin, options);
  }

  finish(): Promise<User | null> {
    return finishHere(this.#kind);
  }
}

/** The accounts at providers by which the signed-in user can sign in. */
export class LinksClient {
  readonly #transport: Requests;
  readonly #kind: VisitKind<Link>;

  constructor(transport: Requests) {
    this.#transport = transport;
    this.#kind = {
      storageKey: "socle.link",
      end: async (proof) => (await transport.call<LinkResponse>("POST", "/api/auth/oauth/token", { body: proof })).link,
    };
  }

  async list(): Promise<Link[]> {
    return (await this.#transport.call<{ items: Link[] }>("GET", "/api/auth/links")).items;
  }

  /** Begins a visit that adds a link; needs a sign-in of the last ten minutes. In a browser, the page leaves for the provider. */
  add(name: string, options: VisitOptions = {}): Promise<ProviderVisit<Link>> {
    const path = `/api/auth/links/${encodeURIComponent(name)}`;
    const begin = async (body: Record<string, string>) =>
      (await this.#transport.call<{ url: string }>("POST", path, { body })).url;
    return beginVisit(this.#kind, begin, options);
  }

  /** Adds the link on the page at which the browser came back. Null on any other page. @throws ProviderError. */
  finish(): Promise<Link | null> {
    return finishHere(this.#kind);
  }

  /** Removes a link; needs a sign-in of the last ten minutes, and another way to sign in. */
  async remove(name: string): Promise<void> {
    await this.#transport.fetch("DELETE", `/api/auth/links/${encodeURIComponent(name)}`);
  }
}
