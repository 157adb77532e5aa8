/**
 * Hosted pages on which a person signs in to an app (contract, "Users and accounts"): `/_/auth/sign-in`, `factor`, `send-code`,
 * `code` and `provider`. Each way ends like a sign-in at a provider: the browser comes back to the app with a code, which the app
 * exchanges at `/api/auth/oauth/token`. The proofs are checked by the methods that the API calls.
 */
import type { LinkResponse, LoginResponse } from "@socle/protocol";
import type { Config } from "../../../base/config/index.ts";
import { AppError } from "../../../base/kernel/index.ts";
import { type Auth, type Providers, readCode, readCredentials, readText } from "../../../people/auth/index.ts";
import { type AuthPages, formOf } from "../auth-page.ts";
import { BrowserCookie } from "../browser-cookie.ts";
import type { Exchange, Handler } from "../exchange.ts";
import type { RateGroup, RateLimiter } from "../rate-limiter.ts";
import type { Routes } from "../route.ts";
import { inBrowser, problemOf, queryOf, redirect, SignInPages, type Visit } from "../sign-in-page.ts";

interface Options {
  auth: Auth;
  providers: Providers;
  /** Null for pages that are switched off. */
  pages: AuthPages | null;
  rates: RateLimiter;
  config: Config;
}

/** The page to which a provider leads back. */
const providerPage = "/_/auth/provider";
/** Six digits, with spaces for the eye; every other text is a recovery code. */
const codePattern = /^(?:\s*[0-9]){6}\s*$/;
const methodNames = ["code", "recoveryCode", "passkey"] as const;

type Field = (name: string) => string;

/** A form of the pages that a person has sent. */
interface Sent {
  readonly exchange: Exchange;
  readonly visit: Visit;
  readonly field: Field;
}

export function signInPageRoutes(options: Options): Routes {
  const { pages, rates } = options;
  if (pages === null) return {};
  const steps = new SignInSteps({ ...options, pages });
  const page = (handler: Handler, rate?: RateGroup): Handler =>
    inBrowser(() => pages, rate === undefined ? handler : rates.limit(rate, handler));
  return {
    "/_/auth/sign-in": {
      GET: page(steps.opened((exchange, visit) => steps.view.signIn(exchange, visit))),
      POST: page(
        steps.sent((sent) => steps.signIn(sent)),
        "login",
      ),
    },
    "/_/auth/factor": {
      GET: page(steps.again),
      POST: page(
        steps.sent((sent) => steps.factor(sent)),
        "login",
      ),
    },
    "/_/auth/send-code": {
      GET: page(steps.opened((exchange, visit) => steps.view.sendCode(exchange, visit))),
      POST: page(
        steps.sent((sent) => steps.sendCode(sent)),
        "mail",
      ),
    },
    "/_/auth/code": {
      GET: page(steps.again),
      POST: page(
        steps.sent((sent) => steps.code(sent)),
        "login",
      ),
    },
    [providerPage]: {
      GET: page(
        steps.opened((exchange, visit) => steps.fromProvider(exchange, visit)),
        "login",
      ),
    },
    [`${providerPage}/:name`]: {
      GET: page(
        steps.opened((exchange, visit) => steps.toProvider(exchange, visit)),
        "login",
      ),
    },
  };
}

class SignInSteps {
  readonly view: SignInPages;
  readonly #options: Options & { pages: AuthPages };
  readonly #cookie: BrowserCookie;

  constructor(options: Options & { pages: AuthPages }) {
    this.#options = options;
    this.#cookie = new BrowserCookie(options.providers.isSecure);
    this.view = new SignInPages(options);
  }

  /** A page that is reached by a form alone. */
  readonly again: Handler = () => {
    throw unusable();
  };

  /** The handler of an address with the parameters of an app. */
  opened(show: (exchange: Exchange, visit: Visit) => Response | Promise<Response>): Handler {
    return (exchange) =>
      show(
        exchange,
        this.#visitOf(exchange, (name) => exchange.query(name)),
      );
  }

  /** The handler of a form, which must come from a page in the same browser: nobody signs a person in to the account of somebody else. */
  sent(step: (sent: Sent) => Promise<Response>): Handler {
    return async (exchange) => {
      const field = await formOf(exchange);
      const isOwn = this.#cookie.hasOpened(exchange, field("form"));
      const visit = this.#visitOf(exchange, field);
      if (isOwn) return step({ exchange, visit, field });
      const message = this.view.textsOf(exchange).text("signIn.stale");
      return this.view.signIn(exchange, visit, { problem: { status: 400, message } });
    };
  }

  /** @throws AppError `validation_error` for an address of an app that is not allowed. */
  #visitOf(exchange: Exchange, read: (name: string) => string | null): Visit {
    const app = this.#options.providers.apps.check({
      redirect: read("redirect") || null,
      challenge: read("challenge") || null,
    });
    return { app, ...this.#cookie.keep(exchange) };
  }

  /** The password or the passkey of the first page. */
  async signIn({ exchange, visit, field }: Sent): Promise<Response> {
    const { auth } = this.#options;
    const [passkey, email] = [field("passkey"), field("email")];
    const prove = async (): Promise<LoginResponse> =>
      passkey === ""
        ? auth.login(readCredentials({ email, password: field("password") }), exchange.waiter)
        : auth.passkeys.signIn({ passkey: readPasskey(passkey) }, exchange.waiter);
    const texts = this.view.textsOf(exchange);
    return this.#end({ exchange, visit }, prove, (error) => {
      const unauthorized = passkey === "" ? "signIn.wrong" : "passkey.failed";
      return this.view.signIn(exchange, visit, { problem: problemOf(error, texts, { unauthorized }), email });
    });
  }

  /** The second factor. An attempt that is over leads back to the first page. */
  async factor({ exchange, visit, field }: Sent): Promise<Response> {
    const { factors } = this.#options.auth;
    const attempt = field("attempt");
    const [passkey, code] = [field("passkey"), field("code")];
    const methods = methodNames.filter((name) => field("methods").split(" ").includes(name));
    const proof = (): object => {
      if (passkey !== "") return { passkey: readPasskey(passkey) };
      return codePattern.test(code) ? { code: code.replaceAll(/\s/g, "") } : { recoveryCode: code };
    };
    const prove = async (): Promise<LoginResponse> => factors.secondFactor({ attempt, ...proof() }, exchange.waiter);
    const texts = this.view.textsOf(exchange);
    return this.#end({ exchange, visit }, prove, (error) => {
      if (error.code === "bad_request") return this.#over(exchange, visit);
      const unauthorized = passkey === "" ? "factor.wrong" : "passkey.failed";
      return this.view.factor(exchange, visit, {
        attempt,
        methods,
        problem: problemOf(error, texts, { unauthorized }),
      });
    });
  }

  /** Mails a code, and asks for the code, for a known and for an unknown address alike. */
  async sendCode({ exchange, visit, field }: Sent): Promise<Response> {
    const email = field("email");
    try {
      const prover = { principal: null, caller: exchange.waiter };
      const attempt = this.#options.auth.proofs.codes.request(this.#options.auth.users.readEmail({ email }), prover);
      return this.view.code(exchange, visit, { attempt });
    } catch (thrown) {
      const problem = problemOf(refusalOf(thrown), this.view.textsOf(exchange));
      return this.view.sendCode(exchange, visit, { problem, email });
    }
  }

  async code({ exchange, visit, field }: Sent): Promise<Response> {
    const attempt = field("attempt");
    const prove = async (): Promise<LoginResponse> => {
      const proof = { attempt: readText({ attempt }, "attempt"), code: readCode({ code: field("code") }) };
      return this.#options.auth.proofs.codes.signIn(proof, { principal: null, caller: exchange.waiter });
    };
    const texts = this.view.textsOf(exchange);
    return this.#end({ exchange, visit }, prove, (error) =>
      this.view.code(exchange, visit, {
        attempt,
        problem: problemOf(error, texts, { bad_request: "code.wrong", validation_error: "code.form" }),
      }),
    );
  }

  async toProvider(exchange: Exchange, visit: Visit): Promise<Response> {
    const page = `${providerPage}?${queryOf(visit)}`;
    const location = await this.#options.providers.begin(
      exchange.param("name"),
      { page },
      { secret: visit.secret, caller: exchange.waiter },
    );
    return redirect(exchange, location, visit.headers);
  }

  /** Goes on with the outcome of a provider. The secret of the browser is the verifier. */
  async fromProvider(exchange: Exchange, visit: Visit): Promise<Response> {
    const { providers } = this.#options;
    const texts = this.view.textsOf(exchange);
    const error = exchange.query("error");
    // The address may come from a stranger: no text of the address is shown.
    if (error !== null) {
      const message = texts.text(error === "access_denied" ? "signIn.cancelled" : "signIn.failed");
      return this.view.signIn(exchange, visit, { problem: { status: 200, message } });
    }
    const body = { code: exchange.query("code"), verifier: visit.secret };
    const prove = (): Promise<LoginResponse | LinkResponse> =>
      providers.exchange(body, { principal: null, caller: exchange.waiter });
    return this.#end({ exchange, visit }, prove, (refusal) =>
      refusal.code === "bad_request"
        ? this.#over(exchange, visit)
        : this.view.signIn(exchange, visit, { problem: problemOf(refusal, texts) }),
    );
  }

  /** Ends a step: leads to the app, asks for the second factor, or shows the page again. */
  async #end(
    { exchange, visit }: Pick<Sent, "exchange" | "visit">,
    prove: () => Promise<LoginResponse | LinkResponse>,
    show: (error: AppError) => Response,
  ): Promise<Response> {
    let location: string;
    try {
      const outcome = await prove();
      // A code of somebody who adds a link signs nobody in.
      if ("link" in outcome) throw unusable();
      if ("next" in outcome) return this.view.factor(exchange, visit, outcome);
      location = await this.#options.providers.apps.leave(visit.app, outcome, exchange.waiter);
    } catch (thrown) {
      return show(refusalOf(thrown));
    }
    return redirect(exchange, location);
  }

  #over(exchange: Exchange, visit: Visit): Response {
    const message = this.view.textsOf(exchange).text("signIn.over");
    return this.view.signIn(exchange, visit, { problem: { status: 400, message } });
  }
}

function unusable(): AppError {
  return new AppError("bad_request", "This step of the sign-in is unknown, used or expired.");
}

/** An error that a page may tell. @throws everything else. */
function refusalOf(thrown: unknown): AppError {
  if (thrown instanceof AppError && thrown.code !== "internal_error") return thrown;
  throw thrown;
}

/** The answer of the authenticator; null for a text that is no JSON. */
function readPasskey(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
