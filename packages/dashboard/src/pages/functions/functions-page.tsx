/** Functions (`/_/functions`): the loaded handlers, and their runs. */
import { Tabs, Tooltip, VisuallyHidden } from "@mantine/core";
import type { FunctionEntry } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconCircleX } from "../../icons/index.ts";
import {
  type Column,
  ErrorState,
  ExampleButton,
  FilledPage,
  formatDuration,
  formatNumber,
  ListTable,
  Mark,
  RelativeTime,
  ScriptProblems,
  TextLink,
} from "../../kit/index.ts";
import { useLiveRefresh, useScriptFiles } from "../../service/live.ts";
import { text } from "../../texts/index.ts";
import type { FunctionSearch } from "../search.ts";
import classes from "./functions.module.css";
import { failuresQuery, functionChannels, handlersQuery, retriedQuery, useCompleted } from "./queries.ts";
import { filesOf, type HandlerFile, laterStates, rowKeyOf } from "./runs-of.ts";
import { NoFunctions, RunsTab, useExample } from "./runs-tab.tsx";

const route = getRouteApi("/inside/functions");

export function FunctionsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useLiveRefresh(functionChannels, [["functions"], ["run-log"]]);
  const files = useScriptFiles("function");
  const example = useExample();
  const set = (patch: FunctionSearch): void => void navigate({ search: (old) => ({ ...old, ...patch }) });
  return (
    <FilledPage
      title={text.functions.title}
      actions={<ExampleButton label={text.functions.new} title={text.functions.newTitle} {...example} />}
    >
      <ScriptProblems files={files} />
      <Tabs
        value={search.tab ?? "handlers"}
        // A filter of a view does not apply to the other view.
        onChange={(tab) => void navigate({ search: tab === "runs" ? { tab } : {}, replace: true })}
        className="stretch"
        keepMounted={false}
      >
        <Tabs.List px="sm" aria-label={text.functions.tabsLabel}>
          <Tabs.Tab value="handlers">{text.functions.tabs.handlers}</Tabs.Tab>
          <Tabs.Tab value="runs">{text.functions.tabs.runs}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="handlers" className="stretch">
          <HandlersTab onRuns={(file) => set({ tab: "runs", file })} />
        </Tabs.Panel>
        <Tabs.Panel value="runs" className="stretch">
          <RunsTab search={search} onSearch={set} />
        </Tabs.Panel>
      </Tabs>
    </FilledPage>
  );
}

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

function HandlersTab({ onRuns }: { onRuns: (file: string) => void }) {
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
