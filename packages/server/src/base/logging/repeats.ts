/** Repeats: writes a repeated line once a minute, with the number of repetitions that were left out. */
import { BoundedMap } from "../kernel/index.ts";

const everyMs = 60_000;
/** Lines that are remembered. */
const capacity = 200;

export class Repeats {
  readonly #lines = new BoundedMap<string, { writtenAt: number; leftOut: number }>(capacity);

  /**
   * How many repetitions of a line were left out since the line was written; null when this repetition is to be left
   * out, too.
   */
  admit(line: string): number | null {
    const now = performance.now();
    const known = this.#lines.get(line);
    if (known !== undefined && now - known.writtenAt < everyMs) {
      known.leftOut += 1;
      return null;
    }
    this.#lines.set(line, { writtenAt: now, leftOut: 0 });
    return known?.leftOut ?? 0;
  }
}
