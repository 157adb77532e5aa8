/** Metrics in the text format of Prometheus. */
import type { Overview } from "@socle/protocol";
import type { Backups } from "../backup/index.ts";
import type { DatabaseMeter } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import { type HistogramTotals, type LimitMeter, latencyBounds, type RequestMeter } from "../logging/index.ts";
import type { RunMeter } from "./run-meter.ts";

type Labels = { readonly [name: string]: string };
type Sample = readonly [labels: Labels, value: number, suffix?: string];

/** A metric with its samples, as Prometheus' text format 0.0.4 writes it. */
function metric(
  name: string,
  type: "gauge" | "counter" | "histogram",
  help: string,
  samples: readonly Sample[],
): string {
  const lines = samples.map(([labels, value, suffix = ""]) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    return `${name}${suffix}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/** What is measured beside the overview. */
interface Measures {
  readonly requests: ReturnType<RequestMeter["totals"]>;
  readonly inFlight: number;
  readonly limits: ReturnType<LimitMeter["totals"]>;
  readonly database: DatabaseMeter;
  /** Bytes. */
  readonly uncopiedLog: number;
  readonly lagMs: number;
  /** Null where the system does not tell. */
  readonly descriptors: number | null;
  /** Free bytes of the disk of each path. */
  readonly free: readonly (readonly [path: string, bytes: number])[];
  readonly eventLog: Awaited<ReturnType<EventLog["extent"]>>;
  /** Milliseconds since 1970; null when nothing waits. */
  readonly oldestDelivery: number | null;
  readonly runs: RunMeter;
  /** Names of the jobs that are scheduled. */
  readonly jobs: readonly string[];
  readonly processesLost: number;
  readonly isReady: boolean;
  readonly backups: ReturnType<Backups["totals"]>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** All metrics. The help of each says what it counts; times are seconds, sizes bytes. */
export function metricsText(overview: Overview, measures: Measures): string {
  return [
    ...requestMetrics(measures),
    ...databaseMetrics(overview, measures),
    ...contentMetrics(overview),
    ...runMetrics(overview, measures),
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
    metric(
      "socle_http_requests_total",
      "counter",
      "Requests that were answered.",
      totals.byClass.map(({ method, statusClass, requests }) => [{ method, status: statusClass }, requests]),
    ),
    metric("socle_http_request_duration_seconds", "histogram", "Time until an answer began.", latency),
    metric("socle_http_requests_in_flight", "gauge", "Requests whose answer has not left.", [[{}, inFlight]]),
    metric(
      "socle_limit_reached_total",
      "counter",
      "Callers that were turned away or cut off at a bound: throttled logins, slow sockets, full queues.",
      limits.map(([limit, times]): Sample => [{ limit }, times]),
    ),
  ];
}

function databaseMetrics({ database }: Overview, measures: Measures): string[] {
  const { database: meter, uncopiedLog, free, eventLog, now } = measures;
  return [
    metric("socle_database_size_bytes", "gauge", "The database file.", [[{}, database.size]]),
    metric("socle_database_wal_size_bytes", "gauge", "The write-ahead log.", [[{}, database.walSize]]),
    metric(
      "socle_database_checkpoint_lag_bytes",
      "gauge",
      "The part of the write-ahead log that is not copied into the database file.",
      [[{}, uncopiedLog]],
    ),
    metric("socle_database_flush_duration_seconds", "histogram", "Flushes of the write-ahead log.", [
      ...samplesOf(meter.flushes.totals()),
    ]),
    metric("socle_database_flush_failures_total", "counter", "Flushes that failed.", [[{}, meter.flushFailures]]),
    metric(
      "socle_database_writes_refused_total",
      "counter",
      "Writes that the disk did not take.",
      meter.refused().map(([cause, writes]): Sample => [{ cause }, writes]),
    ),
    metric(
      "socle_disk_free_bytes",
      "gauge",
      "Free bytes of the disk of a path.",
      free.map(([path, bytes]): Sample => [{ path }, bytes]),
    ),
    metric("socle_events", "gauge", "Events in the event log.", [[{}, eventLog.events]]),
    metric("socle_events_size_bytes", "gauge", "Bytes of the event log.", [[{}, eventLog.bytes]]),
    metric("socle_events_oldest_age_seconds", "gauge", "Age of the oldest event in the log.", [
      [{}, ageOf(eventLog.oldest, now)],
    ]),
  ];
}

function contentMetrics({ storage, collections, users, sockets }: Overview): string[] {
  return [
    metric("socle_realtime_sockets", "gauge", "Open sockets.", [[{}, sockets]]),
    metric("socle_files", "gauge", "Stored files.", [[{}, storage.files]]),
    metric("socle_files_size_bytes", "gauge", "The bytes of stored files.", [[{}, storage.size]]),
    metric(
      "socle_records",
      "gauge",
      "Records of each collection.",
      collections.map(({ name, records }) => [{ collection: name }, records]),
    ),
    metric("socle_users", "gauge", "Users.", [[{}, users]]),
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
    metric(
      "socle_function_runs",
      "gauge",
      "Runs of functions that wait, run, or have failed for good and are kept.",
      Object.entries(deliveries).map(([state, n]): Sample => [{ state }, n]),
    ),
    metric("socle_function_oldest_waiting_seconds", "gauge", "How long the event that waits longest has waited.", [
      [{}, ageOf(oldestDelivery, now)],
    ]),
    metric(
      "socle_runs_total",
      "counter",
      "Runs of functions and jobs that have ended.",
      runs.ended().map(([labels, n]): Sample => [labels, n]),
    ),
    metric("socle_run_duration_seconds", "histogram", "How long runs took.", durations),
    metric("socle_job_last_success_seconds", "gauge", "When a job last completed, since 1970.", successes),
    metric(
      "socle_script_processes_lost_total",
      "counter",
      "Processes of functions and jobs that were lost and replaced.",
      [[{}, processesLost]],
    ),
  ];
}

function processMetrics({ version, startedAt, residentMemory }: Overview, measures: Measures): string[] {
  const { lagMs, descriptors, isReady } = measures;
  const cpu = process.cpuUsage();
  return [
    metric("socle_info", "gauge", "The version that runs.", [[{ version }, 1]]),
    metric("socle_ready", "gauge", "1 while /health/ready says that the service can do its work, else 0.", [
      [{}, isReady ? 1 : 0],
    ]),
    metric(
      "socle_event_loop_lag_seconds",
      "gauge",
      "The longest that the event loop was held in the last ten seconds.",
      [[{}, lagMs / 1_000]],
    ),
    metric("process_open_fds", "gauge", "Open file descriptors.", descriptors === null ? [] : [[{}, descriptors]]),
    metric("process_resident_memory_bytes", "gauge", "Resident memory of the service.", [[{}, residentMemory]]),
    metric("process_cpu_seconds_total", "counter", "Processor time of the service.", [
      [{}, (cpu.user + cpu.system) / 1e6],
    ]),
    metric("process_start_time_seconds", "gauge", "When it started, since 1970.", [
      [{}, Date.parse(startedAt) / 1_000],
    ]),
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

/** Seconds since a time; 0 for none. */
function ageOf(at: number | null, now: number): number {
  return at === null ? 0 : Math.max(0, (now - at) / 1_000);
}

/** Of the last backup there is nothing until there is one. */
function backupMetrics({ backups: { last, failures, isRunning } }: Measures): string[] {
  const lastOnes: readonly [name: string, help: string, value: number][] =
    last === null
      ? []
      : [
          ["last_success_timestamp_seconds", "When the last backup was complete, since 1970.", last.endedAt / 1_000],
          ["last_size_bytes", "The size of the last backup.", last.size],
          ["last_duration_seconds", "How long the last backup took.", last.durationMs / 1_000],
        ];
  return [
    metric("socle_backup_running", "gauge", "1 while a backup is made.", [[{}, isRunning ? 1 : 0]]),
    metric("socle_backup_failures_total", "counter", "Backups that failed.", [[{}, failures]]),
    ...lastOnes.map(([name, help, value]) => metric(`socle_backup_${name}`, "gauge", help, [[{}, value]])),
  ];
}
