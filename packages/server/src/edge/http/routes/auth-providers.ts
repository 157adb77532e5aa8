/** `/api/auth/…` of providers: sign-ins that lead through a provider and back, and the links of the signed-in user. */
import { AppError } from "../../../base/kernel/index.ts";
import type { AppRequest, Providers } from "../../../people/auth/index.ts";
import type { AuthPages } from "../auth-page.ts";
import { BrowserCookie } from "../browser-cookie.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import type { Routes } from "../router.ts";
import { inBrowser, privateHeaders, redirect } from "../sign-in-page.ts";

const purpose = "see or change your links";

/** Bytes of the form with which a provider answers. */
const maxForm = 64 * 1_024;
/** Parameters of a provider's answer (RFC 6749, 4.1.2; RFC 9207); another parameter does not count. */
const answerNames = ["code", "state", "iss", "error"];

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
  const cookie = new BrowserCookie(providers.isSecure);

  const callback = rates.limit("login", {
    GET: inBrowser(pages, async (exchange) => {
      const answer = new URLSearchParams(exchange.search);
      const browser = { secret: cookie.secretOf(exchange), caller: exchange.waiter };
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
      return exchange.respond(200, page, {
        ...privateHeaders,
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": "default-src 'none'",
      });
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
      GET: inBrowser(pages, async (exchange) => {
        const { secret, headers } = cookie.keep(exchange);
        const from = exchange.query("ticket") ?? appRequest((name) => exchange.query(name));
        const location = await providers.begin(exchange.param("name"), from, { secret, caller: exchange.waiter });
        return redirect(exchange, location, headers);
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
