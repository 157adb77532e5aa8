/**
 * Repeated lines: a disk that does not serve makes every part of the service say so many times a second. Such a line is
 * written once a minute, with how many like it were left out.
 */
import { AppError, BoundedMap } from "../kernel/index.ts";
import type { LogFields, LogLevel } from "./entry.ts";

const everyMs = 60_000;
/** Different lines that are remembered. */
const capacity = 200;

interface Line {
  writtenAt: number;
  /** Since it was written. */
  leftOut: number;
}

export class Repeats {
  readonly #lines = new BoundedMap<string, Line>(capacity);

  /** How many like this line were left out before it; null when this one is to be left out, too. */
  admit(line: { level: LogLevel; source: string; message: string; fields: LogFields | undefined }): number | null {
    const { level, source, message, fields } = line;
    const error = fields?.["error"];
    if (!(error instanceof AppError) || error.code !== "unavailable") return 0;
    const key = `${level} ${source} ${message}`;
    const now = performance.now();
    const known = this.#lines.get(key);
    if (known !== undefined && now - known.writtenAt < everyMs) {
      known.leftOut += 1;
      return null;
    }
    this.#lines.set(key, { writtenAt: now, leftOut: 0 });
    return known?.leftOut ?? 0;
  }
}
