/** `socle log level`: tells or changes the level of the log of a running service. */
import type { LogLevelState } from "@socle/protocol";
import { askService } from "../../app/index.ts";
import { SetupError } from "../../base/kernel/index.ts";
import { type Command, needDatabase } from "../command.ts";

export const logLevel: Command = {
  name: "log level",
  args: ["[LEVEL]"],
  summary:
    "Tell the level of the log of the running service, or log from DEBUG, INFO, WARN or ERROR on until the next start",
  async run({ args: [level = null], terminal, load }) {
    const settings = await load();
    needDatabase(settings);
    const { database } = settings.config;
    const asked = await askService(database, { kind: "logLevel", level }, {});
    if (asked === null) throw new SetupError(`database ${database}: no service runs on it; set log.level`);
    if (asked.error !== null) throw new SetupError(asked.error);
    // The service is this program.
    const state = asked.value as LogLevelState;
    const until = state.level === state.configured ? "" : ` until the next start, then from ${state.configured} on`;
    terminal.out(`The service logs from ${state.level} on${until}\n`);
    return 0;
  },
};
