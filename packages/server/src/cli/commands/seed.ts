/** `socle seed`: creates the users and records of a JSON file, also while the service runs. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { doServiceWork, openService, seedFrom } from "../../app/index.ts";
import { SetupError } from "../../base/kernel/index.ts";
import { type Command, withoutLog } from "../command.ts";
import { configOption, loadSettings } from "../settings.ts";

export const seed: Command = {
  name: "seed",
  args: ["FILE"],
  summary: "Fill empty collections with the users and records of a JSON file; also while the service runs",
  options: configOption,
  async run({ args: [given = ""], options, terminal }) {
    const { config, logger } = await loadSettings(options, withoutLog(terminal));
    const file = resolve(given);
    if (!existsSync(file)) throw new SetupError(`${given}: there is no such file`);
    const report = await doServiceWork({
      config,
      logger,
      request: { kind: "seed", file },
      open: openService,
      alone: (service) => seedFrom(file, service),
    });
    for (const { name, outcome } of report) terminal.out(`${name}: ${outcome}\n`);
    return 0;
  },
};
