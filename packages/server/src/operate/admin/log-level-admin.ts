/** Level of the log for admins: the level in force, and a change until the next start. */
import type { LogLevelState } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import type { SignedIn } from "../../base/kernel/index.ts";
import type { Logger, LogLevel } from "../../base/logging/index.ts";
import type { AdminChanges } from "./admin-changes.ts";

interface LogLevelOptions {
  readonly changes: AdminChanges;
  readonly config: Pick<Config, "log.level">;
  readonly logger: Logger;
}

export class LogLevelAdmin {
  readonly #options: LogLevelOptions;

  constructor(options: LogLevelOptions) {
    this.#options = options;
  }

  get state(): LogLevelState {
    const { config, logger } = this.#options;
    return { level: logger.level, configured: config["log.level"] };
  }

  /** The level is in force at once, in all processes of the service. @param admin null for the command line. */
  async set({ level }: { level: LogLevel }, admin: SignedIn | null): Promise<LogLevelState> {
    const { changes, logger } = this.#options;
    const before = { level: logger.level };
    const audited = { action: "log.level", target: "service", before, after: { level } } as const;
    await changes.transact(admin, (_tx, audit) => audit(audited), { whileReadOnly: true });
    logger.level = level;
    return this.state;
  }
}
