/** `/api/auth/…` of providers: sign-ins that lead through a provider and back, and the links of the signed-in user. */
import { AppError, randomToken } from "../../../base/kernel/index.ts";
import type { AppRequest, Providers } from "../../../people/auth/index.ts";
import { type AuthPages, html } from "../auth-page.ts";
import type { Exchange } from "../exchange.ts";
import { statusOf } from "../headers.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Handler, Routes } from "../router.ts";

const purpose = "see or change your links";

/** Seconds for which a browser is known as the browser of a sign-in. */
const cookieAge = 600;
/** Bytes of the form with which a provider answers. */
const maxForm = 64 * 1_024;
/** Parameters of a provider's answer (RFC 6749, 4.1.2; RFC 9207); another parameter does not count. */
const answerNames = ["code", "state", "iss", "error"];

/** No copy of an address with a code stays, and no other host learns the address. */
const privateHeaders = { "Cache-Control": "no-store", "Referrer-Policy": "no-referrer" };

/**
 * The cookie with the secret of a browser. The prefix keeps other hosts of the domain from setting the cookie; without HTTPS
 * (in development) browsers know no such cookies.
 */
function cookieName(isSecure: boolean): string {
  return isSecure ? "__Host-socle_sign_in" : "socle_sign_in";
}

function browserSecret({ request }: Exchange, isSecure: boolean): string | null {
  const cookies = (request.headers.get("cookie") ?? "").split(";").map((cookie) => cookie.trim());
  const prefix = `${cookieName(isSecure)}=`;
  const secret = cookies.find((cookie) => cookie.startsWith(prefix))?.slice(prefix.length) ?? "";
  return /^[\w-]{43}$/.test(secret) ? secret : null;
}

function redirect(exchange: Exchange, location: string, headers: Record<string, string> = {}): Response {
  return exchange.respond(302, null, { ...privateHeaders, ...headers, Location: location });
}

function appRequest(read: (name: string) => unknown): AppRequest {
  const text = (name: string): string | null => {
    const value = read(name) ?? null;
    if (value === null || typeof value === "string") return value;
    throw AppError.validation([{ field: name, rule: "type", message: `${name} must be a string` }]);
  };
  return { redirect: text("redirect"), challenge: text("challenge") };
}

interface Options {
  providers: Providers;
  /** Null for pages that are switched off. */
  pages: AuthPages | null;
  rates: RateLimiter;
}

export function providerRoutes({ providers, pages, rates }: Options): Routes {
  const { isSecure } = providers;
  /** The handler of an address that a browser opens: a refusal is a page for a person, and JSON for a program. */
  const inBrowser =
    (handler: (exchange: Exchange) => Promise<Response>): Handler =>
    async (exchange) => {
      try {
        return await handler(exchange);
      } catch (thrown) {
        const wantsPage = exchange.request.headers.get("accept")?.includes("text/html") === true;
        if (pages === null || !wantsPage || !(thrown instanceof AppError)) throw thrown;
        const { text } = pages.texts.of(exchange.request);
        const body = html`<p>${text("signIn.again")}</p>`;
        const problem = thrown.details?.map(({ message }) => message).join(". ") ?? thrown.message;
        return pages.answer(exchange, statusOf(thrown), { title: text("signIn.title"), body, problem });
      }
    };

  const callback = rates.limit("login", {
    GET: inBrowser(async (exchange) => {
      const answer = new URLSearchParams(exchange.search);
      const browser = { secret: browserSecret(exchange, isSecure), caller: exchange.waiter };
      return redirect(exchange, await providers.callback(exchange.params["name"] ?? null, answer, browser));
    }),
    /**
     * The form of a provider (`response_mode=form_post`). A browser sends no cookie with a form of another site, so a page of this
     * service leads the browser to the same answer as a GET.
     */
    async POST(exchange) {
      const form = new URLSearchParams(new TextDecoder().decode(await exchange.body(maxForm)));
      const answer = new URLSearchParams([...form].filter(([name]) => answerNames.includes(name)));
      const page = `<!doctype html><meta charset="utf-8"><title>Signing in</title><meta http-equiv="refresh" content="0;url=?${String(answer).replaceAll("&", "&amp;")}">`;
      const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": "default-src 'none'" };
      return exchange.respond(200, page, { ...privateHeaders, ...headers });
    },
  });

  return {
    "/api/auth/providers": {
      GET(exchange) {
        return exchange.json(200, { items: providers.list() });
      },
    },
    "/api/auth/oauth/callback": callback,
    "/api/auth/oauth/callback/:name": callback,
    "/api/auth/oauth/token": rates.limit("login", {
      async POST(exchange) {
        return exchange.json(200, await providers.exchange(await exchange.object(), exchange.waiter));
      },
    }),
    "/api/auth/oauth/:name": rates.limit("login", {
      GET: inBrowser(async (exchange) => {
        // The secret stays the same for sign-ins in several tabs.
        const secret = browserSecret(exchange, isSecure) ?? randomToken(32);
        const from = exchange.query("ticket") ?? appRequest((name) => exchange.query(name));
        const location = await providers.begin(exchange.param("name"), from, secret);
        const attributes = `Path=/; Max-Age=${cookieAge}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
        return redirect(exchange, location, { "Set-Cookie": `${cookieName(isSecure)}=${secret}; ${attributes}` });
      }),
    }),
    "/api/auth/links": {
      async GET(exchange) {
        const { userId } = await exchange.user(purpose);
        return exchange.json(200, { items: providers.accounts.links(userId) });
      },
    },
    "/api/auth/links/:name": {
      async POST(exchange) {
        const caller = await exchange.user(purpose);
        const body = await exchange.object();
        const from = appRequest((name) => (Object.hasOwn(body, name) ? body[name] : null));
        return exchange.json(200, { url: await providers.addTicket(caller, exchange.param("name"), from) });
      },
      async DELETE(exchange) {
        await providers.accounts.removeLink(await exchange.user(purpose), exchange.param("name"), exchange.waiter);
        return exchange.empty();
      },
    },
  };
}
