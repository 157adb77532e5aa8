/**
 * Conditions: faults of a service that runs. Each condition looks at a part of the service, and answers a line with the values
 * and the remedy; docs/operating.md has the table.
 */
import type { ClusterInstance, ClusterOverview, StatusItem } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { type Clock, count, freeBytes, type LimitName, toTimestamp } from "../../base/kernel/index.ts";
import type { HistogramTotals, LimitMeter, Logger } from "../../base/logging/index.ts";
import type { Functions } from "../../code/functions/index.ts";
import { nextTime } from "../../code/jobs/index.ts";
import type { Mails } from "../../people/mail/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { Failures } from "../../store/failures/index.ts";
import { type ContinuousState, latenessOf } from "../backup/index.ts";
import type { ClusterNumbers, OverviewSources } from "./metrics-text.ts";

/** Totals that only grow, at a moment. */
export interface Totals {
  readonly flushes: HistogramTotals;
  readonly refused: ReadonlyMap<string, number>;
  readonly limits: ReadonlyMap<LimitName, number>;
}

/** The parts of the service that the conditions look at. */
export interface StatusSources extends Pick<OverviewSources, "disks" | "readiness" | "version"> {
  readonly clock: Pick<Clock, "now">;
  readonly logger: Pick<Logger, "often">;
  readonly config: Pick<Config, "limits.diskFree" | "backup.schedule">;
  /** The certificate in use, in PEM; null without HTTPS. */
  readonly certificate: () => string | null;
  readonly database: {
    readonly readOnly: Pick<Database["readOnly"], "state">;
    readonly uncopiedLog: number;
    readonly meter: Pick<Database["meter"], "refused"> & { readonly flushes: { totals(): HistogramTotals } };
  };
  readonly limits: Pick<LimitMeter, "totals">;
  readonly backups: {
    totals(): { readonly last: { readonly endedAt: number } | null; readonly lastError: string | null };
    readonly continuous: ContinuousState | null;
  };
  readonly failures: Pick<Failures, "open">;
  readonly functions: Pick<Functions, "oldest">;
  readonly mails: Pick<Mails, "oldest">;
  readonly jobs: { readonly queues: { list(): readonly { readonly name: string }[]; lag(queue: string): number } };
  readonly cluster?:
    | {
        readonly numbers: () => Pick<ClusterNumbers, "isStorageReached">;
        readonly overview: () => Promise<ClusterOverview>;
      }
    | undefined;
}

/** The worst first. */
const levels: readonly StatusItem["level"][] = ["error", "warning", "note"];

/** A condition that holds now; the caller adds `since`. */
export interface Found extends Omit<StatusItem, "since"> {
  /** The disk, the instance, the queue or another part, of a condition that several parts can have at the same time. */
  readonly subject?: string | undefined;
}

/** Two findings with the same key are the same condition at two times, whatever the numbers and errors in the texts. */
export function keyOf({ id, subject = "" }: Found): string {
  return `${id} ${subject}`.trim();
}

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
/** Free bytes of a disk below which an operator should act, whatever `limits.diskFree` says. */
const lowDisk = 1_000_000_000;
const longLog = 256 * 1024 ** 2;
const slowFlushMs = 500;
const lateMs = 10 * minute;
/** The time that a backup may take. */
const lateBackupMs = 2 * hour;
const certificateMs = 14 * day;
/** Commits that a replica may be behind. */
const maxLag = 1_000;
/** Bounds that strangers reach every day. */
const everydayLimits = new Set<LimitName>(["logins", "rate"]);

/** All conditions that hold. @param before the totals some minutes ago; null right after the start. */
export async function conditions(sources: StatusSources, now: Totals, before: Totals | null): Promise<Found[]> {
  const found = [
    ...(await readiness(sources)),
    ...(await disks(sources)),
    ...readOnly(sources),
    ...database(sources, now, before),
    ...backups(sources),
    ...continuous(sources),
    ...(await certificate(sources)),
    ...failures(sources),
    ...queues(sources),
    ...limits(now, before),
    ...(await cluster(sources)),
  ];
  return found.toSorted((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
}

async function readiness({ readiness: reasons }: StatusSources): Promise<Found[]> {
  return (await reasons()).map((reason) => ({
    id: "not_ready",
    level: "error",
    text: `The service is not ready: ${reason}`,
    remedy: 'A balancer sends no requests here. The reason names the part; see docs/operating.md, "Health".',
  }));
}

async function disks({ disks: paths, config }: StatusSources): Promise<Found[]> {
  const least = Math.max(lowDisk, 2 * config["limits.diskFree"]);
  const found: Found[] = [];
  for (const path of paths) {
    const free = await freeBytes(path).catch(() => null);
    if (free !== null && free < least)
      found.push({
        id: "disk_low",
        subject: path,
        level: "warning",
        text: `The disk of ${path} has ${mebibytes(free)} free`,
        remedy:
          "Free space, or enlarge the disk: below limits.diskFree the service is not ready, and a full disk refuses writes.",
      });
  }
  return found;
}

function readOnly({ database: { readOnly: mode } }: StatusSources): Found[] {
  const { state } = mode;
  if (state === null) return [];
  const isAsked = state.cause === "admin";
  const remedy = isAsked
    ? "Runs of functions, jobs and queues wait. socle read-only off ends the mode."
    : "Free space, or enlarge the disk: the mode ends with room. Admins can delete records and files.";
  return [
    { id: "read_only", level: isAsked ? "warning" : "error", text: `The service is read-only: ${state.text}`, remedy },
  ];
}

function database({ database: { uncopiedLog } }: StatusSources, now: Totals, before: Totals | null): Found[] {
  const found: Found[] = [];
  if (uncopiedLog > longLog)
    found.push({
      id: "log_not_copied",
      level: "warning",
      text: `${mebibytes(uncopiedLog)} of the write-ahead log are not copied into the database`,
      remedy:
        "Another process reads the database for long, a backup for instance, or the disk is slow. End the reader.",
    });
  const slow = before === null ? null : slowFlushes(now.flushes, before.flushes);
  if (slow !== null)
    found.push({
      id: "flush_slow",
      level: "warning",
      text: `${slow} of the last flushes of the disk took longer than ${slowFlushMs} ms`,
      remedy: "Each write waits for a flush. Find what else writes to the disk (iostat -x 1), or take a faster disk.",
    });
  const refused = [...now.refused].filter(([cause, times]) => times > (before?.refused.get(cause) ?? 0));
  for (const [cause] of refused)
    found.push({
      id: "writes_refused",
      subject: cause,
      level: "error",
      text: `The disk did not take writes: ${cause}`,
      remedy:
        'Callers got 503. Free space, or look at the disk (dmesg) before a restart; see docs/operating.md, "A full disk".',
    });
  return found;
}

/** "3 of 200", if more than one of a hundred flushes since `before` was slow; otherwise null. */
function slowFlushes(now: HistogramTotals, before: HistogramTotals): string | null {
  const fast = ({ atMost }: HistogramTotals): number => atMost.findLast(([bound]) => bound <= slowFlushMs)?.[1] ?? 0;
  const all = now.count - before.count;
  const slow = all - (fast(now) - fast(before));
  return slow > all / 100 ? `${slow} of ${all}` : null;
}

function backups({ backups: made, clock, config }: StatusSources): Found[] {
  const { last, lastError } = made.totals();
  const schedule = config["backup.schedule"];
  // A service that has just started has made no backup.
  const from = last?.endedAt ?? clock.now() - performance.now();
  const due = schedule === undefined ? null : nextTime({ schedule, timezone: "UTC" }, from);
  const remedy =
    "Look at GET /api/admin/backups or the page Backups for the error, and make a backup now: socle backup FILE.";
  if (lastError !== null)
    return [{ id: "backup_failed", level: "error", text: `The last backup failed: ${lastError}`, remedy }];
  if (due !== null && due + lateBackupMs < clock.now()) {
    const text = `The backup of ${toTimestamp(due)} was not made`;
    return [{ id: "backup_old", level: "error", text, remedy }];
  }
  if (schedule === undefined && last === null && made.continuous === null)
    return [
      {
        id: "backup_none",
        level: "note",
        text: "There is no backup, and none is scheduled",
        remedy: "Set backup.schedule and backup.target; see docs/backups.md.",
      },
    ];
  return [];
}

function continuous({ backups: { continuous: state } }: StatusSources): Found[] {
  const text = state === null ? null : latenessOf(state);
  if (state === null || text === null) return [];
  const [id, level] = state.isOver ? (["backup_stopped", "error"] as const) : (["backup_behind", "warning"] as const);
  const remedy = state.isOver
    ? 'See docs/backups.md, "Two services and one place".'
    : "Mend the place of backup.continuous, or the way to it. A gap is closed by a snapshot, as soon as the place answers.";
  return [{ id, level, text, remedy }];
}

async function certificate({ certificate: used, clock }: StatusSources): Promise<Found[]> {
  const pem = used();
  if (pem === null) return [];
  // Loaded only with HTTPS.
  const { X509Certificate } = await import("node:crypto");
  const left = new X509Certificate(pem).validToDate.getTime() - clock.now();
  if (left > certificateMs) return [];
  const text = left <= 0 ? "The certificate has expired" : `The certificate expires in ${Math.floor(left / day)} days`;
  const remedy =
    "Put a new certificate into the files of tls.cert and tls.key; with acme, the log says why none was issued.";
  return [{ id: "certificate_ends", level: left <= 0 ? "error" : "warning", text, remedy }];
}

function failures({ failures: { open: groups } }: StatusSources): Found[] {
  if (groups === 0) return [];
  const text = `${count(groups, "cause")} of failures ${groups === 1 ? "is" : "are"} open`;
  const remedy =
    "socle failures lists them with file and line; mend the code, then socle failures retry GROUP, resolve or mute.";
  return [{ id: "failures_open", level: "warning", text, remedy }];
}

function queues({ clock, functions, jobs, mails }: StatusSources): Found[] {
  const now = clock.now();
  const late: (readonly [text: string, ms: number])[] = [
    ["An event waits for its function", now - (functions.oldest() ?? now)],
    ["A mail waits to be sent", now - (mails.oldest() ?? now)],
    ...jobs.queues.list().map(({ name }) => [`A run of the queue ${name} is due`, jobs.queues.lag(name)] as const),
  ];
  return late
    .filter(([, ms]) => ms > lateMs)
    .map(([text, ms]) => ({
      id: "work_late",
      subject: text,
      level: "warning",
      text: `${text} since ${Math.floor(ms / minute)} minutes`,
      remedy:
        "A handler is slow or fails again and again, or the mail server is away: see Runs, Queues and Mails of the dashboard.",
    }));
}

function limits(now: Totals, before: Totals | null): Found[] {
  const reached = [...now.limits]
    .map(([limit, times]) => [limit, times - (before?.limits.get(limit) ?? 0)] as const)
    .filter(([limit, times]) => times > 0 && !everydayLimits.has(limit));
  return reached.map(([limit, times]) => ({
    id: "limit_reached",
    subject: limit,
    level: "note",
    text: `Callers were turned away or cut off at the bound ${limit}, ${count(times, "time")} in the last minutes`,
    remedy: "docs/limits.md says what the bound means, and which key raises the bound.",
  }));
}

async function cluster({ cluster: instance, version }: StatusSources): Promise<Found[]> {
  if (instance === undefined) return [];
  const { isStorageReached } = instance.numbers();
  const { instances, isJournalReached, leader } = await instance.overview();
  const found: Found[] = [];
  const error = (id: string, text: string, remedy: string): void =>
    void found.push({ id, level: "error", text, remedy });
  if (!isJournalReached)
    error(
      "journal_away",
      "PostgreSQL, which has the journal, does not answer",
      "Writes wait: mend PostgreSQL or the way to it.",
    );
  else if (leader === null)
    error("no_leader", "No instance leads the cluster", "socle cluster status names the problem of each instance.");
  if (!isStorageReached)
    error("bucket_away", "The bucket of the files does not answer", "Mend the way to the bucket, or its credentials.");
  const files = instances.find(({ role }) => role === "leader")?.files ?? null;
  return [...found, ...instances.flatMap((each) => instanceConditions(each, version, files))];
}

/** @param files the fingerprint of the leader's project folder. */
function instanceConditions(each: ClusterInstance, version: string, files: string | null): Found[] {
  const { address: subject, isLive, lag, problem } = each;
  const remedy = "Look at the log of the instance; docs/cluster.md has the way on.";
  const found: Found[] = [];
  if (!isLive)
    found.push({ id: "instance_away", subject, level: "warning", text: `${subject} does not tell of itself`, remedy });
  else if (problem !== null)
    found.push({ id: "instance_problem", subject, level: "warning", text: `${subject}: ${problem}`, remedy });
  else if (lag > maxLag)
    found.push({
      id: "replica_behind",
      subject,
      level: "warning",
      text: `${subject} is ${lag} commits behind`,
      remedy,
    });
  if (each.version !== version) {
    const text = `${subject} runs ${each.version}, this instance ${version}`;
    found.push({
      id: "other_version",
      subject,
      level: "note",
      text,
      remedy: "Finish the upgrade; see docs/cluster.md.",
    });
  } else if (files !== null && each.files !== null && each.files !== files) {
    const text = `${subject} has other project files than the leader`;
    found.push({
      id: "other_files",
      subject,
      level: "note",
      text,
      remedy: "Deploy the same files; see docs/cluster.md.",
    });
  }
  return found;
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / 1_024 ** 2)} MiB`;
}
