/** `socle seed`: creates the users and records of a JSON file, also while the service runs. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { askService, openService, type SeedReport, seedFrom } from "../../app/index.ts";
import { messageOf, SetupError } from "../../kernel/index.ts";
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
    const asked = await askService(config.database, { kind: "seed", file }, {});
    if (asked !== null && asked.error !== null) throw new SetupError(asked.error);
    // The service answers with the report of `seedFrom`.
    let report = asked?.value as SeedReport | undefined;
    if (report === undefined) {
      const onFatal = (error: unknown): void => terminal.err(`The disk refused a write: ${messageOf(error)}\n`);
      const service = await openService({ config, logger, onFatal });
      try {
        report = await seedFrom(file, service);
      } finally {
        await service.close();
      }
    }
    for (const { name, outcome } of report) terminal.out(`${name}: ${outcome}\n`);
    return 0;
  },
};
