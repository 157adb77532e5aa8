/** `socle import`, `socle export` and `socle seed`: records from a file, and into a file. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { ImportReport } from "@socle/protocol";
import {
  doServiceWork,
  type ExportRequest,
  exportFile,
  formatOfFile,
  type ImportRequest,
  importFile,
  openService,
  type Service,
  seedFrom,
  withScripts,
} from "../../app/index.ts";
import { count, printable, refuseIrreplaceable, SetupError } from "../../base/kernel/index.ts";
import { Logger } from "../../base/logging/index.ts";
import { type Command, type CommandInvocation, needDatabase, textOption } from "../command.ts";
import { ProgressBar } from "../progress-bar.ts";

/** Refused rows that are printed. */
const maxPrinted = 20;

/** The option of the import by the option of the command. */
const importOptions = {
  map: {
    value: "COLUMN=FIELD",
    many: true,
    summary: "the field of a column; COLUMN= leaves the column out; for several columns, again",
  },
  null: { value: "TEXT", many: true, summary: "a cell with this text is null, for example NA" },
  encoding: {
    value: "NAME",
    summary: "the encoding, for example windows-1252 (default: UTF-8, or UTF-16 by its first bytes)",
  },
  decimal: { value: "comma|point", summary: "numbers are written 1.234,5 or 1,234.5" },
  dates: { value: "dmy|mdy", summary: "dates are written 31.12.2026 or 12/31/2026" },
  update: {
    value: "FIELD",
    usual: "id",
    summary: "change the records that FIELD names, the id or a unique field (default: id)",
  },
  upsert: { value: "FIELD", usual: "id", summary: "the same, and create the records that FIELD does not find" },
} as const;

export const importCommand: Command = {
  name: "import",
  args: ["COLLECTION", "FILE"],
  summary: "Create records from a file: .csv, .ndjson or .jsonl; also while the service runs",
  options: { ...importOptions, "dry-run": { summary: "report the result of an import, and change nothing" } },
  async run(invocation) {
    const { terminal, options } = invocation;
    const { collection, file } = argumentsOf(invocation);
    if (!existsSync(file)) throw new SetupError(`${file}: there is no such file`);
    const isDryRun = options["dry-run"] === true;
    const chosen = new URLSearchParams(isDryRun ? { dryRun: "true" } : {});
    for (const name of Object.keys(importOptions))
      for (const value of textOption(options, name)?.split("\n") ?? []) chosen.append(name, value);
    const request: ImportRequest = { kind: "import", collection, file, options: String(chosen) };
    const report = await transfer<ImportReport>(invocation, request, (service, onProgress) =>
      importFile(service, request, onProgress),
    );
    for (const { line, details } of report.problems.slice(0, maxPrinted))
      terminal.err(`line ${line}: ${details.map(({ message }) => printable(message)).join("; ")}\n`);
    const more = report.rejected - Math.min(maxPrinted, report.problems.length);
    if (more > 0) terminal.err(`and ${count(more, "more row")} refused\n`);
    terminal.out(`${isDryRun ? "Dry run: " : ""}${summaryOf(report, chosen)}\n`);
    return report.rejected === 0 ? 0 : 1;
  },
};

function summaryOf(
  { imported, updated, rejected, skipped, unresolved }: ImportReport,
  chosen: URLSearchParams,
): string {
  const parts = [
    ...(chosen.has("update") ? [] : [`${count(imported, "record")} imported`]),
    ...(chosen.has("update") || chosen.has("upsert") ? [`${count(updated, "record")} updated`] : []),
    `${count(rejected, "row")} refused`,
    ...(skipped > 0 ? [`${count(skipped, "empty row")} skipped`] : []),
    ...(unresolved > 0 ? [`${count(unresolved, "id")} kept of records or files that do not exist`] : []),
  ];
  return parts.join(", ");
}

export const exportCommand: Command = {
  name: "export",
  args: ["COLLECTION", "FILE"],
  summary: "Write the records of a collection into a file: .csv, .ndjson or .jsonl; also while the service runs",
  async run(invocation) {
    const request: ExportRequest = { kind: "export", ...argumentsOf(invocation) };
    refuseIrreplaceable(request.file);
    const exported = await transfer<number>(invocation, request, (service, onProgress) =>
      exportFile(service, request, onProgress),
    );
    invocation.terminal.out(`${count(exported, "record")} exported\n`);
    return 0;
  },
};

function argumentsOf({ args: [collection = "", file = ""] }: CommandInvocation): { collection: string; file: string } {
  return { collection, file: resolve(file) };
}

type OnProgress = (progress: { done: number; total: number }) => void;

/** Lets the running service do the work, or opens a service for the work. */
async function transfer<T extends ImportReport | number>(
  { terminal, load }: CommandInvocation,
  request: ImportRequest | ExportRequest,
  work: (service: Service, onProgress: OnProgress) => Promise<T>,
): Promise<T> {
  const settings = await load();
  const { config, logger } = settings;
  formatOfFile(request.file);
  if (request.kind === "export") needDatabase(settings);
  const { environment } = terminal;
  using bar = new ProgressBar(terminal, request.kind === "import" ? "Import" : "Export");
  const onProgress: OnProgress = ({ done, total }) => bar.show(done, total);
  return await doServiceWork({
    config,
    logger,
    request,
    listener: { onProgress },
    open: openService,
    alone: (service) => {
      const done = (): Promise<T> => work(service, onProgress);
      if (request.kind === "export") return done();
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
