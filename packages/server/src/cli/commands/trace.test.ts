/** The waterfall of a trace as text. */
import { expect, test } from "bun:test";
import type { TraceSpan } from "@socle/protocol";
import { waterfallOf } from "./trace.ts";

function span(
  kind: TraceSpan["kind"],
  times: readonly [number, number | null],
  more: Partial<TraceSpan> = {},
): TraceSpan {
  const at = (ms: number): string => new Date(1_000_000 + ms).toISOString();
  const [start, end] = times;
  const own = { kind, id: `${kind}-1`, name: kind, status: "completed", details: {}, children: [] } as const;
  return { ...own, children: [], startedAt: at(start), endedAt: end === null ? null : at(end), ...more };
}

test("each span has a start, a length, a bar and a place below the cause", () => {
  const mail = span("mail", [50, null], { status: "waiting", name: "custom to a@\u001b[31mexample.com" });
  const failed = span("function", [20, 100], { status: "failed", details: { error: "no" }, children: [mail] });
  const root = span("request", [0, 10], { name: "POST /api/orders", children: [span("transaction", [5, 5]), failed] });
  const text = waterfallOf({ id: root.id, root, truncated: true, trimmed: true });
  expect(text).not.toContain("\u001b");
  expect(text.split("\n").map((line) => line.trimEnd())).toEqual([
    "     +0 ms     10 ms  ███·····················  request POST /api/orders (request-1)",
    "     +5 ms      0 ms  ·█······················    transaction",
    "    +20 ms     80 ms  ····████████████████████    function function (function-1), failed: no",
    "    +50 ms            ············█···········      mail custom to a@\\u001b[31mexample.com (mail-1), waiting",
    "The trace has more parts than are shown.",
    "The event log has lost events of the time of this trace (events.retention).",
    "",
  ]);
});

test("a trace of a single moment has a bar, and no note", () => {
  const text = waterfallOf({ id: "x", root: span("event", [0, 0]), truncated: false, trimmed: false });
  expect(text).toBe("     +0 ms      0 ms  █·······················  event event (event-1)\n");
});
