/** `@socle/client/server`: sessions of servers that render pages. */
export type { CookieAttributes, Cookies } from "../cookies.ts";
export { requestCookies } from "../cookies.ts";
export {
  type CookieSessionOptions,
  cookieSession,
  noSession,
  requestSession,
  sessionHandler,
} from "../server-session.ts";
