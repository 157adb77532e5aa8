/** `socle import`, `socle export` and `socle seed`: records from a file, and into a file. */
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
  seedFrom,
  type TransferRequest,
  withScripts,
} from "../../app/index.ts";
import { count, printable, refuseIrreplaceable, SetupError } from "../../base/kernel/index.ts";
import { Logger } from "../../base/logging/index.ts";
import type { Command, CommandInvocation } from "../command.ts";
import { ProgressBar } from "../progress-bar.ts";

/** Refused rows that are printed. */
const maxPrinted = 20;

export const importCommand: Command = {
  name: "import",
  args: ["COLLECTION", "FILE"],
  summary: "Create records from a file: .csv, .ndjson or .jsonl; also while the service runs",
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
  async run(invocation) {
    const file = resolve(invocation.args[1] ?? "");
    refuseIrreplaceable(file);
    const exported = await transfer<number>(invocation, "export", exportFile);
    invocation.terminal.out(`${count(exported, "record")} exported\n`);
    return 0;
  },
};

type OnProgress = (progress: { done: number; total: number }) => void;

/** Lets the running service do the work, or opens a service for the work. */
async function transfer<T extends ImportReport | number>(
  { args: [collection = "", file = ""], terminal, load }: CommandInvocation,
  kind: TransferRequest["kind"],
  work: (service: Service, request: TransferRequest, onProgress: OnProgress) => Promise<T>,
): Promise<T> {
  const { config, logger } = await load();
  formatOfFile(file);
  const request: TransferRequest = { kind, collection, file: resolve(file), maxRow: config["limits.body"] };
  const { environment } = terminal;
  using bar = new ProgressBar(terminal, kind === "import" ? "Import" : "Export");
  const onProgress: OnProgress = ({ done, total }) => bar.show(done, total);
  return await doServiceWork({
    config,
    logger,
    request,
    listener: { onProgress },
    open: openService,
    alone: (service) => {
      const done = (): Promise<T> => work(service, request, onProgress);
      if (kind === "export") return done();
      // Hooks decide about the rows, and functions run for the records; the command shows why a hook or a function fails.
      const errors = new Logger({ level: "ERROR", sinks: [({ message }) => terminal.err(`${printable(message)}\n`)] });
      return withScripts({ service, config, logger: errors, environment }, done);
    },
  });
}

export const seed: Command = {
  name: "seed",
  args: ["FILE"],
  summary: "Fill empty collections with the users and records of a JSON file; also while the service runs",
  async run({ args: [given = ""], terminal, load }) {
    const { config, logger } = await load();
    const file = resolve(given);
    if (!existsSync(file)) throw new SetupError(`${given}: there is no such file`);
    const report = await doServiceWork({
      config,
      logger,
      request: { kind: "seed", file },
      open: openService,
      alone: (service) => seedFrom(file, service),
    });
    for (const { name, outcome } of report) terminal.out(`${name}: ${outcome}\n`);
    return 0;
  },
};
