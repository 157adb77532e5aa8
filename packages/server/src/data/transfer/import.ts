/**
 * An import: the rows of a file become records, in transactions of 1,000. The file is read twice.
 *
 * 1. The first time, nothing is written: a file that cannot be read to the end is refused as a whole, and the ids that the rows bring are
 *    collected, so that relations may point to later rows.
 * 2. The second time, the rows are written. Refused rows are left out and told. At most one transaction is written while the next rows
 *    are read, so memory does not grow with the file. A dry run takes each transaction back.
 */
import type { ErrorDetail, ErrorRule, ImportReport } from "@socle/protocol";
import { encodingOf } from "@socle/protocol/cells";
import { AppError, type Clock, causeOf, type Principal, parseDatetime, toTimestamp } from "../../base/kernel/index.ts";
import type { Collection } from "../collections/index.ts";
import { type ImportedRecord, isRecordId, type Records, recordTableOf, validateBody } from "../records/index.ts";
import { CsvReader } from "./csv.ts";
import type { TransferFormat } from "./format.ts";
import { KeySet } from "./key-set.ts";
import { NdjsonReader } from "./ndjson-rows.ts";
import { type ImportRow, type RowReader, UnreadValue } from "./rows.ts";
import type { ImportSettings } from "./settings.ts";

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

/** Begins to read the bytes of a file. */
export type OpenFile = () => AsyncIterable<Uint8Array>;

export interface ImportOptions {
  readonly records: Records;
  readonly clock: Clock;
  readonly collection: Collection;
  readonly principal: Principal;
  readonly format: TransferFormat;
  readonly settings: ImportSettings;
  /** Bytes of a row. */
  readonly maxRow: number;
}

export class Import {
  readonly #options: ImportOptions;
  readonly #report: ImportReport = {
    ...{ imported: 0, updated: 0, rejected: 0, skipped: 0, unresolved: 0 },
    problems: [],
  };
  /** The ids of the rows that create records, if records of the collection point to each other. */
  readonly #promised: KeySet | null;
  /** The unique keys of the records of a dry run. */
  readonly #keys: KeySet | null;
  #waiting: Parsed[] = [];
  #characters = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: ImportOptions) {
    const { collection, settings } = options;
    this.#options = options;
    const mayCreate = settings.match === null || settings.match.creates;
    const pointsToItself = collection.definition.fields.some((field) => field.collection === collection.name);
    this.#promised = mayCreate && pointsToItself ? new KeySet() : null;
    this.#keys = settings.isDryRun ? new KeySet() : null;
  }

  /**
   * Reads a file to the end, twice. To be called once.
   * @throws AppError when the file cannot be read, and when the rest cannot be written; the message has the number of written records.
   */
  async run(open: OpenFile): Promise<ImportReport> {
    for await (const { rows } of this.#read(open)) if (this.#promised !== null) this.#promise(rows, this.#promised);
    try {
      for await (const { rows, bytes } of this.#read(open)) await this.#take(rows, bytes);
      await this.#write();
      await this.#writing;
      this.#report.problems.sort((a, b) => a.line - b.line);
      const id = this.#options.settings.isDryRun ? undefined : causeOf(this.#options.principal)?.id;
      return { ...this.#report, ...(id !== undefined && { import: id }) };
    } catch (thrown) {
      // The transaction under way ends first: the number is told of all that is done.
      await this.#writing.catch(() => undefined);
      if (!(thrown instanceof AppError)) throw thrown;
      throw this.#withCount(thrown);
    }
  }

  /** The rows of each piece of the file. */
  async *#read(open: OpenFile): AsyncGenerator<{ rows: readonly ImportRow[]; bytes: number }, void> {
    const { collection, format, maxRow, settings } = this.#options;
    const reader =
      format === "csv"
        ? new CsvReader(collection.definition.fields, maxRow, settings)
        : new NdjsonReader(maxRow, settings);
    let decoder: TextDecoder | null = null;
    for await (const piece of open()) {
      decoder ??= decoderOf(settings.encoding ?? encodingOf(piece), true);
      yield { rows: reader.push(decode(decoder, piece, reader), false), bytes: piece.byteLength };
    }
    const rest = decoder === null ? "" : decode(decoder, null, reader);
    yield { rows: reader.push(rest, true), bytes: 0 };
    this.#report.skipped = reader.skipped;
  }

  /** Keeps the ids of rows that the fields of the definition take. Hooks and unique values may refuse a row later. */
  #promise(rows: readonly ImportRow[], promised: KeySet): void {
    const table = recordTableOf(this.#options.collection);
    for (const { values } of rows) {
      if (typeof values === "string" || typeof values["id"] !== "string") continue;
      const { body, given } = this.#recordOf(values);
      const isValid = given.problems.length === 0 && validateBody(table, body, "import").problems.length === 0;
      if (given.id !== undefined && isValid) promised.add(given.id);
    }
  }

  #withCount({ code, message, details, retryAfter, cause }: AppError): AppError {
    const { imported, updated } = this.#report;
    const written = (imported + updated).toLocaleString("en");
    return new AppError(code, `${message} ${written} records were imported before that.`, {
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
    const { records: store, principal, collection, settings } = this.#options;
    const { match } = settings;
    const keys = this.#keys;
    // A transaction with hooks may be tried several times: the keys are kept once the transaction has ended.
    const made: string[] = [];
    const { rejections, updated, unresolved } = await store.importAll(principal, {
      ...{ collection: collection.name, records, match },
      isPromised: (id) => this.#promised?.has(id) === true,
      isTaken: keys && ((key) => keys.has(key) || made.push(key) < 0),
    });
    for (const key of made) keys?.add(key);
    this.#report.imported += records.length - rejections.length - updated;
    this.#report.updated += updated;
    this.#report.unresolved += unresolved;
    for (const { position, details } of rejections) {
      const { line = 0, given = null } = records[position] ?? {};
      if (given?.id !== undefined) this.#promised?.delete(given.id);
      this.#reject(line, details);
    }
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
    const read = { ...values };
    for (const [name, value] of Object.entries(values)) {
      if (!(value instanceof UnreadValue)) continue;
      refuse(name, "type", value.message);
      delete read[name];
    }
    const { id: givenId, createdAt: givenCreated, updatedAt: givenUpdated, ...body } = read;
    const now = toTimestamp(this.#options.clock.now());
    const timeOf = (field: "createdAt" | "updatedAt", value: unknown): string | undefined => {
      if (value === null || value === undefined) return undefined;
      const time = typeof value === "string" ? parseDatetime(value) : null;
      if (time === null) refuse(field, "type", "must be a date or a date-time");
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

/** @param piece null for the end. @throws AppError `bad_request` for bytes that the encoding has not, with the line. */
function decode(decoder: TextDecoder, piece: Uint8Array | null, reader: RowReader): string {
  try {
    return piece === null ? decoder.decode() : decoder.decode(piece, { stream: true });
  } catch {
    const [before = ""] = decoderOf(decoder.encoding, false)
      .decode(piece ?? new Uint8Array())
      .split("\ufffd");
    throw new AppError(
      "bad_request",
      `The file is not ${decoder.encoding.toUpperCase()} in line ${reader.lineAt(before)}. The option encoding names another encoding, such as windows-1252.`,
    );
  }
}

/** The declared type of the runtime has but few of the names. */
function decoderOf(encoding: string, fatal: boolean): TextDecoder {
  return new TextDecoder(encoding as Bun.Encoding, { fatal });
}
