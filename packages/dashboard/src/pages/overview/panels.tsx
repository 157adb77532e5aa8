/** The panels of the overview: charts of requests, the log, runs, the size of the data, the queue of functions. */
import { Badge, Box, ColorSwatch, Group, SimpleGrid, Skeleton, Text, VisuallyHidden } from "@mantine/core";
import type { ClusterInstance, ClusterOverview, LogEntry, Overview, RequestMinute } from "@socle/protocol";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { Link, type LinkProps } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import {
  Dim,
  ErrorText,
  formatBytes,
  formatNumber,
  Panel,
  QueryView,
  RelativeTime,
  RowsSkeleton,
  TextLink,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { LevelMark } from "../logs/level-mark.tsx";
import {
  type AnyRun,
  figuresOf,
  latencySeries,
  latencySummary,
  latestRuns,
  requestSeries,
  requestSummary,
  type Series,
} from "./figures.ts";
import classes from "./overview.module.css";

const room = 7;
const refreshMs = 10_000;
/** Most characters of a message or an error. */
const longest = 240;

interface ActivityProps<T> {
  title: string;
  /** The link to the whole list. */
  all: ReactNode;
  query: UseQueryResult<readonly T[]>;
  rowKey: (row: T) => string;
  render: (row: T) => ReactNode;
  /** The words without a row. */
  nothing: string;
}

function Activity<T>({ title, all, query, rowKey, render, nothing }: ActivityProps<T>) {
  return (
    <Panel title={title} actions={all}>
      <QueryView query={query} skeleton={<RowsSkeleton rows={4} height={32} />}>
        {(rows) => (
          <ul className={`plain ${classes["list"]}`}>
            {rows.length === 0 && (
              <li>
                <Dim size="sm" px="md" pb="xs">
                  {nothing}
                </Dim>
              </li>
            )}
            {rows.map((row) => (
              <li key={rowKey(row)}>{render(row)}</li>
            ))}
          </ul>
        )}
      </QueryView>
    </Panel>
  );
}

/** The newest entry of each message; messages that differ by numbers alone, such as those of slow queries, count as one. */
function differing(entries: readonly LogEntry[]): LogEntry[] {
  const seen = new Set<string>();
  return entries.filter(({ source, message }) => {
    const key = `${source} ${message.replaceAll(/\d+/g, "")}`;
    return !seen.has(key) && seen.add(key);
  });
}

export function ProblemPanel() {
  const query = useQuery({
    queryKey: ["overview", "problems"],
    queryFn: async () => {
      const { items } = await client.admin.logs({ level: "WARN,ERROR", limit: room * 20 });
      return differing(items.toReversed()).slice(0, room);
    },
    refetchInterval: refreshMs,
  });
  return (
    <Activity
      title={text.overview.problems}
      all={
        <TextLink to="/logs" search={{ levels: "WARN,ERROR" }} className="noBreak">
          {text.overview.allLogs}
        </TextLink>
      }
      query={query}
      rowKey={({ timestamp, message }) => `${timestamp} ${message}`}
      render={(entry) => <Problem entry={entry} />}
      nothing={text.overview.noProblems}
    />
  );
}

function Problem({ entry }: { entry: LogEntry }) {
  const { level, message, source, timestamp, requestId } = entry;
  return (
    <Link to="/logs" search={{ levels: level, search: requestId ?? message.slice(0, 80) }} className={classes["item"]}>
      <span className={classes["level"]}>
        <LevelMark level={level} />
      </span>
      <span className="cut" title={message.slice(0, longest)}>
        {message.slice(0, longest)}
      </span>
      <Text span size="xs" c="dimmed" className="noBreak">
        {source} · <RelativeTime at={timestamp} />
      </Text>
    </Link>
  );
}

export function RunPanel() {
  const query = useQuery({
    queryKey: ["overview", "runs"],
    queryFn: async () => {
      const { scripts } = client.admin;
      // Open runs come before ended runs in the API, so the panel asks for each state separately.
      const [open, over, failed, jobs] = await Promise.all([
        scripts.functionRuns({ limit: room }),
        scripts.functionRuns({ status: "completed", limit: room }),
        scripts.functionRuns({ status: "failed", limit: room }),
        scripts.jobs({ limit: 1_000 }),
      ]);
      // Only the jobs with the newest last runs can have other runs among the newest.
      const recent = jobs.items
        .filter(({ lastRun }) => lastRun !== null)
        .sort((a, b) => ((a.lastRun?.startedAt ?? "") < (b.lastRun?.startedAt ?? "") ? 1 : -1))
        .slice(0, room);
      const runs = await Promise.all(
        recent.map(async ({ name }) => ({ name, attempts: (await scripts.jobRuns(name, { limit: room * 3 })).items })),
      );
      return latestRuns([...open.items, ...over.items, ...failed.items], runs, room);
    },
    refetchInterval: refreshMs,
  });
  return (
    <Activity
      title={text.overview.runs}
      all={
        <TextLink to="/functions" search={{ tab: "runs" }} className="noBreak">
          {text.overview.allRuns}
        </TextLink>
      }
      query={query}
      rowKey={({ runId }) => runId}
      render={(run) => <Run run={run} />}
      nothing={text.overview.noRuns}
    />
  );
}

const colours = { waiting: "gray", running: "blue", completed: "verdigris", failed: "red" } as const;

function Run({ run }: { run: AnyRun }) {
  const { status, name, cause, at, error, kind, runId } = run;
  const to: LinkProps =
    kind === "job"
      ? { to: "/jobs", search: { job: name, run: runId } }
      : { to: "/functions", search: { tab: "runs", run: runId } };
  return (
    <Link {...to} className={classes["item"] ?? ""}>
      <Badge size="xs" radius="sm" variant="light" color={colours[status]} tt="none" className={classes["level"]}>
        {text.overview.statuses[status]}
      </Badge>
      <span className="cut" title={error?.slice(0, longest)}>
        {text.overview.runOf(name, cause)}
        {error !== null && (
          <Text span inherit c="dimmed">
            {" "}
            <ErrorText value={error.slice(0, longest)} />
          </Text>
        )}
      </span>
      <Text span size="xs" c="dimmed" className="noBreak">
        <RelativeTime at={at} />
      </Text>
    </Link>
  );
}

/** Most collections in the panel: the largest collections. */
const maxCollections = 8;

export function RecordPanel({ collections }: Pick<Overview, "collections">) {
  const largest = [...collections].sort((a, b) => b.records - a.records || a.name.localeCompare(b.name));
  const shown = largest.slice(0, maxCollections);
  const most = Math.max(1, shown[0]?.records ?? 0);
  return (
    <Panel title={text.overview.records}>
      <div className={classes["bars"]}>
        {shown.length === 0 && (
          <Dim size="sm" px="md" pb="md">
            {text.overview.noCollections}
          </Dim>
        )}
        {shown.map(({ name, records }) => (
          <Link key={name} to="/collections/$name" params={{ name }} className={classes["bar"]}>
            <span className="cut">{name}</span>
            <span className="numbers">
              {formatNumber(records)}
              <VisuallyHidden> {text.overview.recordNoun}</VisuallyHidden>
            </span>
            <span className={classes["barTrack"]}>
              <span className={classes["barFill"]} style={{ width: `${(records / most) * 100}%` }} />
            </span>
          </Link>
        ))}
        {largest.length > shown.length && (
          <TextLink to="/collections" px="md" pt={4}>
            {text.overview.moreCollections(largest.length - shown.length)}
          </TextLink>
        )}
      </div>
    </Panel>
  );
}

export function DiskPanel({ database, storage }: Pick<Overview, "database" | "storage">) {
  return (
    <Panel title={text.overview.disk}>
      <dl className={classes["facts"]}>
        <Fact label={text.overview.database} value={formatBytes(database.size)} />
        <Fact label={text.overview.wal} value={formatBytes(database.walSize)} />
        <Fact
          label={
            <TextLink to="/storage" c="inherit">
              {text.overview.files(storage.files)}
            </TextLink>
          }
          value={formatBytes(storage.size)}
        />
        <Fact
          label={text.overview.total}
          value={formatBytes(database.size + database.walSize + storage.size)}
          isStrong
        />
      </dl>
    </Panel>
  );
}

export function QueuePanel({ deliveries }: Pick<Overview, "deliveries">) {
  return (
    <Panel title={text.overview.queue}>
      <dl className={classes["facts"]}>
        {(["waiting", "running", "failed"] as const).map((status) => (
          <Fact
            key={status}
            label={
              <TextLink to="/functions" search={{ tab: "runs", status }} c="inherit">
                {text.overview[status]}
              </TextLink>
            }
            value={formatNumber(deliveries[status])}
            isBad={status === "failed" && deliveries.failed > 0}
          />
        ))}
      </dl>
    </Panel>
  );
}

function Fact(props: { label: ReactNode; value: string; isStrong?: boolean; isBad?: boolean }) {
  const { label, value, isStrong = false, isBad = false } = props;
  return (
    <div className={classes["fact"]} data-is-strong={isStrong || undefined}>
      <dt>{label}</dt>
      <dd className="numbers" data-is-bad={isBad || undefined}>
        {value}
      </dd>
    </div>
  );
}

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

/** The instances of a cluster, and how far the replicas are. */
export function ClusterPanel({ cluster }: { cluster: ClusterOverview }) {
  const { instances, isJournalReached, leader } = cluster;
  const problem = isJournalReached ? leader === null && text.overview.noLeader : text.overview.noJournal;
  return (
    <Panel title={text.overview.cluster}>
      <dl className={classes["facts"]}>
        {problem !== false && <Fact label={problem} value="" isBad />}
        {instances.map((instance) => (
          <Fact
            key={instance.address}
            label={instance.address}
            value={stateOf(instance)}
            isBad={!instance.isLive}
            isStrong={instance.isLive && instance.role === "leader"}
          />
        ))}
      </dl>
    </Panel>
  );
}

function stateOf({ isLive, role, lag }: ClusterInstance): string {
  if (!isLive) return text.overview.gone;
  return role === "leader" ? text.overview.leader : text.overview.behind(lag);
}
