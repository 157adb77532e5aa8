/**
 * Admin API of failures: lists and changes the groups of failures, and retries the runs of a group. A retry is a row of the
 * database with the runs that had failed for good when the retry began: the service makes the runs wait again in small
 * transactions, and goes on after a restart. The progress is counted from the states of the runs.
 */
import type {
  FailureGroup,
  FailureKind,
  FailurePage,
  FailureRetry,
  FailureRetryStarted,
  FailureStatus,
} from "@socle/protocol";
import { FAILURE_KINDS, FAILURE_STATUSES } from "@socle/protocol/wire";
import { AppError, type Clock, quote, readChoice, type SignedIn, toTimestamp } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Functions } from "../../code/functions/index.ts";
import type { Jobs } from "../../code/jobs/index.ts";
import type { Mails } from "../../people/mail/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import type { EventLog, LoggedEvent } from "../../store/events/index.ts";
import {
  type Failure,
  type FailureRow,
  type Failures,
  findGroup,
  findRetry,
  groupIdOf,
  groupOld,
  isUngrouped,
  listGroups,
  openRetries,
  putRetry,
  type RetryRow,
  setStatus,
} from "../../store/failures/index.ts";
import type { AdminChanges, Audit } from "./admin-changes.ts";

/** Runs that a transaction makes wait again. */
const batchSize = 100;
/** The pause before a transaction that was refused. */
const refusedMs = 1_000;
/** Failures in the event log that an upgrade groups. */
const maxOld = 1_000;

const deeds = { open: "reopened", muted: "muted", resolved: "resolved" } as const;

interface FailureAdminOptions {
  readonly changes: AdminChanges;
  readonly clock: Clock;
  readonly database: Database;
  readonly events: EventLog;
  readonly failures: Failures;
  readonly functions: Functions;
  readonly jobs: Jobs;
  readonly logger: Logger;
  readonly mails: Mails;
}

/** The failed runs of a kind; absent members for any. */
interface ChosenRuns {
  readonly kind: FailureKind;
  /** The file of the handler. */
  readonly file?: string | undefined;
  /** The group. */
  readonly id?: string;
}

/** Work of a kind that can be made again, by references to the runs. */
interface RetriedWork {
  failed(reader: Reader): Failure[];
  states(reader: Reader, references: readonly string[]): { open: number; failed: number };
  /** Answers the reference of a new run, if the work makes a new run. @throws AppError. */
  retry(tx: Transactor, reference: string): unknown;
}

export class FailureAdmin {
  readonly #options: FailureAdminOptions;
  readonly #work: { readonly [kind: string]: RetriedWork };
  #isStarted = false;
  #isStopped = false;
  /** The retries that are carried out, one after the other. */
  #retrying: Promise<void> = Promise.resolve();

  constructor(options: FailureAdminOptions) {
    const { functions, jobs, mails } = options;
    this.#options = options;
    // A schedule keeps no run that has failed: the job runs once more.
    this.#work = { function: functions, mail: mails, queue: jobs.failedQueued, job: jobs.failedScheduled };
  }

  /** Groups the failures of an earlier version once, before any file is loaded. */
  async groupOld(): Promise<void> {
    const { database, events, functions, jobs, mails } = this.#options;
    const { reader } = database;
    if (!isUngrouped(reader)) return;
    const kept = [...functions.failed(reader), ...jobs.failedQueued.failed(reader), ...mails.failed(reader)];
    const waiter = { caller: "failures", signal: new AbortController().signal };
    const filter = { types: ["function.failed", "job.failed"], from: null, to: null, filePath: null };
    const { items } = await events.search(filter, { limit: maxOld, offset: 0, waiter });
    const logged = items.flatMap(oldFailure);
    await database.upkeep((tx) =>
      groupOld(
        tx,
        [...kept, ...logged].sort((a, b) => a.at - b.at),
      ),
    );
  }

  /** Goes on with the retries that the last end has interrupted. */
  start(signal: AbortSignal): void {
    this.#isStarted = true;
    signal.addEventListener("abort", () => {
      this.#isStopped = true;
    });
    for (const id of openRetries(this.#options.database.reader)) this.#carryOut(id);
  }

  /** Resolves when no transaction of a retry is under way, and all failures are grouped. */
  async settled(): Promise<void> {
    await Promise.all([this.#retrying, this.#options.failures.settled()]);
  }

  /** @throws AppError `bad_request` for an unknown status, kind or cursor. */
  async list(query: {
    status: string | null;
    kind: string | null;
    cursor: string | null;
    limit: number;
  }): Promise<FailurePage> {
    await this.#options.failures.settled();
    const status = query.status === null ? null : readChoice("status", query.status, FAILURE_STATUSES);
    const kind = query.kind === null ? null : readChoice("kind", query.kind, FAILURE_KINDS);
    const after = query.cursor === null ? null : readCursor(query.cursor);
    const { reader } = this.#options.database;
    const rows = listGroups(reader, { status, kind }, { limit: query.limit + 1, after });
    const shown = rows.slice(0, query.limit);
    const last = rows.length > shown.length ? shown.at(-1) : undefined;
    const nextCursor = last === undefined ? null : `${last.last}.${last.id}`;
    return { items: shown.map((row) => this.#entryOf(row)), nextCursor, open: this.#options.failures.open };
  }

  /** @throws AppError `not_found`. */
  async get(id: string): Promise<FailureGroup> {
    await this.#options.failures.settled();
    return this.#entryOf(this.#find(this.#options.database.reader, id));
  }

  /** @param admin null for the command line. @throws AppError `not_found`. */
  async setStatus(id: string, status: FailureStatus, admin: SignedIn | null): Promise<FailureGroup> {
    await this.#options.failures.settled();
    await this.#options.changes.transact(admin, (tx, audit) => {
      const before = this.#find(tx, id);
      setStatus(tx, id, status);
      audit({ action: `failure.${deeds[status]}`, target: id, before: { status: before.status } });
    });
    return this.get(id);
  }

  /**
   * Makes the runs of a group wait again that have failed for good. Answers when the retry is on disk.
   * @param admin null for the command line.
   * @throws AppError `not_found`; `bad_request` for a kind without retries, and without such runs; `conflict` during a retry.
   */
  async retry(id: string, admin: SignedIn | null): Promise<FailureRetryStarted> {
    await this.#options.failures.settled();
    await this.#options.changes.transact(admin, (tx, audit) => {
      const { kind } = this.#find(tx, id);
      if (this.#isRetried(tx, id)) throw new AppError("conflict", "A retry of this group is under way.");
      if (this.#begin(tx, audit, { kind, id }).length === 0)
        throw new AppError("bad_request", "No failed run of the group is left: all were retried, or removed.");
    });
    if (this.#isStarted) this.#carryOut(id);
    const { retry } = await this.get(id);
    if (retry === null) throw new AppError("not_found", `No group of failures has the id ${quote(id)} any more.`);
    return { id, retry };
  }

  /**
   * Makes all runs of a kind wait again that have failed for good; with a file, only the runs of its handlers. Answers the number of runs.
   * @throws AppError `bad_request` for a kind without retries.
   */
  async retryAll(chosen: Pick<ChosenRuns, "kind" | "file">, admin: SignedIn): Promise<{ runs: number }> {
    await this.#options.failures.settled();
    const begun = await this.#options.changes.transact(admin, (tx, audit) => this.#begin(tx, audit, chosen));
    for (const { id } of begun) this.#carryOut(id);
    return { runs: begun.reduce((sum, { runs }) => sum + runs.length, 0) };
  }

  #isRetried(reader: Reader, id: string): boolean {
    const last = findRetry(reader, id);
    return last !== null && last.next < last.runs.length;
  }

  /** Writes the retries of the groups of a kind, or of one group. A group without failed runs, or with a retry, has none. */
  #begin(tx: Transactor, audit: Audit, { kind, file, id: only }: ChosenRuns): RetryRow[] {
    const work = this.#work[kind];
    if (work === undefined)
      throw new AppError(
        "bad_request",
        `Failures of the kind ${kind} cannot be retried: their callers have an answer already. Failures of functions, jobs, queues and mails can.`,
      );
    if (kind === "mail") this.#options.mails.checkSending();
    const startedAt = this.#options.clock.now();
    const begun: RetryRow[] = [];
    const all = work.failed(tx).filter(({ path }) => (file ?? path) === path);
    for (const [id, failed] of Map.groupBy(all, (failure) => groupIdOf(tx, failure))) {
      if ((only ?? id) !== id || findGroup(tx, id) === null || this.#isRetried(tx, id)) continue;
      const runs = [...new Set(failed.map(({ run, path }) => (kind === "job" ? (path ?? "") : run)))];
      const retry = { id, startedAt, runs, next: 0, error: null };
      putRetry(tx, retry);
      audit({ action: "failure.retried", target: id, after: { kind, runs: runs.length } });
      begun.push(retry);
    }
    return begun;
  }

  #carryOut(id: string): void {
    this.#retrying = this.#retrying.then(async () => {
      for (let isOver = false; !isOver && !this.#isStopped; )
        try {
          isOver = await this.#options.database.transact((tx) => this.#retryBatch(tx, id));
        } catch (error) {
          const { database, logger } = this.#options;
          if (database.isOver || !(error instanceof AppError) || error.code !== "unavailable") {
            logger.error("A retry of failures has stopped, and goes on at the next start", { error });
            return;
          }
          logger.often("A retry of failures waits: the database refuses the write", { error });
          await Bun.sleep(refusedMs);
        }
    });
  }

  /**
   * Makes the next runs of a retry wait again, and notes how far the retry is. The last runs resolve the group, if each run could start. Answers
   * whether no run is left.
   */
  #retryBatch(tx: Transactor, id: string): boolean {
    const [group, retry] = [findGroup(tx, id), findRetry(tx, id)];
    const work = this.#work[group?.kind ?? ""];
    if (retry === null || work === undefined) return true;
    const runs = [...retry.runs];
    const end = Math.min(retry.next + batchSize, runs.length);
    let { error } = retry;
    for (let i = retry.next; i < end; i++)
      try {
        const made = work.retry(tx, runs[i] ?? "");
        if (typeof made === "string") runs[i] = made;
      } catch (thrown) {
        // Each refusal comes before a write. A run that is gone, or that waits already, is left out.
        if (!(thrown instanceof AppError)) throw thrown;
        error = thrown.message;
      }
    putRetry(tx, { ...retry, runs, next: end, error });
    const isOver = end === runs.length;
    // A run that fails later opens the group again.
    if (isOver && group?.status === "open" && error === null && work.states(tx, runs).failed === 0)
      setStatus(tx, id, "resolved");
    return isOver;
  }

  #progressOf(reader: Reader, work: RetriedWork, { startedAt, runs, next, error }: RetryRow): FailureRetry {
    const { open, failed } = work.states(reader, runs.slice(0, next));
    const left = open + runs.length - next;
    const status = left > 0 ? "running" : "completed";
    const total = runs.length;
    return { status, startedAt: toTimestamp(startedAt), total, done: total - left, failed, error };
  }

  #entryOf({ first, last, runs, records, seenAgain, ...row }: FailureRow): FailureGroup {
    const { reader } = this.#options.database;
    const work = this.#work[row.kind];
    const retry = work === undefined ? null : findRetry(reader, row.id);
    return {
      ...row,
      first: toTimestamp(first),
      last: toTimestamp(last),
      // The service has written the texts.
      runs: JSON.parse(runs) as string[],
      records: JSON.parse(records) as string[],
      seenAgain: seenAgain === 1,
      canRetry: work !== undefined,
      retry: work !== undefined && retry !== null ? this.#progressOf(reader, work, retry) : null,
    };
  }

  #find(reader: Reader, id: string): FailureRow {
    const row = findGroup(reader, id);
    if (row === null) throw new AppError("not_found", `No group of failures has the id ${quote(id)}.`);
    return row;
  }
}

/** The failure of a call, or of the run of a schedule, from the event log. The tables have the other runs. */
function oldFailure({ payload, timestamp, type }: LoggedEvent): Failure[] {
  const { filePath: path, error, runId: run, eventType, schedule } = payload;
  const isKept = type === "job.failed" ? schedule === null : eventType !== "request";
  if (isKept || typeof path !== "string" || typeof error !== "string" || typeof run !== "string") return [];
  const kind = type === "job.failed" ? "job" : path.startsWith("queries/") ? "query" : "endpoint";
  return [{ kind, path, error, at: Date.parse(timestamp), run, record: null }];
}

/** @throws AppError `bad_request`. */
function readCursor(cursor: string): { last: number; id: string } {
  const [, last, id] = /^(\d{1,15})\.(flr_[0-9a-f]+)$/.exec(cursor) ?? [];
  if (last !== undefined && id !== undefined) return { last: Number(last), id };
  throw new AppError("bad_request", `"cursor" must be the nextCursor of a page, not ${quote(cursor)}.`);
}
