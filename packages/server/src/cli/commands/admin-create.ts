/** `socle admin create`: makes a user an admin, or creates one, by the service that runs or without one. */
import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { askService, buildService } from "../../app/index.ts";
import type { Config } from "../../config/index.ts";
import { AppError, reasonsOf, SetupError } from "../../kernel/index.ts";
import type { Logger } from "../../logging/index.ts";
import { type Command, textOption, UsageError, withoutLog } from "../command.ts";
import { configOption, loadSettings } from "../settings.ts";

export const adminCreate: Command = {
  name: "admin create",
  args: ["EMAIL"],
  summary: "Create an admin, or make the user with this email one",
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
    const asked = await askService(config.database, { kind: "admin", email, password }, {});
    if (asked !== null && asked.error !== null) throw new SetupError(asked.error);
    const outcome = asked === null ? await makeAlone({ email, password }, config, logger) : asked.value;
    terminal.out(
      outcome === "made"
        ? `Made the admin ${email} in ${config.database}\n`
        : `${email} is an admin now, with this password\n`,
    );
    return 0;
  },
};

async function makeAlone(
  credentials: { email: string; password: string },
  config: Config,
  logger: Logger,
): Promise<"made" | "promoted"> {
  const onFatal = (error: unknown): void => logger.error("The disk refused a write", { error });
  await using service = await buildService({ config, logger, onFatal });
  try {
    return await service.auth.makeAdmin(credentials);
  } catch (thrown) {
    throw thrown instanceof AppError ? new SetupError(reasonsOf(thrown)) : thrown;
  }
}
