/** Commands for a cluster from the outside, which ask the journal, and some of which the leader does: `socle cluster …`. */
import { clusterCommands, keepFilesPrivate } from "../../app/index.ts";
import { count, printable } from "../../base/kernel/index.ts";
import type { MirrorState } from "../../operate/mirror/index.ts";
import { type Command, textOption, UsageError } from "../command.ts";
import { readableSize } from "../progress-bar.ts";

export const clusterInit: Command = {
  name: "cluster init",
  summary: "Put the database into the new journal of cluster.name, while no service runs",
  async run({ terminal, load }) {
    keepFilesPrivate();
    const settings = await load();
    const { config } = settings;
    const { initCluster } = await clusterCommands();
    const { name, bytes } = await initCluster(settings);
    terminal.out(`The journal of ${config["cluster.name"]} has the database; snapshot ${name} (${readableSize(bytes)})
Next: start this instance with socle serve, then the other instances with the same cluster.journal, cluster.name,
cluster.secret and storage, each with a separate cluster.address and without a database. See socle cluster status.
`);
    return 0;
  },
};

export const clusterRejoin: Command = {
  name: "cluster rejoin",
  summary: "Set the database of this instance aside, so that the next start follows the journal",
  async run({ terminal, load }) {
    keepFilesPrivate();
    const { rejoinCluster, branchText } = await clusterCommands();
    const { aside, ...branch } = await rejoinCluster(await load());
    const lost = branch.own - (branch.common ?? 0);
    terminal.out(`Found: ${branchText(branch)}.
The database is in ${aside}, with ${count(lost, "commit")} that the journal does not have.
Next: start this instance with socle serve.
`);
    return 0;
  },
};

export const clusterAdopt: Command = {
  name: "cluster adopt",
  summary: "Make the state of this database the state of the journal, while no instance leads",
  options: { force: { summary: "drop the commits that only the journal has" } },
  async run({ options, terminal, load }) {
    keepFilesPrivate();
    const { adoptDatabase, branchText } = await clusterCommands();
    const { snapshot, ...branch } = await adoptDatabase(await load(), options["force"] === true);
    const dropped = count(branch.journal - (branch.common ?? 0), "commit");
    terminal.out(`Found: ${branchText(branch)}.\n`);
    if (snapshot === null) {
      terminal.err(`Nothing was done: ${dropped} of the journal would be dropped. Add --force to go on.\n`);
      return 1;
    }
    terminal.out(`The journal has the state of this database; ${dropped} of the journal dropped; snapshot ${snapshot.name}
Next: start this instance with socle serve; on each other instance with commits that were dropped, run socle cluster rejoin first.
`);
    return 0;
  },
};

export const clusterSnapshot: Command = {
  name: "cluster snapshot",
  summary: "Have the leader make a snapshot now, with every write that was acknowledged before",
  options: { json: { summary: "as JSON" } },
  async run({ options, terminal, load }) {
    const { makeSnapshot } = await clusterCommands();
    const { name, position, bytes, madeAt } = await makeSnapshot(await load());
    const made = new Date(madeAt).toISOString();
    if (options["json"] === true) terminal.out(`${JSON.stringify({ name, position, bytes, madeAt: made })}\n`);
    else terminal.out(`Snapshot ${name}  position ${position}  ${readableSize(bytes)}  ${made}\n`);
    return 0;
  },
};

export const clusterRemove: Command = {
  name: "cluster remove",
  args: ["NAME"],
  summary: "Forget an instance that is gone for good; NAME is the address in socle cluster status",
  async run({ args, terminal, load }) {
    const [name = ""] = args;
    const { removeInstance } = await clusterCommands();
    await removeInstance(await load(), name);
    terminal.out(`${name} is removed: no instance waits for ${name} any more.\n`);
    return 0;
  },
};

export const clusterLead: Command = {
  name: "cluster lead",
  args: ["NAME"],
  summary: "Hand the lead over to an instance; NAME is the address in socle cluster status",
  options: { "with-its-files": { summary: "the files of the instance are in force from now on" } },
  async run({ args, options, terminal, load }) {
    const [name = ""] = args;
    const { leadBy } = await clusterCommands();
    const { files, pausedMs, ledBefore } = await leadBy(await load(), {
      name,
      withFiles: options["with-its-files"] === true,
    });
    if (files !== null) terminal.out(`The files ${files} are in force.\n`);
    if (ledBefore) terminal.out(`${name} leads already.\n`);
    else if (pausedMs === null)
      terminal.out("An instance with these files leads in some seconds; see socle cluster status.\n");
    else terminal.out(`${name} leads; writes were paused for ${(pausedMs / 1_000).toFixed(1)} s.\n`);
    return 0;
  },
};

/** The exit codes of `socle cluster upgrade`, for scripts. */
const upgradeCodes = { finished: 0, stop: 1, next: 3, wait: 4 } as const;

export const clusterUpgrade: Command = {
  name: "cluster upgrade",
  summary: `Tell the next step of a rolling upgrade to this executable and project folder, and change nothing; exit code ${upgradeCodes.finished} at the end, ${upgradeCodes.next} when the step is safe, ${upgradeCodes.wait} for a wait, ${upgradeCodes.stop} for a problem`,
  options: {
    instances: { value: "N", summary: "how many instances the cluster has: a stopped instance counts as missing then" },
    json: { summary: "as JSON" },
  },
  async run({ options, terminal, load }) {
    const size = textOption(options, "instances") ?? "0";
    if (!/^\d{1,4}$/.test(size)) throw new UsageError(`--instances ${size}: must be a number of instances`);
    const settings = await load();
    const { upgradeOf } = await clusterCommands();
    const { target, instances, step } = await upgradeOf(settings, Number(size));
    const code = upgradeCodes[step.state];
    if (options["json"] === true) {
      terminal.out(`${JSON.stringify({ target, ...step, instances }, null, 2)}\n`);
      return code;
    }
    const heads = { finished: "Finished", next: "Next", wait: "Wait", stop: "Stop" } as const;
    terminal.out(
      [
        `Upgrade of ${settings.config["cluster.name"]} to ${target.version}, files ${target.files}\n`,
        table([
          ["address", "role", "version", "files", "state"],
          ...instances.map((each) => [
            printable(each.address),
            each.isLive ? each.role : "gone",
            printable(each.version),
            printable(each.files ?? ""),
            printable(each.problem ?? each.unready ?? (each.isLive ? "ready" : "")),
          ]),
        ]),
        `${heads[step.state]}: ${printable(step.text)}\n`,
      ].join(""),
    );
    return code;
  },
};

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `  ${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

function mirrorLine({ schema, state, position, reason }: MirrorState): string {
  const at = position === null ? "no position" : `position ${position}`;
  return `Mirror: ${schema}, ${state}, ${at}${reason === null ? "" : `: ${printable(reason)}`}\n`;
}

export const clusterStatus: Command = {
  name: "cluster status",
  summary: "Show leader, instances, journal and snapshots of a cluster; exit code 1 without a leader",
  options: { json: { summary: "as JSON" } },
  async run({ options, terminal, load }) {
    const settings = await load();
    const { statusOfCluster } = await clusterCommands();
    const status = await statusOfCluster(settings);
    const { leader, term, position, instances, journal, snapshots, mirror } = status;
    const code = leader === null ? 1 : 0;
    if (options["json"] === true) {
      const made = snapshots.map((each) => ({ ...each, madeAt: new Date(each.madeAt).toISOString() }));
      terminal.out(`${JSON.stringify({ ...status, snapshots: made }, null, 2)}\n`);
      return code;
    }
    const lines = [
      `Cluster ${settings.config["cluster.name"]}: ${leader === null ? "no leader" : `leader ${printable(leader)}`}, term ${term}\n`,
      `Journal: position ${position}, entries kept: ${journal.entries} (${readableSize(journal.bytes)})\n`,
      mirror === null ? "" : mirrorLine(mirror),
      `${count(instances.length, "instance")}\n`,
      instances.length === 0
        ? ""
        : table([
            ["address", "role", "version", "position", "entries behind", "files"],
            ...instances.map((each) => [
              printable(each.address),
              each.isLive ? each.role : "gone",
              printable(each.version),
              String(each.position),
              String(each.lag),
              printable(each.files ?? ""),
            ]),
          ]),
      ...instances.flatMap(({ address, problem }) =>
        problem === null ? [] : [`  ${printable(address)}: ${printable(problem)}\n`],
      ),
      `${count(snapshots.length, "snapshot")}\n`,
      ...snapshots.map(
        (each) =>
          `  ${printable(each.name)}  position ${each.position}  ${readableSize(each.bytes)}  ${new Date(each.madeAt).toISOString()}\n`,
      ),
    ];
    terminal.out(lines.join(""));
    return code;
  },
};
