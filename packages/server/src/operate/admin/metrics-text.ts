/** Metrics in the text format of Prometheus. */
import type { ClusterOverview, Overview, ServiceStatus } from "@socle/protocol";
import { freeBytes } from "../../base/kernel/index.ts";
import type { EventLoopLag, HistogramTotals, LimitMeter, RequestMeter } from "../../base/logging/index.ts";
import type { Endpoints } from "../../code/endpoints/index.ts";
import type { Functions } from "../../code/functions/index.ts";
import type { Jobs } from "../../code/jobs/index.ts";
import type { Collections } from "../../data/collections/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { Storage } from "../../files/storage/index.ts";
import type { Realtime } from "../../live/realtime/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import type { Mails } from "../../people/mail/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { Backups } from "../backup/index.ts";
import type { SpanTotals } from "../traces/index.ts";
import { type ProcessNumbers, processNumbers } from "./process-numbers.ts";
import type { RunMeter } from "./run-meter.ts";

/** Numbers of this process as an instance of a cluster. */
export interface ClusterNumbers {
  /** The last commit that the instance has. */
  readonly position: number;
  /** For how long the instance has perhaps been without the newest commit; 0 for the leader. */
  readonly lagMs: number;
  readonly isLeader: boolean;
  readonly term: number;
  readonly isJournalReached: boolean;
  readonly isStorageReached: boolean;
  /** Whether the mirror has all records; null for an instance that keeps no mirror now. */
  readonly isMirrorWhole: boolean | null;
}

/** The parts of the service that the overview and the metrics tell about. */
export interface OverviewSources {
  version: string;
  database: Database;
  collections: Collections;
  records: Records;
  auth: Auth;
  mails: Mails;
  storage: Storage;
  functions: Functions;
  jobs: Jobs;
  endpoints: Endpoints;
  events: EventLog;
  lag: EventLoopLag;
  /** Paths on disks that the service writes to. */
  disks: readonly string[];
  /** The reasons for which the service is not ready; empty for a ready service. */
  readiness: () => Promise<readonly string[]>;
  /** How often the process of the user's code was lost. */
  processesLost: () => number;
  realtime: Realtime;
  meter: RequestMeter;
  limits: LimitMeter;
  backups: Backups;
  /** The export of spans; null without a collector. */
  spans: { readonly totals: SpanTotals } | null;
  /** The numbers of the reader processes, by number; absent for a service of a single process. */
  otherProcesses?: (() => Promise<ReadonlyMap<number, ProcessNumbers>>) | undefined;
  /** Absent outside of a cluster. */
  cluster?: { overview: () => Promise<ClusterOverview>; numbers: () => ClusterNumbers } | undefined;
}

type Labels = { readonly [name: string]: string };
/** A value, or a value for each combination of labels. */
type Samples<T> = T | readonly (readonly [labels: Labels, value: T])[];

function isLabelled<T>(samples: Samples<T>): samples is readonly (readonly [labels: Labels, value: T])[] {
  return Array.isArray(samples);
}

/** Makes a writer of metrics in Prometheus' text format 0.0.4. */
function metric<T>(type: "gauge" | "counter" | "histogram", write: (name: string, labels: Labels, value: T) => string) {
  return (name: string, help: string, samples: Samples<T>): string => {
    const labelled = isLabelled(samples) ? samples : [[{}, samples] as const];
    const lines = labelled.map(([labels, value]) => write(name, labels, value));
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
  };
}

const gauge = metric("gauge", lineOf);
const counter = metric("counter", lineOf);
const histogram = metric<HistogramTotals>("histogram", (name, labels, { atMost, count, sumMs }) =>
  [
    ...atMost.map(([bound, n]) => lineOf(`${name}_bucket`, { ...labels, le: String(bound / 1_000) }, n)),
    lineOf(`${name}_bucket`, { ...labels, le: "+Inf" }, count),
    lineOf(`${name}_sum`, labels, sumMs / 1_000),
    lineOf(`${name}_count`, labels, count),
  ].join(""),
);

function lineOf(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/** A process with the label of its samples. */
type Counted = readonly [label: Labels, numbers: ProcessNumbers];

/** The numbers of all processes. The samples of a service of a single process have no label. */
async function countedBy(sources: OverviewSources): Promise<readonly Counted[]> {
  const own = processNumbers(sources);
  if (sources.otherProcesses === undefined) return [[{}, own]];
  const others = [...(await sources.otherProcesses())].map(
    ([number, numbers]) => [{ process: `reader ${number}` }, numbers] as const,
  );
  return [[{ process: "leader" }, own], ...others];
}

/** All metrics. The help of each metric names the subject; times are seconds, sizes bytes. */
export async function metricsText(overview: Overview, sources: OverviewSources, runs: RunMeter): Promise<string> {
  const processes = await countedBy(sources);
  return [
    ...requestMetrics(processes),
    ...(await databaseMetrics(overview, sources)),
    ...contentMetrics(overview),
    ...socketMetrics(processes),
    ...runMetrics(overview, sources, runs),
    ...codeMetrics(sources),
    ...mailMetrics(sources),
    ...backupMetrics(sources),
    ...(sources.spans === null ? [] : spanMetrics(sources.spans.totals)),
    ...(await serviceMetrics(sources)),
    ...processMetrics(processes),
    ...(sources.cluster === undefined ? [] : clusterMetrics(sources.cluster.numbers())),
  ].join("");
}

/** The metrics of a replica, which knows itself alone. */
export async function replicaMetricsText(
  parts: Pick<OverviewSources, "version" | "readiness" | "spans"> & {
    process: ProcessNumbers;
    cluster: ClusterNumbers;
  },
): Promise<string> {
  const processes = [[{}, parts.process]] as const;
  return [
    ...requestMetrics(processes),
    ...socketMetrics(processes),
    ...(parts.spans === null ? [] : spanMetrics(parts.spans.totals)),
    ...(await serviceMetrics(parts)),
    ...processMetrics(processes),
    ...clusterMetrics(parts.cluster),
  ].join("");
}

/** A sample for each condition that holds. */
export function statusMetrics({ items }: ServiceStatus): string {
  const byId = new Map(items.map(({ id, level }) => [id, level]));
  const samples = [...byId].map(([id, level]) => [{ id, level }, 1] as const);
  return gauge("socle_status", "1 for each condition that `socle status` tells of.", samples);
}

function clusterMetrics(numbers: ClusterNumbers): string[] {
  const { position, lagMs, isLeader, term, isJournalReached, isStorageReached, isMirrorWhole } = numbers;
  return [
    gauge("socle_cluster_position", "The last commit that this instance has.", position),
    gauge("socle_cluster_lag_seconds", "How old the state of this instance may be.", lagMs / 1_000),
    gauge("socle_cluster_leader", "1 while this instance leads the cluster.", Number(isLeader)),
    gauge("socle_cluster_term", "Grows with each leader.", term),
    gauge("socle_cluster_journal_reached", "1 while PostgreSQL answers this instance.", Number(isJournalReached)),
    gauge("socle_cluster_storage_reached", "1 while the bucket answers this instance.", Number(isStorageReached)),
    ...(isMirrorWhole === null
      ? []
      : [gauge("socle_cluster_mirror_whole", "1 while the mirror has all records.", Number(isMirrorWhole))]),
  ];
}

function requestMetrics(processes: readonly Counted[]): string[] {
  const byClass = processes.flatMap(([label, { requests: counts }]) =>
    counts.map(({ requests, ...labels }) => [{ ...labels, ...label }, requests] as const),
  );
  const reached = processes.flatMap(([label, { limits }]) =>
    limits.map(([limit, times]) => [{ limit, ...label }, times] as const),
  );
  const durations = processes.map(([label, each]) => [label, each.durations] as const);
  const inFlight = processes.map(([label, each]) => [label, each.inFlight] as const);
  return [
    counter("socle_http_requests_total", "Requests that were answered.", byClass),
    histogram("socle_http_request_duration_seconds", "Time until an answer began.", durations),
    gauge("socle_http_requests_in_flight", "Requests whose answer has not left.", inFlight),
    counter(
      "socle_limit_reached_total",
      "Callers that were turned away or cut off at a bound: throttled logins, slow sockets, full queues.",
      reached,
    ),
  ];
}

function socketMetrics(processes: readonly Counted[]): string[] {
  const sockets = processes.map(([label, each]) => [label, each.sockets] as const);
  return [gauge("socle_realtime_sockets", "Open sockets.", sockets)];
}

async function databaseMetrics(overview: Overview, { database, disks, events }: OverviewSources): Promise<string[]> {
  const { meter, uncopiedLog } = database;
  const refused = meter.refused().map(([cause, writes]) => [{ cause }, writes] as const);
  const free = disks.map(async (path) => [{ path }, await freeBytes(path).catch(() => 0)] as const);
  const log = events.extent();
  return [
    gauge("socle_database_size_bytes", "The database file.", overview.database.size),
    gauge("socle_database_wal_size_bytes", "The write-ahead log.", overview.database.walSize),
    gauge(
      "socle_database_checkpoint_lag_bytes",
      "The part of the write-ahead log that is not copied into the database file.",
      uncopiedLog,
    ),
    histogram("socle_database_flush_duration_seconds", "Flushes of the write-ahead log.", meter.flushes.totals()),
    counter("socle_database_flush_failures_total", "Flushes that failed.", meter.flushFailures),
    counter("socle_database_writes_refused_total", "Writes that the disk did not take.", refused),
    gauge("socle_disk_free_bytes", "Free bytes of the disk of a path.", await Promise.all(free)),
    gauge("socle_events", "Events in the event log.", log.events),
    gauge("socle_events_size_bytes", "Bytes of the event log.", log.bytes),
    gauge("socle_events_oldest_age_seconds", "Age of the oldest event in the log.", secondsSince(log.oldest)),
  ];
}

function contentMetrics({ storage, collections, users, dropped }: Overview): string[] {
  const byCollection = collections.map(({ name, records }) => [{ collection: name }, records] as const);
  return [
    gauge("socle_files", "Stored files.", storage.files),
    gauge("socle_files_size_bytes", "The bytes of stored files.", storage.size),
    gauge("socle_records", "Records of each collection.", byCollection),
    gauge("socle_users", "Users.", users),
    gauge("socle_dropped_values", "Values of dropped fields and collections that can be restored.", dropped),
  ];
}

function runMetrics(
  { deliveries }: Overview,
  { functions, jobs, processesLost }: OverviewSources,
  runs: RunMeter,
): string[] {
  const successes = jobs.names().flatMap((job) => {
    const at = runs.lastSuccess.get(job);
    return at === undefined ? [] : [[{ job }, at / 1_000] as const];
  });
  const ended = [...runs.ended].map(([type, n]) => {
    const [kind = "", status = ""] = type.split(".");
    return [{ kind, status }, n] as const;
  });
  const durations = Object.entries(runs.durations).map(([kind, taken]) => [{ kind }, taken.totals()] as const);
  const queues = jobs.queues.list().map(({ name }) => ({ queue: name, counts: jobs.queues.counts(name) }));
  const byState = queues.flatMap(({ queue, counts }) =>
    Object.entries(counts).map(([state, n]) => [{ queue, state }, n] as const),
  );
  return [
    gauge(
      "socle_function_runs",
      "Runs of functions that wait, run, or have failed for good and are kept.",
      Object.entries(deliveries).map(([state, n]) => [{ state }, n] as const),
    ),
    gauge(
      "socle_function_oldest_waiting_seconds",
      "How long the event that waits longest has waited.",
      secondsSince(functions.oldest()),
    ),
    counter("socle_runs_total", "Runs of functions and jobs that have ended.", ended),
    histogram("socle_run_duration_seconds", "How long runs took.", durations),
    gauge("socle_job_last_success_seconds", "When a job last completed, since 1970.", successes),
    counter(
      "socle_script_processes_lost_total",
      "Processes of functions and jobs that were lost and replaced.",
      processesLost(),
    ),
    gauge("socle_queue_runs", "Runs of each queue that wait, run, or have failed for good and are kept.", byState),
    gauge(
      "socle_queue_oldest_due_seconds",
      "How long the run that waits longest has been due.",
      queues.map(({ queue }) => [{ queue }, jobs.queues.lag(queue) / 1_000] as const),
    ),
  ];
}

function codeMetrics({ functions, endpoints }: OverviewSources): string[] {
  const hooks = functions.hooks
    .list()
    .map(({ path, handler, ...measured }) => ({ labels: { file: path, hook: handler }, ...measured }));
  const ended = hooks.flatMap(({ labels, calls }) =>
    Object.entries(calls).map(([end, n]) => [{ ...labels, end }, n] as const),
  );
  return [
    counter(
      "socle_hook_calls_total",
      "Calls of hooks that have ended: the change passed, was refused, or the hook failed, which refuses the change, too.",
      ended,
    ),
    histogram(
      "socle_hook_duration_seconds",
      "How long calls of hooks took.",
      hooks.map(({ labels, durations }) => [labels, durations.totals()] as const),
    ),
    counter(
      "socle_endpoint_requests_total",
      "Requests to endpoints that have ended; a client that left counts as 499.",
      endpoints.requests(),
    ),
    histogram(
      "socle_endpoint_duration_seconds",
      "Time until an endpoint's answer was whole.",
      endpoints.durations.totals(),
    ),
  ];
}

function mailMetrics({ mails }: OverviewSources): string[] {
  const { waiting, sent, failed } = mails.totals();
  return [
    gauge("socle_mails_waiting", "Mails that wait to be sent.", waiting),
    counter("socle_mails_sent_total", "Mails that the SMTP server has taken.", sent),
    counter("socle_mails_failed_total", "Mails that have failed for good.", failed),
  ];
}

/** Before the first backup the numbers are 0, so that an alert on the age of the last backup holds for a service without any. */
function backupMetrics({ backups }: OverviewSources): string[] {
  const { last, failures, isRunning } = backups.totals();
  const { endedAt, size, durationMs } = last ?? { endedAt: 0, size: 0, durationMs: 0 };
  const { behindMs, segments } = backups.continuous ?? { behindMs: 0, segments: 0 };
  const behindHelp = "Age of the oldest write that is not in the continuous backup; 0 if all are, and without one.";
  const successHelp = "Time of the last complete backup, since 1970; 0 without a backup.";
  return [
    gauge("socle_backup_running", "1 while a backup is made.", Number(isRunning)),
    counter("socle_backup_failures_total", "Backups that failed.", failures),
    gauge("socle_backup_last_success_timestamp_seconds", successHelp, endedAt / 1_000),
    gauge("socle_backup_last_size_bytes", "The size of the last backup.", size),
    gauge("socle_backup_last_duration_seconds", "How long the last backup took.", durationMs / 1_000),
    gauge("socle_backup_behind_seconds", behindHelp, behindMs / 1_000),
    counter("socle_backup_segments_total", "Segments that have left for the continuous backup.", segments),
  ];
}

function spanMetrics({ sent, dropped }: SpanTotals): string[] {
  return [
    counter("socle_spans_sent_total", "Spans that the collector has taken.", sent),
    counter(
      "socle_spans_dropped_total",
      "Spans that found no place in the queue, or that the collector has refused.",
      dropped,
    ),
  ];
}

async function serviceMetrics({
  version,
  readiness,
}: Pick<OverviewSources, "version" | "readiness">): Promise<string[]> {
  const isReady = (await readiness()).length === 0;
  return [
    gauge("socle_info", "The version that runs.", [[{ version }, 1]]),
    gauge("socle_ready", "1 while /health/ready reports a ready service, 0 otherwise.", Number(isReady)),
  ];
}

function processMetrics(processes: readonly Counted[]): string[] {
  const lagHelp = "The longest that the event loop was held in the last ten seconds.";
  const of = (value: (numbers: ProcessNumbers) => number): readonly (readonly [Labels, number])[] =>
    processes.map(([label, numbers]) => [label, value(numbers)] as const);
  // Some systems do not tell.
  const open = processes.flatMap(([label, { descriptors }]) =>
    descriptors === null ? [] : [[label, descriptors] as const],
  );
  return [
    gauge(
      "socle_event_loop_lag_seconds",
      lagHelp,
      of(({ lagMs }) => lagMs / 1_000),
    ),
    gauge("process_open_fds", "Open file descriptors.", open),
    gauge(
      "process_resident_memory_bytes",
      "Resident memory of the service.",
      of(({ residentBytes }) => residentBytes),
    ),
    counter(
      "process_cpu_seconds_total",
      "Processor time of the service.",
      of(({ cpuSeconds }) => cpuSeconds),
    ),
    gauge(
      "process_start_time_seconds",
      "Time of the start, since 1970.",
      of(({ startedAt }) => startedAt / 1_000),
    ),
  ];
}

/** Seconds since a time; 0 for null. */
function secondsSince(at: number | null): number {
  return at === null ? 0 : Math.max(0, (Date.now() - at) / 1_000);
}
