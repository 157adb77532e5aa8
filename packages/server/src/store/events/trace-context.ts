/**
 * Trace context (W3C Trace Context): reads the `traceparent` of a caller, and derives the ids of traces and spans from the ids of causes. An id is derived
 * without a column of a table, so each part of a trace derives the same ids, in each process and after a restart.
 */
import type { Cause } from "../../base/kernel/index.ts";

const zeros = /^0+$/;
const requestId = /^([0-9a-f]{8})-([0-9a-z]{1,8})$/;
/** The kinds of first causes whose ids end with a UUID, which has the size of a trace id. */
const kinds = ["run", "imp", "und", "mai"];
const uuid = /^(?:run|imp|und|mai)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
/** At the end of the link of a caller that does not record the trace. */
const unsampled = "-00";

/** The part of a cause that decides the trace. */
export type TraceOf = Pick<Cause, "id" | "trace" | "link">;

/**
 * The trace and the parent of a `traceparent` (W3C Trace Context, 3.2), with a hyphen between, and `-00` behind if the caller does not record the trace; null
 * for no valid value.
 */
export function linkIn(traceparent: string | null): string | null {
  if (traceparent === null) return null;
  const [, version, trace = "", parent = "", flags = "", more] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(traceparent) ?? [];
  // A later version may have more parts.
  const isKnown = version !== undefined && version !== "ff" && (version !== "00" || more === undefined);
  const isRecorded = (Number.parseInt(flags, 16) & 1) === 1;
  return isKnown && !zeros.test(trace) && !zeros.test(parent)
    ? `${trace}-${parent}${isRecorded ? "" : unsampled}`
    : null;
}

/** The id of the span of the caller; undefined without a caller's trace. */
export function callerSpanOf(link: string | null | undefined): string | undefined {
  return link?.slice(33, 49);
}

/**
 * The id of the trace of a cause: of the caller's trace, or derived from the id of the first cause. A derived id holds the id of the first cause, which
 * `firstCausesOf` finds again: the UUID of a run, an import, an undo or a mail; of a request, the prefix, the number, and a hash of the id.
 */
export function traceIdOf({ id, trace = id, link }: TraceOf): string {
  if (link !== undefined) return link.slice(0, 32);
  const [, digits] = uuid.exec(trace) ?? [];
  if (digits !== undefined) return digits.replaceAll("-", "");
  const hash = hashOf(trace);
  const [, prefix, number = ""] = requestId.exec(trace) ?? [];
  // The last 7 bytes of a trace id look random, as samplers expect (W3C Trace Context Level 2, 3.2.2.3).
  if (prefix === undefined) return hash.slice(0, 32);
  return `${prefix}${Number.parseInt(number, 36).toString(16).padStart(10, "0").slice(-10)}${hash.slice(0, 14)}`;
}

/** The ids of the first causes that a derived trace id may stand for; none for another text. */
export function firstCausesOf(traceId: string): string[] {
  const [, prefix, number = ""] = /^([0-9a-f]{8})([0-9a-f]{10})[0-9a-f]{14}$/.exec(traceId) ?? [];
  if (prefix === undefined) return [];
  const request = `${prefix}-${Number.parseInt(number, 16).toString(36)}`;
  const digits = traceId.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  return [request, ...kinds.map((kind) => `${kind}_${digits}`)].filter((id) => traceIdOf({ id }) === traceId);
}

/** The id of the span of a request, a transaction, a run or a mail. */
export function spanIdOf(id: string): string {
  return hashOf(id).slice(-16);
}

/** Whether a trace is recorded: as the caller does; of the traces that begin here, a percentage by the id of the trace. */
export function isSampled(cause: TraceOf, percent: number): boolean {
  if (cause.link !== undefined) return !cause.link.endsWith(unsampled);
  return percent >= 100 || Number.parseInt(traceIdOf(cause).slice(-8), 16) < (percent / 100) * 2 ** 32;
}

/** The `traceparent` of requests of the code that a cause has started. @param percent see `isSampled`. */
export function traceparentOf(cause: TraceOf, percent: number): string {
  return `00-${traceIdOf(cause)}-${spanIdOf(cause.id)}-${isSampled(cause, percent) ? "01" : "00"}`;
}

/** The hash of an id as hexadecimal digits: SHA-256. */
function hashOf(id: string): string {
  return Bun.SHA256.hash(id, "hex");
}
