/** Imports from a file and exports into a file, in the running service or in a service opened for the command. */
import { renameSync, rmSync, statSync } from "node:fs";
import { extname } from "node:path";
import type { ImportReport } from "@socle/protocol";
import { refuseIrreplaceable, SetupError, system } from "../base/kernel/index.ts";
import { formatOfEnding, type TransferFormat } from "../data/transfer/index.ts";
import type { ExportRequest, ImportRequest, ProgressLine } from "./control.ts";
import type { Service } from "./service.ts";

/** The format of a file by the ending. @throws SetupError for another ending. */
export function formatOfFile(file: string): TransferFormat {
  const format = formatOfEnding(extname(file));
  if (format === null) throw new SetupError(`${file}: its name must end in .csv, .ndjson or .jsonl`);
  return format;
}

type OnProgress = (progress: ProgressLine) => void;

/** Imports a file. @throws AppError as `Import.run`, SetupError for a file that cannot be read. */
export async function importFile(
  { collections, transfers }: Service,
  { collection: name, file, options }: ImportRequest,
  onProgress: OnProgress,
): Promise<ImportReport> {
  const collection = collections.get(name);
  if (collection === undefined) throw new SetupError(`there is no collection "${name}"`);
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new SetupError(`${file}: there is no such file`);
  // The file is read twice.
  const total = 2 * size;
  let done = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of Bun.file(file).stream()) {
      yield piece;
      // The piece is taken: the records are being written.
      done += piece.byteLength;
      onProgress({ done, total });
    }
  };
  const format = formatOfFile(file);
  const { signal } = new AbortController();
  const settings = { format, options: new URLSearchParams(options) };
  return transfers.import(collection, { principal: system, ...settings, content: counted, signal });
}

/**
 * Exports into a file, which appears once the file is whole. Answers the number of records.
 * @throws SetupError for a path that is not a file's.
 */
export async function exportFile(
  { collections, records, transfers }: Service,
  { collection: name, file }: ExportRequest,
  onProgress: OnProgress,
): Promise<number> {
  const collection = collections.get(name);
  if (collection === undefined) throw new SetupError(`there is no collection "${name}"`);
  const total = records.count(collection);
  const format = formatOfFile(file);
  const unfinished = `${file}.unfinished`;
  for (const path of [file, unfinished]) refuseIrreplaceable(path);
  const pieces = await transfers.export(name, format, async () => undefined);
  const writer = Bun.file(unfinished).writer();
  try {
    for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next()) {
      writer.write(piece.value);
      await writer.flush();
      onProgress({ done: Math.min(total, pieces.exported), total });
    }
    await writer.end();
    renameSync(unfinished, file);
    return pieces.exported;
  } catch (thrown) {
    await pieces.return();
    rmSync(unfinished, { force: true });
    throw thrown;
  }
}
