/**
 * Provider: the address to which a browser is sent, and the identity behind the answer that the browser brings back. The
 * protocol (OAuth 2.0 with PKCE, OpenID Connect) is the work of `openid-client`, which is loaded with the first sign-in.
 */
import type * as Library from "openid-client";
import type { ClientAuth, Configuration } from "openid-client";
import { isLoopback, type ProviderSettings } from "../../../base/config/index.ts";
import { Admission, AppError, isObject, messageOf, quote } from "../../../base/kernel/index.ts";
import type { PasswordCaller } from "../passwords.ts";
import { appleSecret } from "./apple-secret.ts";
import { oddAnswer, type Preset, type ProviderIdentity, presetOf, standardIdentity } from "./presets.ts";
import { ProviderHttp, type ProviderRequest } from "./provider-http.ts";

/** How long the addresses of a provider are kept, once found by discovery. */
const discoveryTtlMs = 3_600_000;
/** The addresses that a discovery document must have, and may have. */
const neededAddresses = ["authorization_endpoint", "token_endpoint", "jwks_uri"] as const;
/** The error of the library for an ID token that is signed with a key which the library does not know. */
const unknownKey = "OAUTH_KEY_SELECTION_FAILED";
/** Sign-ins that are exchanged with a provider at a time. */
const width = 16;

/** A sign-in under way at a provider. */
export interface Flow {
  /** The callback address of this service. */
  readonly callback: string;
  readonly state: string;
  readonly nonce: string;
  /** The verifier of PKCE towards the provider (RFC 7636). */
  readonly verifier: string;
}

interface ProviderOptions {
  readonly timeLimitMs: number;
  /** The most sign-ins that wait for the provider. */
  readonly maxWaiting: number;
}

export class Provider {
  readonly name: string;
  readonly title: string;
  readonly clientId: string;
  readonly issuer: string;
  readonly hasOwnCallback: boolean;
  readonly #settings: ProviderSettings;
  readonly #preset: Preset;
  readonly #isPreset: boolean;
  readonly #isLocal: boolean;
  readonly #http: ProviderHttp;
  readonly #admission: Admission;
  /** The answers to the exchanges that are under way, by the code. */
  readonly #exchanges = new Map<string, Response>();
  #found: { readonly client: Promise<Configuration>; readonly until: number } | null = null;

  constructor(settings: ProviderSettings, { timeLimitMs, maxWaiting }: ProviderOptions) {
    const { name, clientId, ownCallback } = settings;
    const preset = presetOf(name);
    this.#isPreset = preset !== null;
    this.#preset = preset ?? { title: name, issuer: () => "", scopes: ["openid", "email"] };
    this.name = name;
    this.title = settings.title ?? this.#preset.title;
    this.clientId = clientId;
    this.hasOwnCallback = ownCallback;
    this.#settings = settings;
    const issuer = settings.issuer ?? this.#preset.issuer(settings);
    // The addresses of a preset are put together; the issuer of discovery is compared as a whole.
    this.issuer = this.#preset.endpoints === undefined ? issuer : issuer.replace(/\/$/, "");
    this.#isLocal = isLoopback(new URL(this.issuer));
    this.#http = new ProviderHttp({ name, timeLimitMs, isLocal: this.#isLocal });
    this.#admission = new Admission({
      width,
      share: width / 4,
      maxWaiting,
      waitingShare: Math.ceil(maxWaiting / 4),
      patienceMs: timeLimitMs,
      limit: "providerRequests",
      message: `Too many sign-ins wait for ${name}; try again in a moment.`,
    });
  }

  /** The address at the provider that a browser opens. @throws AppError `unavailable`. */
  async address({ callback, state, nonce, verifier }: Flow): Promise<string> {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import("openid-client");
    const client = await this.#client().catch((thrown) => {
      throw failureOf(thrown);
    });
    const { scopes: chosen } = this.#settings;
    const scopes = new Set(chosen ?? this.#preset.scopes);
    const parameters = {
      ...this.#preset.parameters,
      redirect_uri: callback,
      scope: [...(this.#isOpenId ? scopes.add("openid") : scopes)].join(" "),
      state,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      ...(this.#isOpenId && { nonce }),
    };
    return buildAuthorizationUrl(client, parameters).href;
  }

  /**
   * The person behind the answer of the provider, after every check of OpenID Connect Core 1.0, 3.1.3.7, with the signature
   * of the ID token, and of `iss` (RFC 9207).
   * @param answer the parameters with which the browser came back.
   * @throws AppError `unauthorized` for an answer that does not hold, `unavailable`.
   */
  async identify(flow: Flow, answer: URLSearchParams, caller: PasswordCaller): Promise<ProviderIdentity> {
    try {
      const ask = { caller: caller.key, signal: caller.signal };
      const identity = await this.#admission.run(() => this.#identify(flow, answer), ask);
      const { trustEmail } = this.#settings;
      return { ...identity, isVerified: identity.email !== null && (trustEmail ?? identity.isVerified) };
    } catch (thrown) {
      throw failureOf(thrown);
    }
  }

  async #identify({ callback, state, nonce, verifier }: Flow, answer: URLSearchParams): Promise<ProviderIdentity> {
    const { authorizationCodeGrant, fetchUserInfo } = await import("openid-client");
    const client = await this.#client();
    const url = new URL(callback);
    url.search = answer.toString();
    const checks = {
      expectedState: state,
      pkceCodeVerifier: verifier,
      ...(this.#isOpenId && { expectedNonce: nonce }),
    };
    const code = answer.get("code") ?? "";
    const tokens = await authorizationCodeGrant(client, url, checks)
      .catch(async (thrown: unknown) => {
        if (!this.#exchanges.has(code) || !hasCode(thrown, unknownKey)) throw thrown;
        // The library reads the keys again after a minute at the earliest; a new client reads the keys at once, and only once.
        if (this.#found !== null && (await this.#found.client) === client) this.#found = null;
        return authorizationCodeGrant(await this.#client(), url, checks);
      })
      .finally(() => this.#exchanges.delete(code));
    const { ofResource, ofClaims = standardIdentity } = this.#preset;
    if (ofResource !== undefined)
      return ofResource((address) => this.#resource(address, tokens.access_token), this.issuer);
    const claims = tokens.claims();
    if (claims === undefined) throw oddAnswer("the provider gave no ID token");
    // OpenID Connect Core 1.0, 3.1.3.7: the party to which the ID token was issued.
    if (claims["azp"] !== undefined && claims["azp"] !== this.clientId)
      throw oddAnswer(`the ID token is for another client (azp ${quote(claims["azp"])})`);
    // Some providers have the email only here.
    const hasMore = claims["email"] === undefined && client.serverMetadata().userinfo_endpoint !== undefined;
    const more = hasMore ? await fetchUserInfo(client, tokens.access_token, claims.sub) : {};
    return ofClaims({ ...more, ...claims }, claims.iss);
  }

  get #isOpenId(): boolean {
    return this.#preset.ofResource === undefined;
  }

  /** The client of the protocol. Discovery happens once for all sign-ins that wait, and again after an hour or a failure. */
  #client(): Promise<Configuration> {
    if (this.#found !== null && performance.now() < this.#found.until) return this.#found.client;
    const found = { client: this.#open(), until: performance.now() + discoveryTtlMs };
    this.#found = found;
    found.client.catch(() => {
      if (this.#found === found) this.#found = null;
    });
    return found.client;
  }

  async #open(): Promise<Configuration> {
    const library = await import("openid-client");
    const { clientId, appleKey } = this.#settings;
    const { endpoints } = this.#preset;
    const authentication = appleKey === null ? this.#secret(library) : appleSecret(clientId, appleKey);
    const fetch = (address: string, request: ProviderRequest): Promise<Response> => this.#exchange(address, request);
    // Without the check of the signature, an ID token with `alg: none` would pass.
    const extensions = [...(this.#isOpenId ? [library.enableNonRepudiationChecks] : [])];
    if (this.#isLocal) extensions.push(library.allowInsecureRequests);
    if (endpoints === undefined) {
      const given = { [library.customFetch]: fetch, execute: extensions };
      const found = await library
        .discovery(new URL(this.issuer), clientId, {}, authentication, given)
        .catch((thrown: unknown) => {
          throw failureOf(thrown, (reason) => this.#http.unavailable(`${reason}${this.#otherIssuer(thrown)}`));
        });
      this.#checkAddresses(found.serverMetadata());
      return found;
    }
    const client = new library.Configuration(
      { issuer: this.issuer, ...endpoints(this.issuer) },
      clientId,
      {},
      authentication,
    );
    client[library.customFetch] = fetch;
    for (const extend of extensions) extend(client);
    return client;
  }

  /** A request of the library. An exchange that is repeated, with the same code, has the answer of the first: a code works once. */
  async #exchange(address: string, request: ProviderRequest): Promise<Response> {
    const code = request.method === "POST" ? new URLSearchParams(String(request.body)).get("code") : null;
    if (code === null) return this.#http.fetch(address, request);
    const answer = this.#exchanges.get(code) ?? (await this.#http.fetch(address, request));
    this.#exchanges.set(
      code,
      new Response(await answer.clone().bytes(), {
        status: answer.status,
        headers: { "content-type": "application/json" },
      }),
    );
    return answer;
  }

  /** @throws AppError `unavailable` for a discovery document whose addresses lead nowhere. */
  #checkAddresses(metadata: { readonly [name: string]: unknown }): void {
    const optional = metadata["userinfo_endpoint"] === undefined ? [] : ["userinfo_endpoint"];
    for (const name of [...neededAddresses, ...optional]) {
      const address = metadata[name];
      const url = typeof address === "string" ? URL.parse(address) : null;
      if (url === null || !this.#http.isAllowed(url))
        throw this.#http.unavailable(
          `${name} of the discovery document of ${this.issuer} is ${address === undefined ? "missing" : quote(address)}: an HTTPS address is needed`,
        );
    }
  }

  /** The remedy for a provider that has another issuer than the configuration; "" for any other failure. */
  #otherIssuer(thrown: unknown): string {
    for (let error = thrown; error instanceof Error; error = error.cause) {
      const { cause } = error;
      const body = isObject(cause) && isObject(cause["body"]) ? cause["body"] : {};
      if (typeof body["issuer"] === "string" && body["issuer"] !== this.issuer)
        return `: auth.providers.${this.name}.issuer is ${quote(this.issuer)}, and the provider calls itself ${quote(body["issuer"])}; set issuer to ${quote(body["issuer"])}`;
    }
    return "";
  }

  /** The authentication of this client: in the body for presets, otherwise the default of discovery if the provider takes the default. */
  #secret({ ClientSecretBasic, ClientSecretPost }: typeof Library): ClientAuth {
    const secret = this.#settings.clientSecret.reveal();
    const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
    return (...request) => {
      const [{ token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] }] = request;
      const takesBasic = !this.#isPreset && methods.includes("client_secret_basic");
      return (takesBasic ? basic : post)(...request);
    };
  }

  /** A resource of the provider as JSON. */
  async #resource(address: string, token: string): Promise<unknown> {
    const response = await this.#http.fetch(address, { method: "GET", headers: { authorization: `Bearer ${token}` } });
    if (response.status !== 200) throw oddAnswer(`${address} answered ${response.status}`);
    return response.json();
  }
}

/** Whether an error, or a cause of the error, has a code of the library. */
function hasCode(thrown: unknown, code: string): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause)
    if ("code" in error && error.code === code) return true;
  return false;
}

/** The error that the library has wrapped, or the refusal of an answer with the reasons of the library. */
function failureOf(thrown: unknown, refusal: (reason: string) => AppError = oddAnswer): AppError {
  const reasons: string[] = [];
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (error instanceof AppError) return error;
    reasons.push(error.message);
    const { cause } = error;
    if (cause instanceof Response) reasons.push(`the provider answered ${cause.status}`);
    else if (isObject(cause) && isObject(cause["body"]) && cause["body"]["error"] !== undefined)
      reasons.push(`the provider answered the error ${quote(cause["body"]["error"])}`);
  }
  return refusal(reasons.length === 0 ? messageOf(thrown) : reasons.join(": "));
}
