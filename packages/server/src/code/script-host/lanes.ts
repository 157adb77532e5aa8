/**
 * Lanes: the groups of processes of the user's code. A request waits for a call, but not for a run: a function that
 * computes for half a minute must not keep a write waiting. So each lane with files has processes of its own.
 */

export const LANES = ["runs", "hooks", "endpoints"] as const;

/** `runs`: functions and jobs. `hooks`: handlers that a write waits for. `endpoints`: handlers of requests. */
export type Lane = (typeof LANES)[number];

interface LaneOptions {
  /** The kinds of code in its processes, for log messages. */
  readonly contents: string;
  /** Attempts that a process has at a time. The callers bound the number of calls that wait. */
  readonly capacity: number;
  /** Whether callers wait for the values of the handlers. */
  readonly isAwaited: boolean;
  /** Whether an attempt may be made again whose handler had started in a lost process. */
  readonly isRepeatable: boolean;
}

/** `runs`: 48 of functions, 48 of jobs, and some runs beyond that width. */
export const laneOptions: { readonly [lane in Lane]: LaneOptions } = {
  runs: { contents: "functions and jobs", capacity: 112, isAwaited: false, isRepeatable: true },
  hooks: { contents: "hooks", capacity: 1_024, isAwaited: true, isRepeatable: true },
  endpoints: { contents: "endpoints", capacity: 1_024, isAwaited: true, isRepeatable: false },
};
