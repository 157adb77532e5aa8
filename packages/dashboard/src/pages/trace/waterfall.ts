/** The waterfall of a trace: spans as rows, each with a place on the time line. */
import type { Trace, TraceSpan } from "@socle/protocol";

export interface WaterfallRow {
  readonly span: TraceSpan;
  /** The causes above the span. */
  readonly depth: number;
  /** Milliseconds after the begin of the trace. */
  readonly startMs: number;
  /** Milliseconds; null for a span that is not over. */
  readonly lengthMs: number | null;
  /** The begin and the length on the time line, in percent. */
  readonly left: number;
  readonly width: number;
}

/** A span and the spans under the span, causes first. */
export function listOf(span: TraceSpan, depth: number): { span: TraceSpan; depth: number }[] {
  return [{ span, depth }, ...span.children.flatMap((child) => listOf(child, depth + 1))];
}

export function waterfallOf({ root }: Pick<Trace, "root">): WaterfallRow[] {
  const list = listOf(root, 0);
  const begin = Math.min(...list.map(({ span }) => Date.parse(span.startedAt)));
  const whole = Math.max(1, ...list.map(({ span }) => Date.parse(span.endedAt ?? span.startedAt) - begin));
  return list.map(({ span, depth }) => {
    const startMs = Date.parse(span.startedAt) - begin;
    const lengthMs = span.endedAt === null ? null : Date.parse(span.endedAt) - Date.parse(span.startedAt);
    const percent = (ms: number): number => (ms / whole) * 100;
    return { span, depth, startMs, lengthMs, left: percent(startMs), width: percent(lengthMs ?? 0) };
  });
}
