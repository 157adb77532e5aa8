/**
 * Command line: finds the command, parses the options, runs the command, turns errors into messages and exit codes, and
 * writes the help.
 */
import { build } from "../app/index.ts";
import { logFormatOf } from "../base/config/index.ts";
import { messageOf, nearest, printable, SetupError } from "../base/kernel/index.ts";
import { type LogFormat, lineOf } from "../base/logging/index.ts";
import {
  type Command,
  completeWords,
  loadSettings,
  type OptionValues,
  optionsOf,
  parseOptionsOf,
  type Terminal,
  UsageError,
  withoutLog,
} from "./command.ts";
import { serve } from "./commands/serve.ts";

const help: Command = {
  name: "help",
  args: ["[COMMAND]..."],
  summary: "Show this text, or the options of a command",
  isBare: true,
  run: async ({ args, terminal }) => helpFor(args, terminal),
};

const versionCommand: Command = {
  name: "version",
  summary: "Print the version, with the commit of the build",
  options: { json: { summary: "print the version, the platform and the versions of the tables as JSON" } },
  isBare: true,
  async run({ options, terminal }) {
    const json = options["json"] === true ? JSON.stringify((await import("./commands/upgrade.ts")).buildInfo) : null;
    terminal.out(`${json ?? build}\n`);
    return 0;
  },
};

/** All commands, in the order of the help. Loaded on demand: a service that serves needs no other command. */
async function allCommands(): Promise<readonly Command[]> {
  const { commands } = await import("./commands/all.ts");
  return [...commands, versionCommand, help];
}

/** The command that the words start with, and the words after the command. */
async function findCommand(words: readonly string[]): Promise<{ command: Command; rest: string[] }> {
  const [first] = words;
  if (first === "--help" || first === "-h") return { command: help, rest: words.slice(1) };
  if (first === "--version" || first === "-v") return { command: versionCommand, rest: words.slice(1) };
  if (first === undefined || first.startsWith("-")) return { command: serve, rest: [...words] };
  if (first === serve.name) return { command: serve, rest: words.slice(1) };
  const commands = await allCommands();
  for (const command of commands) {
    const name = command.name.split(" ");
    if (name.every((word, i) => words[i] === word)) return { command, rest: words.slice(name.length) };
  }
  const names = commands.map(({ name }) => name);
  const longer = names.filter((name) => name.startsWith(`${first} `));
  if (longer.length > 0 && /^(--help|-h)$/.test(words[1] ?? "")) return { command: help, rest: [first] };
  if (longer.length > 0)
    throw new UsageError(`there is no command "${words.slice(0, 2).join(" ")}"; there is ${longer.join(", ")}`);
  const near = nearest(first, names);
  throw new UsageError(`there is no command "${first}"${near === null ? "" : `; did you mean "${near}"?`}`);
}

function column(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join("");
}

function usageOf({ name, args = [] }: Command): string {
  return ["socle", name, ...args].join(" ");
}

/** The text of `socle help`. */
async function overview(): Promise<string> {
  const rows = (await allCommands()).map((command) => [usageOf(command), command.summary] as const);
  return `Socle, a backend in one file.\n\n${column(rows)}\nMore about one of them: socle help COMMAND\n`;
}

/** The text of `socle help COMMAND`. */
function helpOf(command: Command): string {
  const rows = Object.entries(optionsOf(command)).map(([name, { value, usual, short, summary }]) => {
    const flag = short === undefined ? `--${name}` : `-${short}, --${name}`;
    const given = usual === undefined ? ` ${value}` : ` [${value}]`;
    return [value === undefined ? flag : `${flag}${given}`, summary] as const;
  });
  return `${command.summary}.\n\nUsage: ${usageOf(command)}${rows.length > 0 ? ` [options]\n\n${column(rows)}` : "\n"}`;
}

/** The command, or all that start with the words: `run` stands for `run job` and `run function`. */
async function helpedBy(words: readonly string[]): Promise<Command[]> {
  const longer = (await allCommands()).filter(({ name }) => `${name} `.startsWith(`${words.join(" ")} `));
  return longer.length > 0 ? longer : [(await findCommand(words)).command];
}

async function helpFor(words: readonly string[], terminal: Terminal): Promise<number> {
  if (words.length === 0) terminal.out(await overview());
  else for (const command of await helpedBy(words)) terminal.out(helpOf(command));
  return 0;
}

async function parseWords(
  command: Command,
  words: readonly string[],
): Promise<{ positionals: string[]; options: OptionValues }> {
  if (words.length === 0) return { positionals: [], options: {} };
  // Loaded on demand: a service started without options is spared 1.7 MB.
  const { parseArgs } = await import("node:util");
  try {
    const parsed = parseArgs({
      args: completeWords(words, command),
      options: parseOptionsOf(command),
      allowPositionals: true,
    });
    const options: Record<string, string | boolean | undefined> = {};
    for (const [name, value] of Object.entries(parsed.values))
      options[name] = Array.isArray(value) ? value.join("\n") : value;
    return { positionals: parsed.positionals, options };
  } catch (thrown) {
    const flags = [...Object.keys(parseOptionsOf(command))].map((name) => `--${name}`);
    const [, unknown] = /^Unknown option '(-[^']*)'/.exec(messageOf(thrown)) ?? [];
    if (unknown === undefined) throw new UsageError(messageOf(thrown).split("\n")[0] ?? "wrong options");
    const near = nearest(unknown, flags);
    const advice = near === null ? `allowed: ${flags.join(", ")}` : `did you mean ${near}?`;
    throw new UsageError(`Unknown option '${unknown}'; ${advice}`);
  }
}

async function dispatch(words: readonly string[], terminal: Terminal): Promise<number> {
  const { command, rest } = await findCommand(words);
  const { positionals, options } = await parseWords(command, rest);
  if (options["help"] === true) return helpFor(command.name.split(" "), terminal);
  const { args = [] } = command;
  const isOpen = args.at(-1)?.endsWith("...") === true && positionals.length > args.length;
  const needed = args.filter((arg) => !arg.startsWith("["));
  const isShort = positionals.length < needed.length;
  if (isShort || (positionals.length > args.length && !isOpen)) {
    const problem = isShort ? `missing ${args[positionals.length]}` : `unexpected "${positionals.at(args.length)}"`;
    throw new UsageError(`${problem}; usage: ${usageOf(command)}`);
  }
  const own = command.isLog === true ? terminal : withoutLog(terminal);
  return command.run({
    args: positionals,
    options,
    terminal,
    load: (defaults) => loadSettings(options, own, defaults),
  });
}

/** The format in which a failure is told: the format of the log for a command that prints nothing else. */
async function formatFor(words: readonly string[], terminal: Terminal): Promise<LogFormat> {
  try {
    const { command, rest } = await findCommand(words);
    if (command.isLog !== true) return "text";
    const { parseArgs } = await import("node:util");
    // Not strict: the error about these words is being reported.
    const options = parseOptionsOf(command);
    const { config } = parseArgs({ args: rest, options, strict: false, allowPositionals: true }).values;
    const file = typeof config === "string" ? config : null;
    return await logFormatOf({ file, environment: terminal.environment });
  } catch {
    return "text";
  }
}

/** Runs the command line and answers the exit code: 0 fine, 1 failed, 2 wrong usage or configuration. */
export async function run(words: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await dispatch(words, terminal);
  } catch (thrown) {
    const format = await formatFor(words, terminal);
    const message = printable(messageOf(thrown));
    const entry = { timestamp: new Date().toISOString(), level: "ERROR", message, source: "socle" } as const;
    if (format === "json") terminal.err(lineOf(entry, format));
    else terminal.err(`socle: ${message}\n${thrown instanceof UsageError ? "Try: socle help\n" : ""}`);
    return thrown instanceof UsageError || thrown instanceof SetupError ? 2 : 1;
  }
}
