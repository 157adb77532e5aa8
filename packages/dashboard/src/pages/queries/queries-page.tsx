/** Slow queries (`/_/queries`): groups of the log, each with its times and the proposed index; a drawer adds the index and compares the plans. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconGauge } from "../../icons/index.ts";
import {
  CodeText,
  type Column,
  DetailsDrawer,
  Dim,
  EmptyState,
  FilledPage,
  formatDuration,
  formatNumber,
  ListTable,
  timeColumn,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { type SlowQuery, slowQueriesOf } from "../overview/figures.ts";
import { proposalsOf } from "./proposals.ts";
import classes from "./queries.module.css";
import { QueryDetails } from "./query-details.tsx";

const route = getRouteApi("/inside/queries");
const words = text.queries;

/** Entries that are read, and the interval of the reads. */
const most = 1_000;
const refreshMs = 15_000;

const columns: Column<SlowQuery>[] = [
  {
    header: words.shape,
    render: ({ shape }) => <span className="mono">{shape === "" ? words.wholeList : shape}</span>,
  },
  { header: words.collection, width: 140, render: ({ collection }) => collection },
  { header: words.times, width: 80, align: "right", render: ({ count }) => formatNumber(count) },
  { header: words.median, width: 90, align: "right", render: ({ medianMs }) => formatDuration(medianMs) },
  { header: words.longest, width: 90, align: "right", render: ({ slowestMs }) => formatDuration(slowestMs) },
  timeColumn(words.last, ({ newest }) => newest.timestamp),
  {
    header: words.index,
    width: 220,
    render: ({ index }) => {
      const fields = proposalsOf(index).map((proposal) => proposal.fields.join(", "));
      return fields.length === 0 ? (
        <span className="quiet">{words.noIndex}</span>
      ) : (
        <span className="mono">{fields.join("; ")}</span>
      );
    },
  },
];

export function QueriesPage() {
  const { query: key } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery({
    queryKey: ["queries", "slow"],
    queryFn: async () => {
      const { items } = await client.admin.logs({ level: "WARN", search: text.overview.slowMessage, limit: most });
      return slowQueriesOf(items.toReversed());
    },
    refetchInterval: refreshMs,
  });
  const open = (next: string | undefined): void => void navigate({ search: { query: next } });
  const opened = query.data?.find((group) => group.key === key);
  return (
    <FilledPage title={words.title} note={query.data === undefined ? undefined : formatNumber(query.data.length)}>
      <Dim className={classes["note"] ?? ""}>
        <CodeText text={words.note} />
      </Dim>
      <ListTable
        label={words.title}
        query={query}
        rows={query.data}
        columns={columns}
        rowKey={(group) => group.key}
        onOpen={(group) => open(group.key)}
        openKey={key}
        empty={<EmptyState icon={IconGauge} title={words.empty} body={words.emptyBody} />}
      />
      <DetailsDrawer isOpen={opened !== undefined} onClose={() => open(undefined)} title={words.title} size={680}>
        {opened !== undefined && <QueryDetails key={opened.key} group={opened} />}
      </DetailsDrawer>
    </FilledPage>
  );
}
