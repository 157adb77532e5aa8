/**
 * The access log: an entry for each request, or for a part of the requests. The query of an address is left out, because a query may
 * hold a token.
 */
import type { Logger } from "../../base/logging/index.ts";
import { type Exchange, shownPath } from "./exchange.ts";

export class AccessLog {
  readonly #share: number;
  readonly #logger: Logger;

  /** @param options.percent of requests that are logged, 1 to 100. */
  constructor({ percent, logger }: { percent: number; logger: Logger }) {
    this.#share = percent / 100;
    this.#logger = logger;
  }

  /** @param ms until the answer began. */
  note(exchange: Exchange, status: number, ms: number): void {
    if (Math.random() >= this.#share) return;
    const { request, requestId, address } = exchange;
    this.#logger.info("Request", {
      requestId,
      method: request.method,
      path: shownPath(request),
      status,
      ms: Math.round(ms * 100) / 100,
      address,
    });
  }
}
