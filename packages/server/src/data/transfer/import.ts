/**
 * An import: the rows of a file become records, in transactions of 1,000, while the file arrives. Refused rows are left out
 * and told. At most one transaction is written while the next rows are read, so memory does not grow with the file.
 */
import type { ErrorDetail, ErrorRule, ImportReport } from "@socle/protocol";
import { AppError, type Clock, type Principal, parseDatetime, toTimestamp } from "../../base/kernel/index.ts";
import type { Collection } from "../collections/index.ts";
import { type ImportedRecord, isRecordId, type Records } from "../records/index.ts";
import { CsvRows, noValue } from "./csv.ts";
import type { TransferFormat } from "./format.ts";
import { type ImportRow, NdjsonRows } from "./ndjson-rows.ts";

const recordsAtOnce = 1_000;
/** A transaction is full with this many characters of the file, too. */
const charactersAtOnce = 2 * 1024 ** 2;
/** Refused rows that the report lists. */
const maxProblems = 1_000;
/** The most problems of one row that the report lists. */
const maxDetails = 20;

interface Parsed extends ImportedRecord {
  readonly line: number;
}

export interface ImportOptions {
  readonly records: Records;
  readonly clock: Clock;
  readonly collection: Collection;
  readonly principal: Principal;
  readonly format: TransferFormat;
  /** Bytes of a row. */
  readonly maxRow: number;
}

export class Import {
  readonly #options: ImportOptions;
  readonly #rows: CsvRows | NdjsonRows;
  readonly #report: ImportReport = { imported: 0, rejected: 0, problems: [] };
  #waiting: Parsed[] = [];
  #characters = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: ImportOptions) {
    const { collection, format, maxRow } = options;
    this.#options = options;
    this.#rows = format === "csv" ? new CsvRows(collection.definition.fields, maxRow) : new NdjsonRows(maxRow);
  }

  /**
   * Reads a file to the end. To be called once.
   * @throws AppError when the rest cannot be read or written; the message has the number of imported records.
   */
  async run(file: AsyncIterable<Uint8Array>): Promise<ImportReport> {
    try {
      const decoder = new TextDecoder("utf-8", { fatal: true });
      for await (const piece of file) await this.#take(this.#rows.push(decode(decoder, piece)), piece.byteLength);
      const last = decode(decoder, null);
      await this.#take([...this.#rows.push(last), ...this.#rows.end()], 0);
      await this.#write();
      await this.#writing;
      this.#report.problems.sort((a, b) => a.line - b.line);
      return this.#report;
    } catch (thrown) {
      // The transaction under way ends first: the number is told of all that is done.
      await this.#writing.catch(() => undefined);
      if (!(thrown instanceof AppError)) throw thrown;
      throw this.#withCount(thrown);
    }
  }

  #withCount({ code, message, details, retryAfter, cause }: AppError): AppError {
    const told = `${message} ${this.#report.imported.toLocaleString("en")} records were imported before that.`;
    return new AppError(code, told, {
      ...(details !== undefined && { details }),
      ...(retryAfter !== undefined && { retryAfter }),
      cause,
    });
  }

  async #take(rows: readonly ImportRow[], characters: number): Promise<void> {
    this.#characters += characters;
    for (const { line, values } of rows) {
      if (typeof values === "string")
        this.#reject(line, [{ field: "", rule: "type", message: `the row is refused: ${values}` }]);
      else this.#waiting.push({ line, ...this.#recordOf(values) });
      if (this.#waiting.length >= recordsAtOnce) await this.#write();
    }
    if (this.#characters >= charactersAtOnce) await this.#write();
  }

  /** Begins the next transaction once the transaction before is done. */
  async #write(): Promise<void> {
    const records = this.#waiting;
    this.#waiting = [];
    this.#characters = 0;
    await this.#writing;
    if (records.length === 0) return;
    this.#writing = this.#import(records);
    // A failure is thrown by the await of the transaction.
    this.#writing.catch(() => undefined);
  }

  async #import(records: readonly Parsed[]): Promise<void> {
    const { records: store, principal, collection } = this.#options;
    const rejections = await store.importAll(principal, collection.name, records);
    this.#report.imported += records.length - rejections.length;
    for (const { position, details } of rejections) this.#reject(records[position]?.line ?? 0, details);
  }

  #reject(line: number, details: readonly ErrorDetail[]): void {
    this.#report.rejected += 1;
    if (this.#report.problems.length < maxProblems)
      this.#report.problems.push({ line, details: details.slice(0, maxDetails) });
  }

  /** The system fields are told apart from the others, and looked at. */
  #recordOf(values: Record<string, unknown>): ImportedRecord {
    const problems: ErrorDetail[] = [];
    const refuse = (field: string, rule: ErrorRule, message: string): void => {
      problems.push({ field, rule, message: `${field} ${message}` });
    };
    const { id: givenId, createdAt: givenCreated, updatedAt: givenUpdated, ...body } = values;
    for (const [name, value] of Object.entries(body)) {
      if (value !== noValue) continue;
      refuse(name, "type", "must be JSON");
      delete body[name];
    }
    const now = toTimestamp(this.#options.clock.now());
    const timeOf = (field: "createdAt" | "updatedAt", value: unknown): string | undefined => {
      if (value === null || value === undefined) return undefined;
      const time = typeof value === "string" ? parseDatetime(value) : null;
      if (time === null) refuse(field, "type", "must be an RFC 3339 date or date-time");
      // The clock of the service never runs behind a record.
      else if (time > now) refuse(field, "max", "must not be in the future");
      return time ?? undefined;
    };
    const createdAt = timeOf("createdAt", givenCreated);
    const updatedAt = timeOf("updatedAt", givenUpdated);
    if (updatedAt !== undefined && updatedAt < (createdAt ?? now))
      refuse("updatedAt", "min", "must not be before createdAt");
    const id = typeof givenId === "string" && isRecordId(givenId) ? givenId : undefined;
    if (givenId !== null && givenId !== undefined && id === undefined)
      refuse("id", "type", "must be the id of a record: rec_ and a UUID");
    const given = {
      ...(id !== undefined && { id }),
      ...(createdAt !== undefined && { createdAt }),
      ...(updatedAt !== undefined && { updatedAt }),
      problems,
    };
    return { body, given };
  }
}

/** @param piece null for the end. @throws AppError `bad_request` for invalid UTF-8. */
function decode(decoder: TextDecoder, piece: Uint8Array | null): string {
  try {
    return piece === null ? decoder.decode() : decoder.decode(piece, { stream: true });
  } catch {
    throw new AppError("bad_request", "The file is not UTF-8.");
  }
}
