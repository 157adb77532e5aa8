/** Metrics in the text format of Prometheus. */
import type { Overview } from "@socle/protocol";
import { type HistogramTotals, type LimitMeter, latencyBounds, type RequestMeter } from "../../base/logging/index.ts";
import type { EndpointMeter } from "../../code/endpoints/index.ts";
import type { HookMeter } from "../../code/functions/index.ts";
import type { QueueCounts } from "../../code/jobs/index.ts";
import type { DatabaseMeter } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { Backups } from "../backup/index.ts";
import type { RunMeter } from "./run-meter.ts";

type Labels = { readonly [name: string]: string };
type Sample = readonly [labels: Labels, value: number, suffix?: string];

/** Writes a metric with its samples in Prometheus' text format 0.0.4. */
type MetricWriter = (name: string, help: string, samples: readonly Sample[]) => string;

function metricOf(type: "gauge" | "counter" | "histogram"): MetricWriter {
  return (name, help, samples) => {
    const lines = samples.map(([labels, value, suffix = ""]) => {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
      return `${name}${suffix}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
    });
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
  };
}

const gauge = metricOf("gauge");
const counter = metricOf("counter");
const histogram = metricOf("histogram");

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/** Measures beside those of the overview. */
interface Measures {
  readonly requests: ReturnType<RequestMeter["totals"]>;
  readonly inFlight: number;
  readonly limits: ReturnType<LimitMeter["totals"]>;
  readonly database: DatabaseMeter;
  readonly uncopiedLog: number;
  readonly lagMs: number;
  /** Null on a system that does not tell. */
  readonly descriptors: number | null;
  /** Free bytes of the disk of each path. */
  readonly free: readonly (readonly [path: string, bytes: number])[];
  readonly eventLog: Awaited<ReturnType<EventLog["extent"]>>;
  /** Milliseconds since 1970; null when nothing waits. */
  readonly oldestDelivery: number | null;
  readonly runs: RunMeter;
  readonly endpoints: EndpointMeter;
  readonly hooks: HookMeter;
  /** Names of all jobs. */
  readonly jobs: readonly string[];
  /** Runs of each queue, and how long the longest waiting run has been due. */
  readonly queues: readonly { name: string; counts: QueueCounts; lagMs: number }[];
  readonly processesLost: number;
  readonly isReady: boolean;
  readonly backups: ReturnType<Backups["totals"]>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** All metrics. The help of each metric names its subject; times are seconds, sizes bytes. */
export function metricsText(overview: Overview, measures: Measures): string {
  return [
    ...requestMetrics(measures),
    ...databaseMetrics(overview, measures),
    ...contentMetrics(overview),
    ...runMetrics(overview, measures),
    ...queueMetrics(measures),
    ...hookMetrics(measures),
    ...endpointMetrics(measures),
    ...backupMetrics(measures),
    ...processMetrics(overview, measures),
  ].join("");
}

function requestMetrics({ requests: totals, inFlight, limits }: Measures): string[] {
  const latency: Sample[] = [
    ...latencyBounds.map((bound, i): Sample => [{ le: String(bound / 1_000) }, totals.atMost[i] ?? 0, "_bucket"]),
    [{ le: "+Inf" }, totals.requests, "_bucket"],
    [{}, totals.sumMs / 1_000, "_sum"],
    [{}, totals.requests, "_count"],
  ];
  return [
    counter(
      "socle_http_requests_total",
      "Requests that were answered.",
      totals.byClass.map(({ method, statusClass, requests }) => [{ method, status: statusClass }, requests]),
    ),
    histogram("socle_http_request_duration_seconds", "Time until an answer began.", latency),
    gauge("socle_http_requests_in_flight", "Requests whose answer has not left.", [[{}, inFlight]]),
    counter(
      "socle_limit_reached_total",
      "Callers that were turned away or cut off at a bound: throttled logins, slow sockets, full queues.",
      limits.map(([limit, times]): Sample => [{ limit }, times]),
    ),
  ];
}

function databaseMetrics({ database }: Overview, measures: Measures): string[] {
  const { database: meter, uncopiedLog, free, eventLog, now } = measures;
  return [
    gauge("socle_database_size_bytes", "The database file.", [[{}, database.size]]),
    gauge("socle_database_wal_size_bytes", "The write-ahead log.", [[{}, database.walSize]]),
    gauge(
      "socle_database_checkpoint_lag_bytes",
      "The part of the write-ahead log that is not copied into the database file.",
      [[{}, uncopiedLog]],
    ),
    histogram("socle_database_flush_duration_seconds", "Flushes of the write-ahead log.", [
      ...samplesOf(meter.flushes.totals()),
    ]),
    counter("socle_database_flush_failures_total", "Flushes that failed.", [[{}, meter.flushFailures]]),
    counter(
      "socle_database_writes_refused_total",
      "Writes that the disk did not take.",
      meter.refused().map(([cause, writes]): Sample => [{ cause }, writes]),
    ),
    gauge(
      "socle_disk_free_bytes",
      "Free bytes of the disk of a path.",
      free.map(([path, bytes]): Sample => [{ path }, bytes]),
    ),
    gauge("socle_events", "Events in the event log.", [[{}, eventLog.events]]),
    gauge("socle_events_size_bytes", "Bytes of the event log.", [[{}, eventLog.bytes]]),
    gauge("socle_events_oldest_age_seconds", "Age of the oldest event in the log.", [
      [{}, ageOf(eventLog.oldest, now)],
    ]),
  ];
}

function contentMetrics({ storage, collections, users, sockets }: Overview): string[] {
  return [
    gauge("socle_realtime_sockets", "Open sockets.", [[{}, sockets]]),
    gauge("socle_files", "Stored files.", [[{}, storage.files]]),
    gauge("socle_files_size_bytes", "The bytes of stored files.", [[{}, storage.size]]),
    gauge(
      "socle_records",
      "Records of each collection.",
      collections.map(({ name, records }) => [{ collection: name }, records]),
    ),
    gauge("socle_users", "Users.", [[{}, users]]),
  ];
}

function hookMetrics({ hooks }: Measures): string[] {
  const totals = hooks
    .totals()
    .map(({ path, handler, ...rest }) => ({ labels: { file: path, hook: handler }, ...rest }));
  return [
    counter(
      "socle_hook_calls_total",
      "Calls of hooks that have ended: the change passed, was refused, or the hook failed, which refuses it, too.",
      totals.flatMap(({ labels, counts }) =>
        Object.entries(counts).map(([end, calls]): Sample => [{ ...labels, end }, calls]),
      ),
    ),
    histogram(
      "socle_hook_duration_seconds",
      "How long calls of hooks took.",
      totals.flatMap(({ labels, durations }) => samplesOf(durations, labels)),
    ),
  ];
}

function endpointMetrics({ endpoints }: Measures): string[] {
  return [
    counter(
      "socle_endpoint_requests_total",
      "Requests to endpoints that have ended; a client that left counts as 499.",
      endpoints.totals().map(({ labels, requests }): Sample => [labels, requests]),
    ),
    histogram("socle_endpoint_duration_seconds", "Time until an endpoint's answer was whole.", [
      ...samplesOf(endpoints.durations.totals()),
    ]),
  ];
}

function queueMetrics({ queues }: Measures): string[] {
  return [
    gauge(
      "socle_queue_runs",
      "Runs of each queue that wait, run, or have failed for good and are kept.",
      queues.flatMap(({ name, counts }) =>
        Object.entries(counts).map(([state, n]): Sample => [{ queue: name, state }, n]),
      ),
    ),
    gauge(
      "socle_queue_oldest_due_seconds",
      "How long the run that waits longest has been due.",
      queues.map(({ name, lagMs }): Sample => [{ queue: name }, lagMs / 1_000]),
    ),
  ];
}

function runMetrics({ deliveries }: Overview, { oldestDelivery, runs, jobs, processesLost, now }: Measures): string[] {
  const durations = (["function", "job"] as const).flatMap((kind) =>
    samplesOf(runs.durations[kind].totals(), { kind }),
  );
  const successes = jobs.flatMap((job): Sample[] => {
    const at = runs.lastSuccess(job);
    return at === null ? [] : [[{ job }, at / 1_000]];
  });
  return [
    gauge(
      "socle_function_runs",
      "Runs of functions that wait, run, or have failed for good and are kept.",
      Object.entries(deliveries).map(([state, n]): Sample => [{ state }, n]),
    ),
    gauge("socle_function_oldest_waiting_seconds", "How long the event that waits longest has waited.", [
      [{}, ageOf(oldestDelivery, now)],
    ]),
    counter(
      "socle_runs_total",
      "Runs of functions and jobs that have ended.",
      runs.ended().map(([labels, n]): Sample => [labels, n]),
    ),
    histogram("socle_run_duration_seconds", "How long runs took.", durations),
    gauge("socle_job_last_success_seconds", "When a job last completed, since 1970.", successes),
    counter("socle_script_processes_lost_total", "Processes of functions and jobs that were lost and replaced.", [
      [{}, processesLost],
    ]),
  ];
}

function processMetrics({ version, startedAt, residentMemory }: Overview, measures: Measures): string[] {
  const { lagMs, descriptors, isReady } = measures;
  const cpu = process.cpuUsage();
  return [
    gauge("socle_info", "The version that runs.", [[{ version }, 1]]),
    gauge("socle_ready", "1 while /health/ready says that the service can do its work, else 0.", [
      [{}, isReady ? 1 : 0],
    ]),
    gauge("socle_event_loop_lag_seconds", "The longest that the event loop was held in the last ten seconds.", [
      [{}, lagMs / 1_000],
    ]),
    gauge("process_open_fds", "Open file descriptors.", descriptors === null ? [] : [[{}, descriptors]]),
    gauge("process_resident_memory_bytes", "Resident memory of the service.", [[{}, residentMemory]]),
    counter("process_cpu_seconds_total", "Processor time of the service.", [[{}, (cpu.user + cpu.system) / 1e6]]),
    gauge("process_start_time_seconds", "When it started, since 1970.", [[{}, Date.parse(startedAt) / 1_000]]),
  ];
}

function samplesOf({ atMost, count, sumMs }: HistogramTotals, labels: Labels = {}): Sample[] {
  return [
    ...atMost.map(([bound, n]): Sample => [{ ...labels, le: String(bound / 1_000) }, n, "_bucket"]),
    [{ ...labels, le: "+Inf" }, count, "_bucket"],
    [labels, sumMs / 1_000, "_sum"],
    [labels, count, "_count"],
  ];
}

/** Seconds since a time; 0 for null. */
function ageOf(at: number | null, now: number): number {
  return at === null ? 0 : Math.max(0, (now - at) / 1_000);
}

/** Before the first backup its numbers are 0, so that an alert on the age of the last one holds for a service without any. */
function backupMetrics({ backups: { last, failures, isRunning } }: Measures): string[] {
  const { endedAt, size, durationMs } = last ?? { endedAt: 0, size: 0, durationMs: 0 };
  return [
    gauge("socle_backup_running", "1 while a backup is made.", [[{}, isRunning ? 1 : 0]]),
    counter("socle_backup_failures_total", "Backups that failed.", [[{}, failures]]),
    gauge("socle_backup_last_success_timestamp_seconds", "When the last backup was complete, since 1970; 0 for none.", [
      [{}, endedAt / 1_000],
    ]),
    gauge("socle_backup_last_size_bytes", "The size of the last backup.", [[{}, size]]),
    gauge("socle_backup_last_duration_seconds", "How long the last backup took.", [[{}, durationMs / 1_000]]),
  ];
}
