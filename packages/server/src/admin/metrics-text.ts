/** Metrics in the text format of Prometheus. */
import type { Overview } from "@socle/protocol";
import { type LimitMeter, latencyBounds, type RequestMeter } from "../logging/index.ts";

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

/** Counters since the start. */
interface Totals {
  readonly requests: ReturnType<RequestMeter["totals"]>;
  readonly limits: ReturnType<LimitMeter["totals"]>;
}

export function metricsText(overview: Overview, { requests: totals, limits }: Totals): string {
  const { version, startedAt, residentMemory, database, storage, collections, sockets, deliveries, users } = overview;
  const cpu = process.cpuUsage();
  const latency: Sample[] = [
    ...latencyBounds.map((bound, i): Sample => [{ le: String(bound / 1_000) }, totals.atMost[i] ?? 0, "_bucket"]),
    [{ le: "+Inf" }, totals.requests, "_bucket"],
    [{}, totals.sumMs / 1_000, "_sum"],
    [{}, totals.requests, "_count"],
  ];
  return [
    metric("socle_info", "gauge", "The version that runs.", [[{ version }, 1]]),
    metric(
      "socle_http_requests_total",
      "counter",
      "Requests that were answered.",
      totals.byClass.map(({ method, statusClass, requests }) => [{ method, status: statusClass }, requests]),
    ),
    metric("socle_http_request_duration_seconds", "histogram", "Time until an answer began.", latency),
    metric(
      "socle_limit_reached_total",
      "counter",
      "Callers that were turned away or cut off at a bound.",
      limits.map(([limit, times]): Sample => [{ limit }, times]),
    ),
    metric("socle_realtime_sockets", "gauge", "Open sockets.", [[{}, sockets]]),
    metric("socle_database_size_bytes", "gauge", "The database file.", [[{}, database.size]]),
    metric("socle_database_wal_size_bytes", "gauge", "The write-ahead log.", [[{}, database.walSize]]),
    metric("socle_files", "gauge", "Stored files.", [[{}, storage.files]]),
    metric("socle_files_size_bytes", "gauge", "The bytes of stored files.", [[{}, storage.size]]),
    metric(
      "socle_records",
      "gauge",
      "Records of each collection.",
      collections.map(({ name, records }) => [{ collection: name }, records]),
    ),
    metric("socle_users", "gauge", "Users.", [[{}, users]]),
    metric(
      "socle_function_runs",
      "gauge",
      "Runs of functions that wait, run, or have failed for good and are kept.",
      Object.entries(deliveries).map(([state, n]): Sample => [{ state }, n]),
    ),
    metric("process_resident_memory_bytes", "gauge", "Resident memory of the service.", [[{}, residentMemory]]),
    metric("process_cpu_seconds_total", "counter", "Processor time of the service.", [
      [{}, (cpu.user + cpu.system) / 1e6],
    ]),
    metric("process_start_time_seconds", "gauge", "When it started, since 1970.", [
      [{}, Date.parse(startedAt) / 1_000],
    ]),
  ].join("");
}
