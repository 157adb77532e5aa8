/** Transfer: imports and exports records as streams of newline-delimited JSON or CSV. */
export { formatOf, formatOfEnding, type TransferFormat, transferTypes } from "./format.ts";
export { Transfers } from "./transfers.ts";
