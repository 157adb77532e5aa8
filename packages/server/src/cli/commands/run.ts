/** `socle run job` and `socle run function`: run a script now, in the running service if a service runs. */
import { askService, type LogLine, openService, type RunRequest, withScripts } from "../../app/index.ts";
import { AppError, messageOf, printable } from "../../base/kernel/index.ts";
import { reasonOfEnd } from "../../store/database/index.ts";
import { type Command, type CommandInvocation, type Terminal, textOption, UsageError } from "../command.ts";

/** Asks the running service, or does the work without a service. */
async function run(request: RunRequest, { terminal, load }: CommandInvocation): Promise<number> {
  const { config, logger } = await load();
  const onLog = (line: LogLine): void => terminal.out(`${textOf(line)}\n`);
  const asked = await askService(config.database, request, { onLog });
  if (asked !== null) return report(asked.error, terminal);
  const service = await openService({
    config,
    logger,
    onFatal: (error) => terminal.err(`${reasonOfEnd(error, `: ${messageOf(error)}`)}\n`),
  });
  try {
    const options = { service, config, logger, environment: terminal.environment };
    return report(await withScripts(options, (scripts) => scripts.run(request, onLog)), terminal);
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    return report(thrown.message, terminal);
  } finally {
    await service.close();
  }
}

function report(error: string | null, terminal: Terminal): number {
  if (error === null) terminal.out("Completed\n");
  else terminal.err(`Failed: ${printable(error)}\n`);
  return error === null ? 0 : 1;
}

/** On a single line: records have newlines and escape sequences, which are not for the terminal. */
function textOf({ level, message, fields }: LogLine): string {
  const values = Object.entries(fields ?? {}).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return printable(`${level.padEnd(5)} ${message}${values.join("")}`);
}

export const runJob: Command = {
  name: "run job",
  args: ["NAME"],
  summary: "Run a job now, once, and show its log; also while the service runs",
  run: (invocation) => run({ kind: "job", name: invocation.args[0] ?? "" }, invocation),
};

export const runFunction: Command = {
  name: "run function",
  args: ["COLLECTION", "FILE"],
  summary: "Run a function for a stored record, and show its log; also while the service runs",
  options: {
    record: { value: "ID", summary: "the record to run for; in users, the user" },
    handler: { value: "NAME", summary: "the export: onCreate, onUpdate, …; by default, the first that exists" },
  },
  async run(invocation) {
    const [collection = "", file = ""] = invocation.args;
    const record = textOption(invocation.options, "record");
    if (record === undefined) throw new UsageError("missing --record ID: the record that the function runs for");
    const handler = textOption(invocation.options, "handler") ?? null;
    return run({ kind: "function", collection, file, record, handler }, invocation);
  },
};
