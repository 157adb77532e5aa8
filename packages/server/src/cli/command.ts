/** Interface of a command: its name, options and help, and its terminal. */
import type { ParseArgsConfig } from "node:util";

/** The process as a command sees it: nothing in this folder touches `process` itself. */
export interface Terminal {
  /** How this program was called, as the shell had it: `./socle`, `socle`. */
  readonly program: string;
  readonly environment: { readonly [name: string]: string | undefined };
  /** Takes a variable out of the environment, for this process and for the processes that this process starts. */
  forget(name: string): void;
  /** Writes to standard output, and waits for a reader. */
  out(text: string): void;
  /**
   * Opens the log on standard output. Its lines never wait for a reader; `droppedLine` makes the line that reports
   * dropped lines.
   */
  openLog(droppedLine: (count: number) => string): (line: string) => void;
  /** Writes to standard error. */
  err(text: string): void;
  /** Writes over the last line of the terminal, or removes the line (""); null when output is not on a terminal. */
  readonly progress: ((text: string) => void) | null;
  /** Whether a person answers, and not a pipe. */
  readonly isAnswered: boolean;
  /** Asks for a secret: without echo on a terminal, otherwise a line of standard input. */
  askSecret(question: string): Promise<string>;
  /** Asks for a line, which is empty at the end of the input. */
  ask(question: string): Promise<string>;
  /** Resolves with the first SIGINT or SIGTERM; the second ends the process at once. */
  untilSignal(): Promise<string>;
  /** Resolves with the first uncaught error, which would otherwise end the process with its stack on standard error. */
  untilDefect(): Promise<unknown>;
  /** Calls `listener` at each SIGHUP, which would otherwise end the process. */
  onHangup(listener: () => void): void;
}

/** The terminal of a command that prints answers, without the log of the service. */
export function withoutLog(terminal: Terminal): Terminal {
  return { ...terminal, openLog: () => () => undefined };
}

/** Options as parsed: by their name, absent when not given. */
export type OptionValues = { readonly [name: string]: string | boolean | undefined };

export interface Command {
  /** The name as typed: `admin create`. */
  readonly name: string;
  /**
   * The positional arguments, as the help shows the arguments: `EMAIL`. All are needed but `[FILE]`; a last
   * `PACKAGE...` takes several.
   */
  readonly args: readonly string[];
  readonly summary: string;
  /**
   * Option name → its description; an option with a value names the value. `short` is another name, of a single letter.
   */
  readonly options: { readonly [name: string]: { value?: string; short?: string; summary: string } };
  /** Whether the command prints nothing but a log, in the format of the configuration. */
  readonly isLog?: true;
  /** Answers the exit code. */
  run(invocation: CommandInvocation): Promise<number>;
}

export interface CommandInvocation {
  readonly args: readonly string[];
  readonly options: OptionValues;
  readonly terminal: Terminal;
}

/** Wrong usage: exit code 2, with the message and the command for help. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function parseOptionsOf(command: Command): NonNullable<ParseArgsConfig["options"]> {
  const options: NonNullable<ParseArgsConfig["options"]> = { help: { type: "boolean", short: "h" } };
  for (const [name, { value, short }] of Object.entries(command.options))
    options[name] = { type: value === undefined ? "boolean" : "string", ...(short !== undefined && { short }) };
  return options;
}

/** An option that takes a value. */
export function textOption(options: OptionValues, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}
