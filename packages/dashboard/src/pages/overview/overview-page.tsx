/** The service at a glance: its figures in a row, and the panels. */
import { Paper, Skeleton, Stack, Text } from "@mantine/core";
import type { Overview } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { Link, type LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Dim, formatCompact, formatDuration, Page, QueryView } from "../../kit/index.ts";
import { overviewQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { figuresOf } from "./figures.ts";
import { FirstSteps } from "./first-steps.tsx";
import classes from "./overview.module.css";
import {
  ClusterPanel,
  DiskPanel,
  Halves,
  ProblemPanel,
  QueuePanel,
  RecordPanel,
  RunPanel,
  TrafficPanels,
} from "./panels.tsx";
import { StatusPanel } from "./status-panel.tsx";

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
      <StatusPanel />
      <Stats overview={overview} />
      {overview.cluster !== null && <ClusterPanel cluster={overview.cluster} />}
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

interface Stat {
  label: string;
  value: string;
  hint: string;
  isBad?: boolean;
  /** The page with details. */
  to?: LinkProps;
}

function statsOf(overview: Overview): Stat[] {
  const { requests, errors, latest } = figuresOf(overview.requests);
  const { functions, jobs, queues } = overview.failedRuns;
  const failedRuns = functions + jobs + queues;
  const share = requests === 0 ? 0 : errors / requests;
  const percent = share.toLocaleString(undefined, { style: "percent", maximumSignificantDigits: 2 });
  return [
    { label: text.overview.requests, value: formatCompact(requests), hint: text.overview.requestsHint },
    {
      label: text.overview.errors,
      value: formatCompact(errors),
      hint: errors === 0 ? text.overview.noErrors : text.overview.errorsHint(percent),
      isBad: errors > 0,
      to: { to: "/logs", search: { levels: "error" } },
    },
    {
      label: text.overview.failedRuns,
      value: formatCompact(failedRuns),
      hint: failedRuns === 0 ? text.overview.failedRunsHint : text.overview.failedRunsOf(overview.failedRuns),
      isBad: failedRuns > 0,
      to: failuresPage(overview.failedRuns),
    },
    {
      label: text.overview.latency,
      value: latest === null ? "–" : formatDuration(latest.p99 ?? 0),
      hint: latest === null ? text.overview.noLatency : text.overview.latencyHint(formatDuration(latest.p50 ?? 0)),
    },
    { label: text.overview.sockets, value: formatCompact(overview.sockets), hint: text.overview.socketsHint },
    {
      label: text.overview.users,
      value: formatCompact(overview.users),
      hint: text.overview.usersHint,
      to: { to: "/users" },
    },
  ];
}

/** The page with the kind of runs that failed: the first kind with failures, functions without any. */
function failuresPage({ functions, jobs, queues }: Overview["failedRuns"]): LinkProps {
  if (functions > 0 || jobs + queues === 0) return { to: "/functions", search: { tab: "runs", status: "failed" } };
  return { to: "/jobs" };
}

function Stats({ overview }: { overview: Overview }) {
  return (
    <Paper component="section" radius="lg" className={classes["stats"]} aria-label={text.overview.now}>
      {statsOf(overview).map(({ label, value, hint, isBad = false, to }) => (
        <Figure key={label} to={to}>
          <Dim>{label}</Dim>
          <Text className={`numbers ${classes["figure"]}`} c={isBad ? "var(--mantine-color-error)" : "inherit"}>
            {value}
          </Text>
          <Dim className="numbers">{hint}</Dim>
        </Figure>
      ))}
    </Paper>
  );
}

function Figure({ to, children }: { to: LinkProps | undefined; children: ReactNode }) {
  if (to === undefined) return <div className={classes["stat"]}>{children}</div>;
  return (
    <Link {...to} className={classes["stat"] ?? ""} data-is-link>
      {children}
    </Link>
  );
}
