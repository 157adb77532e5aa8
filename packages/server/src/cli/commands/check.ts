/** `socle check`: checks the configuration, the definition files and the scripts without starting the service. */
import { checkFile, checkScripts, readDefinitions, writeCheckSettings, writeTypes } from "../../app/index.ts";
import { listScripts, runTool } from "../../script-host/index.ts";
import { type Command, withoutLog } from "../command.ts";
import { configOption, loadSettings } from "../settings.ts";

export const check: Command = {
  name: "check",
  args: [],
  summary: "Check the types of functions and jobs, and that they load; exit code 1 when something is wrong",
  options: configOption,
  async run({ options, terminal }) {
    const { config, logger } = await loadSettings(options, withoutLog(terminal));
    const cwd = config.folder;
    await writeTypes(config, await readDefinitions(config, logger));
    if (listScripts(cwd).length === 0) {
      terminal.out("There are no functions and no jobs\n");
      return 0;
    }
    await writeCheckSettings(cwd);
    const { environment } = terminal;
    const code = await runTool(["check", "--no-script", "-p", checkFile], { cwd, environment });
    const { problems, missing } = await checkScripts({ config, logger, environment });
    // Where the project is checked, its secrets need not be.
    for (const name of missing) terminal.out(`${name}, which scripts.env declares, is not set here\n`);
    for (const { path, message } of problems) terminal.out(`${path} does not load: ${message}\n`);
    return problems.length > 0 ? 1 : code;
  },
};
