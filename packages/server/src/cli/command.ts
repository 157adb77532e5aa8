/** Interface of a command: its name, options and help, and the terminal it runs on. */
import type { ParseArgsConfig } from "node:util";

/** The process as a command sees it: nothing in this folder touches `process` itself. */
export interface Terminal {
  /** How this program was called, as the shell had it: `./socle`, `socle`. */
  readonly program: string;
  readonly environment: { readonly [name: string]: string | undefined };
  /** Takes a variable out of the environment, for this process and for those that it starts. */
  forget(name: string): void;
  /** Writes to standard output, and waits while nobody reads it. */
  out(text: string): void;
  /**
   * Opens the log on standard output. Its lines never wait for a reader; `droppedLine` makes the one that says how many
   * were lost.
   */
  openLog(droppedLine: (count: number) => string): (line: string) => void;
  /** Writes to standard error. */
  err(text: string): void;
  /** Writes over the last line of the terminal, or takes it away (""); null where output is not on one. */
  readonly progress: ((text: string) => void) | null;
  /** Whether a person answers, and not a pipe. */
  readonly isAnswered: boolean;
  /** Asks for a secret: without echo on a terminal, else a line of standard input. */
  askSecret(question: string): Promise<string>;
  /** Asks for a line, which is empty at the end of the input. */
  ask(question: string): Promise<string>;
  /** Resolves with the first SIGINT or SIGTERM; the second ends the process at once. */
  untilSignal(): Promise<string>;
  /**
   * Resolves with the first error that nobody caught, which would otherwise end the process with its stack on standard
   * error.
   */
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
  /** As it is typed: `admin create`. */
  readonly name: string;
  /**
   * The positional arguments, as the help shows them: `EMAIL`. All are needed but `[FILE]`; a last one `PACKAGE...`
   * takes several.
   */
  readonly args: readonly string[];
  readonly summary: string;
  /** Option name → its description; an option with a value names the value. `short` is another name, of one letter. */
  readonly options: { readonly [name: string]: { value?: string; short?: string; summary: string } };
  /** Whether all that it prints is a log, in the format that the configuration names. */
  readonly isLog?: true;
  /** Answers the exit code. */
  run(invocation: Invocation): Promise<number>;
}

export interface Invocation {
  readonly args: readonly string[];
  readonly options: OptionValues;
  readonly terminal: Terminal;
}

/** Wrong usage: exit code 2, the message and where help is. */
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
