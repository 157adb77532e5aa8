import { runTool } from "../../script-host/index.ts";
import type { Command } from "../command.ts";
import { configOption, loadSettings } from "../settings.ts";

export const add: Command = {
  name: "add",
  args: ["PACKAGE..."],
  summary: "Install npm packages for functions and jobs, beside the configuration",
  options: configOption,
  async run({ args, options, terminal }) {
    const { config } = await loadSettings(options, { ...terminal, out: () => undefined });
    return runTool(["add", ...args], { cwd: config.folder, environment: terminal.environment });
  },
};
