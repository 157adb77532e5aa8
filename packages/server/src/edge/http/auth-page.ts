/**
 * Auth pages: the frame of the hosted pages under `/_/auth/` (contract, "Users and accounts"). A page is HTML with forms, works
 * without script except for passkeys, follows the light or dark scheme of the browser, and holds nothing of a request that is not escaped.
 */
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import type { Config } from "../../base/config/index.ts";
import { AppError, escapeHtml, SetupError } from "../../base/kernel/index.ts";
import type { AuthPageTexts } from "./auth-page-texts.ts";
import type { Exchange } from "./exchange.ts";

/** Bytes of a form at most. */
const formLimit = 16_384;
/** Bytes of a logo at most: the logo stands in each page. */
const logoLimit = 65_536;

const logoTypes: { readonly [ending: string]: string } = {
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".webp": "image/webp",
};

/** HTML that may stand in a page. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | Html | null | readonly Html[];

function textOf(part: Part): string {
  if (part === null) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "string") return escapeHtml(part);
  return part.map(({ text }) => text).join("");
}

/** Joins HTML; strings between the parts are escaped, also inside quoted attributes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((all, string, i) => all + textOf(parts[i - 1] ?? null) + string));
}

/** The colours are those of the dashboard: each text has a contrast of at least 4.5 (WCAG 2.2, 1.4.3). */
const style = `
:root{color-scheme:light dark;--text:#1b1f24;--dim:#5b6470;--ground:#f7f8f9;--paper:#fff;--line:#e3e6ea;--control:#868e99;--accent:#0f6f68;--on:#fff;--bad:#c92a2a;--good:#e6f5f2}
@media(prefers-color-scheme:dark){:root{--text:#e3e6ea;--dim:#a0a7b1;--ground:#14161a;--paper:#1a1d22;--line:#2e333b;--control:#6f7782;--accent:#7fd2c7;--on:#10201e;--bad:#ff8787;--good:#163330}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:24px 16px;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{width:100%;max-width:400px;padding:28px;background:var(--paper);border:1px solid var(--line);border-radius:12px}
header{display:flex;align-items:center;gap:10px;margin-bottom:20px;color:var(--dim);font-weight:600;overflow-wrap:anywhere}
header img{height:32px;max-width:160px}
h1{margin:0 0 12px;font-size:22px;line-height:1.3}
p{margin:0 0 16px;overflow-wrap:anywhere}
form{display:grid;gap:14px;margin:0 0 12px}
label{display:grid;gap:4px;font-weight:500}
small{color:var(--dim);font-weight:400;font-size:14px}
input{width:100%;padding:10px 12px;font:inherit;color:inherit;background:var(--paper);border:1px solid var(--control);border-radius:8px}
button,.button{display:block;width:100%;padding:11px 16px;font:inherit;font-weight:600;text-align:center;text-decoration:none;color:var(--on);background:var(--accent);border:1px solid var(--accent);border-radius:8px;cursor:pointer}
.second{color:var(--text);background:var(--paper);border-color:var(--control)}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
[role=alert]{color:var(--bad);font-weight:500}
[role=status]{padding:12px 14px;background:var(--good);border-radius:8px}
[hidden]{display:none}
.others{display:grid;gap:12px}
.links{display:flex;flex-wrap:wrap;justify-content:space-between;gap:4px 16px;margin:16px 0 0}
.links a{padding:4px 0}
`;

function sha256(text: string): string {
  return `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`;
}

const styleSource = sha256(style);

/** The parts of a page. */
export interface PageContent {
  readonly title: string;
  readonly body: Html;
  /** An error message above the body. */
  readonly problem?: string | undefined;
  /** Origins to which an answer to the page's forms may redirect: Chromium applies `form-action` to redirects. */
  readonly leadsTo?: readonly string[];
  /** JavaScript that the page runs. */
  readonly script?: string | undefined;
  /** Headers beside the headers of all pages. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export class AuthPages {
  readonly texts: AuthPageTexts;
  readonly #name: Html;

  /** @throws SetupError for a logo that cannot be shown. */
  constructor(config: Config, texts: AuthPageTexts) {
    this.texts = texts;
    const logo = config["auth.pages.logo"];
    const title = config["auth.pages.title"];
    this.#name = html`<header>${logo === undefined ? null : logoOf(logo)}${title}</header>`;
  }

  /**
   * Answers a page. The address of the page may hold a token, so the page tells the address to no other site, and no cache keeps the
   * page.
   */
  answer(exchange: Exchange, status: number, content: PageContent): Response {
    const { title, body, problem, leadsTo = [], script, headers = {} } = content;
    const { language } = this.texts.of(exchange.request);
    const page = html`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex"><title>${title}</title><style>${new Html(style)}</style>
${script === undefined ? null : html`<script type="module">${new Html(script)}</script>`}</head>
<body><main>${this.#name}<h1>${title}</h1>${problem === undefined ? null : html`<p role="alert">${problem}</p>`}${body}</main></body></html>`;
    const policy = [
      "default-src 'none'",
      `style-src ${styleSource}`,
      "img-src data:",
      ...(script === undefined ? [] : [`script-src ${sha256(script)}`, "connect-src 'self'"]),
      "base-uri 'none'",
      ["form-action 'self'", ...leadsTo].join(" "),
      "frame-ancestors 'none'",
    ];
    return exchange.respond(status, page.text, {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": policy.join("; "),
      "Cache-Control": "no-store",
      "Cross-Origin-Opener-Policy": "same-origin",
      // A passkey needs the `Origin` of the form, which browsers hide under `no-referrer`.
      "Referrer-Policy": script === undefined ? "no-referrer" : "same-origin",
      "X-Frame-Options": "DENY",
      ...headers,
    });
  }
}

/** @throws SetupError. */
function logoOf(path: string): Html {
  const type = logoTypes[extname(path).toLowerCase()];
  if (type === undefined)
    throw new SetupError(`auth.pages.logo ${path}: must end in ${Object.keys(logoTypes).join(", ")}`);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (thrown) {
    throw new SetupError(`auth.pages.logo ${path}: cannot be read`, { cause: thrown });
  }
  if (bytes.length > logoLimit)
    throw new SetupError(`auth.pages.logo ${path}: has ${bytes.length} bytes; at most ${logoLimit} are allowed`);
  return html`<img alt="" src="data:${type};base64,${bytes.toString("base64")}">`;
}

/**
 * The fields of a form that a page of this service has sent.
 * @throws AppError `forbidden` for a form of another site, `bad_request` for another kind of body, `payload_too_large`.
 */
export async function formOf(exchange: Exchange): Promise<(name: string) => string> {
  const { headers } = exchange.request;
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none")
    throw new AppError("forbidden", "The form must be sent from the page of this service.");
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded")
    throw new AppError("bad_request", "The body must be a form: application/x-www-form-urlencoded.");
  const fields = new URLSearchParams(new TextDecoder().decode(await exchange.body(formLimit)));
  return (name) => fields.get(name) ?? "";
}
