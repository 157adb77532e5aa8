/** A running import, and its result. */
import { Group, Progress, Stack, Text } from "@mantine/core";
import { useState, useSyncExternalStore } from "react";
import { IconDownload, IconPlayerPause, IconPlayerPlay, IconTable } from "../../icons/index.ts";
import {
  Action,
  type Column,
  DataTable,
  Dim,
  formatDuration,
  LeaveGuard,
  LinkAction,
  messageOf,
  Notice,
  offsetOf,
  Pager,
  Panel,
  pageSize,
  saveBlob,
  UndoAction,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { LoadedSource } from "./file-step.tsx";
import type { ImportRun, RejectedRow, RunState } from "./run/import-run.ts";
import type { ImportPlan, RowProblem } from "./run/prepare.ts";
import { rejectedFile } from "./run/rejected-file.ts";

export function RunPanel(props: { run: ImportRun; source: LoadedSource; plan: ImportPlan; onAgain: () => void }) {
  const { run, source, plan, onAgain } = props;
  const state = useSyncExternalStore(run.subscribe, run.state);
  const isRunning = state.phase === "running";
  const isOver = ["done", "cancelled", "failed"].includes(state.phase);

  const download = (): void => {
    const { parts, extension, type } = rejectedFile(state.kept, source.format, source.columns);
    const base = source.file.name.replace(/\.[^.]*$/, "").replace(/-rejected$/, "");
    saveBlob(new Blob(parts, { type }), `${base}-rejected.${extension}`);
  };

  return (
    <Stack gap="md">
      <LeaveGuard
        isActive={!isOver}
        title={text.import.leaveTitle}
        body={text.import.leaveBody}
        action={text.import.leave}
      />
      <Panel title={source.file.name}>
        <Stack gap="sm" p="md" pt="xs">
          <Progress
            value={state.part * 100}
            size="lg"
            aria-label={text.import.progress}
            color={state.phase === "failed" ? "red.8" : "verdigris"}
            animated={isRunning}
          />
          <Group justify="space-between" gap="sm">
            <Group gap="md" className="numbers">
              <Text fw={600} role="status" size="sm">
                {phaseText(state)}
              </Text>
              <Text size="sm">
                {plan.match === null ? text.import.created(state.stored) : text.import.updated(state.stored)}
              </Text>
              <Text size="sm" c={state.rejected > 0 ? "var(--mantine-color-error)" : "dimmed"}>
                {text.import.rejected(state.rejected)}
              </Text>
              {state.skipped > 0 && <Dim size="sm">{text.import.skipped(state.skipped)}</Dim>}
              {isRunning && state.rowsPerSecond !== null && (
                <Dim size="sm">{text.import.speed(Math.round(state.rowsPerSecond))}</Dim>
              )}
              {isRunning && state.secondsLeft !== null && (
                <Dim size="sm">{text.import.left(formatDuration(Math.ceil(state.secondsLeft) * 1_000))}</Dim>
              )}
            </Group>
            <Group gap="xs">
              {isOver ? (
                <>
                  {state.stored > 0 && <UndoAction label={text.undo.import} selection={{ import: run.id }} />}
                  <Action label={text.import.again} onClick={onAgain} />
                  <LinkAction
                    icon={IconTable}
                    label={text.import.openRecords}
                    to="/collections/$name"
                    params={{ name: plan.collection }}
                    variant="filled"
                  />
                </>
              ) : (
                <>
                  <PauseButton run={run} isPaused={state.phase === "paused"} />
                  <Action label={text.import.stop} onClick={() => run.cancel()} />
                </>
              )}
            </Group>
          </Group>
          {state.phase === "failed" && <Notice tone="bad">{messageOf(state.error)}</Notice>}
        </Stack>
      </Panel>
      {state.kept.length > 0 && (
        <Panel
          title={text.import.rejectedTitle}
          actions={<Action icon={IconDownload} label={text.import.download} variant="light" onClick={download} />}
        >
          <Dim px="md" pb="xs">
            {text.import.downloadHint}
            {state.rejected > state.kept.length && ` ${text.import.keptOnly(state.kept.length, state.rejected)}`}
          </Dim>
          <RejectedTable rejected={state.kept} />
        </Panel>
      )}
    </Stack>
  );
}

function phaseText(state: RunState): string {
  return state.phase === "waiting" ? text.import.waitSeconds(state.waitSeconds) : text.import.phases[state.phase];
}

function PauseButton({ run, isPaused }: { run: ImportRun; isPaused: boolean }) {
  return isPaused ? (
    <Action icon={IconPlayerPlay} label={text.import.resume} onClick={() => run.resume()} variant="filled" />
  ) : (
    <Action icon={IconPlayerPause} label={text.import.pause} onClick={() => run.pause()} />
  );
}

interface Row extends RowProblem {
  readonly key: string;
  /** The number of the row in the file; null below the first problem of the row. */
  readonly number: number | null;
}

const columns: Column<Row>[] = [
  { header: text.import.row, width: 88, render: ({ number }) => number },
  {
    header: text.import.rejectedField,
    width: 180,
    render: ({ field }) => field ?? <Dim size="sm">{text.import.wholeRow}</Dim>,
  },
  {
    header: text.import.rejectedReason,
    render: ({ message }) => <span style={{ whiteSpace: "normal", overflowWrap: "anywhere" }}>{message}</span>,
  },
];

function rowsOf({ row, problems }: RejectedRow): Row[] {
  return problems.map((problem, i) => ({
    ...problem,
    key: `${row.number} ${problem.field} ${problem.message}`,
    number: i === 0 ? row.number : null,
  }));
}

function RejectedTable({ rejected }: { rejected: readonly RejectedRow[] }) {
  const [page, setPage] = useState(1);
  const from = offsetOf(page);
  const rows = rejected.slice(from, from + pageSize).flatMap(rowsOf);
  return (
    <>
      <DataTable label={text.import.rejectedTitle} columns={columns} rows={rows} rowKey={({ key }) => key} />
      <Pager page={page} total={rejected.length} onPage={(next = 1) => setPage(next)} />
    </>
  );
}
