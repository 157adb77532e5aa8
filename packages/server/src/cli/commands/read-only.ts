/** `socle read-only`: switches the changes of a service off and on, also while no service runs. */
import type { ReadOnlyMode } from "@socle/protocol";
import { buildService, doServiceWork, readOnlyAlone } from "../../app/index.ts";
import { printable } from "../../base/kernel/index.ts";
import { type Command, type CommandInvocation, needDatabase } from "../command.ts";

async function ask({ options, terminal, load }: CommandInvocation, action: string): Promise<number> {
  const settings = await load();
  needDatabase(settings);
  const mode = await doServiceWork<ReadOnlyMode>({
    ...settings,
    open: buildService,
    request: { kind: "readOnly", action },
    alone: (service) => readOnlyAlone(service, settings.logger, action),
  });
  if (options["json"] === true) terminal.out(`${JSON.stringify(mode, null, 2)}\n`);
  else terminal.out(`${textOf(mode)}\n`);
  return 0;
}

function textOf({ on, since, text }: ReadOnlyMode): string {
  return on ? `The service is read-only since ${since}: ${printable(text ?? "")}` : "The service takes changes";
}

const options = { json: { summary: "print JSON" } } as const;

export const readOnly: Command = {
  name: "read-only",
  args: [],
  summary: "Tell whether the service is read-only",
  options,
  run: (invocation) => ask(invocation, "status"),
};

export const readOnlySwitches: readonly Command[] = [
  {
    name: "read-only on",
    args: [],
    summary:
      "Refuse all changes (503) but sign-ins, sign-outs and deletions by admins, also over restarts; reads go on",
    options,
    run: (invocation) => ask(invocation, "on"),
  },
  {
    name: "read-only off",
    args: [],
    summary: "Take changes again; runs that have waited start",
    options,
    run: (invocation) => ask(invocation, "off"),
  },
];
