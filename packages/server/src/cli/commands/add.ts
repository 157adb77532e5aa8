/** `socle add`: installs npm packages for functions and jobs. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runTool } from "../../code/script-host/index.ts";
import { type Command, withoutLog } from "../command.ts";
import { configOption, loadSettings } from "../settings.ts";

export const add: Command = {
  name: "add",
  args: ["PACKAGE..."],
  summary: "Install npm packages for functions and jobs, beside the configuration",
  options: configOption,
  async run({ args, options, terminal }) {
    const { config } = await loadSettings(options, withoutLog(terminal));
    const manifest = join(config.folder, "package.json");
    // Without a manifest, the tool would take the next manifest above, which belongs to some other project.
    if (!existsSync(manifest)) await writeFile(manifest, '{\n  "private": true\n}\n');
    return runTool(["add", ...args], { cwd: config.folder, environment: terminal.environment });
  },
};
