/** The queue and the options of a job that runs when it is enqueued, as its file exports them. */
import { isObject, nearest, oneOf, quote } from "../kernel/index.ts";
import { exponential, linear, type RetryPolicy } from "../runs/index.ts";
import { parseOptions, parseRetries, parseTimeout, type Script } from "../script-host/index.ts";
import { jobNameOf, requireHandler } from "./schedule.ts";

const backoffs = { exponential, linear } as const;
type Backoff = keyof typeof backoffs;

/** Runs of one queue that may be under way at a time, at most. */
const maxConcurrency = 32;
const defaultRetries = 2;
const known = ["concurrency", "retries", "backoff"];

/** A job that runs once for each payload that it is given, as its file describes it. */
export interface QueueJob {
  /** The file's name without its ending. */
  readonly name: string;
  readonly path: string;
  readonly timeoutMs: number;
  /** Runs under way at a time. */
  readonly concurrency: number;
  readonly backoff: Backoff;
  readonly policy: RetryPolicy;
}

/** @throws Error that names the fault of the file, and the allowed values. */
export function queueOf({ file, exports }: Script, defaultTimeoutMs: number): QueueJob {
  requireHandler(exports);
  const queue = exports.values["queue"];
  if (!isObject(queue)) throw new Error(`queue must be an object such as { concurrency: 4 }, not ${quote(queue)}`);
  for (const name of Object.keys(queue)) {
    if (known.includes(name)) continue;
    const near = nearest(name, known);
    throw new Error(
      `queue.${name} is unknown; ${near === null ? `allowed: ${known.join(", ")}` : `did you mean ${near}?`}`,
    );
  }
  const { timeout } = parseOptions(exports.values["options"], ["timeout"]);
  const backoff = backoffOf(queue["backoff"]);
  return {
    name: jobNameOf(file.path),
    path: file.path,
    timeoutMs: parseTimeout(timeout, defaultTimeoutMs),
    concurrency: concurrencyOf(queue["concurrency"]),
    backoff,
    policy: backoffs[backoff](parseRetries(queue["retries"], defaultRetries, "queue.retries")),
  };
}

function concurrencyOf(value: unknown = 1): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= maxConcurrency) return value;
  throw new Error(
    `queue.concurrency: ${quote(value)} is not valid; allowed: a whole number from 1 to ${maxConcurrency}`,
  );
}

function backoffOf(value: unknown = "exponential"): Backoff {
  if (value === "exponential" || value === "linear") return value;
  throw new Error(`queue.backoff: ${quote(value)} is not valid; allowed: ${oneOf(Object.keys(backoffs))}`);
}
