/** Addresses to which a sign-in at a provider may return: below `publicUrl`, or below an address of `auth.redirects`. */
import { isLoopback } from "../../../base/config/index.ts";
import { AppError } from "../../../base/kernel/index.ts";

/** Characters that browsers drop or change, so that an address would lead elsewhere than the address seems to. */
const changed = /[\s\\\p{C}]/u;
/** Parts that lead upwards, and encoded slashes and dots, which some servers decode. */
const upwards = /\/\.{1,2}(?:[/?]|$)|%(?:2e|2f|5c)/i;
const maxLength = 2_000;

export class Redirects {
  readonly #allowed: readonly URL[];

  constructor(addresses: readonly string[]) {
    this.#allowed = addresses.map((address) => new URL(address));
  }

  /**
   * The address in the form in which browsers compare addresses.
   * @throws AppError `validation_error` for an address that is not allowed.
   */
  check(text: string | null): string {
    const refuse = (message: string): never => {
      throw AppError.validation([{ field: "redirect", rule: text === null ? "required" : "refused", message }]);
    };
    if (text === null) return refuse("redirect is required: the address to which the sign-in returns");
    const isPlain = text.length <= maxLength && !changed.test(text) && !upwards.test(text.split("?")[0] ?? "");
    const url = isPlain && !text.includes("#") && URL.canParse(text) ? new URL(text) : null;
    if (url === null || url.username !== "" || url.password !== "")
      return refuse(
        "redirect must be a whole address without #, user name, backslashes, spaces and dots that lead upwards",
      );
    if (!this.#allowed.some((allowed) => isBelow(url, allowed)))
      return refuse("redirect must be below publicUrl, or below an address of auth.redirects in the configuration");
    return url.href;
  }
}

function isBelow(url: URL, allowed: URL): boolean {
  if (url.protocol !== allowed.protocol) return false;
  // A scheme alone stands for all addresses of an app.
  if (allowed.host === "" && allowed.pathname === "") return true;
  // An app on the user's machine listens on any free port (RFC 8252, 7.3).
  const isAnyPort = allowed.port === "" && isLoopback(allowed) && allowed.hostname !== "localhost";
  if (isAnyPort ? url.hostname !== allowed.hostname : url.host !== allowed.host) return false;
  const path = allowed.pathname.replace(/\/$/, "");
  return url.pathname === allowed.pathname || url.pathname === path || url.pathname.startsWith(`${path}/`);
}
