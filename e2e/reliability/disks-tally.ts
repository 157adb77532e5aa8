/** The outcome of the faults of one kind: a row of the table. */
import type { Look } from "./disks-look.ts";

export class Tally {
  faults = 0;
  /** Starts that were refused. */
  refused = 0;
  /** Faults that a start or a request has met. */
  met = 0;
  /** Promises that were broken. */
  readonly problems: string[] = [];

  add(name: string, { isStarted, isMet, problems }: Look): void {
    this.faults += 1;
    if (!isStarted) this.refused += 1;
    if (isMet) this.met += 1;
    for (const problem of problems) this.problem(`${name}: ${problem}`);
  }

  /** A fault that the service was to live through, or to end with. */
  count(): void {
    this.faults += 1;
  }

  merge(other: Tally): void {
    this.faults += other.faults;
    this.refused += other.refused;
    this.met += other.met;
    this.problems.push(...other.problems);
  }

  problem(text: string): void {
    this.problems.push(text);
  }
}
