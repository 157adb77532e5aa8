/** Call failures: the answer to a request whose call of the user's code has ended without an answer. */
import { AppError, appErrorOf, callerGone } from "../../base/kernel/index.ts";
import type { CallOutcome } from "../../code/script-host/index.ts";
import type { Exchange } from "./exchange.ts";

/** @throws AppError of the code or the request; `unavailable` for a call that the service could not make. */
export function callFailure(exchange: Exchange, code: "endpoint" | "query", end: CallOutcome): Response {
  switch (end.status) {
    case "failed":
    case "answered":
      return exchange.error(
        new AppError("internal_error", `The ${code} failed; the log has the failure as ${exchange.requestId}.`),
      );
    case "late":
      return exchange.error(new AppError("unavailable", `The ${code} did not answer in time.`), { status: 504 });
    case "lost":
      return exchange.error(new AppError("unavailable", `The process of the ${code} has ended.`), { status: 502 });
    case "unread":
      throw end.error;
    case "refused":
      throw appErrorOf(end.refusal);
    case "left":
      throw callerGone();
    default:
      throw new AppError("unavailable", `The ${code} is not available now; try again in a moment.`, { retryAfter: 1 });
  }
}
