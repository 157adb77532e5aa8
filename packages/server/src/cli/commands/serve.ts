import { App } from "../../app/index.ts";
import type { Command, Invocation } from "../command.ts";
import { configOption, loadSettings } from "../settings.ts";

const options: Command["options"] = {
  ...configOption,
  port: { value: "N", summary: "listen on this port, 0 for any that is free" },
};

/** Serves until a signal, or until the disk fails. */
async function run({ options: given, terminal }: Invocation, mode: "serve" | "dev"): Promise<number> {
  const { config, logger, log } = await loadSettings(given, terminal);
  if (mode === "dev") logger.info("Development mode");
  const failed = Promise.withResolvers<unknown>();
  let hasFailed = false;
  const onFatal = (error: unknown): void => {
    hasFailed = true;
    logger.error("The disk refused a write; nothing more is accepted", { error });
    failed.resolve(error);
  };
  const { environment } = terminal;
  const app = await App.start({ config, logger, log, onFatal, environment, isDevelopment: mode === "dev" });
  terminal.onHangup(() => {
    app.reload().catch((error) => logger.error("Functions and jobs could not be loaded again", { error }));
  });
  const reason = await Promise.race([terminal.untilSignal(), failed.promise.then(() => "The disk failed")]);
  logger.info(`${reason}: stopping`);
  await app.stop();
  logger.info("Stopped");
  return hasFailed ? 1 : 0;
}

export const serve: Command = {
  name: "serve",
  args: [],
  summary: "Serve the API; what `socle` alone does, too",
  options,
  run: (invocation) => run(invocation, "serve"),
};

export const dev: Command = {
  name: "dev",
  args: [],
  summary: "Serve while you work on functions and jobs",
  options,
  run: (invocation) => run(invocation, "dev"),
};
