/** `socle failures`: lists the groups of failures of a service, retries the runs of a group, and resolves or mutes a group. */
import type { FailureGroup } from "@socle/protocol";
import { doServiceWork, type FailureAnswer, failuresAlone, openService } from "../../app/index.ts";
import { printable } from "../../base/kernel/index.ts";
import { type Command, type CommandInvocation, needDatabase } from "../command.ts";

const options = { json: { summary: "print JSON" } } as const;

async function ask({ args: [id], options: given, terminal, load }: CommandInvocation, action: string): Promise<number> {
  const settings = await load();
  needDatabase(settings);
  const { items, done } = await doServiceWork<FailureAnswer>({
    ...settings,
    open: openService,
    request: { kind: "failures", action, id: id ?? null },
    alone: (service) => failuresAlone({ ...settings, service }, { action, id: id ?? null }),
  });
  if (given["json"] === true) terminal.out(`${JSON.stringify(action === "list" ? items : items[0], null, 2)}\n`);
  else if (done !== null) terminal.out(`${done}\n`);
  else terminal.out(items.length === 0 ? "No failures\n" : tableOf(items));
  return 0;
}

function tableOf(groups: readonly FailureGroup[]): string {
  const rows = groups.map(({ id, status, seenAgain, kind, count, last, file, line, message }) => {
    const place = file === null ? "" : `${file}${line === null ? "" : `:${line}`}`;
    return [id, seenAgain ? "seen again" : status, kind, String(count), last, place, message].map(printable);
  });
  const all = [["GROUP", "STATUS", "KIND", "COUNT", "LAST", "PLACE", "MESSAGE"], ...rows];
  const widths = all.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, cell.length)), []);
  return all
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

export const failures: Command = {
  name: "failures",
  args: [],
  summary: "List the failures of functions, endpoints, jobs and mails by cause; also while the service runs",
  options,
  run: (invocation) => ask(invocation, "list"),
};

function change(action: string, summary: string): Command {
  return {
    name: `failures ${action}`,
    args: ["GROUP"],
    summary,
    options,
    run: (invocation) => ask(invocation, action),
  };
}

export const failureChanges: readonly Command[] = [
  change("retry", "Run the failed runs of a group again"),
  change("resolve", "Resolve a group, until its cause is seen again"),
  change("mute", "Mute a group: failures are counted, and nothing tells of them"),
  change("reopen", "Make a muted or resolved group open again"),
];
