/** Traces: the tree of all that followed from a request, a run of a schedule, an import or an undo. */
export { eventSpan, mailSpan, requestSpan } from "./otlp-spans.ts";
export { SpanExporter, type SpanTotals, sampledPercentOf } from "./span-exporter.ts";
export { Traces } from "./traces.ts";
