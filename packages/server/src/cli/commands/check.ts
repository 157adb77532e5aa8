/** `socle check`: checks the configuration, the definition files and the scripts without starting the service. */
import {
  checkFile,
  checkScripts,
  readDefinitions,
  shellCommand,
  writeCheckSettings,
  writeTypes,
} from "../../app/index.ts";
import { count } from "../../base/kernel/index.ts";
import { findScripts, toolOutput } from "../../code/script-host/index.ts";
import { type Command, type Terminal, withoutLog } from "../command.ts";
import { configOption, loadSettings } from "../settings.ts";

export const check: Command = {
  name: "check",
  args: [],
  summary: "Check the configuration, the collections, the types of functions, jobs and endpoints, and that they load",
  options: configOption,
  async run({ options, terminal }) {
    const { config, logger } = await loadSettings(options, withoutLog(terminal));
    const definitions = await readDefinitions(config, logger);
    await writeTypes(config, definitions);
    if (findScripts(config.folder).scripts.length === 0) {
      const collections = count(definitions.length, "collection");
      terminal.out(
        `Checked the configuration and ${collections}; there are no functions, jobs or endpoints to check\n`,
      );
      return 0;
    }
    await writeCheckSettings(config.folder);
    const code = await checkTypes(config.folder, terminal);
    const { problems, missing } = await checkScripts({ config, logger, environment: terminal.environment });
    // A machine that checks the project need not have its secrets.
    for (const name of missing) terminal.out(`${name}, which scripts.env declares, is not set here\n`);
    for (const { path, message } of problems) terminal.out(`${path} does not load: ${message}\n`);
    return problems.length > 0 ? 1 : code;
  },
};

/** Runs the type checker. Its advice names the package manager of the runtime; this executable contains that, too. */
async function checkTypes(cwd: string, { environment, program, out, err, progress }: Terminal): Promise<number> {
  const color = progress === null ? {} : { FORCE_COLOR: "1" };
  const words = ["check", "--no-script", "-p", checkFile];
  const { code, stdout, stderr } = await toolOutput(words, { cwd, environment: { ...color, ...environment } });
  const advised = (text: string): string =>
    text.replace(/\b(?:bun add -d|npm i(?:nstall)? (?:--save-dev|-D)) (?=@?\w)/g, `${shellCommand(program, "add")} `);
  if (stdout !== "") out(advised(stdout));
  if (stderr !== "") err(advised(stderr));
  return code;
}
