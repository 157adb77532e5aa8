/** The session of a page whose server keeps the session: the page has the access token alone. */
import { errorOf, offline, SocleError } from "./error.ts";
import type { SessionStore } from "./session.ts";
import { onWake } from "./wake.ts";

/** Shows that a request is of a page of the site itself. */
export const pageHeader = "Socle-Session";

/**
 * For `createClient({ baseUrl, session: pageSession("/session") })` in a page. @param path of the page's own server, where
 * `sessionHandler` of `@socle/client/server` answers.
 */
export function pageSession(path: string): SessionStore {
  let asking: Promise<string> | undefined;
  const ask = async (method: string): Promise<string> => {
    try {
      const response = await fetch(path, { method, headers: { [pageHeader]: "page" }, cache: "no-store" });
      if (!response.ok) throw await errorOf(response);
      const text = await response.text();
      // A page comes from a proxy, or from a network that asks to sign in: such an answer says nothing about the session.
      if (method === "GET") JSON.parse(text);
      return text;
    } catch (thrown) {
      throw thrown instanceof SocleError ? thrown : offline(thrown, path);
    }
  };
  return {
    load() {
      // The server renders the page, too, and has no session here.
      if ((globalThis as { document?: unknown }).document === undefined) return null;
      asking ??= ask("GET").finally(() => {
        asking = undefined;
      });
      return asking;
    },
    async save() {
      await ask("DELETE");
    },
    watch: onWake,
    refuses: "The server of this page signs in: a page with pageSession has no refresh token",
  };
}
