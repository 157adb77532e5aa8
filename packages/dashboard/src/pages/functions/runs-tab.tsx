/** Runs of functions: first waiting and running runs, then ended runs. */
import { Group, VisuallyHidden } from "@mantine/core";
import type { FunctionRun } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { IconBolt, IconHistory, IconRefresh } from "../../icons/index.ts";
import {
  Action,
  actionColumn,
  type Column,
  DetailsDrawer,
  EmptyState,
  ErrorText,
  Example,
  type ExampleProps,
  FilterChoice,
  formatDuration,
  LinkAction,
  Mark,
  NothingFound,
  notifyError,
  PagedTable,
  StatusMark,
  Toolbar,
  timeColumn,
} from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import type { FunctionSearch } from "../search.ts";
import { askRetryAll, handlersQuery, retryableQuery, runListQuery, useCompleted, useRetry } from "./queries.ts";
import { RunDetails } from "./run-details.tsx";
import { type HandlerEntry, laterStates, rowKeyOf, shortName } from "./runs-of.ts";

interface RowState {
  /** For rows whose run ran again: the present state of the run. */
  later: ReturnType<typeof laterStates>;
  retry: (run: FunctionRun) => void;
  /** The id of the run with a retry under way. */
  busy: string | undefined;
}

/** The status of a row. An end with a later end of the same run is drawn without emphasis, because the earlier end needs no action. */
function RowStatus({ run, later }: { run: FunctionRun; later: FunctionRun["status"] | undefined }) {
  return (
    <span className="inline">
      {later === undefined || run.status !== "failed" ? (
        <StatusMark status={run.status} />
      ) : (
        <Mark tone="quiet" icon={IconHistory}>
          {text.functions.failedBefore}, {text.functions.later[later]}
        </Mark>
      )}
      {run.failures !== undefined && <span className="quiet">{text.functions.attempt(run.failures + 1)}</span>}
      <VisuallyHidden>, {text.functions.runOf(run.handler, shortName(run.filePath))}</VisuallyHidden>
    </span>
  );
}

function columnsOf({ later, retry, busy }: RowState): Column<FunctionRun>[] {
  return [
    {
      header: text.runs.status,
      width: 200,
      render: (run) => <RowStatus run={run} later={later.get(rowKeyOf(run))} />,
    },
    {
      header: text.functions.function,
      render: ({ handler, filePath }) => (
        <span className="mono">
          {shortName(filePath)} <span className="quiet">{handler}</span>
        </span>
      ),
    },
    {
      header: text.runs.error,
      render: (run) =>
        run.error !== null && <ErrorText value={run.error} isOneLine isPast={later.has(rowKeyOf(run))} />,
    },
    {
      header: text.runs.duration,
      align: "right",
      width: 100,
      render: ({ durationMs }) => durationMs !== null && formatDuration(durationMs),
    },
    timeColumn(text.functions.when, ({ endedAt, createdAt }) => endedAt ?? createdAt),
    actionColumn(
      90,
      (run) =>
        run.canRetry && (
          <Action
            label={text.runs.retry}
            size="compact-xs"
            loading={busy === run.runId}
            aria-label={text.functions.retryOf(run.handler, shortName(run.filePath))}
            onClick={() => retry(run)}
          />
        ),
    ),
  ];
}

interface FiltersProps {
  search: FunctionSearch;
  handlers: readonly HandlerEntry[];
  /** All runs that have failed for good. */
  failed: number;
  onFilter: (patch: FunctionSearch) => void;
}

function Filters({ search: { status, file }, handlers, failed, onFilter }: FiltersProps) {
  const names = new Set(handlers.map(({ filePath }) => filePath));
  // A deleted file may still have runs.
  const files = [...names, ...(file === undefined || names.has(file) ? [] : [file])].sort();
  return (
    <Toolbar label={text.functions.filters}>
      <FilterChoice
        words={text.status}
        label={text.functions.statusFilter}
        anyLabel={text.functions.anyStatus}
        value={status}
        onChange={(next) => onFilter({ status: next })}
      />
      <FilterChoice
        w={260}
        words={Object.fromEntries(files.map((value) => [value, shortName(value)]))}
        label={text.functions.fileFilter}
        anyLabel={text.functions.anyFile}
        value={file}
        onChange={(next) => onFilter({ file: next })}
        searchable
      />
      {failed > 0 && (
        <Group gap="xs" ml="auto">
          <LinkAction label={text.failures.see} to="/failures" search={{ kind: "function" }} />
          <Action
            icon={IconRefresh}
            label={text.functions.retryAll(failed)}
            onClick={() => askRetryAll(failed, file)}
          />
        </Group>
      )}
    </Toolbar>
  );
}

export function RunsTab({ search, onSearch }: { search: FunctionSearch; onSearch: (patch: FunctionSearch) => void }) {
  const { status, file, page, run: openRun } = search;
  const query = useQuery(runListQuery(search));
  const handlers = useQuery(handlersQuery);
  const retry = useRetry();
  const rows = query.data?.items ?? [];
  const completed = useCompleted(query.data?.items, file);
  const shownRun = rows.find(({ runId }) => runId === openRun);
  // The button applies to all pages of the current filter, not of the filter before.
  const hasFailed = !query.isPlaceholderData && rows.some(({ canRetry }) => canRetry);
  const retryable = useQuery({ ...retryableQuery(file), enabled: hasFailed });
  const failed = hasFailed ? (retryable.data ?? 0) : 0;
  const filter = (patch: FunctionSearch): void => onSearch({ ...patch, page: undefined });
  const retryOne = (run: FunctionRun): void =>
    retry.mutate(run, { onError: (error) => notifyError(text.functions.retryFailed, error) });
  return (
    <>
      <Filters search={search} handlers={handlers.data ?? []} failed={failed} onFilter={filter} />
      <PagedTable
        label={text.functions.tabs.runs}
        query={query}
        page={page}
        onPage={(next) => onSearch({ page: next })}
        columns={columnsOf({
          later: laterStates([...rows, ...completed]),
          retry: retryOne,
          busy: retry.isPending ? retry.variables.runId : undefined,
        })}
        rowKey={rowKeyOf}
        onOpen={({ runId }) => onSearch({ run: runId })}
        openKey={rows.filter(({ runId }) => runId === openRun).map(rowKeyOf)[0]}
        empty={
          <NoRuns
            isFiltered={status !== undefined || file !== undefined}
            hasHandlers={handlers.data?.length !== 0}
            onClear={() => filter({ status: undefined, file: undefined })}
          />
        }
      />
      <DetailsDrawer
        isOpen={openRun !== undefined}
        onClose={() => onSearch({ run: undefined })}
        title={
          shownRun === undefined ? text.runs.run : text.functions.runOf(shownRun.handler, shortName(shownRun.filePath))
        }
        size={620}
      >
        {openRun !== undefined && <RunDetails key={openRun} runId={openRun} listed={rows} />}
      </DetailsDrawer>
    </>
  );
}

function NoRuns(props: { isFiltered: boolean; hasHandlers: boolean; onClear: () => void }) {
  const { isFiltered, hasHandlers, onClear } = props;
  if (isFiltered) return <NothingFound icon={IconHistory} words={text.functions} onClear={onClear} />;
  if (!hasHandlers) return <NoFunctions />;
  return <EmptyState icon={IconHistory} title={text.functions.noRunsTitle} body={text.functions.noRunsBody} />;
}

export function NoFunctions() {
  return (
    <EmptyState icon={IconBolt} title={text.functions.emptyTitle} body={text.functions.emptyBody}>
      <Example {...useExample()} />
    </EmptyState>
  );
}

function exampleFor(collection: string): ExampleProps {
  return {
    path: `functions/${collection}/welcome.ts`,
    code: `export const options: FunctionOptions = {
  timeout: "10s",
  retries: 3,
};

export const onCreate: OnCreate<"${collection}"> = async (
  { record, logger },
) => {
  logger.info("A new record", { id: record.id });
};
`,
  };
}

export function useExample(): ExampleProps {
  const { data } = useQuery(collectionsQuery);
  return exampleFor(data?.[0]?.name ?? "posts");
}
