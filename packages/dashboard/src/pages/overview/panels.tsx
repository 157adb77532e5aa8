/** The panels of the overview: the charts of requests, and the lists of what went wrong. A panel without a row is left out. */
import { Box, ColorSwatch, Group, SegmentedControl, SimpleGrid, Skeleton, Text } from "@mantine/core";
import type { ClusterInstance, ClusterOverview, FailureGroup, LogEntry, Overview } from "@socle/protocol";
import { Link, type LinkProps } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import {
  Complaint,
  choicesOf,
  Dim,
  Fact,
  Facts,
  formatDuration,
  Panel,
  RelativeTime,
  TextLink,
  visible,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { LevelMark } from "../logs/level-mark.tsx";
import {
  figuresOf,
  latencySeries,
  latencySummary,
  type Range,
  requestSeries,
  requestSummary,
  type Series,
  type SlowQuery,
} from "./figures.ts";
import classes from "./overview.module.css";

/** Most characters of a message. */
const longest = 240;

interface ListProps<T> {
  title: string;
  /** The link to the whole list. */
  all: LinkProps & { label: string };
  rows: readonly T[];
  rowKey: (row: T) => string;
  render: (row: T) => ReactNode;
}

function List<T>({ title, all: { label, ...all }, rows, rowKey, render }: ListProps<T>) {
  if (rows.length === 0) return null;
  return (
    <Panel
      title={title}
      actions={
        <TextLink {...all} className="noBreak">
          {label}
        </TextLink>
      }
    >
      <ul className={`plain ${classes["list"]}`}>
        {rows.map((row) => (
          <li key={rowKey(row)}>{render(row)}</li>
        ))}
      </ul>
    </Panel>
  );
}

function Row(props: { to: LinkProps; lead: ReactNode; body: string; note?: string | undefined; end: ReactNode }) {
  const { to, lead, body, note, end } = props;
  return (
    <Link {...to} className={classes["item"] ?? ""}>
      <span className={classes["level"]}>{lead}</span>
      <span className={classes["body"]}>
        <span className="cut" title={body.slice(0, longest)}>
          {visible(body.slice(0, longest))}
        </span>
        {note !== undefined && <span className={`cut ${classes["note"]}`}>{note}</span>}
      </span>
      <Text span size="xs" c="dimmed" className="noBreak numbers">
        {end}
      </Text>
    </Link>
  );
}

export function FailurePanel({ groups }: { groups: readonly FailureGroup[] }) {
  return (
    <List
      title={text.overview.failureCauses}
      all={{ to: "/failures", label: text.failures.see }}
      rows={groups}
      rowKey={({ id }) => id}
      render={({ id, kind, message, file, line, count, last }) => (
        <Row
          to={{ to: "/failures", search: { group: id } }}
          lead={text.failures.kinds[kind]}
          body={message}
          note={file === null ? undefined : `${file}${line === null ? "" : `:${line}`}`}
          end={
            <>
              {text.overview.times(count)} · <RelativeTime at={last} />
            </>
          }
        />
      )}
    />
  );
}

export function SlowPanel({ queries }: { queries: readonly SlowQuery[] }) {
  return (
    <List
      title={text.overview.slowQueries}
      all={{ to: "/queries", label: text.queries.see }}
      rows={queries}
      rowKey={({ key }) => key}
      render={({ key, collection, shape, index, count, slowestMs }) => (
        <Row
          to={{ to: "/queries", search: { query: key } }}
          lead={collection}
          body={shape === "" ? text.overview.wholeList : shape}
          note={index === null ? undefined : text.overview.proposedIndex(index)}
          end={`${text.overview.times(count)} · ${text.overview.upTo(formatDuration(slowestMs))}`}
        />
      )}
    />
  );
}

export function ProblemPanel({ entries }: { entries: readonly LogEntry[] }) {
  return (
    <List
      title={text.overview.problems}
      all={{ to: "/logs", search: { levels: "WARN,ERROR" }, label: text.overview.allLogs }}
      rows={entries}
      rowKey={({ timestamp, message }) => `${timestamp} ${message}`}
      render={({ level, message, source, timestamp, requestId }) => (
        <Row
          to={{ to: "/logs", search: { levels: level, search: requestId ?? message.slice(0, 80) } }}
          lead={<LevelMark level={level} />}
          body={message}
          end={
            <>
              {source} · <RelativeTime at={timestamp} />
            </>
          }
        />
      )}
    />
  );
}

const RequestChart = lazy(async () => ({ default: (await import("./charts.tsx")).RequestChart }));
const LatencyChart = lazy(async () => ({ default: (await import("./charts.tsx")).LatencyChart }));

interface TrafficProps extends Pick<Overview, "requests" | "week"> {
  range: Range;
  onRange: (range: Range) => void;
}

export function TrafficPanel({ requests, week, range, onRange }: TrafficProps) {
  const slots = range === "hour" ? requests : week;
  const choice = (
    <SegmentedControl
      size="xs"
      aria-label={text.overview.range}
      data={choicesOf(text.overview.ranges)}
      value={range}
      onChange={onRange}
    />
  );
  return (
    <Panel title={text.overview.traffic} actions={choice}>
      {figuresOf(slots).requests === 0 ? (
        <Dim size="sm" p="md" pt="xs">
          {text.overview.noRequests[range]}
        </Dim>
      ) : (
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing={0}>
          <Figure title={text.overview.requestChart[range]} series={requestSeries} words={requestSummary(slots, range)}>
            <RequestChart slots={slots} range={range} />
          </Figure>
          <Figure title={text.overview.latencyChart[range]} series={latencySeries} words={latencySummary(slots, range)}>
            <LatencyChart slots={slots} range={range} />
          </Figure>
        </SimpleGrid>
      )}
    </Panel>
  );
}

function Figure(props: { title: string; series: readonly Series[]; words: string; children: ReactNode }) {
  const { title, series, words, children } = props;
  return (
    <Box p="8px 16px 12px" miw={0}>
      <Group gap="md" aria-hidden>
        <Text size="sm">{title}</Text>
        {series.map(({ name, label, color }) => (
          <Group key={name} gap={6} wrap="nowrap">
            <ColorSwatch color={`var(--mantine-color-${color.replace(".", "-")})`} size={8} withShadow={false} />
            <Dim>{label}</Dim>
          </Group>
        ))}
      </Group>
      <div role="img" aria-label={words}>
        <Suspense fallback={<Skeleton height={168} radius="sm" />}>{children}</Suspense>
      </div>
    </Box>
  );
}

/** The instances of a cluster, and how far the replicas are. */
export function ClusterPanel({ cluster: { instances, isJournalReached, leader } }: { cluster: ClusterOverview }) {
  const problem = isJournalReached ? leader === null && text.overview.noLeader : text.overview.noJournal;
  return (
    <Panel title={text.overview.cluster}>
      <Box px="md" pb="sm">
        {problem !== false && <Complaint>{problem}</Complaint>}
        <Facts>
          {instances.map((instance) => (
            <Fact key={instance.address} name={instance.address} value={stateOf(instance)} />
          ))}
        </Facts>
      </Box>
    </Panel>
  );
}

function stateOf({ isLive, role, lag }: ClusterInstance): ReactNode {
  if (!isLive) return <Complaint>{text.overview.gone}</Complaint>;
  return role === "leader" ? <b>{text.overview.leader}</b> : text.overview.behind(lag);
}
