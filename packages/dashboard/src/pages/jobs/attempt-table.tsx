/** The attempts of a job, the newest first. A click on a row opens its run. */
import { VisuallyHidden } from "@mantine/core";
import type { JobRun } from "@socle/protocol";
import {
  type Column,
  DataTable,
  Dim,
  ErrorText,
  formatDateTime,
  formatDuration,
  StatusMark,
  timeColumn,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { durationOf } from "./job-runs.ts";
import classes from "./jobs.module.css";

/** Most rows in the table. */
const room = 100;

const columns: Column<JobRun>[] = [
  {
    header: text.runs.status,
    width: 110,
    render: ({ status, attempt, startedAt }) => (
      <>
        <StatusMark status={status} />
        <VisuallyHidden>, {text.jobs.attemptOf(attempt, formatDateTime(startedAt))}</VisuallyHidden>
      </>
    ),
  },
  timeColumn(text.jobs.startedAt, ({ startedAt }) => startedAt),
  { header: text.jobs.attempt, align: "right", width: 70, render: ({ attempt }) => attempt },
  {
    header: text.runs.duration,
    align: "right",
    width: 80,
    render: (run) => {
      const duration = durationOf(run);
      return duration !== null && formatDuration(duration);
    },
  },
  { header: text.runs.error, render: ({ error }) => error !== undefined && <ErrorText value={error} isOneLine /> },
];

function keyOf({ runId, attempt }: JobRun): string {
  return `${runId} ${attempt}`;
}

interface AttemptTableProps {
  attempts: readonly JobRun[];
  /** The number of attempts that the service keeps. */
  total: number;
  shownId: string | undefined;
  onRun: (runId: string) => void;
}

export function AttemptTable({ attempts, total, shownId, onRun }: AttemptTableProps) {
  const shown = attempts.slice(0, room);
  return (
    <div className={classes["attempts"]}>
      <DataTable
        label={text.jobs.attempts}
        columns={columns}
        rows={shown}
        rowKey={keyOf}
        onOpen={({ runId }) => onRun(runId)}
        openKey={shown.filter(({ runId }) => runId === shownId).map(keyOf)[0]}
      />
      {total > shown.length && <Dim p="xs">{text.jobs.moreAttempts(total - shown.length)}</Dim>}
    </div>
  );
}
