/** Auth client: what users do with their own account. */
import type { OwnSession, ProviderEntry, SecondFactorProof, User, UserFactors } from "@socle/protocol";
import { TotpClient } from "./auth-factors.ts";
import { KeysClient } from "./auth-keys.ts";
import { PasskeysClient } from "./auth-passkeys.ts";
import { ProofsClient } from "./auth-proofs.ts";
import { BrowserSignIns, LinksClient, type ProviderVisit, type VisitOptions } from "./auth-providers.ts";
import type { Requests } from "./transport.ts";

/** The caller's account. Every method throws `SocleError`. */
export class AuthClient extends ProofsClient {
  readonly sessions: SessionsClient;
  /** The authenticator app. */
  readonly totp: TotpClient;
  readonly passkeys: PasskeysClient;
  /** The API keys. */
  readonly keys: KeysClient;
  /** The accounts at providers. */
  readonly links: LinksClient;
  readonly #signIns: BrowserSignIns;
  readonly #transport: Requests;

  constructor(transport: Requests) {
    super(transport);
    this.#transport = transport;
    this.sessions = new SessionsClient(transport);
    this.totp = new TotpClient(transport);
    this.passkeys = new PasskeysClient(transport);
    this.keys = new KeysClient(transport, "/api/auth/keys");
    this.links = new LinksClient(transport);
    this.#signIns = new BrowserSignIns(transport);
  }

  /** The providers at which users sign in. */
  async providers(): Promise<ProviderEntry[]> {
    return (await this.#transport.call<{ items: ProviderEntry[] }>("GET", "/api/auth/providers")).items;
  }

  /** Begins a sign-in at a provider. In a browser, the page leaves for the provider; an app opens the `url` of the answer. */
  signInWith(name: string, options: VisitOptions = {}): Promise<ProviderVisit<User>> {
    return this.#signIns.begin(`/api/auth/oauth/${encodeURIComponent(name)}`, options);
  }

  /**
   * Begins a sign-in on the service's own pages: password, passkey, code by mail, providers and second factor. In a browser, the
   * page leaves for the sign-in page; an app opens the `url` of the answer.
   */
  signInWithPage(options: VisitOptions = {}): Promise<ProviderVisit<User>> {
    return this.#signIns.begin("/_/auth/sign-in", options);
  }

  /**
   * Ends the sign-in at a provider or on the pages of the service, at the address at which the browser came back. Null on any
   * other page.
   * @throws ProviderError if the sign-in has failed; SecondFactorRequired.
   */
  finishSignIn(): Promise<User | null> {
    return this.#signIns.finish();
  }

  /** Makes an anonymous user, and signs the user in. @throws SocleError `forbidden` unless the service has `auth.anonymous`. */
  signInAnonymously(): Promise<User> {
    return this.#transport.signIn("anonymous", {});
  }

  /**
   * Asks for a mail with a token (`verify`) that gives the signed-in anonymous user the address and the password; a code for an address
   * (`requestCode`) and an account at a provider (`links.add`) do so, too. The user keeps id and records.
   * @throws SocleError `conflict` for an address that another user has.
   */
  async claim(account: { email: string; password: string }): Promise<void> {
    await this.#transport.fetch("POST", "/api/auth/anonymous/claim", { body: account });
  }

  /** Ends a sign-in that has thrown `SecondFactorRequired`. */
  secondFactor(proof: SecondFactorProof): Promise<User> {
    return this.#transport.signIn("second-factor", proof);
  }

  /**
   * Replaces the password, and ends the sessions on all other devices. A user without a password sets a password with
   * `current` null and a sign-in of the last ten minutes.
   */
  async changePassword(current: string | null, password: string): Promise<void> {
    await this.#transport.fetch("PUT", "/api/auth/password", { body: { current, password } });
  }

  /**
   * Deletes the account and signs out. A user without a password passes null, after a sign-in of the last ten minutes.
   */
  deleteAccount(password: string | null): Promise<void> {
    return this.#transport.signOut("DELETE", "/api/auth/me", { body: { password } });
  }

  /** The second factors and passkeys. */
  factors(): Promise<UserFactors> {
    return this.#transport.call("GET", "/api/auth/factors");
  }
}

/** The caller's sessions. */
export class SessionsClient {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  /** The sessions that have not expired, newest first. */
  async list(): Promise<OwnSession[]> {
    return (await this.#transport.call<{ items: OwnSession[] }>("GET", "/api/auth/sessions")).items;
  }

  /** Ends a session. With the current session, the tokens of this client end; `logout` also forgets the tokens. */
  async end(id: string): Promise<void> {
    await this.#transport.fetch("DELETE", `/api/auth/sessions/${encodeURIComponent(id)}`);
  }

  /** Ends the sessions on all other devices. */
  async endOthers(): Promise<void> {
    await this.#transport.fetch("DELETE", "/api/auth/sessions");
  }
}
