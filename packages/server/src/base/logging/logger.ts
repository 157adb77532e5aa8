/** Logger: writes entries of a part of the service to the sinks. An entry below the level costs a comparison. */
import { AppError, LastingFault, messageOf } from "../kernel/index.ts";
import { LOG_LEVELS, type LogEntry, type LogFields, type LogLevel, type LogSink } from "./entry.ts";
import { Repeats } from "./repeats.ts";

/** The values of an entry. */
type Shown = { readonly fields: LogFields | undefined; readonly secrets?: LogFields };

/** The level of a log, which the loggers of all parts share. */
interface SharedLevel {
  threshold: number;
  onChange: (level: LogLevel) => void;
}

export class Logger {
  readonly #sinks: readonly LogSink[];
  readonly #shared: SharedLevel;
  readonly #source: string;
  readonly #repeats: Repeats;

  constructor(options: {
    level: LogLevel | SharedLevel;
    sinks: readonly LogSink[];
    source?: string;
    repeats?: Repeats;
  }) {
    const { level } = options;
    this.#sinks = options.sinks;
    this.#repeats = options.repeats ?? new Repeats();
    this.#shared =
      typeof level === "string" ? { threshold: LOG_LEVELS.indexOf(level), onChange: () => undefined } : level;
    this.#source = options.source ?? "socle";
  }

  /** The same log, for another part of the service. */
  for(source: string): Logger {
    return new Logger({ level: this.#shared, sinks: this.#sinks, source, repeats: this.#repeats });
  }

  /** The lowest level that is written, by this logger and by the loggers of all other parts. */
  get level(): LogLevel {
    return LOG_LEVELS[this.#shared.threshold] ?? "INFO";
  }

  set level(level: LogLevel) {
    this.#shared.threshold = LOG_LEVELS.indexOf(level);
    this.#shared.onChange(level);
  }

  /** Calls `listener` with each later level, in place of an earlier listener: the other processes of the service have logs of their own. */
  onLevel(listener: (level: LogLevel) => void): void {
    this.#shared.onChange = listener;
  }

  debug(message: string, fields?: LogFields): void {
    this.#write("DEBUG", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#write("INFO", message, fields);
  }

  /** An INFO with values that go to standard output alone: the admin API and the dashboard show the message without them. */
  private(message: string, fields: LogFields, secrets: LogFields): void {
    if (LOG_LEVELS.indexOf("INFO") >= this.#shared.threshold) this.#put("INFO", message, { fields, secrets });
  }

  /** An INFO that is written at every level, for example the address on which the service listens. */
  notice(message: string, fields?: LogFields): void {
    this.#put("INFO", message, { fields });
  }

  warn(message: string, fields?: LogFields): void {
    this.#write("WARN", message, fields);
  }

  /**
   * A WARN that callers can cause again and again: once a minute for each user (`userId` of the fields), with the number of lines
   * that were left out. The message has no text of a caller.
   */
  often(message: string, fields?: LogFields): void {
    const write = (leftOut: number): void => this.#write("WARN", message, counted(fields, leftOut));
    const line = `often ${this.#source} ${message} ${String(fields?.["userId"] ?? "")}`;
    const leftOut = this.#repeats.admit(line, 1, write);
    if (leftOut !== null) write(leftOut);
  }

  error(message: string, fields?: LogFields): void {
    this.#write("ERROR", message, fields);
  }

  /** Writes an entry of another process of the service, which has looked at the level. */
  pass(entry: LogEntry): void {
    for (const sink of this.#sinks) sink(entry);
  }

  #write(level: LogLevel, message: string, fields: LogFields | undefined): void {
    if (LOG_LEVELS.indexOf(level) >= this.#shared.threshold) this.#put(level, message, { fields });
  }

  #put(level: LogLevel, message: string, shown: Shown): void {
    const write = (leftOut: number): void =>
      this.#tell(level, message, { ...shown, fields: counted(shown.fields, leftOut) });
    const { error, file, leftOut: isCounted } = shown.fields ?? {};
    const outage = outageOf(error);
    const isSevere = level === "WARN" || level === "ERROR";
    const allowed = outage !== null ? 1 : isSevere && isCounted === undefined ? this.#repeats.allowed : 0;
    if (allowed === 0) {
      this.#tell(level, message, shown);
      return;
    }
    const reason = outage ?? `${String(file ?? "")} ${messageOf(error ?? "")}`;
    const leftOut = this.#repeats.admit(`${level} ${this.#source} ${message} ${reason}`, allowed, write);
    if (leftOut !== null) write(leftOut);
  }

  #tell(level: LogLevel, message: string, { fields, secrets }: Shown): void {
    const entry: LogEntry = {
      timestamp: new Date().toISOString(),
      level,
      message,
      source: this.#source,
      ...(fields === undefined ? {} : { fields }),
      ...(secrets === undefined ? {} : { secrets }),
    };
    for (const sink of this.#sinks) sink(entry);
  }
}

/** The fields, with the number of repetitions that were left out, if any were. */
function counted(fields: LogFields | undefined, leftOut: number): LogFields | undefined {
  return leftOut === 0 ? fields : { ...fields, leftOut };
}

/**
 * The outage that an error tells of: a disk or store does not serve, or a table is damaged. Every request that needs the
 * part meets the error, so errors of one outage are one line a minute. Null for any other error.
 */
function outageOf(error: unknown): string | null {
  if (error instanceof AppError) return error.code === "unavailable" ? "" : outageOf(error.cause);
  return error instanceof LastingFault && error.isLasting ? error.message : null;
}
