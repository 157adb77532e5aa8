/** The backups of a running service: made on request or by a schedule, a single backup at a time; listed, read, removed. */
import { statSync } from "node:fs";
import type { BackupEntry, ContinuousExtent } from "@socle/protocol";
import { type Config, keptBackups } from "../../base/config/index.ts";
import {
  AppError,
  type Clock,
  messageOf,
  type Principal,
  SetupError,
  system,
  toTimestamp,
} from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { nextTime, Schedules } from "../../code/jobs/index.ts";
import type { BucketObject, ByteRange, FileBody, Storage } from "../../files/storage/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { type Encryption, encryptionFor, isRecipient, type ManifestHead } from "./archive.ts";
import { BackupPlace } from "./backup-place.ts";
import { BackupChecks } from "./checks.ts";
import { type ContinuousState, latenessOf } from "./continuous.ts";
import { surveyOf } from "./continuous-restore.ts";
import { backupFolder, type DataPaths } from "./data-paths.ts";
import { makeBackup } from "./make-backup.ts";
import { BackupTarget, backupName, timeOfName } from "./target.ts";

/** Failures that are remembered; older ones are in the log and in the event log. */
const maxFailures = 20;
const progressEveryMs = 1_000;

type BackupConfig = Pick<
  Config,
  "backup.target" | "backup.schedule" | "backup.keep" | "backup.log" | "backup.recipient" | "backup.continuous"
>;

export interface BackupsOptions {
  database: Database;
  events: EventLog;
  storage: Storage;
  logger: Logger;
  paths: DataPaths;
  config: BackupConfig;
  version: string;
  /** The versions of the tables that this build knows. */
  schemas: ManifestHead["schema"];
  /** Null without a continuous backup. */
  continuous: { readonly state: ContinuousState } | null;
  /** Backups are due by this clock. */
  clock: Clock;
}

interface LastBackup {
  /** Milliseconds since 1970. */
  readonly endedAt: number;
  readonly size: number;
  readonly durationMs: number;
}

interface RunningBackup {
  readonly entry: BackupEntry;
  /** Rejects with the cause of a failure. */
  readonly ended: Promise<void>;
}

interface Work {
  readonly name: string;
  /** The path of the backup; null for a backup in the target. */
  readonly file: string | null;
  readonly encryption: Encryption | null;
  readonly principal: Principal;
  readonly onProgress?: (done: number, total: number) => void;
  /** Hears that the bytes of files are missing. */
  readonly onMissing?: (warning: string) => void;
}

export class Backups {
  readonly #options: BackupsOptions;
  readonly #target: BackupTarget;
  readonly #checks: BackupChecks;
  readonly #schedules: Schedules<{ name: string; schedule: string; timezone: string }>;
  readonly #stopping = new AbortController();
  #running: RunningBackup | null = null;
  #failed: BackupEntry[] = [];
  /** Packed, and not delivered: the next backup delivers this file instead of a new file. */
  #undelivered: string | null = null;
  #last: LastBackup | null = null;
  #failures = 0;
  /** Why the last backup failed; null after a complete backup. */
  #lastError: string | null = null;
  /** The last event: the database writes events in the order of the calls. */
  #told: Promise<void> = Promise.resolve();

  constructor(options: BackupsOptions) {
    this.#options = options;
    this.#target = new BackupTarget(options.config["backup.target"], options.paths);
    this.#checks = new BackupChecks(options);
    const { clock } = options;
    this.#schedules = new Schedules({ clock, now: () => clock.now(), onDue: () => this.#beginDue() });
  }

  /** Waits for the schedule from now on. */
  start(): void {
    const { config, logger } = this.#options;
    this.reschedule();
    this.#schedules.start();
    const problem = this.#target.problem(config["backup.schedule"] !== undefined);
    if (problem !== null) logger.warn(problem);
    // A store that does not answer holds up no start.
    void this.#target.list().then(
      (kept) => {
        const newest = kept.at(-1);
        if (newest === undefined) return;
        const { name, modifiedAt: endedAt, size } = newest;
        this.#last ??= { endedAt, size, durationMs: Math.max(0, endedAt - (timeOfName(name) ?? endedAt)) };
      },
      (error) => logger.warn("The stored backups could not be listed", { error }),
    );
  }

  /** Follows `backup.schedule` from now on. */
  reschedule(): void {
    const schedule = this.#options.config["backup.schedule"];
    this.#schedules.use(schedule === undefined ? [] : [{ name: "backup", schedule, timezone: "UTC" }]);
  }

  /** Ends a backup that is being made; nothing of the backup is left. */
  async stop(): Promise<void> {
    this.#schedules.stop();
    this.#stopping.abort(new Error("the service stops"));
    await this.#checks.stop();
    await this.#running?.ended.catch(() => undefined);
    await this.#told;
  }

  /** All that are kept, that runs, and the last that failed, newest first. */
  async list(): Promise<BackupEntry[]> {
    // A store may list a backup before the store has said that the backup is whole. Until then the entry of the running
    // backup counts.
    const running = this.#running === null ? [] : [this.#running.entry];
    const kept = (await this.#target.list().catch(unreachable)).map(({ name, size, modifiedAt }): BackupEntry => {
      const startedAt = toTimestamp(timeOfName(name) ?? modifiedAt);
      return {
        name,
        state: "completed",
        size,
        startedAt,
        endedAt: toTimestamp(modifiedAt),
        progress: 1,
        error: null,
        check: this.#checks.of(name),
      };
    });
    // Of entries with the same name, the last counts.
    const byName = new Map([...this.#failed, ...kept, ...running].map((entry) => [entry.name, entry]));
    return [...byName.values()].sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  }

  /** Begins a backup in the target. @throws AppError `conflict` while another backup is made. */
  begin(principal: Principal): BackupEntry {
    const encryption = encryptionFor(this.#options.config["backup.recipient"], null);
    const name = this.#undelivered ?? backupName(Date.now(), encryption !== null);
    const { entry, ended } = this.#run({ name, file: null, encryption, principal });
    ended.then(() => this.#trim()).catch(() => undefined);
    return { ...entry };
  }

  /**
   * Makes a backup in a file of this machine.
   * @throws AppError `conflict` while another backup is made; Error with one line after a failure.
   */
  async toFile(
    file: string,
    passphrase: string | null,
    listener: Required<Pick<Work, "onProgress" | "onMissing">>,
  ): Promise<void> {
    const encryption = encryptionFor(this.#options.config["backup.recipient"], passphrase);
    await this.#run({ ...listener, name: file, file, encryption, principal: system }).ended;
  }

  /** @throws AppError `not_found`. */
  async find(name: string): Promise<BucketObject> {
    const found = await this.#target.find(name).catch(unreachable);
    if (found === null) throw new AppError("not_found", "The backup does not exist.");
    return found;
  }

  /** Begins to verify a stored backup. @throws AppError `not_found`; as `BackupChecks.begin`. */
  async verify(name: string): Promise<BackupEntry> {
    await this.find(name);
    this.#checks.begin(name, this.#target.addressOf(name));
    const entry = (await this.list()).find((each) => each.name === name);
    if (entry === undefined) throw new AppError("not_found", "The backup does not exist.");
    return entry;
  }

  /** The extent of the continuous backup. @throws AppError `not_found` without a continuous backup, `unavailable` while the place does not answer. */
  async extent(): Promise<ContinuousExtent> {
    const { config, paths } = this.#options;
    const address = config["backup.continuous"];
    const state = this.continuous;
    if (address === undefined || state === null)
      throw new AppError("not_found", "There is no continuous backup: backup.continuous is not set.");
    const place = new BackupPlace(address, { keys: paths.files.s3 });
    // A new service has no segment yet.
    const survey = await surveyOf(place, paths).catch((thrown) =>
      thrown instanceof SetupError ? null : unreachable(thrown),
    );
    const { snapshots, gaps } = survey ?? { snapshots: [], gaps: [] };
    const [newest, oldest] = [snapshots[0], snapshots.at(-1)];
    return {
      place: place.address,
      from: oldest === undefined ? null : toTimestamp(oldest.madeAt),
      to: newest === undefined ? null : toTimestamp(Math.max(survey?.last.to ?? 0, newest.madeAt)),
      position: survey?.last.last ?? 0,
      snapshots: snapshots.map((each) => ({ ...each, madeAt: toTimestamp(each.madeAt) })),
      gaps: gaps
        .filter(({ number }) => number > 1)
        .map(({ from, to }) => ({ from: toTimestamp(from), to: toTimestamp(to) })),
      behind: state.behindMs / 1_000,
      isLate: state.behindMs > state.allowedMs,
      problem: state.problem,
    };
  }

  read(name: string, range: ByteRange | null): Promise<FileBody> {
    return this.#target.read(name, range);
  }

  /** @throws AppError `not_found`, and `conflict` while the backup is made. */
  async remove(name: string): Promise<void> {
    if (this.#running?.entry.name === name) throw new AppError("conflict", "This backup is being made.");
    const failed = this.#failed.filter((entry) => entry.name !== name);
    const wasFailure = failed.length < this.#failed.length;
    this.#failed = failed;
    if (wasFailure && name !== this.#undelivered) return;
    if (name === this.#undelivered) this.#undelivered = null;
    else await this.find(name);
    this.#checks.forget(name);
    await this.#target.remove(name).catch(unreachable);
  }

  /** For metrics. */
  totals(): { last: LastBackup | null; lastError: string | null; failures: number; isRunning: boolean } {
    const [last, lastError, failures] = [this.#last, this.#lastError, this.#failures];
    return { last, lastError, failures, isRunning: this.#running !== null };
  }

  /** The state of the continuous backup, for the status and metrics; null without a continuous backup. */
  get continuous(): ContinuousState | null {
    return this.#options.continuous?.state ?? null;
  }

  /** Lines on a continuous backup that is late; the service is ready all the same. */
  notes(): string[] {
    const late = this.continuous === null ? null : latenessOf(this.continuous);
    return late === null ? [] : [late];
  }

  /** From the call on, this backup is the running backup. @throws AppError as `begin`. */
  #run(work: Work): RunningBackup {
    const { name } = work;
    if (this.#running !== null) throw new AppError("conflict", `A backup is being made: ${this.#running.entry.name}.`);
    if (this.#stopping.signal.aborted) throw new AppError("unavailable", "The service is stopping.");
    const startedAt = toTimestamp(Date.now());
    const entry: BackupEntry = {
      name,
      state: "running",
      size: null,
      startedAt,
      endedAt: null,
      progress: 0,
      error: null,
      check: null,
    };
    this.#running = { entry, ended: this.#follow(work, entry) };
    return this.#running;
  }

  /** Tells of the beginning and the end. */
  async #follow(work: Work, entry: BackupEntry): Promise<void> {
    const { logger } = this.#options;
    const begun = performance.now();
    logger.info(`Backup ${work.name} begins`);
    await this.#tell("started", work, {});
    try {
      const size = await this.#make(work, entry);
      const durationMs = performance.now() - begun;
      const endedAt = Date.now();
      Object.assign(entry, { state: "completed", endedAt: toTimestamp(endedAt), progress: 1 });
      this.#last = { endedAt, size, durationMs };
      this.#lastError = null;
      logger.info(`Backup ${work.name} is complete`, { size, ms: Math.round(durationMs) });
      void this.#tell("completed", work, { size, durationMs: Math.round(durationMs) });
    } catch (thrown) {
      const error = messageOf(thrown);
      Object.assign(entry, { state: "failed", endedAt: toTimestamp(Date.now()), error });
      this.#failures += 1;
      this.#lastError = error;
      this.#failed = [...this.#failed.filter(({ name }) => name !== entry.name), entry].slice(-maxFailures);
      logger.error(error);
      void this.#tell("failed", work, { error });
      throw thrown;
    } finally {
      this.#running = null;
    }
  }

  /** Answers the size of the backup. */
  async #make(work: Work, entry: BackupEntry): Promise<number> {
    const { storage, logger, config } = this.#options;
    const { signal } = this.#stopping;
    const { name, file, encryption } = work;
    let toldAt = performance.now();
    const onProgress = (done: number, total: number): void => {
      entry.progress = total === 0 ? 0 : done / total;
      work.onProgress?.(done, total);
      if (performance.now() - toldAt < progressEveryMs) return;
      toldAt = performance.now();
      void this.#tell("progress", work, { done, total });
    };
    const output = file ?? this.#target.pathFor(name);
    if (this.#undelivered !== name) {
      const holdRemovals = (): (() => Promise<void>) => storage.holdRemovals();
      const filesSize = storage.totals().size;
      const maxLog = config["backup.log"];
      const folder = backupFolder(this.#options.database.path);
      const place = { folder, output, filesPlace: "in the archive" } as const;
      const options = { ...this.#options, ...place, maxLog, holdRemovals, filesSize, encryption, signal, onProgress };
      const warning = await makeBackup(options);
      if (warning !== null) {
        logger.warn(`Backup ${name}: ${warning}`);
        work.onMissing?.(warning);
      }
    }
    entry.size = statSync(output).size;
    if (file !== null) return entry.size;
    this.#undelivered = name;
    await this.#target.deliver(name, { signal, onProgress });
    this.#undelivered = null;
    return entry.size;
  }

  /** Only admins read these events: no channel of realtime carries the events. */
  #tell(step: "started" | "progress" | "completed" | "failed", { name, principal }: Work, more: object): Promise<void> {
    const { database, events, logger } = this.#options;
    const event = { type: `backup.${step}`, source: "admin", payload: { name, ...more }, principal } as const;
    this.#told = database
      .upkeep((tx) => void events.append(tx, event))
      .catch((error) => logger.error("An event of a backup could not be recorded", { error }));
    return this.#told;
  }

  async #trim(): Promise<void> {
    const { config, logger } = this.#options;
    const keep = config["backup.keep"];
    if (keep === 0) return;
    const { count, ms } = keptBackups(keep);
    const isOld = ({ modifiedAt }: BucketObject): boolean => modifiedAt < Date.now() - ms;
    try {
      const all = await this.#target.list();
      for (const { name } of count > 0 ? all.slice(0, -count) : all.filter(isOld)) {
        await this.#target.remove(name);
        this.#checks.forget(name);
        logger.info(`Backup ${name} was removed: backup.keep is ${keep}`);
      }
    } catch (error) {
      logger.warn("Old backups could not be removed", { error });
    }
  }

  #beginDue(): void {
    try {
      this.begin(system);
    } catch (thrown) {
      this.#options.logger.warn(`A backup is due and is skipped: ${messageOf(thrown)}`);
    }
  }
}

/** A store that does not answer, or a folder that cannot be read. */
function unreachable(cause: unknown): never {
  throw new AppError("unavailable", "The target of the backups cannot be reached at the moment.", { cause });
}

/** @throws SetupError for a bucket without keys, a schedule that is not cron, and a recipient that is not a public key. */
export async function checkBackups(config: BackupConfig, paths: DataPaths): Promise<void> {
  const { "backup.target": address, "backup.schedule": schedule, "backup.recipient": recipient } = config;
  new BackupTarget(address, paths);
  if (recipient !== undefined && !(await isRecipient(recipient)))
    throw new SetupError("backup.recipient: is not the public key of an age identity, such as age1…");
  if (schedule !== undefined) checkSchedule(schedule);
}

/** @throws SetupError for a text that is no schedule. */
export function checkSchedule(schedule: string): void {
  try {
    nextTime({ schedule, timezone: "UTC" }, 0);
  } catch (thrown) {
    throw new SetupError(`backup.${messageOf(thrown)}`);
  }
}
