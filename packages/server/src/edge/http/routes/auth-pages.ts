/**
 * Hosted pages to which links of mails lead (contract, "Users and accounts"): `/_/auth/verify`, `reset`, `email`,
 * `invitation`, and `forgot`. A link changes nothing by itself, because programs open the links of mails: the form of the page does.
 */
import { AppError } from "../../../base/kernel/index.ts";
import { type Auth, readOptionalText, readText } from "../../../people/auth/index.ts";
import { type AuthPages, formOf, type Html, html } from "../auth-page.ts";
import type { LanguageTexts, TextName } from "../auth-page-texts.ts";
import type { Exchange } from "../exchange.ts";
import { statusOf } from "../headers.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Routes } from "../route.ts";

type Body = Readonly<Record<string, unknown>>;

/** A page with one form. The names of the texts begin with the name of the page. */
interface FormPage {
  readonly name: "verify" | "reset" | "change" | "invitation" | "forgot";
  /** The fields after the hidden token. */
  fields(texts: LanguageTexts): Html;
  /** @throws AppError: the form is shown again, with the message. */
  send(body: Body, exchange: Exchange): Promise<void> | void;
}

interface Options {
  auth: Auth;
  /** Null for pages that are switched off. */
  pages: AuthPages | null;
  rates: RateLimiter;
}

export function authPageRoutes({ auth, pages, rates }: Options): Routes {
  if (pages === null) return {};
  const { proofs } = auth;
  const minLength = String(auth.users.passwordMinLength);

  const newPassword = ({ text }: LanguageTexts): Html => html`<label>${text("newPassword")}
<input type="password" name="password" required minlength="${minLength}" autocomplete="new-password" aria-describedby="hint">
<small id="hint">${text("passwordHint", { count: minLength })}</small></label>`;

  const forms: readonly [path: string, form: FormPage][] = [
    [
      "/_/auth/verify",
      {
        name: "verify",
        fields: shownPassword,
        send: (body, exchange) => proofs.verify(shownProof(body), proverOf(exchange)),
      },
    ],
    [
      "/_/auth/reset",
      {
        name: "reset",
        fields: newPassword,
        send: (body, exchange) =>
          proofs.reset({ token: readText(body, "token"), password: readText(body, "password") }, exchange.waiter),
      },
    ],
    [
      "/_/auth/email",
      {
        name: "change",
        fields: shownPassword,
        send: (body, exchange) => proofs.confirmEmail(shownProof(body), proverOf(exchange)),
      },
    ],
    [
      "/_/auth/invitation",
      {
        name: "invitation",
        fields: newPassword,
        async send(body, exchange) {
          const accepted = { token: readText(body, "token"), password: readText(body, "password") };
          // The page opens no session: the person signs in at the app.
          const { refreshToken } = await proofs.invitations.accept(accepted, exchange.waiter);
          await auth.logout(null, refreshToken);
        },
      },
    ],
    [
      "/_/auth/forgot",
      {
        name: "forgot",
        fields: ({ text }) =>
          html`<label>${text("email")}<input type="email" name="email" required autocomplete="email" autofocus></label>`,
        send: (body, exchange) => proofs.requestReset(auth.users.readEmail(body), exchange.waiter),
      },
    ],
  ];
  return Object.fromEntries(
    forms.map(([path, form]) => [
      path,
      {
        GET: (exchange) => show(pages, exchange, { form, token: exchange.query("token") ?? "" }),
        POST: rates.limit(form.name === "forgot" ? "mail" : "login", async (exchange) => {
          const field = await formOf(exchange);
          const body = { token: field("token"), password: field("password"), email: field("email") };
          try {
            await form.send(body, exchange);
          } catch (thrown) {
            if (!(thrown instanceof AppError) || thrown.code === "internal_error") throw thrown;
            return show(pages, exchange, { form, token: body.token, problem: thrown });
          }
          const { text } = pages.texts.of(exchange.request);
          const message = html`<p role="status">${text(`${form.name}.done`)}</p>`;
          return pages.answer(exchange, 200, { title: text(`${form.name}.title`), body: message });
        }),
      },
    ]),
  );
}

function shownProof(body: Body): { token: string; password: string | null } {
  return { token: readText(body, "token"), password: readOptionalText(body, "password") };
}

function proverOf(exchange: Exchange) {
  return { principal: null, caller: exchange.waiter };
}

/** The password beside a token proves that the owner of the address has chosen the password. */
function shownPassword({ text }: LanguageTexts): Html {
  return html`<label>${text("verify.password")}
<input type="password" name="password" autocomplete="current-password" aria-describedby="hint">
<small id="hint">${text("verify.passwordHint")}</small></label>`;
}

/** Answers the page of a form, with the error of the last try. */
function show(
  pages: AuthPages,
  exchange: Exchange,
  { form, token, problem }: { form: FormPage; token: string; problem?: AppError },
): Response {
  const texts = pages.texts.of(exchange.request);
  const { text } = texts;
  const introduction: TextName | null = form.name === "reset" ? null : `${form.name}.body`;
  const body = html`${introduction === null ? null : html`<p>${text(introduction)}</p>`}
<form method="post" action="?">${form.name === "forgot" ? null : html`<input type="hidden" name="token" value="${token}">`}
${form.fields(texts)}<button>${text(`${form.name}.submit`)}</button></form>`;
  return pages.answer(exchange, problem === undefined ? 200 : statusOf(problem), {
    title: text(`${form.name}.title`),
    body,
    problem: problem && messageOf(problem, texts),
  });
}

/** The message for a person. A link that does not work any more is the most frequent error, and has a text of the pages. */
function messageOf({ code, message, details = [] }: AppError, { text }: LanguageTexts): string {
  if (code === "bad_request") return text("link.invalid");
  return details.length === 0 ? message : details.map((detail) => detail.message).join(". ");
}
