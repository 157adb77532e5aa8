/** `socle verify`: whether a data folder, or a backup, is whole. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dataPathsOf, keepFilesPrivate, knownSchemas } from "../../app/index.ts";
import type { Config } from "../../base/config/index.ts";
import { count, printable } from "../../base/kernel/index.ts";
import { type Finding, sourceOf, unpack, verifyData } from "../../operate/backup/index.ts";
import { type Command, type CommandInvocation, type Terminal, withoutLog } from "../command.ts";
import { ProgressBar } from "../progress-bar.ts";
import { configOption, loadSettings } from "../settings.ts";
import { identityOf, identityOption } from "./backup.ts";

function table(findings: readonly Finding[]): string {
  const rows = findings.map(({ state, subject, text }) => [state, subject, printable(text)] as const);
  const width = Math.max(...rows.map(([, subject]) => subject.length));
  return rows.map(([state, subject, text]) => `${state.padEnd(5)}  ${subject.padEnd(width)}  ${text}\n`).join("");
}

function report(findings: readonly Finding[], terminal: Terminal): number {
  terminal.out(table(findings));
  const errors = findings.filter(({ state }) => state === "error").length;
  terminal.out(errors === 0 ? "All is well\n" : `${count(errors, "error")}\n`);
  return errors === 0 ? 0 : 1;
}

async function verifyBackup(file: string, config: Config, { options, terminal }: CommandInvocation): Promise<number> {
  const { source, size } = await sourceOf(file, dataPathsOf(config));
  using bar = new ProgressBar(terminal, "Verify");
  const folder = mkdtempSync(join(tmpdir(), "socle-verify-"));
  try {
    const head = await unpack(
      {
        name: file,
        source,
        identity: identityOf(options, terminal),
        schemas: knownSchemas,
        onProgress: (done) => bar.show(done, size),
      },
      { folder, files: null, depth: "full" },
    );
    bar.end();
    const { counts, missing } = head;
    const findings: Finding[] = [
      { state: "info", subject: "backup", text: `made by ${head.socle} at ${head.createdAt}` },
      {
        state: "ok",
        subject: "checksums",
        text: `${count(counts.files - missing.length + 1, "checksum")} as the manifest says`,
      },
      { state: "ok", subject: "database", text: `${count(counts.records, "record")}, ${count(counts.users, "user")}` },
      { state: "ok", subject: "files", text: `${count(counts.files - missing.length, "file")} whole` },
      ...missing.map(
        (id): Finding => ({ state: "error", subject: "files", text: `${id} had no bytes when the backup was made` }),
      ),
    ];
    return report(findings, terminal);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const verify: Command = {
  name: "verify",
  args: ["[FILE]"],
  summary: "Check the data, or a backup, for errors; exit code 1 when there are any",
  options: {
    ...configOption,
    ...identityOption,
    repair: { summary: "move bytes that belong to no file aside, while the service does not run" },
  },
  async run(invocation) {
    const { args, options, terminal } = invocation;
    keepFilesPrivate();
    const { config } = await loadSettings(options, withoutLog(terminal));
    const [file] = args;
    if (file !== undefined) return verifyBackup(file, config, invocation);
    return report(await verifyData(dataPathsOf(config), { isRepair: options["repair"] === true }), terminal);
  },
};
