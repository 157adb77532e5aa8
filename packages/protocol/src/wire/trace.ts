/** Traces: all that followed from a request, a run of a schedule, an import or an undo. */
import { arrayOf, boolean, enumOf, freeObject, named, object, orNull, type Shape, string, time } from "./shape.ts";

export const SPAN_KINDS = [
  "request",
  "import",
  "migration",
  "undo",
  "transaction",
  "event",
  "function",
  "job",
  "mail",
  "log",
] as const;
export type SpanKind = (typeof SPAN_KINDS)[number];

/** `unknown`: the service does not keep the end of the span, or the event log has lost the end. */
export const SPAN_STATUSES = ["waiting", "running", "completed", "failed", "unknown"] as const;
export type SpanStatus = (typeof SPAN_STATUSES)[number];

/** A part of a trace, with the parts that followed from the part. */
export interface TraceSpan {
  kind: SpanKind;
  /** The `X-Request-Id` of a request; the id of an event, a run, an import, an undo or a mail; of a transaction, the position of the first event in the log. */
  id: string;
  /** For people: `POST /api/orders`, `orders.created`, `functions/orders/receipt.ts:onCreate`. */
  name: string;
  startedAt: string;
  /** Null for a span that is not over, and for an unknown end. */
  endedAt: string | null;
  status: SpanStatus;
  /** Further values of the span, by the kind. */
  details: { [name: string]: unknown };
  /** In the order of the starts. */
  children: TraceSpan[];
}

export const traceSpan: Shape<TraceSpan> = named("TraceSpan", () =>
  object({
    kind: enumOf(SPAN_KINDS),
    id: string,
    name: string,
    startedAt: time,
    endedAt: orNull(time),
    status: enumOf(SPAN_STATUSES),
    details: freeObject,
    children: arrayOf(traceSpan),
  }),
);

/** The answer of `GET /api/admin/trace/{id}`. */
export interface Trace {
  /** The id of the root. */
  id: string;
  root: TraceSpan;
  /** Whether the trace has more than 1,000 spans, of which the answer has a part. */
  truncated: boolean;
  /** Whether the event log has lost events from the time of the trace, or the beginning of the trace. */
  trimmed: boolean;
}

export const trace: Shape<Trace> = named("Trace", () =>
  object({ id: string, root: traceSpan, truncated: boolean, trimmed: boolean }),
);
