/** A run of a job: its state, its error with the position in the file, its live log. */
import type { JobRun } from "@socle/protocol";
import {
  DetailsSection,
  ErrorBlock,
  Fact,
  Facts,
  formatDateTime,
  formatDuration,
  lastStack,
  RunLog,
  StatusMark,
} from "../../kit/index.ts";
import { useRunLog } from "../../service/run-log.ts";
import { text } from "../../texts/index.ts";
import type { WholeRun } from "./job-runs.ts";

interface JobRunDetailsProps {
  run: WholeRun;
  /** The attempts of the run, the newest first. */
  attempts: readonly JobRun[];
  /** Whether the run may continue. */
  isOpen: boolean;
}

export function JobRunDetails({ run, attempts, isOpen }: JobRunDetailsProps) {
  const { runId, last, startedAt, durationMs } = run;
  const log = useRunLog(runId, isOpen);
  // While an attempt runs, the page shows the error of the attempt before.
  const failed = last.status === "completed" ? undefined : attempts.find(({ status }) => status === "failed");
  const error = failed && (lastStack(log.data ?? [], failed.attempt) ?? failed.error);
  return (
    <>
      <DetailsSection title={text.runs.run}>
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
      </DetailsSection>
      {error !== undefined && (
        <DetailsSection title={text.runs.error}>
          <ErrorBlock value={error} />
        </DetailsSection>
      )}
      <RunLog query={log} runId={runId} />
    </>
  );
}
