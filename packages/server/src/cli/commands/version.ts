/** `socle version`: prints the version. */
import { version } from "../../app/index.ts";
import type { Command } from "../command.ts";

export const versionCommand: Command = {
  name: "version",
  args: [],
  summary: "Print the version",
  options: {},
  async run({ terminal }) {
    terminal.out(`${version}\n`);
    return 0;
  },
};
