/** `socle import` and `socle export`: the records of a collection from a file, and into one. */
import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { ErrorDetail, ImportReport } from "@socle/protocol";
import {
  askService,
  exportFile,
  formatOfFile,
  importFile,
  openService,
  type Service,
  type TransferRequest,
} from "../../app/index.ts";
import { AppError, count, messageOf, printable, reasonsOf, SetupError } from "../../kernel/index.ts";
import { type Command, type Invocation, withoutLog } from "../command.ts";
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
      terminal.err(`line ${line}: ${details.map(shown).join("; ")}\n`);
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
    if (!existsSync(dirname(file))) throw new SetupError(`${file}: its folder does not exist`);
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true)
      throw new SetupError(`${file}: is a folder; name a file in it`);
    const exported = await transfer<number>(invocation, "export", exportFile);
    invocation.terminal.out(`${count(exported, "record")} exported\n`);
    return 0;
  },
};

type Work<T> = (service: Service, request: TransferRequest, onProgress: OnProgress) => Promise<T>;
type OnProgress = (progress: { done: number; total: number }) => void;

/** Has it done by the service that runs, or opens one for it. */
async function transfer<T extends ImportReport | number>(
  { args: [collection = "", file = ""], options, terminal }: Invocation,
  kind: TransferRequest["kind"],
  work: Work<T>,
): Promise<T> {
  const { config, logger } = await loadSettings(options, withoutLog(terminal));
  formatOfFile(file);
  const request: TransferRequest = { kind, collection, file: resolve(file), maxRow: config["limits.body"] };
  const bar = new ProgressBar(terminal, kind === "import" ? "Import" : "Export");
  const onProgress: OnProgress = ({ done, total }) => bar.show(done, total);
  try {
    const asked = await askService(config.database, request, { onProgress });
    if (asked !== null) {
      if (asked.error !== null) throw new SetupError(asked.error);
      // Answers the result of `work`.
      return asked.value as T;
    }
    const onFatal = (error: unknown): void => terminal.err(`The disk refused a write: ${messageOf(error)}\n`);
    const service = await openService({ config, logger, onFatal });
    try {
      return await work(service, request, onProgress);
    } finally {
      await service.close();
    }
  } catch (thrown) {
    throw thrown instanceof AppError ? new SetupError(reasonsOf(thrown)) : thrown;
  } finally {
    bar.end();
  }
}

function shown(detail: ErrorDetail): string {
  return printable(detail.message);
}
