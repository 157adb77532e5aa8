/** A command: name, options and help, the terminal, and the configuration and log that the command works with. */
import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { ParseArgsConfig } from "node:util";
import { type Config, type LiveSettings, type LoadOptions, loadConfig, secretVariables } from "../base/config/index.ts";
import { count, SetupError } from "../base/kernel/index.ts";
import { Logger, LogRing, lineOf, lineSink, Repeats } from "../base/logging/index.ts";

/** The process as a command sees the process: nothing in this folder touches `process`. */
export interface Terminal {
  /** How this program was called, as in the shell: `./socle`, `socle`. */
  readonly program: string;
  readonly environment: { readonly [name: string]: string | undefined };
  /** Takes a variable out of the environment, for this process and for the processes that this process starts. */
  forget(name: string): void;
  /** Writes to standard output, and waits for a reader. */
  out(text: string): void;
  /** Opens the log on standard output. Lines never wait for a reader; `droppedLine` makes the line about lost lines. */
  openLog(droppedLine: (count: number) => string): (line: string) => void;
  /** Writes to standard error. */
  err(text: string): void;
  /**
   * Writes over the last line of the terminal, or removes the line (""); null when output is not on a terminal. The question brings
   * the streams of the process, 7 MB, as does `isAnswered`.
   */
  progress(): ((text: string) => void) | null;
  /** Whether a person answers, and not a pipe. */
  isAnswered(): boolean;
  /** Asks for a secret: without echo on a terminal, otherwise a line of standard input. */
  askSecret(question: string): Promise<string>;
  /** Asks for a line, which is empty at the end of the input. */
  ask(question: string): Promise<string>;
  /** Resolves with the first SIGINT or SIGTERM, or a signal of `others`; the second ends the process at once. */
  untilSignal(others?: readonly NodeJS.Signals[]): Promise<string>;
  /** Resolves with the first uncaught error, which would otherwise end the process with the stack on standard error. */
  untilDefect(): Promise<unknown>;
  /** Calls `listener` at each SIGHUP, which would otherwise end the process. */
  onHangup(listener: () => void): void;
}

/** The terminal of a command that prints answers, without the log of the service. */
export function withoutLog(terminal: Terminal): Terminal {
  return { ...terminal, openLog: () => () => undefined };
}

/** Options as parsed: by name, absent when not given. */
export type OptionValues = { readonly [name: string]: string | boolean | undefined };

export interface Command {
  /** The name as typed: `admin create`. */
  readonly name: string;
  /** Positional arguments as in the help: `[FILE]` may be left out; a last `PACKAGE...` takes several. */
  readonly args?: readonly string[];
  readonly summary: string;
  /**
   * Option name → description; an option with a value names the value. `short` is another name, of a single letter. `usual` is the
   * value of an option that may be given without a value; an option with `many` may be given several times, and has a line for each value.
   * Commands that work with a configuration take `--config` before other options.
   */
  readonly options?: {
    readonly [name: string]: { value?: string; usual?: string; many?: true; short?: string; summary: string };
  };
  /** Whether the command works without a configuration. */
  readonly isBare?: true;
  /** Whether the command prints nothing but a log, in the format of the configuration. */
  readonly isLog?: true;
  /** Answers the exit code. */
  run(invocation: CommandInvocation): Promise<number>;
}

export interface CommandInvocation {
  readonly args: readonly string[];
  readonly options: OptionValues;
  readonly terminal: Terminal;
  /** The configuration and the log of the command: on standard output only for a command that prints nothing else. */
  readonly load: (defaults?: LoadOptions["defaults"]) => Promise<Settings>;
}

/** The options of a command, with `--config`. */
export function optionsOf({ options = {}, isBare }: Command): NonNullable<Command["options"]> {
  if (isBare === true) return options;
  return {
    config: { value: "FILE", summary: "the configuration file (default: ./config.json, if it exists)" },
    ...options,
  };
}

/** Wrong usage: exit code 2, with the message and the command for help. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function parseOptionsOf(command: Command): NonNullable<ParseArgsConfig["options"]> {
  const options: NonNullable<ParseArgsConfig["options"]> = { help: { type: "boolean", short: "h" } };
  for (const [name, { value, many = false, short }] of Object.entries(optionsOf(command))) {
    const type = value === undefined ? "boolean" : "string";
    options[name] = { type, multiple: many, ...(short !== undefined && { short }) };
  }
  return options;
}

/**
 * The words of a command line, with the usual value for an option that was given without a value. The word behind such an option is
 * its value if the command has an argument too many otherwise.
 */
export function completeWords(words: readonly string[], command: Command): string[] {
  const options = optionsOf(command);
  const optionOf = (word = "") => (word.startsWith("--") ? options[word.slice(2)] : undefined);
  const takesNext = (word?: string): boolean => optionOf(word)?.value !== undefined && !optionOf(word)?.usual;
  const isArgument = (word: string, i: number): boolean => !word.startsWith("-") && !takesNext(words[i - 1]);
  let spare = words.filter(isArgument).length - (command.args?.length ?? 0);
  return words.flatMap((word, i) => {
    const hasValue = optionOf(words[i - 1])?.usual !== undefined && isArgument(word, i);
    if (hasValue && spare-- > 0) return [];
    const usual = optionOf(word)?.usual;
    const next = words[i + 1];
    if (usual === undefined) return [word];
    return [`${word}=${next !== undefined && isArgument(next, i + 1) && spare > 0 ? next : usual}`];
  });
}

export function textOption(options: OptionValues, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

export interface Settings {
  config: Config;
  /** The configuration file that was looked for, and whether the file exists. */
  file: { path: string; isThere: boolean };
  /** The settings of admins, and the configuration as admins see the configuration. */
  live: LiveSettings;
  /** The keys and variables of the configuration that mean nothing, as sentences. */
  unknown: readonly string[];
  logger: Logger;
  /** The most recent entries of the logger. */
  log: LogRing;
  /** Writes a text between the lines of the log. */
  print: (text: string) => void;
}

/** @throws SetupError without a database: most likely the folder, or the environment, is not the service's. */
export function needDatabase({ config, file }: Pick<Settings, "config" | "file">): void {
  if (existsSync(config.database)) return;
  const read = file.isThere ? `configuration ${file.path}` : `no configuration ${file.path}, so defaults apply`;
  throw new SetupError(
    `there is no database ${basename(config.database)} in ${dirname(config.database)} (${read}); start the service once, name its configuration with --config FILE, or set SERVICE_DATABASE if the service has its database from there (a unit of systemd)`,
  );
}

/** Configuration and log of a command; `defaults` replace defaults of keys. Warnings of the configuration are logged. */
export async function loadSettings(
  options: OptionValues,
  terminal: Terminal,
  defaults: LoadOptions["defaults"] = {},
): Promise<Settings> {
  const port = textOption(options, "port");
  const { config, file, live, warnings, unknown, notes } = await loadConfig({
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
        message: `${count(lost, "line")} of the log ${lost === 1 ? "was" : "were"} dropped: standard output was not read`,
        source: "log",
      },
      format,
    ),
  );
  const logger = new Logger({
    level: config["log.level"],
    sinks: [lineSink(print, format), (entry) => log.add(entry)],
    repeats: new Repeats(config["log.repeats"]),
  });
  for (const note of notes) logger.info(note);
  for (const warning of warnings) logger.warn(warning);
  return { config, file, live, unknown, logger, log, print };
}
