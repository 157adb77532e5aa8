/** A browser without script for the hosted pages: keeps the cookie, and sends the forms of the page that the browser shows. */
import type { TestApi } from "./kit.ts";

/** A page, or the address to which the service has led the browser. */
export interface Shown {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly location: string;
}

export class PageBrowser {
  readonly #api: TestApi;
  readonly #headers: Record<string, string>;
  cookie = "";
  page: Shown = { status: 0, text: "", headers: new Headers(), location: "" };

  constructor(api: TestApi, headers: Record<string, string> = {}) {
    this.#api = api;
    this.#headers = { Accept: "text/html", ...headers };
  }

  open(path: string): Promise<Shown> {
    return this.#take("GET", path);
  }

  /** Sends the form of the page that leads to `action`, with the values of the hidden fields and these values. */
  send(action: string, values: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Shown> {
    const form = [...this.page.text.matchAll(/<form [^>]*action="([^"]*)"[\s\S]*?<\/form>/g)].find(
      ([, target]) => target === action,
    )?.[0];
    if (form === undefined) throw new Error(`The page has no form for ${action}: ${this.page.text}`);
    const fields = new URLSearchParams();
    for (const [, name = "", value = ""] of form.matchAll(/<input type="hidden" name="([^"]*)"(?: value="([^"]*)")?>/g))
      fields.set(name, value.replaceAll("&amp;", "&"));
    for (const [name, value] of Object.entries(values)) fields.set(name, value);
    const sent = { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin", ...headers };
    return this.#take("POST", `/_/auth/${action}`, { body: String(fields), headers: sent });
  }

  async #take(
    method: string,
    path: string,
    { body, headers = {} }: { body?: string; headers?: Record<string, string> } = {},
  ): Promise<Shown> {
    const answer = await this.#api.answer(method, path, {
      headers: { ...this.#headers, ...headers, cookie: this.cookie },
      ...(body !== undefined && { body }),
    });
    const [cookie] = answer.headers.getSetCookie();
    if (cookie !== undefined) this.cookie = cookie.split(";")[0] ?? "";
    const location = answer.headers.get("location") ?? "";
    this.page = { status: answer.status, text: await answer.text(), headers: answer.headers, location };
    return this.page;
  }
}
