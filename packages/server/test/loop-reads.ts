/**
 * Reads on the event loop without their bound of time: the bound of rows alone decides whether a thread reads, however slow the machine
 * of the test is.
 */
import { spyOn } from "bun:test";
import type { Database } from "../src/store/database/index.ts";

/** Stops the clock during each bounded read of a database. Answers the spy on the bounded reads. */
export function readWithoutTime({ rows }: Pick<Database, "rows">) {
  const within = rows.within.bind(rows);
  return spyOn(rows, "within").mockImplementation(<T>(most: number, work: () => T): T | null => {
    using _ = spyOn(performance, "now").mockReturnValue(performance.now());
    return within(most, work);
  });
}
