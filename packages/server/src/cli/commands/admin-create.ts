import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { Auth, authSchema } from "../../auth/index.ts";
import { Database } from "../../database/index.ts";
import { EventLog } from "../../events/index.ts";
import { AppError, Clock, SetupError } from "../../kernel/index.ts";
import { LimitMeter } from "../../logging/index.ts";
import { type Command, textOption, UsageError, withoutLog } from "../command.ts";
import { configOption, loadSettings } from "../settings.ts";

/** Also while the service runs: the database lets both write. */
export const adminCreate: Command = {
  name: "admin create",
  args: ["EMAIL"],
  summary: "Make an admin, or make one of the user with this email",
  options: {
    ...configOption,
    password: { value: "PASSWORD", summary: "else it is asked for, or read from standard input" },
  },
  async run({ args: [email = ""], options, terminal }) {
    const { config, file, logger } = await loadSettings(options, withoutLog(terminal));
    // A database made here would be one that no service has: most likely this is the wrong folder.
    if (!existsSync(config.database)) {
      const read = file.isThere ? `configuration ${file.path}` : `no configuration ${file.path}, so defaults apply`;
      throw new SetupError(
        `there is no database ${basename(config.database)} in ${dirname(config.database)} (${read}); start the service once, or name its configuration with --config FILE`,
      );
    }
    const password = textOption(options, "password") ?? (await terminal.askSecret("Password: "));
    if (password === "") throw new UsageError("no password was given");
    const clock = new Clock();
    const database = new Database({
      path: config.database,
      logger,
      exclusive: false,
      onFatal: (error) => logger.error("The disk refused a write", { error }),
    });
    const auth = new Auth({
      database,
      clock,
      logger,
      limits: new LimitMeter(logger),
      events: new EventLog({ database, clock, logger }),
      accessTokenTtlMs: config["auth.accessTokenTtl"],
      refreshTokenTtlMs: config["auth.refreshTokenTtl"],
      registration: config["auth.registration"],
      passwordMinLength: config["auth.passwordMinLength"],
      maxPasswords: config["limits.passwords"],
      maxSessionsPerUser: config["limits.sessionsPerUser"],
    });
    try {
      await database.prepare([authSchema]);
      const values = await auth.users.prepare({ email, password });
      const { before } = await database.transact((tx) => auth.users.makeAdmin(tx, values));
      terminal.out(
        before === null
          ? `Made the admin ${email} in ${config.database}\n`
          : `${email} is an admin now, with this password\n`,
      );
      return 0;
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      throw new SetupError(thrown.details?.map((detail) => detail.message).join("; ") ?? thrown.message);
    } finally {
      await auth.close();
      await database.close();
    }
  },
};
