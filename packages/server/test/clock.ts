/** The monotonic clock of tests: time that passes at once, for the rest of a test file. */
import { afterAll, spyOn } from "bun:test";

/** Installs the clock for this file; answers how to let milliseconds pass. The time of day (`Date.now`) stays. */
export function monotonicClock(): (milliseconds: number) => void {
  const real = performance.now.bind(performance);
  let passed = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => real() + passed);
  afterAll(() => clock.mockRestore());
  return (milliseconds) => {
    passed += milliseconds;
  };
}
