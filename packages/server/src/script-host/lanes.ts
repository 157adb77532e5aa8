/**
 * Lanes: the groups of processes of the user's code. A request waits for a call, and nobody for a run: a function that
 * computes for half a minute must not keep a write waiting. So each lane has processes of its own, where it has files.
 */

export const LANES = ["runs", "hooks", "endpoints"] as const;

/** `runs`: functions and jobs. `hooks`: handlers that a write waits for. `endpoints`: handlers of requests. */
export type Lane = (typeof LANES)[number];

interface LaneOptions {
  /** The kinds of code in its processes, for log messages. */
  readonly contents: string;
  /** Attempts that one process has at a time. Of calls, those who make them let so many wait. */
  readonly capacity: number;
}

/** `runs`: 48 of functions, 48 of queues, and those of schedules. */
export const laneOptions: { readonly [lane in Lane]: LaneOptions } = {
  runs: { contents: "functions and jobs", capacity: 112 },
  hooks: { contents: "hooks", capacity: 1_024 },
  endpoints: { contents: "endpoints", capacity: 1_024 },
};
