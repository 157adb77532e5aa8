/** `socle types`: writes the TypeScript types of the collections. */
import { readDefinitions, typesFile, writeTypes } from "../../app/index.ts";
import { type Command, withoutLog } from "../command.ts";
import { configOption, loadSettings } from "../settings.ts";

export const types: Command = {
  name: "types",
  args: [],
  summary: `Write ${typesFile}, the types of functions and jobs`,
  options: configOption,
  async run({ options, terminal }) {
    const { config, logger } = await loadSettings(options, withoutLog(terminal));
    const definitions = await readDefinitions(config, logger);
    await writeTypes(config, definitions);
    terminal.out(`Wrote ${typesFile}: ${definitions.map(({ name }) => name).join(", ") || "no collections"}\n`);
    return 0;
  },
};
