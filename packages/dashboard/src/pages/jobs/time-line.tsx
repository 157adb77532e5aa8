/** The last runs of a job as bars, the newest at the right: colour and icon by status, height by duration. */
import { Tooltip, UnstyledButton } from "@mantine/core";
import type { JobRun } from "@socle/protocol";
import { IconCheck, IconPlayerPlayFilled, IconX } from "@tabler/icons-react";
import { useEffect, useRef } from "react";
import { Dim, formatDateTime, formatDuration } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { barHeight, type WholeRun } from "./job-runs.ts";
import classes from "./jobs.module.css";

const icons = { running: IconPlayerPlayFilled, completed: IconCheck, failed: IconX } satisfies {
  [status in JobRun["status"]]: unknown;
};

interface TimeLineProps {
  /** Newest first. */
  runs: readonly WholeRun[];
  shownId: string | undefined;
  onRun: (runId: string) => void;
}

export function TimeLine({ runs, shownId, onRun }: TimeLineProps) {
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
