/** Drawer of a job: its options, its last runs, a chosen run with error and log, all attempts. */
import { Tooltip, UnstyledButton, VisuallyHidden } from "@mantine/core";
import type { JobEntry, JobRun } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { IconCheck, IconPlayerPlayFilled, IconTimeline, IconX } from "../../icons/index.ts";
import {
  type Column,
  DataTable,
  DetailsSection,
  Dim,
  ErrorBlock,
  ErrorText,
  Fact,
  Facts,
  formatDateTime,
  formatDuration,
  formatNumber,
  LinkAction,
  lastStack,
  QueryView,
  RowsSkeleton,
  RunLog,
  RunPreview,
  SourceBlock,
  StatusMark,
  timeColumn,
  UndoAction,
  WholeTime,
} from "../../kit/index.ts";
import { useRunLog } from "../../service/live.ts";
import { text } from "../../texts/index.ts";
import { cronWords } from "./cron-words.ts";
import { barHeight, durationOf, isOpen, runsOf, type WholeRun } from "./job-runs.ts";
import classes from "./jobs.module.css";
import { attemptsQuery } from "./queries.ts";
import { EnqueueButton, QueuedPayload, QueueFacts, QueueRuns, RunNow, startJob } from "./queue.tsx";

/** Most bars in the time line. */
const room = 20;

interface JobDetailsProps {
  job: JobEntry;
  /** The shown run; undefined shows the newest run. */
  runId: string | undefined;
  onRun: (runId: string) => void;
  /** Opens the dialog that adds a run to the queue. */
  onEnqueue: () => void;
}

export function JobDetails({ job, runId, onRun, onEnqueue }: JobDetailsProps) {
  const query = useQuery(attemptsQuery(job));
  return (
    <>
      <DetailsSection
        title={job.queue === null ? text.jobs.about : text.jobs.queue.name}
        actions={
          job.queue === null ? (
            <RunNow name={job.name} onStarted={onRun} />
          ) : (
            <EnqueueButton name={job.name} onOpen={onEnqueue} />
          )
        }
      >
        {job.queue === null ? <JobFacts job={job} /> : <QueueFacts job={job} queue={job.queue} />}
      </DetailsSection>
      {job.queue !== null && <QueueRuns job={job} shownId={runId} onRun={onRun} />}
      <QueryView query={query} skeleton={<RowsSkeleton rows={4} height={32} />}>
        {({ items, total }) => <Runs job={job} attempts={items} total={total} runId={runId} onRun={onRun} />}
      </QueryView>
    </>
  );
}

interface RunsProps extends Pick<JobDetailsProps, "job" | "runId" | "onRun"> {
  attempts: readonly JobRun[];
  total: number;
}

/** The last runs as bars, the chosen run, all attempts. */
function Runs({ job, attempts, total, runId, onRun }: RunsProps) {
  const runs = runsOf(attempts);
  const shown = runId === undefined ? runs[0] : runs.find((run) => run.runId === runId);
  return (
    <>
      <DetailsSection title={text.jobs.lastRuns}>
        {runs.length === 0 ? (
          <Dim size="sm">{job.queue === null ? text.jobs.noRuns : text.jobs.queue.noRuns}</Dim>
        ) : (
          <TimeLine runs={runs.slice(0, room)} shownId={shown?.runId} onRun={onRun} />
        )}
      </DetailsSection>
      {shown !== undefined && (
        <JobRunDetails
          key={shown.runId}
          run={shown}
          attempts={attempts.filter((attempt) => attempt.runId === shown.runId)}
          isOpen={isOpen(shown.last, job.retries, Date.now())}
        />
      )}
      {job.queue === null && shown !== undefined && (
        <RunPreview key={`preview of ${shown.runId}`} runId={shown.runId} replay={() => startJob(job.name, onRun)} />
      )}
      {job.queue !== null && <QueuedPayload name={job.name} runId={runId ?? shown?.runId} />}
      {shown === undefined && runId !== undefined && job.queue === null && (
        <NoSuchRun attempts={attempts} runId={runId} />
      )}
      {total > 0 && (
        <DetailsSection title={text.jobs.attempts}>
          <AttemptTable attempts={attempts} total={total} shownId={shown?.runId} onRun={onRun} />
        </DetailsSection>
      )}
    </>
  );
}

/** The notice for a run that is not in the list: too old, or too new to have a stored attempt. */
function NoSuchRun({ attempts, runId }: { attempts: readonly JobRun[]; runId: string }) {
  // Ids of runs begin with their time.
  const isNewer = attempts.every((attempt) => attempt.runId < runId);
  return (
    <DetailsSection title={text.runs.run}>
      <Dim size="sm" role="status">
        {isNewer ? text.jobs.runSoon : text.jobs.runGone}
      </Dim>
    </DetailsSection>
  );
}

function JobFacts({ job }: { job: JobEntry }) {
  const { schedule, timezone, nextRun, filePath, timeout, retries, overlap, catchUp } = job;
  const words = schedule === null ? null : cronWords(schedule);
  return (
    <Facts>
      <Fact
        name={text.jobs.schedule}
        value={
          <>
            {words !== schedule && `${words} `}
            <span className="mono quiet">{schedule}</span>
          </>
        }
      />
      <Fact name={text.jobs.timezone} value={timezone} />
      <Fact name={text.jobs.nextRun} value={nextRun === null ? text.common.never : <WholeTime at={nextRun} />} />
      <Fact name={text.runs.file} value={filePath} isMono />
      <Fact name={text.runs.timeout} value={formatDuration(timeout)} />
      <Fact
        name={text.runs.retries}
        value={formatNumber(retries) + (retries === 0 ? "" : `, ${text.jobs.retriesNote}`)}
      />
      <Fact name={text.jobs.overlap} value={overlap ? text.jobs.overlapYes : text.jobs.overlapNo} />
      {schedule !== null && (
        <Fact name={text.jobs.catchUp} value={catchUp ? text.jobs.catchUpYes : text.jobs.catchUpNo} />
      )}
    </Facts>
  );
}

interface JobRunDetailsProps {
  run: WholeRun;
  /** The attempts of the run, the newest first. */
  attempts: readonly JobRun[];
  /** Whether the run may continue. */
  isOpen: boolean;
}

function JobRunDetails({ run, attempts, isOpen }: JobRunDetailsProps) {
  const { runId, last, startedAt, durationMs } = run;
  const log = useRunLog(runId, isOpen);
  // While an attempt runs, the page shows the error of the attempt before.
  const failed = last.status === "completed" ? undefined : attempts.find(({ status }) => status === "failed");
  const error = failed && (lastStack(log.data ?? [], failed.attempt) ?? failed.error);
  return (
    <>
      <DetailsSection
        title={text.runs.run}
        actions={<UndoAction label={text.undo.run} selection={{ run: runId }} size="compact-sm" />}
      >
        <Facts>
          <Fact name={text.runs.status} value={<StatusMark status={last.status} />} />
          <Fact name={text.jobs.startedAt} value={formatDateTime(startedAt)} />
          <Fact
            name={text.runs.duration}
            value={durationMs === null ? text.jobs.underWay : formatDuration(durationMs)}
          />
          <Fact name={text.jobs.attempt} value={last.attempt === 1 ? null : last.attempt} />
          <Fact name={text.runs.run} value={runId} isMono copy={text.common.copyValue(runId)} />
        </Facts>
        <LinkAction icon={IconTimeline} label={text.trace.open} to="/trace/$id" params={{ id: runId }} mt="sm" />
      </DetailsSection>
      {error !== undefined && (
        <DetailsSection title={text.runs.error}>
          <ErrorBlock value={error} />
          <SourceBlock runId={runId} error={error} />
        </DetailsSection>
      )}
      <RunLog query={log} runId={runId} />
    </>
  );
}

/** Most rows in the table. */
const attemptRoom = 100;

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

function AttemptTable({ attempts, total, shownId, onRun }: AttemptTableProps) {
  const shown = attempts.slice(0, attemptRoom);
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

const icons = { running: IconPlayerPlayFilled, completed: IconCheck, failed: IconX } satisfies {
  [status in JobRun["status"]]: unknown;
};

interface TimeLineProps {
  /** Newest first. */
  runs: readonly WholeRun[];
  shownId: string | undefined;
  onRun: (runId: string) => void;
}

/** A bar for each run, the newest at the right: colour and icon show the status, the height shows the duration. */
function TimeLine({ runs, shownId, onRun }: TimeLineProps) {
  const list = useRef<HTMLOListElement>(null);
  const newest = runs[0]?.runId;
  // A list wider than the screen scrolls to the newest runs.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new run scrolls.
  useEffect(() => {
    if (list.current !== null) list.current.scrollLeft = list.current.scrollWidth;
  }, [newest]);
  const longest = Math.max(...runs.map(({ durationMs }) => durationMs ?? 0));
  return (
    <>
      <ol ref={list} className={`plain ${classes["line"]}`} aria-label={text.jobs.lastRuns}>
        {runs.toReversed().map(({ runId, last, startedAt, durationMs }) => {
          const duration = durationMs === null ? text.jobs.underWay : formatDuration(durationMs);
          const name = text.jobs.barOf(text.status[last.status], duration, formatDateTime(startedAt));
          const Icon = icons[last.status];
          return (
            <li key={runId}>
              <Tooltip label={name}>
                <UnstyledButton
                  className={classes["bar"]}
                  data-status={last.status}
                  aria-label={name}
                  aria-pressed={runId === shownId}
                  onClick={() => onRun(runId)}
                >
                  <span className={classes["space"]}>
                    <span className={classes["fill"]} style={{ height: `${barHeight(durationMs, longest)}%` }} />
                  </span>
                  <Icon size={12} aria-hidden />
                </UnstyledButton>
              </Tooltip>
            </li>
          );
        })}
      </ol>
      <Dim mt={6}>
        {text.jobs.timeLineNote}
        {/* Without a run that is over there is no duration to tell. */}
        {longest > 0 && ` ${text.jobs.timeLineLongest(formatDuration(longest))}`}
      </Dim>
    </>
  );
}
