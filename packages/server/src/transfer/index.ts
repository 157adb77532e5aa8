/** Transfer: records in and out of a collection as streams, as newline-delimited JSON or CSV. */
export { formatOf, formatOfEnding, type TransferFormat, transferTypes } from "./format.ts";
export { Transfers } from "./transfers.ts";
