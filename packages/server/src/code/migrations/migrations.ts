/**
 * Migrations of data: files in `migrations/` that run once each, in the order of their names, after the definitions are
 * applied and before requests are answered.
 *
 * A migration goes on after a crash: `save` writes records and a position in one transaction, and the next start gives the
 * file the position that was saved last.
 */
import { type Clock, newId, SetupError, system, toTimestamp } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { parseBatch, type Records } from "../../data/records/index.ts";
import type { Database } from "../../store/database/index.ts";
import {
  type CallAnswers,
  type Caller,
  type CallMessage,
  findScripts,
  fingerprintOfFile,
  type Script,
  type ScriptHost,
} from "../script-host/index.ts";
import { migrationRows, putBegun, putFinished, putPosition } from "./migration-table.ts";

/** The name of the export that is a migration. */
const handler = "default";
/** The longest time that a timer measures: 24 days. A migration has no limit of its own. */
const noTimeoutMs = 2 ** 31 - 1;

/** A migration was ended: the service stops, and the next start goes on, or the file has changed, and runs again. */
export class MigrationStopped extends Error {
  override readonly name = "MigrationStopped";
}

interface MigrationsOptions {
  readonly database: Database;
  readonly records: Records;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The real path of the project's folder. */
  readonly root: () => string;
  /** A host of processes for the migrations alone, which ends after the last. */
  readonly openHost: () => ScriptHost;
  /** Answers the calls of all other methods. */
  readonly calls: CallAnswers;
}

interface PendingMigration {
  readonly path: string;
  readonly fingerprint: string;
}

interface RunningMigration extends PendingMigration {
  /** A time of `performance`. */
  readonly since: number;
  readonly stop: () => void;
}

/** The end of a migration, and the moment that a migration goes on after a failure: "the next start". */
export interface MigrationLife {
  /** Ends the migration that runs. */
  readonly signal: AbortSignal;
  readonly goesOnAt: string;
}

/** @throws Error for a file without a default export that is a function. */
export function checkMigration({ exports }: Script): void {
  if (!exports.functions.includes(handler)) throw new Error("has no default export that is a function: the migration");
}

export class Migrations implements CallAnswers {
  readonly #options: MigrationsOptions;
  #running: Promise<void> = Promise.resolve();
  /** The run that waits for the end of the running migration. */
  #next: Promise<void> | null = null;
  #current: RunningMigration | null = null;
  /** The fingerprints of changed files that the log has named, by path. */
  readonly #named = new Map<string, string>();

  constructor(options: MigrationsOptions) {
    this.#options = options;
  }

  /**
   * Runs the migrations that have not run, each to its end. A running migration with a file that has changed is ended, and
   * runs again. A call while another call waits leaves the work, and the errors, to that call.
   * @throws SetupError with the file and the place for a migration that fails; MigrationStopped after the signal, or for a
   * migration that has changed.
   */
  run(life: MigrationLife): Promise<void> {
    this.#endChanged();
    if (this.#next !== null) return this.#next.catch(() => undefined);
    // No file runs twice at a time.
    const before = this.#running.catch(() => undefined);
    this.#next = before.then(() => {
      this.#next = null;
      return this.#runPending(life);
    });
    this.#running = this.#next;
    return this.#running;
  }

  #endChanged(): void {
    if (this.#current === null) return;
    const { path, fingerprint, since, stop } = this.#current;
    const { logger } = this.#options;
    const seconds = Math.round((performance.now() - since) / 1_000);
    if (this.#pending().some((file) => file.path === path && file.fingerprint === fingerprint)) {
      logger.warn(`${path} still runs, after ${seconds} s. Other migrations wait. A change of the file ends this run`);
      return;
    }
    logger.warn(`${path} has changed and is ended, after ${seconds} s. Saved slices stay`);
    stop();
  }

  async #runPending({ signal, goesOnAt }: MigrationLife): Promise<void> {
    if (signal.aborted) throw new MigrationStopped();
    const pending = this.#pending();
    if (pending.length === 0) return;
    const host = this.#options.openHost();
    const stop = (): void => host.stop();
    signal.addEventListener("abort", stop);
    try {
      const paths = new Set(pending.map(({ path }) => path));
      const use = (): Promise<void> => Promise.resolve();
      const kind = { folder: "migrations", firstLane: "migrations", check: checkMigration, use, paths } as const;
      await host.load({ kinds: [kind], calls: this });
      if (signal.aborted) throw new MigrationStopped();
      const [problem] = host.problems();
      if (problem !== undefined) throw new SetupError(`${problem.path} does not load: ${problem.message}`);
      for (const migration of pending) {
        this.#current = { ...migration, since: performance.now(), stop };
        const failure = await this.#runOne(migration, host);
        if (failure !== null)
          throw new SetupError(`${migration.path}: ${failure}. What it saved stays; ${goesOnAt} goes on from there`);
      }
    } finally {
      this.#current = null;
      signal.removeEventListener("abort", stop);
      host.stop();
    }
  }

  /** Answers `save`, and passes all other calls on. */
  async answer(call: CallMessage, caller: Caller): Promise<unknown> {
    if (call.method !== "migration.save") return this.#options.calls.answer(call, caller);
    const [operations, position] = call.args.map(String);
    const { path, principal } = caller.task;
    const after = (tx: Parameters<typeof putPosition>[0]): void => putPosition(tx, path, position ?? "null");
    return (await this.#options.records.batch(principal, parseBatch(JSON.parse(operations ?? "")), { after })).text;
  }

  /** The files that have not run to their end, by name. A file that has changed since is a WARN. */
  #pending(): PendingMigration[] {
    const { database, logger, root } = this.#options;
    const folder = root();
    const rows = new Map(migrationRows(database.reader).map((row) => [row.path, row]));
    const files = findScripts(folder).scripts.filter((file) => file.folder === "migrations");
    return files.flatMap(({ path }) => {
      const fingerprint = fingerprintOfFile(folder, path);
      const row = rows.get(path);
      if (row === undefined || row.finishedAt === null) return { path, fingerprint };
      if (row.fingerprint !== fingerprint && this.#named.get(path) !== fingerprint) {
        this.#named.set(path, fingerprint);
        logger.warn(`${path} has changed since its run on ${row.finishedAt}, and does not run again`);
      }
      return [];
    });
  }

  /** Answers null, or the reason of the failure. @throws MigrationStopped. */
  async #runOne({ path, fingerprint }: PendingMigration, host: ScriptHost): Promise<string | null> {
    const { database, clock, logger } = this.#options;
    const start = performance.now();
    await database.transact((tx) => putBegun(tx, path, fingerprint));
    const text = migrationRows(database.reader).find((row) => row.path === path)?.position ?? "null";
    logger.info(text === "null" ? `${path} begins` : `${path} goes on`, text === "null" ? {} : { position: text });
    const runId = newId("run", clock.now());
    const input = { runId, attempt: 1, user: null, position: JSON.parse(text) };
    const principal = { ...system, cause: { kind: "migration", id: runId, name: path } } as const;
    const outcome = await host.run({ path, handler, timeoutMs: noTimeoutMs, input, principal }, "migrations");
    if (outcome.status === "stopped" || outcome.status === "gone") throw new MigrationStopped();
    if (outcome.status === "failed") return outcome.error.message;
    await database.transact((tx) => putFinished(tx, path, toTimestamp(clock.now())));
    logger.info(`${path} is done`, { ms: Math.round(performance.now() - start) });
    return null;
  }
}
