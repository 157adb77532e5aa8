/** Runs of functions: first waiting and running runs, then ended runs. */
import { Button, Select, VisuallyHidden } from "@mantine/core";
import type { FunctionRun } from "@socle/protocol";
import { IconHistory, IconRefresh } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import {
  type Column,
  DetailsDrawer,
  EmptyState,
  ErrorText,
  formatDuration,
  Mark,
  notifyError,
  PagedTable,
  RelativeTime,
  StatusMark,
  Toolbar,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./functions.module.css";
import { NoFunctions } from "./no-functions.tsx";
import { handlersQuery, runListQuery, useCompleted } from "./queries.ts";
import { RunDetails } from "./run-details.tsx";
import { laterStates, rowKeyOf, shortName } from "./runs-of.ts";
import { type FunctionSearch, runStatuses } from "./search.ts";
import { askRetryAll, useRetry } from "./use-retry.ts";

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
    <span className={classes["status"]}>
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
      key: "status",
      header: text.functions.status,
      width: 200,
      render: (run) => <RowStatus run={run} later={later.get(rowKeyOf(run))} />,
    },
    {
      key: "function",
      header: text.functions.function,
      render: ({ handler, filePath }) => (
        <span className="mono">
          {shortName(filePath)} <span className="quiet">{handler}</span>
        </span>
      ),
    },
    {
      key: "error",
      header: text.functions.error,
      render: (run) =>
        run.error !== null && <ErrorText value={run.error} isOneLine isPast={later.has(rowKeyOf(run))} />,
    },
    {
      key: "duration",
      header: text.functions.duration,
      align: "right",
      width: 100,
      render: ({ durationMs }) => durationMs !== null && formatDuration(durationMs),
    },
    {
      key: "when",
      header: text.functions.when,
      width: 120,
      render: ({ endedAt, createdAt }) => <RelativeTime at={endedAt ?? createdAt} />,
    },
    {
      key: "action",
      header: text.functions.action,
      isHeaderHidden: true,
      align: "right",
      width: 90,
      narrow: "cell",
      render: (run) =>
        run.canRetry && (
          <Button
            size="compact-xs"
            variant="default"
            loading={busy === run.runId}
            aria-label={text.functions.retryOf(run.handler, shortName(run.filePath))}
            onClick={() => retry(run)}
          >
            {text.functions.retry}
          </Button>
        ),
    },
  ];
}

export function RunsTab({ search, onSearch }: { search: FunctionSearch; onSearch: (patch: FunctionSearch) => void }) {
  const { status, file, page, run: openRun } = search;
  const query = useQuery(runListQuery(search));
  const handlers = useQuery(handlersQuery);
  const retry = useRetry();
  const rows = query.data?.items ?? [];
  const completed = useCompleted(query.data?.items, file);
  const shownRun = rows.find(({ runId }) => runId === openRun);
  // The button applies to the rows of the current filter, not to the rows of the filter before.
  const failed = query.isPlaceholderData ? [] : rows.filter(({ canRetry }) => canRetry);
  const names = new Set((handlers.data ?? []).map(({ filePath }) => filePath));
  // A deleted file may still have runs.
  const files = [...names, ...(file === undefined || names.has(file) ? [] : [file])].sort();
  const filter = (patch: FunctionSearch): void => onSearch({ ...patch, page: undefined });
  const retryOne = (run: FunctionRun): void =>
    retry.mutate(run, { onError: (error) => notifyError(text.functions.retryFailed, error) });
  return (
    <>
      <Toolbar label={text.functions.filters}>
        <Select
          size="xs"
          w={150}
          aria-label={text.functions.statusFilter}
          placeholder={text.functions.anyStatus}
          data={runStatuses.map((value) => ({ value, label: text.status[value] }))}
          value={status ?? null}
          onChange={(value) => filter({ status: runStatuses.find((each) => each === value) })}
          clearable
          clearButtonProps={{ "aria-label": text.functions.anyStatus }}
        />
        <Select
          size="xs"
          w={260}
          maw="100%"
          aria-label={text.functions.fileFilter}
          placeholder={text.functions.anyFile}
          data={files.map((value) => ({ value, label: shortName(value) }))}
          value={file ?? null}
          onChange={(value) => filter({ file: value ?? undefined })}
          searchable
          clearable
          limit={100}
          clearButtonProps={{ "aria-label": text.functions.anyFile }}
        />
        {failed.length > 0 && (
          <Button
            size="xs"
            variant="default"
            ml="auto"
            leftSection={<IconRefresh size={14} />}
            onClick={() => askRetryAll(failed)}
          >
            {text.functions.retryAll(failed.length)}
          </Button>
        )}
      </Toolbar>
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
          <div className="fills">
            <NoRuns
              isFiltered={status !== undefined || file !== undefined}
              hasHandlers={handlers.data?.length !== 0}
              onClear={() => filter({ status: undefined, file: undefined })}
            />
          </div>
        }
      />
      <DetailsDrawer
        isOpen={openRun !== undefined}
        onClose={() => onSearch({ run: undefined })}
        title={
          shownRun === undefined
            ? text.functions.run
            : text.functions.runOf(shownRun.handler, shortName(shownRun.filePath))
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
  if (isFiltered)
    return (
      <EmptyState icon={IconHistory} title={text.functions.nothingFound} body={text.functions.nothingFoundBody}>
        <Button variant="default" size="xs" onClick={onClear}>
          {text.table.clearFilters}
        </Button>
      </EmptyState>
    );
  if (!hasHandlers) return <NoFunctions />;
  return <EmptyState icon={IconHistory} title={text.functions.noRunsTitle} body={text.functions.noRunsBody} />;
}
