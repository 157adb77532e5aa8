/** A run of a job: its state, its error with the position in the file, its live log. */
import { Group } from "@mantine/core";
import type { JobRun } from "@socle/protocol";
import {
  CopyAction,
  DetailsSection,
  ErrorBlock,
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
      <DetailsSection title={text.jobs.run}>
        <Facts
          items={[
            [text.jobs.status, <StatusMark key="status" status={last.status} />],
            [text.jobs.startedAt, formatDateTime(startedAt)],
            [text.jobs.duration, durationMs === null ? text.jobs.underWay : formatDuration(durationMs)],
            [text.jobs.attempt, last.attempt === 1 ? null : last.attempt],
            [
              text.jobs.run,
              <Group key="run" gap={4} wrap="nowrap">
                <span className="mono">{runId}</span>
                <CopyAction value={runId} label={text.common.copyValue(runId)} />
              </Group>,
            ],
          ]}
        />
      </DetailsSection>
      {error !== undefined && (
        <DetailsSection title={text.jobs.error}>
          <ErrorBlock value={error} />
        </DetailsSection>
      )}
      <RunLog query={log} runId={runId} />
    </>
  );
}
