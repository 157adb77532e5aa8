/** The files of functions: the events of each file, its options, its last failure. A row leads to the runs of its file. */
import { Tooltip, VisuallyHidden } from "@mantine/core";
import type { FunctionEntry } from "@socle/protocol";
import { IconCircleX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import {
  type Column,
  ErrorState,
  formatDuration,
  formatNumber,
  ListTable,
  Mark,
  RelativeTime,
  TextLink,
} from "../../kit/index.ts";
import { useScriptFiles } from "../../service/scripts.ts";
import { text } from "../../texts/index.ts";
import classes from "./functions.module.css";
import { NoFunctions } from "./no-functions.tsx";
import { failuresQuery, handlersQuery, retriedQuery, useCompleted } from "./queries.ts";
import { filesOf, type HandlerFile, laterStates, rowKeyOf } from "./runs-of.ts";

/** Most characters of an error in a tooltip. */
const longest = 240;

const columns: Column<HandlerFile>[] = [
  {
    header: text.runs.file,
    render: ({ filePath, problem }) => (
      <span className={`inline ${classes["file"]}`}>
        <span className={`mono ${classes["path"]}`}>{filePath}</span>
        {problem !== null && (
          <Mark tone="bad" icon={IconCircleX}>
            {text.scripts.notLoaded}
          </Mark>
        )}
      </span>
    ),
  },
  { header: text.functions.collection, narrow: "hidden", render: ({ collection }) => collection },
  {
    header: text.functions.handlers,
    render: ({ handlers }) =>
      handlers.length > 0 && (
        <ul className={`plain ${classes["handlers"]}`}>
          {handlers.map(({ handler, eventType, calls }) => (
            <li key={handler}>
              <span className="mono">{handler}</span> <span className="quiet">{eventType}</span>
              {calls !== undefined && <HookCalls calls={calls} />}
            </li>
          ))}
        </ul>
      ),
  },
  {
    header: text.runs.timeout,
    align: "right",
    width: 90,
    narrow: "hidden",
    render: ({ timeout }) => timeout !== null && formatDuration(timeout),
  },
  {
    header: text.runs.retries,
    align: "right",
    width: 80,
    narrow: "hidden",
    render: ({ retries }) => retries !== null && formatNumber(retries),
  },
  {
    header: text.scripts.loaded,
    width: 120,
    narrow: "hidden",
    render: ({ loadedAt }) =>
      loadedAt === null ? <span className="quiet">{text.common.never}</span> : <RelativeTime at={loadedAt} />,
  },
  {
    header: text.functions.lastFailure,
    width: 170,
    render: ({ filePath, lastFailure }) => <LastFailure filePath={filePath} run={lastFailure} />,
  },
];

/** The calls of a hook since the start of the service. */
function HookCalls({ calls: { passed, refused, failed } }: { calls: NonNullable<FunctionEntry["calls"]> }) {
  const counts = { passed: formatNumber(passed), refused: formatNumber(refused), failed: formatNumber(failed) };
  return <span className="quiet"> · {text.functions.calls(counts)}</span>;
}

function LastFailure({ filePath, run }: { filePath: string; run: HandlerFile["lastFailure"] }) {
  if (run === null) return <span className="quiet">{text.functions.noFailure}</span>;
  return (
    <Tooltip label={run.error?.slice(0, longest)} disabled={run.error === null} multiline maw={420}>
      <TextLink
        to="/functions"
        search={{ tab: "runs", file: filePath, run: run.runId }}
        // The hidden text stays inside this element. Outside, a wide table would widen the page.
        pos="relative"
      >
        <VisuallyHidden>{text.functions.failureOf(filePath)} </VisuallyHidden>
        <Mark tone="bad" icon={IconCircleX}>
          {run.failures === undefined ? <RelativeTime at={run.endedAt ?? run.createdAt} /> : text.functions.triedAgain}
        </Mark>
      </TextLink>
    </Tooltip>
  );
}

export function HandlersTab({ onRuns }: { onRuns: (file: string) => void }) {
  const handlers = useQuery(handlersQuery);
  const failures = useQuery(failuresQuery);
  const files = useScriptFiles("function");
  const { data: triedAgain = [] } = useQuery(retriedQuery);
  const later = laterStates([...(failures.data ?? []), ...useCompleted(failures.data)]);
  // A failure with a later success needs no attention.
  const failed = (failures.data ?? []).filter((run) => !later.has(rowKeyOf(run)));
  return (
    <>
      {failures.isError && <ErrorState error={failures.error} onRetry={failures.refetch} />}
      <ListTable
        query={handlers}
        empty={<NoFunctions />}
        label={text.functions.tabs.handlers}
        columns={columns}
        rows={handlers.data && filesOf(handlers.data, [...triedAgain, ...failed], files ?? [])}
        rowKey={({ filePath }) => filePath}
        onOpen={({ filePath }) => onRuns(filePath)}
      />
    </>
  );
}
