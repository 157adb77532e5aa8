/** `socle serve` and `socle dev`: run the service until a signal, a failed disk or a defect ends the service. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { MigrationStopped, type Running, ServiceManager, shellCommand, startService } from "../../app/index.ts";
import { supervisionOf, supervisionVariables } from "../../base/config/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { inspectAddresses, maxInspectPort, refuseTakenPorts, usualInspectPort } from "../../code/script-host/index.ts";
import { reasonOfEnd } from "../../store/database/index.ts";
import {
  type Command,
  type CommandInvocation,
  type OptionValues,
  type Settings,
  textOption,
  UsageError,
} from "../command.ts";
import { identityOption } from "../identity-option.ts";

const portOption: Command["options"] = { port: { value: "N", summary: "listen on this port; 0 picks a free port" } };
const options: Command["options"] = {
  ...portOption,
  from: {
    value: "PLACE",
    summary:
      "on an empty folder, restore the newest state of a continuous backup first: s3://BUCKET/PREFIX, or a folder",
  },
  ...identityOption,
};
const devOptions: Command["options"] = {
  ...portOption,
  inspect: {
    value: "PORT",
    usual: String(usualInspectPort),
    summary: `let a debugger attach to your code, on this port and the next ones (default: ${usualInspectPort})`,
  },
};

type Mode = "serve" | "dev";

/** Serves until a signal, until the disk fails, or until a defect shows: then nothing is trusted to end in order. */
async function run(invocation: CommandInvocation, mode: Mode): Promise<number> {
  const { terminal, load } = invocation;
  // A project under development is not for others in the network.
  const defaults = mode === "dev" ? { host: "127.0.0.1" } : {};
  const settings = await load(defaults);
  const ended = terminal.untilDefect().then((error) => {
    settings.logger.error("A defect ended the service; please report it", { error });
    return 1;
  });
  return Promise.race([ended, runWith(settings, invocation, mode)]);
}

async function runWith(settings: Settings, invocation: CommandInvocation, mode: Mode): Promise<number> {
  const { options: given, terminal } = invocation;
  const { config, live, file, log, logger, print } = settings;
  const { environment } = terminal;
  const isDevelopment = mode === "dev";
  if (isDevelopment) logger.info("Development mode");
  if (isDevelopment && !file.isThere && !existsSync(join(config.folder, "collections")))
    logger.warn(
      `${config.folder} has neither config.json nor collections/. Make a project to start from with: ${shellCommand(terminal.program, "init", "my-app")}`,
    );
  const inspectPort = debuggerPort(given, logger);
  const failed = Promise.withResolvers<unknown>();
  let hasFailed = false;
  const onFatal = (error: unknown): void => {
    hasFailed = true;
    logger.error(`${reasonOfEnd(error)}; nothing more is accepted`, { error });
    failed.resolve(error);
  };
  const supervision = supervisionOf(environment);
  for (const name of supervisionVariables) terminal.forget(name);
  const configFile = textOption(given, "config");
  const inConfig = configFile === undefined ? [] : ["--config", configFile];
  const { SERVICE_DATABASE: database } = environment;
  const inDatabase = database === undefined ? [] : ["env", `SERVICE_DATABASE=${database}`];
  const adminCommand = shellCommand(...inDatabase, terminal.program, "admin", "create", "EMAIL", ...inConfig);
  // Heard from here on: whoever has read `Listening` may stop the service at once.
  // Development ends with its terminal, and loads changed files without a signal.
  const stopped = terminal.untilSignal(isDevelopment ? ["SIGHUP"] : []);
  const manager = await ServiceManager.open(supervision, logger);
  const from = textOption(given, "from");
  if (from !== undefined) {
    // A start without `--from` loads no code of backups.
    const [{ identityOf }, { addressOfPlace, restoreForStart }] = await Promise.all([
      import("./backup.ts"),
      import("./continuous.ts"),
    ]);
    const identity = (): ReturnType<typeof identityOf> => identityOf(invocation);
    await restoreForStart(settings, { address: addressOfPlace(from), identity, terminal });
  }
  let app: Running | null = null;
  // Before the start is complete, the signal is heard and ignored: the signal must not end the process.
  terminal.onHangup(() => {
    const loading = app;
    if (loading === null || isDevelopment) return;
    manager
      .reloading(() => loading.reload())
      .catch((error) => logger.error("Functions and jobs could not be loaded again", { error }));
  });
  const interruption = new AbortController();
  void stopped.then(() => interruption.abort());
  const { signal: interrupted } = interruption;
  const start = startService({
    adminCommand,
    config,
    live,
    environment,
    inspectPort,
    interrupted,
    isDevelopment,
    log,
    logger,
    onFatal,
  });
  const running = await start.catch((thrown: unknown) => {
    if (thrown instanceof MigrationStopped) return null;
    throw thrown;
  });
  if (running === null) {
    logger.info(`${await stopped}: stopped in a migration, which goes on at the next start`);
    return 0;
  }
  app = running;
  manager.ready(running.url, () => running.works());
  const steps = isDevelopment && config["log.format"] === "text" ? running.firstSteps() : [];
  if (steps.length > 0)
    print(`\nNo records yet. The way to the first one:\n\n${steps.map((step) => `  ${step}\n`).join("")}\n`);
  const reason = await Promise.race([stopped, failed.promise.then((error) => reasonOfEnd(error))]);
  manager.stopping();
  logger.info(`${reason}: stopping`);
  return (await stop(running, logger)) && !hasFailed ? 0 : 1;
}

/** The port of `--inspect`; undefined without the option. @throws UsageError; SetupError for a port that another program has. */
function debuggerPort(options: OptionValues, logger: Logger): number | undefined {
  const text = textOption(options, "inspect");
  if (text === undefined) return undefined;
  const inspectPort = Number(text);
  if (!/^\d+$/.test(text) || inspectPort < 1 || inspectPort > maxInspectPort)
    throw new UsageError(`--inspect=${text} is no port; allowed: a number from 1 to ${maxInspectPort}`);
  refuseTakenPorts(inspectPort);
  for (const { lane, url } of inspectAddresses(inspectPort)) logger.notice(`The debugger of ${lane} is at ${url}`);
  return inspectPort;
}

/** Answers whether everything ended in order. A disk that fails at the end is an entry of the log like any other failure. */
export async function stop(app: Pick<Running, "stop">, logger: Logger): Promise<boolean> {
  try {
    await app.stop();
  } catch (error) {
    logger.error("The service did not stop in order; the next start recovers the data on the disk", { error });
    return false;
  }
  logger.info("Stopped");
  return true;
}

export const serve: Command = {
  name: "serve",
  isLog: true,
  summary: "Serve the API; `socle` without a command does the same",
  options,
  run: (invocation) => run(invocation, "serve"),
};

export const dev: Command = {
  name: "dev",
  isLog: true,
  summary: "Serve during development: reload changed files",
  options: devOptions,
  run: (invocation) => run(invocation, "dev"),
};
