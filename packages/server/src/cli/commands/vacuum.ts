/** `socle vacuum`: the database file without the room that deleted rows have left. */
import { existsSync } from "node:fs";
import { keepFilesPrivate } from "../../app/index.ts";
import { SetupError } from "../../base/kernel/index.ts";
import { vacuumDatabase } from "../../store/database/index.ts";
import { type Command, withoutLog } from "../command.ts";
import { readableSize } from "../progress-bar.ts";
import { configOption, loadSettings } from "../settings.ts";

export const vacuum: Command = {
  name: "vacuum",
  args: [],
  summary: "Shrink the database file, while the service does not run",
  options: configOption,
  async run({ options, terminal }) {
    keepFilesPrivate();
    const { config } = await loadSettings(options, withoutLog(terminal));
    if (!existsSync(config.database)) throw new SetupError(`database ${config.database}: there is none`);
    const { before, after } = vacuumDatabase(config.database);
    const gained = readableSize(Math.max(0, before - after));
    terminal.out(`${config.database}: ${readableSize(before)} before, ${readableSize(after)} now, ${gained} gained\n`);
    return 0;
  },
};
