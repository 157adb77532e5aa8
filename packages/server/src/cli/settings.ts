import { type Config, loadConfig, secretVariables } from "../config/index.ts";
import { Logger, LogRing, lineSink } from "../logging/index.ts";
import { type OptionValues, type Terminal, textOption } from "./command.ts";

/** The options of every command that works with a configuration. */
export const configOption = {
  config: { value: "FILE", summary: "the configuration file (default: ./config.json, if there is one)" },
};

/** Configuration and log of a command, with its most recent entries. What the configuration has to say is logged. */
export async function loadSettings(
  options: OptionValues,
  terminal: Terminal,
): Promise<{ config: Config; logger: Logger; log: LogRing }> {
  const port = textOption(options, "port");
  const { config, warnings, notes } = await loadConfig({
    file: textOption(options, "config") ?? null,
    environment: terminal.environment,
    ...(port === undefined ? {} : { overrides: { port } }),
  });
  // What the process was started with stays readable in /proc/PID/environ; nothing takes that back.
  for (const name of secretVariables) terminal.forget(name);
  const log = new LogRing();
  const logger = new Logger({
    level: config["log.level"],
    sinks: [lineSink((line) => terminal.out(line), config["log.format"]), (entry) => log.add(entry)],
  });
  for (const note of notes) logger.info(note);
  for (const warning of warnings) logger.warn(warning);
  return { config, logger, log };
}
