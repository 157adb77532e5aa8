/** Requests and latency over the last hour, as charts with a summary in words. */
import { Box, ColorSwatch, Group, SimpleGrid, Skeleton } from "@mantine/core";
import type { RequestMinute } from "@socle/protocol";
import { lazy, type ReactNode, Suspense } from "react";
import { Dim, Panel } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { figuresOf, latencySeries, latencySummary, requestSeries, requestSummary, type Series } from "./figures.ts";

const RequestChart = lazy(async () => ({ default: (await import("./charts.tsx")).RequestChart }));
const LatencyChart = lazy(async () => ({ default: (await import("./charts.tsx")).LatencyChart }));

/** Two panels beside each other, on a wide screen. */
export function Halves({ children }: { children: ReactNode }) {
  return <SimpleGrid cols={{ base: 1, md: 2 }}>{children}</SimpleGrid>;
}

export function TrafficPanels({ minutes }: { minutes: readonly RequestMinute[] }) {
  const isQuiet = figuresOf(minutes).requests === 0;
  return (
    <Halves>
      <Figure
        title={text.overview.requestChart}
        series={requestSeries}
        summary={requestSummary(minutes)}
        isQuiet={isQuiet}
      >
        <RequestChart minutes={minutes} />
      </Figure>
      <Figure
        title={text.overview.latencyChart}
        series={latencySeries}
        summary={latencySummary(minutes)}
        isQuiet={isQuiet}
      >
        <LatencyChart minutes={minutes} />
      </Figure>
    </Halves>
  );
}

function Figure(props: {
  title: string;
  series: readonly Series[];
  summary: string;
  isQuiet: boolean;
  children: ReactNode;
}) {
  const { title, series, summary, isQuiet, children } = props;
  return (
    <Panel title={title}>
      {!isQuiet && (
        <Group gap="md" px="md" aria-hidden>
          {series.map(({ name, label, color }) => (
            <Group key={name} gap={6} wrap="nowrap">
              <ColorSwatch color={`var(--mantine-color-${color.replace(".", "-")})`} size={8} withShadow={false} />
              <Dim>{label}</Dim>
            </Group>
          ))}
        </Group>
      )}
      <Box p="4px 16px 12px 8px" mih={184}>
        {isQuiet ? (
          <Dim size="sm" ta="center" pt={72}>
            {summary}
          </Dim>
        ) : (
          <div role="img" aria-label={summary}>
            <Suspense fallback={<Skeleton height={168} radius="sm" />}>{children}</Suspense>
          </div>
        )}
      </Box>
    </Panel>
  );
}
