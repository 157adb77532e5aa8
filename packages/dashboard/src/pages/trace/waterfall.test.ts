/** The rows of a waterfall. */
import { expect, test } from "bun:test";
import type { TraceSpan } from "@socle/protocol";
import { waterfallOf } from "./waterfall.ts";

function span(id: string, start: number, end: number | null, children: TraceSpan[] = []): TraceSpan {
  const at = (ms: number): string => new Date(ms).toISOString();
  const own = { id, kind: "event", name: id, status: "completed", details: {} } as const;
  return { ...own, startedAt: at(start), endedAt: end === null ? null : at(end), children };
}

test("each span is a row below the cause, with a place on the whole time", () => {
  const rows = waterfallOf({ root: span("a", 1_000, 1_050, [span("b", 1_100, 1_200, [span("c", 1_150, null)])]) });
  expect(rows.map(({ span: { id }, ...row }) => ({ id, ...row }))).toEqual([
    { id: "a", depth: 0, startMs: 0, lengthMs: 50, left: 0, width: 25 },
    { id: "b", depth: 1, startMs: 100, lengthMs: 100, left: 50, width: 50 },
    { id: "c", depth: 2, startMs: 150, lengthMs: null, left: 75, width: 0 },
  ]);
});

test("a trace of a moment, and a child that began before the cause, have places from 0 to 100", () => {
  expect(waterfallOf({ root: span("a", 5, 5) })[0]).toMatchObject({ left: 0, width: 0 });
  const rows = waterfallOf({ root: span("a", 10, 20, [span("b", 5, 8)]) });
  expect(rows.map(({ startMs, left }) => [startMs, Math.round(left)])).toEqual([
    [5, 33],
    [0, 0],
  ]);
});
