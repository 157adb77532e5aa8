/** The charts of the overview. The page loads this file on demand: the library of charts is large. */
import "@mantine/charts/styles.css";
import { BarChart, LineChart } from "@mantine/charts";
import type { RequestMinute } from "@socle/protocol";
import { formatCompact, formatDuration } from "../../kit/index.ts";
import { chartRows, latencySeries, requestSeries, ticksTo } from "./figures.ts";

const height = 168;
const axis = { interval: 14, tickMargin: 8, minTickGap: 8 };

/** The axis of values ends at a round figure. */
function valueAxis(width: number, values: readonly (number | null)[]) {
  const ticks = ticksTo(Math.max(0, ...values.map((value) => value ?? 0)));
  return { width, ticks, domain: [0, ticks.at(-1) ?? 1] };
}

/** Keeps a number and its unit in the same line. */
function unbroken(ms: number): string {
  return formatDuration(ms).replace(" ", "\u00a0");
}

export function RequestChart({ minutes }: { minutes: readonly RequestMinute[] }) {
  return (
    <BarChart
      h={height}
      data={chartRows(minutes)}
      dataKey="time"
      type="stacked"
      series={[...requestSeries]}
      valueFormatter={formatCompact}
      tickLine="none"
      gridAxis="x"
      strokeDasharray="0"
      maxBarWidth={12}
      xAxisProps={axis}
      yAxisProps={valueAxis(
        48,
        minutes.map(({ requests }) => requests),
      )}
      barChartProps={{ margin: { top: 10 } }}
      barProps={{ isAnimationActive: false }}
      accessibilityLayer={false}
    />
  );
}

export function LatencyChart({ minutes }: { minutes: readonly RequestMinute[] }) {
  return (
    <LineChart
      h={height}
      data={chartRows(minutes)}
      dataKey="time"
      series={[...latencySeries]}
      connectNulls={false}
      curveType="linear"
      strokeWidth={1.5}
      // A minute between two gaps is a single dot.
      dotProps={{ r: 1.5, strokeWidth: 1 }}
      valueFormatter={unbroken}
      tickLine="none"
      gridAxis="x"
      strokeDasharray="0"
      xAxisProps={axis}
      yAxisProps={valueAxis(
        56,
        minutes.map(({ p99 }) => p99),
      )}
      lineChartProps={{ margin: { top: 10 } }}
      lineProps={{ isAnimationActive: false }}
      accessibilityLayer={false}
    />
  );
}
