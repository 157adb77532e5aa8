/** The inbox of failures (`/_/failures`): a row for each cause, with a drawer of its runs, its retry and its status. */
import { Group, Text } from "@mantine/core";
import type { FailureGroup } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconAlertTriangle, IconCircleCheck, IconHistory, IconPlayerPause, IconRefresh } from "../../icons/index.ts";
import {
  Action,
  actionColumn,
  type Column,
  DetailsDrawer,
  DetailsSection,
  EmptyState,
  ErrorBlock,
  ErrorState,
  Fact,
  Facts,
  FilledPage,
  FilterChoice,
  formatNumber,
  ListTable,
  Mark,
  NothingFound,
  TextLink,
  type Tone,
  Toolbar,
  timeColumn,
  visible,
  WholeTime,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { FailureSearch } from "../search.ts";
import { actsOf, askRetry, failureQuery, failuresQuery, useFailureAct } from "./queries.ts";

const route = getRouteApi("/inside/failures");
const words = text.failures;

const marks: { readonly [status in FailureGroup["status"]]: { tone: Tone; icon: typeof IconHistory } } = {
  open: { tone: "bad", icon: IconAlertTriangle },
  muted: { tone: "quiet", icon: IconPlayerPause },
  resolved: { tone: "good", icon: IconCircleCheck },
};

function FailureMark({ status, seenAgain }: FailureGroup) {
  if (seenAgain)
    return (
      <Mark tone="bad" icon={IconHistory}>
        {words.seenAgain}
      </Mark>
    );
  return <Mark {...marks[status]}>{words.statuses[status]}</Mark>;
}

function placeOf({ file, line }: FailureGroup): string {
  return `${file ?? ""}${line === null ? "" : `:${line}`}`;
}

/** The buttons of a group. */
function Acts({ group }: { group: FailureGroup }) {
  const act = useFailureAct();
  const named = (label: string) => ({ label, size: "compact-xs", "aria-label": words.actOf(label, group.message) });
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      {group.canRetry && <Action {...named(words.retry)} icon={IconRefresh} onClick={() => askRetry(group)} />}
      {actsOf(group).map((each) => (
        <Action
          key={each}
          {...named(words.acts[each])}
          loading={act.isPending && act.variables.act === each}
          onClick={() => act.mutate({ id: group.id, act: each })}
        />
      ))}
    </Group>
  );
}

const columns: Column<FailureGroup>[] = [
  { header: words.message, render: ({ message }) => visible(message) },
  { header: words.place, width: "24%", render: (group) => <span className="mono">{placeOf(group)}</span> },
  { header: words.kind, width: 90, render: ({ kind }) => words.kinds[kind] },
  { header: words.count, width: 70, align: "right", render: ({ count }) => formatNumber(count) },
  timeColumn(words.last, ({ last }) => last),
  { header: words.status, width: 120, render: (group) => <FailureMark {...group} /> },
  actionColumn(230, (group) => <Acts group={group} />),
];

export function FailuresPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(failuresQuery(search));
  const set = (patch: FailureSearch): void => void navigate({ search: (old) => ({ ...old, ...patch }) });
  const isFiltered = search.status !== undefined || search.kind !== undefined;
  return (
    <FilledPage title={words.title} note={query.data === undefined ? undefined : formatNumber(query.data.items.length)}>
      <Toolbar label={words.filters}>
        <FilterChoice
          w={150}
          words={words.otherStatuses}
          label={words.statusFilter}
          anyLabel={words.onlyOpen}
          value={search.status}
          onChange={(status) => set({ status })}
        />
        <FilterChoice
          w={150}
          words={words.kinds}
          label={words.kindFilter}
          anyLabel={words.anyKind}
          value={search.kind}
          onChange={(kind) => set({ kind })}
        />
      </Toolbar>
      <ListTable
        label={words.title}
        query={query}
        rows={query.data?.items}
        isOld={query.isPlaceholderData}
        columns={columns}
        rowKey={({ id }) => id}
        onOpen={({ id }) => set({ group: id })}
        openKey={search.group}
        empty={
          isFiltered ? (
            <NothingFound
              icon={IconCircleCheck}
              words={words}
              onClear={() => set({ status: undefined, kind: undefined })}
            />
          ) : (
            <EmptyState icon={IconCircleCheck} title={words.empty} body={words.emptyBody} />
          )
        }
      />
      <DetailsDrawer
        isOpen={search.group !== undefined}
        onClose={() => set({ group: undefined })}
        title={words.title}
        size={620}
      >
        {search.group !== undefined && <FailureDetails id={search.group} />}
      </DetailsDrawer>
    </FilledPage>
  );
}

function FailureDetails({ id }: { id: string }) {
  const { data: group, error, refetch } = useQuery(failureQuery(id));
  if (group === undefined) return error === null ? null : <ErrorState error={error} onRetry={refetch} />;
  const { retry } = group;
  return (
    <>
      <DetailsSection title={words.message} actions={<Acts group={group} />}>
        <Text mb="sm">{visible(group.message)}</Text>
        <Facts>
          <Fact name={words.status} value={<FailureMark {...group} />} />
          <Fact name={words.kind} value={words.kinds[group.kind]} />
          {group.file !== null && <Fact name={words.place} value={placeOf(group)} isMono />}
          <Fact name={words.count} value={formatNumber(group.count)} />
          <Fact name={words.first} value={<WholeTime at={group.first} />} />
          <Fact name={words.last} value={<WholeTime at={group.last} />} />
          {retry !== null && (
            <Fact
              name={words.lastRetry}
              value={<span role="status">{words.progress(retry.done, retry.total, retry.failed)}</span>}
            />
          )}
        </Facts>
      </DetailsSection>
      {retry !== null && retry.error !== null && <ErrorBlock value={retry.error} />}
      <DetailsSection title={words.example}>
        <ErrorBlock value={group.example} />
      </DetailsSection>
      <DetailsSection title={words.lastRuns}>
        {group.runs.map((run) => (
          <div key={run}>
            <RunLink group={group} run={run} />
          </div>
        ))}
      </DetailsSection>
      {group.records.length > 0 && (
        <DetailsSection title={words.lastRecords}>
          <span className="mono">{group.records.join(", ")}</span>
        </DetailsSection>
      )}
    </>
  );
}

/** The page that shows a run of the kind. A hook has no list of runs: the log has the run. */
function RunLink({ group: { kind, file }, run }: { group: FailureGroup; run: string }) {
  const job = /^jobs\/(\w[^/]*)\.[a-z]+$/.exec(file ?? "")?.[1];
  if (kind === "mail")
    return (
      <TextLink to="/mails" search={{ mail: run }}>
        {run}
      </TextLink>
    );
  if (kind === "hook" || ((kind === "job" || kind === "queue") && job === undefined))
    return (
      <TextLink to="/logs" search={{ search: run }}>
        {run}
      </TextLink>
    );
  if (kind === "job" || kind === "queue")
    return (
      <TextLink to="/jobs" search={{ job, run }}>
        {run}
      </TextLink>
    );
  return (
    <TextLink to="/functions" search={{ tab: "runs", run }}>
      {run}
    </TextLink>
  );
}
