/** The log of a running service for the command line: `socle logs` and `socle log level`. */
import type { LogLevelState } from "@socle/protocol";
import { AppError, oneOf, quote } from "../base/kernel/index.ts";
import { LOG_LEVELS, type LogEntry, type LogLevel, type LogRing, levelOf, toWire } from "../base/logging/index.ts";
import type { Admin } from "../operate/admin/index.ts";
import type { LogLine } from "./control.ts";

interface LogsRequest {
  /** Levels with commas, exactly these levels; null for all. */
  readonly level: string | null;
  /** The id of a request, of which entries alone are told; null for all entries. */
  readonly request: string | null;
  /** How many entries of the past are told, the newest. */
  readonly limit: number;
  readonly follow: boolean;
}

interface LogsListener {
  onLog(line: LogLine): void;
  /** Is aborted when the command has gone. */
  readonly signal: AbortSignal;
}

/** Tells the newest entries that are wanted, the oldest first; with `follow`, then each new entry until the command has gone. @throws AppError `bad_request`. */
export async function answerLogs(log: LogRing, asked: LogsRequest, { onLog, signal }: LogsListener): Promise<void> {
  const levels = asked.level === null ? LOG_LEVELS : asked.level.split(",").map(knownLevel);
  const isWanted = ({ level, fields }: LogEntry): boolean =>
    levels.includes(level) && (asked.request === null || fields?.["requestId"] === asked.request);
  const past = log.entries().filter(isWanted);
  for (const entry of past.slice(Math.max(0, past.length - asked.limit))) onLog(toWire(entry));
  if (!asked.follow) return;
  const gone = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => gone.resolve());
  const stop = log.listen((entry) => {
    if (isWanted(entry)) onLog(toWire(entry));
  });
  await gone.promise;
  stop();
}

/** @param word null for the level in force. @throws AppError `bad_request`. */
export async function answerLogLevel(admin: Admin["logLevel"], word: string | null): Promise<LogLevelState> {
  return word === null ? admin.state : admin.set({ level: knownLevel(word) }, null);
}

/** @throws AppError `bad_request`. */
function knownLevel(word: string): LogLevel {
  const level = levelOf(word);
  if (level === null) throw new AppError("bad_request", `The level must be ${oneOf(LOG_LEVELS)}, not ${quote(word)}.`);
  return level;
}
