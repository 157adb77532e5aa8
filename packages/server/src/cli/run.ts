/** Command line: finds the command, parses its options, runs it, and turns errors into messages and exit codes. */
import { logFormatOf } from "../base/config/index.ts";
import { messageOf, nearest, printable, SetupError } from "../base/kernel/index.ts";
import { type LogFormat, lineOf } from "../base/logging/index.ts";
import { type Command, type OptionValues, parseOptionsOf, type Terminal, UsageError } from "./command.ts";
import { add } from "./commands/add.ts";
import { adminCreate } from "./commands/admin-create.ts";
import { backup, restore } from "./commands/backup.ts";
import { check } from "./commands/check.ts";
import { health } from "./commands/health.ts";
import { init } from "./commands/init.ts";
import { runFunction, runJob } from "./commands/run.ts";
import { schemaPull, schemaPush } from "./commands/schema.ts";
import { seed } from "./commands/seed.ts";
import { dev, serve } from "./commands/serve.ts";
import { test } from "./commands/test.ts";
import { exportCommand, importCommand } from "./commands/transfer.ts";
import { types } from "./commands/types.ts";
import { vacuum } from "./commands/vacuum.ts";
import { verify } from "./commands/verify.ts";
import { versionCommand } from "./commands/version.ts";
import { helpOf, overview, usageOf } from "./help.ts";

const help: Command = {
  name: "help",
  args: [],
  summary: "Show this text, or the options of a command",
  options: {},
  async run({ terminal }) {
    terminal.out(overview(commands));
    return 0;
  },
};

const commands: readonly Command[] = [
  serve,
  dev,
  init,
  types,
  check,
  test,
  add,
  runJob,
  runFunction,
  adminCreate,
  health,
  schemaPull,
  schemaPush,
  seed,
  importCommand,
  exportCommand,
  backup,
  restore,
  verify,
  vacuum,
  versionCommand,
  help,
];

/** The command that the words start with, and the words after the command. */
function findCommand(words: readonly string[]): { command: Command; rest: string[] } {
  const [first] = words;
  if (first === undefined || (first.startsWith("-") && first !== "--version" && first !== "-v"))
    return { command: first === "--help" || first === "-h" ? help : serve, rest: [...words] };
  if (first === "--version" || first === "-v") return { command: versionCommand, rest: words.slice(1) };
  for (const command of commands) {
    const name = command.name.split(" ");
    if (name.every((word, i) => words[i] === word)) return { command, rest: words.slice(name.length) };
  }
  const longer = commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name);
  if (longer.length > 0)
    throw new UsageError(`there is no command "${words.slice(0, 2).join(" ")}"; there is ${longer.join(", ")}`);
  const near = nearest(
    first,
    commands.map((command) => command.name),
  );
  throw new UsageError(`there is no command "${first}"${near === null ? "" : `; did you mean "${near}"?`}`);
}

/** The command, or all that start with the words: `run` stands for `run job` and `run function`. */
function helpedBy(words: readonly string[]): Command[] {
  const longer = commands.filter(({ name }) => name.startsWith(`${words.join(" ")} `));
  return longer.length > 0 ? longer : [findCommand(words).command];
}

function helpFor(words: readonly string[], terminal: Terminal): number {
  if (words.length === 0) terminal.out(overview(commands));
  else for (const command of helpedBy(words)) terminal.out(helpOf(command));
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
    const parsed = parseArgs({ args: [...words], options: parseOptionsOf(command), allowPositionals: true });
    const options: Record<string, string | boolean | undefined> = {};
    for (const [name, value] of Object.entries(parsed.values)) if (!Array.isArray(value)) options[name] = value;
    return { positionals: parsed.positionals, options };
  } catch (thrown) {
    throw new UsageError(messageOf(thrown).split("\n")[0] ?? "wrong options");
  }
}

async function dispatch(words: readonly string[], terminal: Terminal): Promise<number> {
  const { command, rest } = findCommand(words);
  if (command === help)
    return helpFor(
      rest.filter((word) => !word.startsWith("-")),
      terminal,
    );
  const { positionals, options } = await parseWords(command, rest);
  if (options["help"] === true) return helpFor(command.name.split(" "), terminal);
  const isOpen = command.args.at(-1)?.endsWith("...") === true && positionals.length > command.args.length;
  const needed = command.args.filter((arg) => !arg.startsWith("["));
  const isShort = positionals.length < needed.length;
  if (isShort || (positionals.length > command.args.length && !isOpen)) {
    const { length } = command.args;
    const problem = isShort ? `missing ${command.args[positionals.length]}` : `unexpected "${positionals.at(length)}"`;
    throw new UsageError(`${problem}; usage: ${usageOf(command)}`);
  }
  return command.run({ args: positionals, options, terminal });
}

/** The format in which a failure is told: the format of the log for a command that prints nothing else. */
async function formatFor(words: readonly string[], terminal: Terminal): Promise<LogFormat> {
  try {
    const { command, rest } = findCommand(words);
    if (command.isLog !== true) return "text";
    const { parseArgs } = await import("node:util");
    // Not strict: the error about these words is being reported.
    const { values } = parseArgs({
      args: rest,
      options: parseOptionsOf(command),
      strict: false,
      allowPositionals: true,
    });
    const { config } = values;
    return await logFormatOf({
      file: typeof config === "string" ? config : null,
      environment: terminal.environment,
    });
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
