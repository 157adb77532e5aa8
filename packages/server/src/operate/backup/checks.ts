/** Verifications of the backups of a running service: one at a time, on a thread, with the last outcome of each backup. */
import type { BackupCheck } from "@socle/protocol";
import { Thread } from "../../base/channel/index.ts";
import { AppError, canStartThread, messageOf, threadEntry, toTimestamp } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { makeFolder } from "../../store/database/index.ts";
import type { ManifestHead } from "./archive.ts";
import { backupFolder, type DataPaths } from "./data-paths.ts";
import type { Finding } from "./verify.ts";
import type { ForCheck, VerifyHandlers } from "./verify-worker.ts";

/** How long a thread that was given up may take to end. */
const endMs = 2_000;

interface CheckOptions {
  readonly paths: DataPaths;
  readonly schemas: ManifestHead["schema"];
  readonly logger: Logger;
}

export class BackupChecks {
  readonly #options: CheckOptions;
  readonly #checks = new Map<string, BackupCheck>();
  #running: { readonly thread: Thread<VerifyHandlers, ForCheck>; readonly ended: Promise<void> } | null = null;
  #isStopped = false;

  constructor(options: CheckOptions) {
    this.#options = options;
  }

  /** The last verification of a backup since the start; null without a verification. */
  of(name: string): BackupCheck | null {
    return this.#checks.get(name) ?? null;
  }

  forget(name: string): void {
    this.#checks.delete(name);
  }

  /** @param file the path or the address of the backup. @throws AppError `conflict`, `unavailable`, `bad_request` for an encrypted backup. */
  begin(name: string, file: string): void {
    if (this.#isStopped) throw new AppError("unavailable", "The service is stopping.");
    if (this.#running !== null) throw new AppError("conflict", "Another backup is being verified.");
    if (name.endsWith(".age"))
      throw new AppError("bad_request", "The service has no key of this backup: use socle verify FILE --identity KEY.");
    if (!canStartThread()) throw new AppError("unavailable", "Too few file descriptors are left.");
    makeFolder(backupFolder(this.#options.paths.database), 0o700);
    const startedAt = toTimestamp(Date.now());
    const check: BackupCheck = { state: "running", startedAt, endedAt: null, progress: 0, findings: [] };
    this.#checks.set(name, check);
    const thread = new Thread<VerifyHandlers, ForCheck>(threadEntry("operate/backup/verify-worker"), {
      name: "the thread of the verification",
      ours: { progress: (part) => void Object.assign(check, { progress: part }) },
    });
    this.#running = { thread, ended: this.#follow(check, thread, { name, file }) };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#running?.thread.end(new Error("the service stops"));
    await this.#running?.ended;
  }

  async #follow(
    check: BackupCheck,
    thread: Thread<VerifyHandlers, ForCheck>,
    { name, file }: { name: string; file: string },
  ): Promise<void> {
    const { paths, schemas, logger } = this.#options;
    const { files } = paths;
    const findings = await thread
      .call("verify", {
        file,
        files: { ...files, s3: { ...files.s3, secretAccessKey: undefined } },
        secretKey: files.s3.secretAccessKey?.reveal(),
        schemas,
        within: backupFolder(paths.database),
      })
      .catch((thrown): Finding[] => [{ state: "error", subject: "backup", text: messageOf(thrown) }]);
    const errors = findings.filter(({ state }) => state === "error").map(({ text }) => text);
    const state = errors.length === 0 ? "passed" : "failed";
    this.#running = null;
    Object.assign(check, { state, endedAt: toTimestamp(Date.now()), progress: 1, findings });
    if (errors.length === 0) logger.info(`Backup ${name} is intact`);
    else if (!this.#isStopped) logger.error(`The verification of the backup ${name} failed`, { errors });
    await Promise.race([thread.close(), Bun.sleep(endMs)]);
  }
}
