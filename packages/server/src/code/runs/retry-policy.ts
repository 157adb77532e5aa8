/** The retry policy of a run: how many attempts follow a failure, and after which pauses. */

export interface RetryPolicy {
  /** Attempts after the first. */
  readonly retries: number;
  /** Milliseconds between a failed attempt and the next, by the number of failed attempts. */
  readonly pauseMs: (failures: number) => number;
}

/** A run that waits for another attempt. */
export interface Postponement {
  /** Attempts that have failed. */
  readonly failures: number;
  /** The time of the next attempt, in milliseconds since 1970. */
  readonly notBefore: number;
}

const stepMs = 5_000;
const longestPauseMs = 600_000;
/** The longest pause of `exponential`. */
export const longestBackoffMs = 3_600_000;

/** Pauses of 5 s after the first failure, 10 s after the second, and so on, 10 min at most. */
export function linear(retries: number): RetryPolicy {
  return { retries, pauseMs: (failures) => Math.min(failures * stepMs, longestPauseMs) };
}

/** Pauses of 5 s after the first failure, 10 s after the second, 20 s after the third, and so on, 1 h at most. */
export function exponential(retries: number): RetryPolicy {
  return { retries, pauseMs: (failures) => Math.min(stepMs * 2 ** (failures - 1), longestBackoffMs) };
}
