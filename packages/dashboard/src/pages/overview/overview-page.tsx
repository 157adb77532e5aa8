/** The overview: whether all is well, with the conditions that are not, the figures, and what went wrong by its causes. */
import { Paper, Text } from "@mantine/core";
import type { FailurePage, LogEntry, Overview } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, type LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import {
  Dim,
  formatBytes,
  formatCompact,
  formatDuration,
  Page,
  QueryView,
  RelativeTime,
  RowsSkeleton,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { openFailuresQuery } from "../../service/live.ts";
import { overviewQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { figuresOf, problemsOf, slowQueriesOf } from "./figures.ts";
import { FirstSteps } from "./first-steps.tsx";
import classes from "./overview.module.css";
import { ClusterPanel, FailurePanel, ProblemPanel, SlowPanel, TrafficPanel } from "./panels.tsx";
import { StatusPanel } from "./status-panel.tsx";

const route = getRouteApi("/inside/");
const refreshMs = 10_000;
/** Most rows of a panel, and entries of the log that are looked at. */
const [room, most] = [5, 500];

export function OverviewPage() {
  const query = useQuery(overviewQuery);
  const { data } = query;
  return (
    <Page title={text.overview.title} note={data !== undefined && <Note {...data} />}>
      <QueryView query={query} skeleton={<RowsSkeleton rows={4} height={92} />}>
        {(overview) => <Glance overview={overview} />}
      </QueryView>
    </Page>
  );
}

function Note({ version, uptime, users, sockets }: Overview) {
  const words = text.overview;
  return (
    <>
      {words.version(version)} · {words.upFor(formatDuration(uptime * 1_000))}
      <Text span inherit visibleFrom="sm">
        {` · ${words.users(users)} · ${words.sockets(sockets)}`}
      </Text>
    </>
  );
}

function Glance({ overview }: { overview: Overview }) {
  const { range = "hour" } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: failures } = useQuery(openFailuresQuery);
  const { data: entries = [] } = useQuery({
    queryKey: ["overview", "log"],
    queryFn: async () => (await client.admin.logs({ level: "WARN,ERROR", limit: most })).items.toReversed(),
    refetchInterval: refreshMs,
  });
  const { collections, cluster, requests, week } = overview;
  return (
    <>
      <FirstSteps collections={collections} />
      <StatusPanel />
      <Stats figures={statsOf(overview, failures, entries)} />
      <TrafficPanel
        requests={requests}
        week={week}
        range={range}
        onRange={(chosen) => navigate({ search: chosen === "hour" ? {} : { range: chosen } })}
      />
      <div className={classes["lists"]}>
        {cluster !== null && <ClusterPanel cluster={cluster} />}
        <FailurePanel groups={failures?.items.slice(0, room) ?? []} />
        <SlowPanel queries={slowQueriesOf(entries).slice(0, room)} />
        <ProblemPanel entries={problemsOf(entries).slice(0, room)} />
      </div>
    </>
  );
}

interface Stat {
  label: string;
  value: ReactNode;
  hint: string;
  isBad?: boolean;
  /** The page with details. */
  to?: LinkProps;
}

function statsOf(overview: Overview, failures: FailurePage | undefined, entries: readonly LogEntry[]): Stat[] {
  const words = text.overview;
  const { requests, errors, latest } = figuresOf(overview.requests);
  const open = failures?.open ?? 0;
  const slow = slowQueriesOf(entries);
  const { disk, database, storage } = overview;
  return [
    {
      label: words.failures,
      value: formatCompact(open),
      hint: Object.values(overview.failedRuns).some((n) => n > 0)
        ? words.failedRunsOf(overview.failedRuns)
        : words.noFailures,
      isBad: open > 0,
      to: { to: "/failures" },
    },
    backupStat(overview.backup),
    {
      label: words.disk,
      value: formatBytes(database.size + database.walSize + storage.size),
      hint: words.diskHint(
        `${disk.growth.bytes < 0 ? "−" : "+"}${formatBytes(Math.abs(disk.growth.bytes))}`,
        formatDuration(Math.max(0, Date.now() - Date.parse(disk.growth.since))),
        disk.free === null ? null : formatBytes(disk.free),
      ),
      to: { to: "/storage" },
    },
    {
      label: words.requests,
      value: formatCompact(requests),
      hint: errors === 0 ? words.noErrors : words.errorsHint(formatCompact(errors)),
      isBad: errors > 0,
      to: { to: "/logs", search: { levels: "ERROR" } },
    },
    {
      label: words.latency,
      value: latest === null ? "–" : formatDuration(latest.p99 ?? 0),
      hint: latest === null ? words.noRequests.hour : words.latencyHint(formatDuration(latest.p50 ?? 0)),
    },
    {
      label: words.slowQueries,
      value: formatCompact(slow.reduce((sum, { count }) => sum + count, 0)),
      hint:
        slow[0] === undefined
          ? words.noSlow
          : words.upTo(formatDuration(Math.max(...slow.map((each) => each.slowestMs)))),
      to: { to: "/queries" },
    },
  ];
}

function backupStat({ last, error, behind }: Overview["backup"]): Stat {
  const words = text.overview;
  const value = last === null ? behind === null ? words.noBackup : words.continuous : <RelativeTime at={last} />;
  const late = behind === null ? null : words.behindBy(formatDuration(behind * 1_000));
  return {
    label: words.backup,
    value,
    hint: error ?? late ?? (last === null ? words.noBackupHint : words.backupHint),
    isBad: error !== null,
    to: { to: "/backups" },
  };
}

function Stats({ figures }: { figures: readonly Stat[] }) {
  return (
    <Paper component="section" radius="lg" className={classes["stats"]} aria-label={text.overview.now}>
      {figures.map(({ label, value, hint, isBad = false, to }) => (
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
