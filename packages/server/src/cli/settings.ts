/** Settings of a command: its configuration and its log. */
import type { EffectiveConfig } from "@socle/protocol";
import { type Config, type LoadOptions, loadConfig, secretVariables } from "../base/config/index.ts";
import { count } from "../base/kernel/index.ts";
import { Logger, LogRing, lineOf, lineSink } from "../base/logging/index.ts";
import { type OptionValues, type Terminal, textOption } from "./command.ts";

/** The options of every command that works with a configuration. */
export const configOption = {
  config: { value: "FILE", summary: "the configuration file (default: ./config.json, if it exists)" },
};

export interface Settings {
  config: Config;
  /** The configuration file that was looked for, and whether the file exists. */
  file: { path: string; isThere: boolean };
  /** The same as admins see it. */
  effective: () => EffectiveConfig;
  logger: Logger;
  /** The most recent entries of the logger. */
  log: LogRing;
  /** Writes a text between the lines of the log. */
  print: (text: string) => void;
}

/**
 * Configuration and log of a command. The configuration's warnings are logged.
 * @param defaults replace the defaults of the keys.
 */
export async function loadSettings(
  options: OptionValues,
  terminal: Terminal,
  defaults: LoadOptions["defaults"] = {},
): Promise<Settings> {
  const port = textOption(options, "port");
  const { config, file, effective, warnings, notes } = await loadConfig({
    file: textOption(options, "config") ?? null,
    environment: terminal.environment,
    defaults,
    ...(port === undefined ? {} : { overrides: { port } }),
  });
  // The environment of the start stays readable in /proc/PID/environ; nothing takes that back.
  for (const name of secretVariables) terminal.forget(name);
  const log = new LogRing();
  const format = config["log.format"];
  const print = terminal.openLog((lost) =>
    lineOf(
      {
        timestamp: new Date().toISOString(),
        level: "WARN",
        message: `${count(lost, "line")} of the log ${lost === 1 ? "was" : "were"} dropped: nobody read standard output`,
        source: "log",
      },
      format,
    ),
  );
  const logger = new Logger({
    level: config["log.level"],
    sinks: [lineSink(print, format), (entry) => log.add(entry)],
  });
  for (const note of notes) logger.info(note);
  for (const warning of warnings) logger.warn(warning);
  return { config, file, effective, logger, log, print };
}
