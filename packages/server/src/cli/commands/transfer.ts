/** `socle import` and `socle export`: the records of a collection from a file, and into a file. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { ImportReport } from "@socle/protocol";
import {
  doServiceWork,
  exportFile,
  formatOfFile,
  importFile,
  openService,
  type Service,
  type TransferRequest,
} from "../../app/index.ts";
import { count, printable, refuseIrreplaceable, SetupError } from "../../base/kernel/index.ts";
import { type Command, type CommandInvocation, withoutLog } from "../command.ts";
import { ProgressBar } from "../progress-bar.ts";
import { configOption, loadSettings } from "../settings.ts";

/** Refused rows that are printed. */
const maxPrinted = 20;

export const importCommand: Command = {
  name: "import",
  args: ["COLLECTION", "FILE"],
  summary: "Create records from a file: .csv, .ndjson or .jsonl; also while the service runs",
  options: configOption,
  async run(invocation) {
    const file = resolve(invocation.args[1] ?? "");
    if (!existsSync(file)) throw new SetupError(`${file}: there is no such file`);
    const report = await transfer<ImportReport>(invocation, "import", importFile);
    const { terminal } = invocation;
    for (const { line, details } of report.problems.slice(0, maxPrinted))
      terminal.err(`line ${line}: ${details.map(({ message }) => printable(message)).join("; ")}\n`);
    const more = report.rejected - Math.min(maxPrinted, report.problems.length);
    if (more > 0) terminal.err(`and ${count(more, "more row")} refused\n`);
    terminal.out(`${count(report.imported, "record")} imported, ${count(report.rejected, "row")} refused\n`);
    return report.rejected === 0 ? 0 : 1;
  },
};

export const exportCommand: Command = {
  name: "export",
  args: ["COLLECTION", "FILE"],
  summary: "Write the records of a collection into a file: .csv, .ndjson or .jsonl; also while the service runs",
  options: configOption,
  async run(invocation) {
    const file = resolve(invocation.args[1] ?? "");
    refuseIrreplaceable(file);
    const exported = await transfer<number>(invocation, "export", exportFile);
    invocation.terminal.out(`${count(exported, "record")} exported\n`);
    return 0;
  },
};

type Work<T> = (service: Service, request: TransferRequest, onProgress: OnProgress) => Promise<T>;
type OnProgress = (progress: { done: number; total: number }) => void;

/** Lets the running service do the work, or opens a service for the work. */
async function transfer<T extends ImportReport | number>(
  { args: [collection = "", file = ""], options, terminal }: CommandInvocation,
  kind: TransferRequest["kind"],
  work: Work<T>,
): Promise<T> {
  const { config, logger } = await loadSettings(options, withoutLog(terminal));
  formatOfFile(file);
  const request: TransferRequest = { kind, collection, file: resolve(file), maxRow: config["limits.body"] };
  using bar = new ProgressBar(terminal, kind === "import" ? "Import" : "Export");
  const onProgress: OnProgress = ({ done, total }) => bar.show(done, total);
  return await doServiceWork({
    config,
    logger,
    request,
    listener: { onProgress },
    open: openService,
    alone: (service) => work(service, request, onProgress),
  });
}
