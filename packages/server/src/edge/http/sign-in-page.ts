/**
 * Sign-in pages: the HTML of the pages on which a person signs in to an app, with a password, a passkey, a code or at a provider,
 * and of the page for the second factor.
 */
import type { ErrorCode, SecondFactorResponse } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError } from "../../base/kernel/index.ts";
import type { AppTarget, Auth, Providers } from "../../people/auth/index.ts";
import { type AuthPages, type Html, html } from "./auth-page.ts";
import type { LanguageTexts, TextName } from "./auth-page-texts.ts";
import { BrowserCookie } from "./browser-cookie.ts";
import type { Exchange, Handler } from "./exchange.ts";
import { statusOf } from "./headers.ts";
import { passkeyScript } from "./passkey-script.ts";

/** No copy of an address with a code stays, and no other host learns the address. */
export const privateHeaders = { "Cache-Control": "no-store", "Referrer-Policy": "no-referrer" };

/** Leads a browser to another address. The next request is a GET, also after a form. */
export function redirect(exchange: Exchange, location: string, headers: Record<string, string> = {}): Response {
  const status = exchange.request.method === "POST" ? 303 : 302;
  return exchange.respond(status, null, { ...privateHeaders, ...headers, Location: location });
}

/** The handler of an address that a browser opens: a refusal is a page for a person, and JSON for a program. */
export function inBrowser(pagesOf: () => AuthPages | null, handler: Handler): Handler {
  return async (exchange) => {
    try {
      return await handler(exchange);
    } catch (thrown) {
      const pages = pagesOf();
      const wantsPage = exchange.request.headers.get("accept")?.includes("text/html") === true;
      if (pages === null || !wantsPage || !(thrown instanceof AppError) || thrown.code === "internal_error")
        throw thrown;
      const texts = pages.texts.of(exchange.request);
      const { status, message, headers } = problemOf(thrown, texts);
      const body = html`<p>${texts.text("signIn.again")}</p>`;
      return pages.answer(exchange, status, { title: texts.text("signIn.title"), body, problem: message, headers });
    }
  };
}

/** An error as a page tells the error to a person. */
export interface Problem {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @param known texts of the pages in the place of the error's message. */
export function problemOf(
  error: AppError,
  { text }: LanguageTexts,
  known: { readonly [code in ErrorCode]?: TextName } = {},
): Problem {
  const { code, message, details = [], retryAfter } = error;
  const name = { rate_limited: "tooMany" as const, ...known }[code];
  const told = details.length === 0 ? message : details.map((detail) => detail.message).join(". ");
  return {
    status: statusOf(error),
    message: name === undefined ? told : text(name),
    ...(retryAfter !== undefined && { headers: { "Retry-After": String(retryAfter) } }),
  };
}

/** A browser on the pages, for an app. */
export interface Visit {
  readonly app: AppTarget;
  /** The secret of the browser. */
  readonly secret: string;
  /** Keep the secret in the browser. */
  readonly headers: Readonly<Record<string, string>>;
}

interface SignInPagesOptions {
  readonly auth: Auth;
  readonly providers: Providers;
  readonly pages: AuthPages;
  readonly config: Config;
}

export class SignInPages {
  readonly #options: SignInPagesOptions;

  constructor(options: SignInPagesOptions) {
    this.#options = options;
  }

  textsOf({ request }: Exchange): LanguageTexts {
    return this.#options.pages.texts.of(request);
  }

  /** The first page, with all ways to sign in. */
  signIn(exchange: Exchange, visit: Visit, tried: { problem?: Problem; email?: string } = {}): Response {
    const { config, providers } = this.#options;
    const { problem, email = "" } = tried;
    const { text } = this.textsOf(exchange);
    const hasMail = config["mail.from"] !== undefined;
    const other = (href: string, label: string): Html => html`<a class="button second" href="${href}">${label}</a>`;
    // Providers lead back to `publicUrl`, and so do the mails for a forgotten password.
    const hasAddress = config.publicUrl !== undefined;
    const others = [
      ...(hasAddress ? providers.list() : []).map(({ name, title }) =>
        other(`provider/${encodeURIComponent(name)}?${queryOf(visit)}`, text("signIn.with", { name: title })),
      ),
      ...(config["auth.codes"] && hasMail ? [other(`send-code?${queryOf(visit)}`, text("signIn.code"))] : []),
    ];
    const passkey = this.#passkeyForm(exchange, visit, { action: "sign-in", label: "signIn.passkey" });
    const body = html`<form method="post" action="sign-in">${hiddenOf(visit)}
<label>${text("email")}<input type="email" name="email" value="${email}" required autocomplete="username"${email === "" ? focus : null}></label>
<label>${text("password")}<input type="password" name="password" required autocomplete="current-password"${email === "" ? null : focus}></label>
<button>${text("signIn.submit")}</button></form>
${passkey}${others.length === 0 ? null : html`<div class="others">${others}</div>`}
<p class="links">${hasMail && hasAddress ? html`<a href="forgot">${text("signIn.forgot")}</a>` : null}
<a href="${`${visit.app.redirect}#${cancelled}`}">${text("toApp")}</a></p>`;
    return this.#page(exchange, visit, {
      title: "signIn.title",
      body,
      problem,
      hasPasskey: passkey !== null,
    });
  }

  /** The page for the second factor of an attempt. */
  factor(
    exchange: Exchange,
    visit: Visit,
    { attempt, methods, problem }: Pick<SecondFactorResponse, "attempt" | "methods"> & { problem?: Problem },
  ): Response {
    const { text } = this.textsOf(exchange);
    const hidden = html`<input type="hidden" name="attempt" value="${attempt}"><input type="hidden" name="methods" value="${methods.join(" ")}">`;
    const passkey = methods.includes("passkey")
      ? this.#passkeyForm(exchange, visit, { action: "factor", label: "factor.passkey", hidden })
      : null;
    const body = html`<p>${text("factor.body")}</p>
<form method="post" action="factor">${hiddenOf(visit)}${hidden}
<label>${text("factor.code")}<input name="code" required autocomplete="one-time-code" autocapitalize="none" spellcheck="false" autofocus></label>
<button>${text("factor.submit")}</button></form>
${passkey}${this.#otherWay(exchange, visit)}`;
    return this.#page(exchange, visit, { title: "factor.title", body, problem, hasPasskey: passkey !== null });
  }

  /** The page that asks for the address of a code. */
  sendCode(exchange: Exchange, visit: Visit, tried: { problem?: Problem; email?: string } = {}): Response {
    const { text } = this.textsOf(exchange);
    const body = html`<p>${text("code.body")}</p>
<form method="post" action="send-code">${hiddenOf(visit)}
<label>${text("email")}<input type="email" name="email" value="${tried.email ?? ""}" required autocomplete="username" autofocus></label>
<button>${text("code.send")}</button></form>${this.#otherWay(exchange, visit)}`;
    return this.#page(exchange, visit, { title: "code.title", body, problem: tried.problem });
  }

  /** The page that asks for the code of an attempt. */
  code(exchange: Exchange, visit: Visit, { attempt, problem }: { attempt: string; problem?: Problem }): Response {
    const { text } = this.textsOf(exchange);
    const body = html`${problem === undefined ? html`<p role="status">${text("code.sent")}</p>` : null}
<form method="post" action="code">${hiddenOf(visit)}<input type="hidden" name="attempt" value="${attempt}">
<label>${text("code.code")}<input name="code" required inputmode="numeric" autocomplete="one-time-code" autofocus></label>
<button>${text("code.submit")}</button></form>
<p class="links"><a href="send-code?${queryOf(visit)}">${text("code.again")}</a>
<a href="sign-in?${queryOf(visit)}">${text("signIn.other")}</a></p>`;
    return this.#page(exchange, visit, { title: "code.title", body, problem });
  }

  #otherWay(exchange: Exchange, visit: Visit): Html {
    return html`<p class="links"><a href="sign-in?${queryOf(visit)}">${this.textsOf(exchange).text("signIn.other")}</a></p>`;
  }

  /** A form that the script shows and fills in; null for a page on which passkeys do not count. */
  #passkeyForm(
    exchange: Exchange,
    visit: Visit,
    form: { action: string; label: TextName; hidden?: Html },
  ): Html | null {
    if (!this.#options.auth.passkeys.countFor(new URL(exchange.request.url).origin)) return null;
    const { text } = this.textsOf(exchange);
    return html`<form method="post" action="${form.action}" id="passkey" hidden data-options="../../api/auth/passkeys/login/options"
 data-problem="${text("passkey.failed")}">${hiddenOf(visit)}${form.hidden ?? null}<input type="hidden" name="passkey">
<button class="second">${text(form.label)}</button></form>`;
  }

  #page(
    exchange: Exchange,
    { app, headers }: Visit,
    content: { title: TextName; body: Html; problem?: Problem | undefined; hasPasskey?: boolean },
  ): Response {
    const { title, body, problem, hasPasskey = false } = content;
    return this.#options.pages.answer(exchange, problem?.status ?? 200, {
      title: this.textsOf(exchange).text(title),
      body,
      problem: problem?.message,
      leadsTo: [sourceOf(app.redirect)],
      script: hasPasskey ? passkeyScript : undefined,
      headers: { ...headers, ...problem?.headers },
    });
  }
}

const focus = html` autofocus`;

/** As a provider tells an app that the person has cancelled. */
const cancelled = new URLSearchParams({ error: "access_denied", error_description: "The sign-in was cancelled." });

/** The parameters that lead to the same visit. */
export function queryOf({ app: { redirect, challenge } }: Visit): string {
  return String(new URLSearchParams({ redirect, challenge }));
}

function hiddenOf({ app, secret }: Visit): Html {
  return html`<input type="hidden" name="redirect" value="${app.redirect}"><input type="hidden" name="challenge" value="${app.challenge}"><input type="hidden" name="form" value="${BrowserCookie.formToken(secret)}">`;
}

/** The address of an app as a source of a content security policy, which knows neither paths of schemes nor IPv6 (CSP 3, 2.3.1). */
function sourceOf(address: string): string {
  const { origin, protocol, hostname } = new URL(address);
  return origin === "null" || hostname.startsWith("[") ? protocol : origin;
}
