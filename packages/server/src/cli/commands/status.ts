/** `socle status`: lists the conditions of a running service that are not well, each with the remedy; the exit code is 1 with an error or a warning. */
import type { ServiceStatus } from "@socle/protocol";
import { askService } from "../../app/index.ts";
import { printable, SetupError } from "../../base/kernel/index.ts";
import { type Command, needDatabase } from "../command.ts";

export const status: Command = {
  name: "status",
  args: [],
  summary:
    "List what is not well with the running service, each with its remedy; exit code 1 for an error or a warning",
  options: { json: { summary: "print JSON" } },
  async run({ options, terminal, load }) {
    const settings = await load();
    needDatabase(settings);
    const { database } = settings.config;
    const asked = await askService(database, { kind: "status" }, {});
    if (asked === null) throw new SetupError(`database ${database}: no service runs on it`);
    if (asked.error !== null) throw new SetupError(asked.error);
    // The service is this program.
    const found = asked.value as ServiceStatus;
    if (options["json"] === true) terminal.out(`${JSON.stringify(found, null, 2)}\n`);
    else terminal.out(found.items.length === 0 ? "All is well\n" : textOf(found));
    return found.isWell ? 0 : 1;
  },
};

function textOf({ items }: ServiceStatus): string {
  return items
    .map(
      ({ level, text, remedy, since }) =>
        `${level.padEnd(7)}  ${printable(text)} (since ${since})\n         → ${remedy}\n`,
    )
    .join("");
}
