/** The waterfall of a trace (`/_/trace/{id}`): all that followed from a request, found by any part. */
import { Stack } from "@mantine/core";
import type { TraceSpan } from "@socle/protocol";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconCircleDashed } from "../../icons/index.ts";
import {
  type Column,
  Dim,
  FilledPage,
  formatDateTime,
  formatDuration,
  ListTable,
  Mark,
  StatusMark,
  TextLink,
  UserLink,
  visible,
  Warning,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { spanLink } from "./span-link.ts";
import classes from "./trace.module.css";
import { type WaterfallRow, waterfallOf } from "./waterfall.ts";

const route = getRouteApi("/inside/trace/$id");
const words = text.trace;
/** A trace grows while runs of the trace go on. */
const refreshMs = 2_000;

function traceQuery(id: string) {
  return queryOptions({
    queryKey: ["trace", id],
    queryFn: () => client.admin.trace(id),
    refetchInterval: ({ state }) =>
      state.data !== undefined && waterfallOf(state.data).some(({ span }) => isGoing(span)) ? refreshMs : false,
  });
}

function isGoing({ status }: TraceSpan): boolean {
  return status === "running" || status === "waiting";
}

/** The name of a span: a link to the page of the span, if the span has a page. */
function SpanName({ span }: { span: TraceSpan }) {
  const shown = span.kind === "transaction" ? "" : visible(span.name);
  const link = spanLink(span);
  return link === null ? shown : <TextLink {...link}>{shown}</TextLink>;
}

function Part({ span, depth }: WaterfallRow) {
  const { error } = span.details;
  return (
    <span className={classes["part"]} style={{ paddingLeft: depth * 14 }}>
      <span className={classes["kind"]}>{words.kinds[span.kind]}</span>
      <SpanName span={span} />
      {typeof error === "string" && <span className={classes["error"]}>{visible(error)}</span>}
    </span>
  );
}

function Line({ span: { status }, left, width }: WaterfallRow) {
  return (
    <span className={classes["line"]} aria-hidden>
      <span
        className={classes["bar"]}
        data-status={status}
        style={{ left: `min(${left}%, calc(100% - 3px))`, width: `${width}%` }}
      />
    </span>
  );
}

function SpanStatus({ span: { status } }: WaterfallRow) {
  if (status !== "unknown") return <StatusMark status={status} />;
  return (
    <Mark tone="quiet" icon={IconCircleDashed}>
      {words.unknown}
    </Mark>
  );
}

const columns: Column<WaterfallRow>[] = [
  { header: words.part, render: (row) => <Part {...row} /> },
  { header: words.status, width: 110, render: (row) => <SpanStatus {...row} /> },
  { header: words.starts, width: 100, align: "right", render: ({ startMs }) => words.after(formatDuration(startMs)) },
  {
    header: words.takes,
    width: 90,
    align: "right",
    render: ({ lengthMs }) => lengthMs !== null && formatDuration(lengthMs),
  },
  { header: words.line, width: "34%", narrow: "cell", render: (row) => <Line {...row} /> },
];

export function TracePage() {
  const { id } = route.useParams();
  const query = useQuery(traceQuery(id));
  const { data: trace } = query;
  const rows = trace === undefined ? undefined : waterfallOf(trace);
  const { traceparent: link, by } = trace?.root.details ?? {};
  return (
    <FilledPage title={words.title} note={rows === undefined ? undefined : words.spans(rows.length)}>
      {trace !== undefined && (
        <Stack gap={4} px={{ base: 12, sm: "md" }} py="xs">
          <Dim>
            {words.kinds[trace.root.kind]} <span className="mono">{trace.id}</span>,{" "}
            {formatDateTime(trace.root.startedAt)}
            {by !== undefined && (
              <>
                {words.by} <UserLink id={typeof by === "string" ? by : null} nobody={words.nobody} />
              </>
            )}
          </Dim>
          {typeof link === "string" && <Dim>{words.link(link)}</Dim>}
          {trace.truncated && <Warning>{words.truncated}</Warning>}
          {trace.trimmed && <Warning>{words.trimmed}</Warning>}
        </Stack>
      )}
      <ListTable
        label={words.title}
        query={query}
        rows={rows}
        columns={columns}
        rowKey={({ span }) => `${span.kind} ${span.id}`}
        empty={words.empty}
      />
    </FilledPage>
  );
}
