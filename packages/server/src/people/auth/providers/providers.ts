/**
 * Sign-ins at providers. A browser leaves with a `state`, comes back to the callback, and goes on to the app with a `code`,
 * which the app exchanges for tokens. Each step works once; the `state` belongs to one browser, the `code` to the app that
 * holds the verifier of the first request (PKCE, RFC 7636). Nothing changes before the exchange.
 */
import type { LinkResponse, LoginResponse, ProviderEntry, ProviderSetup } from "@socle/protocol";
import { type Config, neededSettings, PROVIDER_PRESETS } from "../../../base/config/index.ts";
import { AppError, type Clock, isSameSecret, messageOf, quote, type SignedIn } from "../../../base/kernel/index.ts";
import { FailureBudget, type LimitMeter, type Logger } from "../../../base/logging/index.ts";
import type { Database, Transactor } from "../../../store/database/index.ts";
import type { Notices } from "../notices.ts";
import { checkRecent } from "../own-change.ts";
import type { PasswordCaller, Prover } from "../passwords.ts";
import { readText } from "../read-body.ts";
import type { Sessions } from "../sessions.ts";
import type { SignIns } from "../sign-ins.ts";
import type { Users } from "../users.ts";
import { ProviderAccounts } from "./accounts.ts";
import { AppCodes, type AppRequest, withFragment } from "./app-codes.ts";
import { oddAnswer, presetOf } from "./presets.ts";
import { type Flow, Provider } from "./provider.ts";
import { Redirects } from "./redirects.ts";
import { type ProviderStep, type SessionStep, Steps } from "./steps.ts";
import { checkLink } from "./takeover.ts";

interface ProvidersOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: LimitMeter;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly signIns: SignIns;
  readonly notices: Notices;
  /** A secret of the service for a purpose, available once auth has started. */
  readonly secretFor: (purpose: string) => string;
  readonly config: Config;
}

/** A sign-in that a page of this service begins for the browser. */
interface PageVisit {
  /** The path and the parameters of the page that goes on; the outcome comes as further parameters. */
  readonly page: string;
}

/** The browser of a request. */
interface Browser {
  /** The secret in the browser's cookie; null for no cookie. */
  readonly secret: string | null;
  readonly caller: PasswordCaller;
}

/** The browser of a request that begins a sign-in, which has a secret. */
type BeginningBrowser = Browser & { readonly secret: string };

export class Providers {
  /** The users and links behind identities. */
  readonly accounts: ProviderAccounts;
  /** The sign-ins on the pages of this service, for apps. */
  readonly apps: AppCodes;
  readonly #options: ProvidersOptions;
  readonly #providers: ReadonlyMap<string, Provider>;
  readonly #steps: Steps;
  readonly #failures: FailureBudget;

  constructor(options: ProvidersOptions) {
    this.#options = options;
    const { config, logger } = options;
    const limits = { timeLimitMs: config["limits.providerTime"], maxWaiting: config["limits.providerRequests"] };
    const providers = (config["auth.providers"] ?? []).map((each) => new Provider(each, limits));
    this.#providers = new Map(providers.map((provider) => [provider.name, provider]));
    this.accounts = new ProviderAccounts(options);
    const redirects = new Redirects([
      ...(config.publicUrl === undefined ? [] : [config.publicUrl]),
      ...config["auth.redirects"],
    ]);
    const steps = new Steps({ ...options, most: config["limits.providerSignIns"] });
    this.#steps = steps;
    this.apps = new AppCodes({ ...options, redirects, steps });
    this.#failures = new FailureBudget((count) =>
      logger.warn(`${count} more sign-ins at providers failed in a minute`),
    );
  }

  /** Warns of providers that cannot be used. */
  start(): void {
    if (this.#providers.size > 0 && this.#options.config.publicUrl === undefined)
      this.#options.logger.warn("Nobody can sign in with auth.providers: set publicUrl to the address of this service");
  }

  /** Whether browsers reach this service by HTTPS. */
  get isSecure(): boolean {
    return this.#options.config.publicUrl?.startsWith("https:") === true;
  }

  /** The providers, in the order of the configuration. */
  list(): ProviderEntry[] {
    return [...this.#providers.values()].map(({ name, title }) => ({ name, title }));
  }

  /** The providers of the configuration, and then the presets that the configuration does not name; without secrets. */
  setups(): ProviderSetup[] {
    const { publicUrl } = this.#options.config;
    const noAddress = publicUrl === undefined ? ["publicUrl"] : [];
    const callbackOf = (path: string): string | null => (publicUrl === undefined ? null : `${publicUrl}${path}`);
    const configured = [...this.#providers.values()].map((provider) => {
      const { name, title, clientId, issuer } = provider;
      const callback = callbackOf(callbackPath(provider));
      return { name, title, isConfigured: true, clientId, issuer, callback, missing: noAddress };
    });
    const others = PROVIDER_PRESETS.filter((name) => !this.#providers.has(name)).map((name) => ({
      name,
      title: presetOf(name)?.title ?? name,
      isConfigured: false,
      clientId: null,
      issuer: null,
      callback: callbackOf(callbackPath({ name, hasOwnCallback: false })),
      missing: [...neededSettings(name).map((setting) => `auth.providers.${name}.${setting}`), ...noAddress],
    }));
    return [...configured, ...others];
  }

  /** @throws AppError `not_found` for a provider that is not configured, `unavailable` without `publicUrl`. */
  get(name: string): Provider {
    const provider = this.#providers.get(name);
    if (provider === undefined) throw new AppError("not_found", `There is no provider ${quote(name)}.`);
    this.#publicUrl();
    return provider;
  }

  /** The address of this service, to which providers send browsers back. @throws AppError `unavailable`. */
  #publicUrl(): string {
    const { publicUrl } = this.#options.config;
    if (publicUrl !== undefined) return publicUrl;
    throw new AppError("unavailable", "This service has no public address, which a sign-in at a provider needs.");
  }

  /**
   * Begins a sign-in, or goes on with a link that a signed-in user adds. Answers the address that the browser opens: at the
   * provider, or of the app with an error.
   * @param from the app, a page of this service, or the ticket of `addTicket`.
   * @throws AppError `not_found`, `validation_error`, `bad_request` for a ticket that does not work, `unavailable`.
   */
  async begin(
    name: string,
    from: AppRequest | PageVisit | string,
    { secret, caller }: BeginningBrowser,
  ): Promise<string> {
    const provider = this.get(name);
    const asked = typeof from === "string" ? null : { provider: name, ...this.#targetOf(from, secret), linkFor: null };
    const { step, state } = await this.#options.database.upkeep((tx) => {
      const isOwn = (step: ProviderStep): boolean => step.provider === name;
      const step = asked ?? this.#steps.take(tx, "link", { token: String(from), isOwn });
      return {
        step,
        state: this.#steps.add(tx, "state", { content: { ...step, browser: hashOf(secret) }, caller: caller.key }),
      };
    });
    try {
      return await provider.address(this.#flow(provider, state));
    } catch (thrown) {
      return this.#failed(provider, step, thrown);
    }
  }

  /**
   * Lets a signed-in user add a link. Answers the address that the user's browser opens.
   * @throws AppError `not_found`, `validation_error`, `forbidden` without a recent sign-in, `unavailable`.
   */
  async addTicket(caller: SignedIn, name: string, from: AppRequest): Promise<string> {
    const provider = this.get(name).name;
    const step = { provider, ...this.apps.check(from), linkFor: caller };
    const ticket = await this.#options.database.transactFor(caller, (tx) => {
      if (this.#options.users.anonymous(caller, tx) === null) checkRecent(tx, caller);
      return this.#steps.add(tx, "link", { content: step, caller: caller.userId });
    });
    return `${this.#publicUrl()}/api/auth/oauth/${provider}?${new URLSearchParams({ ticket })}`;
  }

  /** For a page of this service, the secret of the browser is the verifier. @throws AppError `validation_error`. */
  #targetOf(from: AppRequest | PageVisit, secret: string): Pick<ProviderStep, "redirect" | "challenge" | "isOnPage"> {
    if (!("page" in from)) return this.apps.check(from);
    return { redirect: `${this.#publicUrl()}${from.page}`, challenge: hashOf(secret), isOnPage: true };
  }

  /**
   * Takes a browser back from a provider. Answers the address of the app, with a code or an error.
   * @param callback the name in the address of the callback; null for the common callback.
   * @throws AppError `bad_request` for a state that is not of this browser, is used, or has expired.
   */
  async callback(callback: string | null, answer: URLSearchParams, { secret, caller }: Browser): Promise<string> {
    const token = answer.get("state") ?? "";
    const isOwn = ({ browser = "" }: ProviderStep): boolean => secret !== null && isSameSecret(browser, hashOf(secret));
    this.#steps.look("state", { token, isOwn });
    const step = await this.#options.database.upkeep((tx) => this.#steps.take(tx, "state", { token, isOwn }));
    const provider = this.get(step.provider);
    try {
      if (callback !== (provider.hasOwnCallback ? provider.name : null))
        throw oddAnswer("the answer came to the callback of another provider");
      const error = answer.get("error");
      if (error === "access_denied")
        return withOutcome(step, {
          error,
          error_description: `The sign-in at ${provider.title} was cancelled.`,
        });
      if (error !== null) throw oddAnswer(`the provider answered the error ${quote(error)}`);
      const identity = await provider.identify(this.#flow(provider, token), answer, caller);
      const { database } = this.#options;
      if (step.linkFor !== null) checkLink(database.reader, identity, { userId: step.linkFor.userId, provider });
      // A page tells the person of a conflict itself.
      else if (step.isOnPage !== true) this.accounts.match(database.reader, identity, provider);
      const code = await database.upkeep((tx) =>
        this.#steps.add(tx, "code", { content: { ...step, identity }, caller: caller.key }),
      );
      return withOutcome(step, { code });
    } catch (thrown) {
      return this.#failed(provider, step, thrown);
    }
  }

  /**
   * Exchanges the code of a callback or of the pages: answers as a login, or the link that the signed-in user has added.
   * @throws AppError `bad_request` for a code that is unknown, used, expired or of another verifier; `conflict`, `forbidden`;
   * the refusal of a hook.
   */
  async exchange(body: Record<string, unknown>, { principal, caller }: Prover): Promise<LoginResponse | LinkResponse> {
    const [token, verifier] = [readText(body, "code"), readText(body, "verifier")];
    const challenge = hashOf(verifier);
    const given = {
      token,
      isOwn: (step: ProviderStep | SessionStep) => isSameSecret(step.challenge, challenge),
    };
    const step = this.#steps.look("code", given);
    if ("sessionId" in step) return this.apps.exchange(step, caller);
    const { provider: name, linkFor, identity } = step;
    if (identity === undefined) throw new Error("A code has no identity");
    const proven = {
      identity,
      provider: this.get(name),
      take: (tx: Transactor) => this.#steps.take(tx, "code", given),
    };
    if (linkFor !== null) return { link: await this.accounts.addLink(proven, linkFor, caller) };
    return this.accounts.signIn(proven, { principal, caller });
  }

  /** The callback address, and the secrets of a sign-in at the provider: all but the state follow from the state. */
  #flow(provider: Provider, state: string): Flow {
    const key = this.#options.secretFor("sign-ins at providers");
    const secret = (purpose: string): string =>
      new Bun.CryptoHasher("sha256", key).update(`${purpose} ${state}`).digest("base64url");
    return {
      callback: this.#publicUrl() + callbackPath(provider),
      state,
      nonce: secret("nonce"),
      verifier: secret("verifier"),
    };
  }

  /** The address of the app with the error, which is logged if the provider has caused the error. */
  #failed({ name }: Provider, step: ProviderStep, thrown: unknown): string {
    if (!(thrown instanceof AppError)) throw thrown;
    const isOfProvider = thrown.code === "unavailable" || thrown.code === "unauthorized";
    if (isOfProvider && this.#failures.take())
      this.#options.logger.warn(`A sign-in at ${name} failed: ${messageOf(thrown.cause ?? thrown)}`);
    return withOutcome(step, { error: thrown.code, error_description: thrown.message });
  }
}

/** The path to which a provider sends browsers back. */
function callbackPath({ name, hasOwnCallback }: Pick<Provider, "name" | "hasOwnCallback">): string {
  return `/api/auth/oauth/callback${hasOwnCallback ? `/${name}` : ""}`;
}

/** The stored hash of a secret, which is also the challenge of a verifier (RFC 7636, 4.2). */
function hashOf(secret: string): string {
  return new Bun.CryptoHasher("sha256").update(secret).digest("base64url");
}

/** The address of the app or the page with the outcome. The address of a page has parameters. */
function withOutcome(step: ProviderStep, values: Record<string, string>): string {
  return step.isOnPage === true ? `${step.redirect}&${new URLSearchParams(values)}` : withFragment(step, values);
}
