/**
 * The memory that the tracer and the test share: a file that both have mapped, so that neither waits for the other. Each
 * side sees a value of the other side at once.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mmap } from "bun";

const size = 4_096;
const slots = { entries: 0, clock: 1, pid: 2, rules: 16 } as const;

export class Control {
  readonly #values: Float64Array;

  /** @param output the tracer's output folder. */
  constructor(output: string) {
    const path = join(output, "control");
    if (!existsSync(path)) writeFileSync(path, new Uint8Array(size));
    this.#values = new Float64Array(mmap(path).buffer, 0, size / 8);
  }

  /**
   * The number of entries in the log. The number that a caller reads after the arrival of an answer of the traced service is at
   * least the number at the departure of the answer.
   */
  get entries(): number {
    return this.#values[slots.entries] ?? 0;
  }

  set entries(count: number) {
    this.#values[slots.entries] = count;
  }

  /** Milliseconds by which the command's time of day is ahead of the real time. */
  get clockOffsetMs(): number {
    return this.#values[slots.clock] ?? 0;
  }

  set clockOffsetMs(milliseconds: number) {
    this.#values[slots.clock] = milliseconds;
  }

  /** The process id of the traced command; 0 before the start. */
  get pid(): number {
    return this.#values[slots.pid] ?? 0;
  }

  set pid(pid: number) {
    this.#values[slots.pid] = pid;
  }

  isArmed(rule: number): boolean {
    return this.#values[slots.rules + 2 * rule] === 1;
  }

  /** Lets a rule of the configuration act, or rest. The counts go on. */
  arm(rule: number, isArmed = true): void {
    this.#values[slots.rules + 2 * rule] = isArmed ? 1 : 0;
  }

  /** How many calls a rule has hit. */
  hits(rule: number): number {
    return this.#values[slots.rules + 2 * rule + 1] ?? 0;
  }

  countHit(rule: number): void {
    this.#values[slots.rules + 2 * rule + 1] = this.hits(rule) + 1;
  }
}
