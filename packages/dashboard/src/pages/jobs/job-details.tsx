/** Drawer of a job: its options, its last runs, a chosen run with error and log, all attempts. */
import type { JobEntry, JobRun } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import {
  DetailsSection,
  Dim,
  ErrorState,
  Fact,
  Facts,
  formatDuration,
  formatNumber,
  RowsSkeleton,
  WholeTime,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { AttemptTable } from "./attempt-table.tsx";
import { cronWords } from "./cron-words.ts";
import { EnqueueButton } from "./enqueue.tsx";
import { JobRunDetails } from "./job-run-details.tsx";
import { isOpen, runsOf } from "./job-runs.ts";
import { attemptsQuery } from "./queries.ts";
import { QueuedPayload, QueueFacts, QueueRuns } from "./queue-details.tsx";
import { RunNow } from "./run-now.tsx";
import { TimeLine } from "./time-line.tsx";

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
  const { data, error } = query;
  const runs = runsOf(data?.items ?? []);
  const shown = runId === undefined ? runs[0] : runs.find((run) => run.runId === runId);
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
      {error !== null && <ErrorState error={error} onRetry={query.refetch} />}
      {data === undefined && error === null && <RowsSkeleton rows={4} height={32} />}
      {data !== undefined && (
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
              attempts={data.items.filter((attempt) => attempt.runId === shown.runId)}
              isOpen={isOpen(shown.last, job.retries, Date.now())}
            />
          )}
          {job.queue !== null && <QueuedPayload name={job.name} runId={runId ?? shown?.runId} />}
          {shown === undefined && runId !== undefined && job.queue === null && (
            <NoSuchRun attempts={data.items} runId={runId} />
          )}
          {data.total > 0 && (
            <DetailsSection title={text.jobs.attempts}>
              <AttemptTable attempts={data.items} total={data.total} shownId={shown?.runId} onRun={onRun} />
            </DetailsSection>
          )}
        </>
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
  const { schedule, timezone, nextRun, filePath, timeout, retries, overlap } = job;
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
    </Facts>
  );
}
