/** The service at a glance. */
import { Skeleton, Stack } from "@mantine/core";
import type { Overview } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { formatDuration, Page, QueryView } from "../../kit/index.ts";
import { overviewQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { ProblemPanel, RunPanel } from "./activity-panels.tsx";
import { DiskPanel, QueuePanel, RecordPanel } from "./data-panels.tsx";
import { FirstSteps } from "./first-steps.tsx";
import classes from "./overview.module.css";
import { Stats } from "./stats.tsx";
import { Halves, TrafficPanels } from "./traffic-panels.tsx";

export function OverviewPage() {
  const query = useQuery(overviewQuery);
  const { data } = query;
  return (
    <Page
      title={text.overview.title}
      note={
        data !== undefined &&
        `${text.overview.version(data.version)} · ${text.overview.upFor(formatDuration(data.uptime * 1_000))}`
      }
    >
      <QueryView query={query} skeleton={<OverviewSkeleton />}>
        {(overview) => <Glance overview={overview} />}
      </QueryView>
      <Halves>
        <ProblemPanel />
        <RunPanel />
      </Halves>
    </Page>
  );
}

function Glance({ overview }: { overview: Overview }) {
  return (
    <>
      <FirstSteps collections={overview.collections} />
      <Stats overview={overview} />
      <TrafficPanels minutes={overview.requests} />
      <div className={classes["thirds"]}>
        <RecordPanel collections={overview.collections} />
        <DiskPanel database={overview.database} storage={overview.storage} />
        <QueuePanel deliveries={overview.deliveries} />
      </div>
    </>
  );
}

function OverviewSkeleton() {
  return (
    <Stack gap="md" role="status" aria-busy="true" aria-label={text.common.loading}>
      <Skeleton height={92} radius="lg" />
      <Halves>
        <Skeleton height={232} radius="lg" />
        <Skeleton height={232} radius="lg" />
      </Halves>
      <div className={classes["thirds"]}>
        <Skeleton height={180} radius="lg" />
        <Skeleton height={180} radius="lg" />
        <Skeleton height={180} radius="lg" />
      </div>
    </Stack>
  );
}
