import { App } from "../../app/index.ts";
import type { Command, Invocation } from "../command.ts";
import { configOption, loadSettings } from "../settings.ts";

const options: Command["options"] = {
  ...configOption,
  port: { value: "N", summary: "listen on this port, 0 for any that is free" },
};

/** Serves until a signal, or until the disk fails. */
async function run({ options: given, terminal }: Invocation, mode: "serve" | "dev"): Promise<number> {
  const { config, logger } = await loadSettings(given, terminal);
  if (mode === "dev") logger.info("Development mode");
  const failed = Promise.withResolvers<unknown>();
  const app = await App.start({ config, logger, onFatal: failed.resolve });
  const end = await Promise.race([
    terminal.untilSignal().then((signal) => ({ signal })),
    failed.promise.then((error) => ({ error })),
  ]);
  if ("error" in end) logger.error("The disk refused a write; nothing more is accepted", { error: end.error });
  else logger.info(`${end.signal}: stopping`);
  await app.stop();
  logger.info("Stopped");
  return "error" in end ? 1 : 0;
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
