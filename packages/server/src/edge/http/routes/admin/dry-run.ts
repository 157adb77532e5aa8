/** The parameter `dryRun`: the answer says what a change would do, and nothing is changed. */
import { readChoice } from "../../../../base/kernel/index.ts";
import type { Exchange } from "../../exchange.ts";

/** Whether a change is only planned. @throws AppError `bad_request` for another value than true and false. */
export function isDryRun(exchange: Exchange): boolean {
  return dryRunOf(exchange, ["true", "false"]) === "true";
}

/** @throws AppError `bad_request` for a value that is none of the choices. */
export function dryRunOf(exchange: Exchange, choices: readonly string[]): string {
  const text = exchange.query("dryRun");
  return text === null ? "false" : readChoice("dryRun", text, choices);
}
