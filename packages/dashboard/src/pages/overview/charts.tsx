/** The charts of the overview. The page loads this file on demand: the library of charts is large. */
import "@mantine/charts/styles.css";
import { BarChart, LineChart } from "@mantine/charts";
import type { RequestMinute } from "@socle/protocol";
import { formatCompact, formatDuration } from "../../kit/index.ts";
import { chartRows, latencySeries, type Range, requestSeries, ticksTo } from "./figures.ts";

const height = 168;
/** A label for each quarter of an hour, or for each day. */
const intervals = { hour: 14, week: 23 } as const;

/** Keeps a number and its unit in the same line. */
function unbroken(ms: number): string {
  return formatDuration(ms).replace(" ", "\u00a0");
}

interface ChartProps {
  slots: readonly RequestMinute[];
  range: Range;
}

/** The common part of the two charts. The axis of values ends at a round figure. */
function chartOf({ slots, range }: ChartProps, highest: "requests" | "p99") {
  const ticks = ticksTo(Math.max(0, ...slots.map((slot) => slot[highest] ?? 0)));
  return {
    h: height,
    data: chartRows(slots, range),
    dataKey: "time",
    tickLine: "none" as const,
    gridAxis: "x" as const,
    strokeDasharray: "0",
    xAxisProps: { interval: intervals[range], tickMargin: 8, minTickGap: 8 },
    // Interval 0: each tick has its line; the library leaves out the line below the first line.
    yAxisProps: { width: 56, interval: 0, ticks, domain: [0, ticks.at(-1) ?? 1] },
    accessibilityLayer: false,
  };
}

export function RequestChart(props: ChartProps) {
  return (
    <BarChart
      {...chartOf(props, "requests")}
      series={[...requestSeries]}
      type="stacked"
      valueFormatter={formatCompact}
      maxBarWidth={12}
      barChartProps={{ margin: { top: 10 } }}
      barProps={{ isAnimationActive: false }}
    />
  );
}

export function LatencyChart(props: ChartProps) {
  return (
    <LineChart
      {...chartOf(props, "p99")}
      series={[...latencySeries]}
      connectNulls={false}
      curveType="linear"
      strokeWidth={1.5}
      // A minute between two gaps is a single dot.
      dotProps={{ r: 1.5, strokeWidth: 1 }}
      valueFormatter={unbroken}
      lineChartProps={{ margin: { top: 10 } }}
      lineProps={{ isAnimationActive: false }}
    />
  );
}
