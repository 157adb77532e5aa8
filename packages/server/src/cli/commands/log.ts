/** `socle logs` and `socle log level`: the log of a running service, and its level. */
import type { LogLevelState } from "@socle/protocol";
import { askService } from "../../app/index.ts";
import { SetupError } from "../../base/kernel/index.ts";
import { lineOf } from "../../base/logging/index.ts";
import { type Command, needDatabase, textOption, UsageError } from "../command.ts";

/** The entries that a service keeps. */
const kept = 2_000;

export const logs: Command = {
  name: "logs",
  args: [],
  summary: "Print the newest entries of the log of the running service, the oldest first",
  options: {
    follow: { short: "f", summary: "go on with each new entry, until the command or the service ends" },
    request: { value: "ID", summary: "entries of this request alone: the X-Request-Id of an answer" },
    level: { value: "LEVELS", summary: "entries of these levels alone, such as WARN,ERROR" },
    limit: { value: "N", summary: `entries of the past, at most ${kept} (default: 100)` },
    json: { summary: "each entry as a line of JSON" },
  },
  async run({ options, terminal, load }) {
    const settings = await load();
    needDatabase(settings);
    const { database } = settings.config;
    const limit = limitOf(textOption(options, "limit"));
    const asked = await askService(
      database,
      {
        kind: "logs",
        level: textOption(options, "level") ?? null,
        request: textOption(options, "request") ?? null,
        limit,
        follow: options["follow"] === true,
      },
      {
        onLog(line) {
          const { requestId, fields, timestamp = new Date().toISOString(), source = "socle", ...entry } = line;
          const shown = { ...(requestId !== undefined && { requestId }), ...fields };
          const text = lineOf({ ...entry, timestamp, source, fields: shown }, "text");
          terminal.out(options["json"] === true ? `${JSON.stringify(line)}\n` : text);
        },
      },
    );
    if (asked === null)
      throw new SetupError(`database ${database}: no service runs on it; a service writes its log to standard output`);
    if (asked.error !== null) throw new SetupError(asked.error);
    return 0;
  },
};

/** @throws UsageError. */
function limitOf(text = "100"): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(limit <= kept)) throw new UsageError(`--limit ${text}: allowed: 0 to ${kept}`);
  return limit;
}

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
