/**
 * Moves the traced command's time of day: `clock_gettime`, `gettimeofday` and `time` are answered by the tracer. The kernel's
 * vDSO, which answers these calls without a system call, is hidden from each executed program. Waits until a time of day (futex)
 * are moved back, so that the wait keeps the length. Times of files are the kernel's own, and not moved.
 */
import type { Control } from "./control.ts";
import type { Trap } from "./filter.ts";
import { readMemory, writeMemory } from "./libc.ts";
import { argument, type Entry, skip, stackPointer } from "./thread.ts";
import type { AtExit, Verdict } from "./tracees.ts";

const realTime = 0;
const realTimeCoarse = 5;
/** FUTEX_CLOCK_REALTIME. */
const untilTimeOfDay = 0x100;
const vdso = 33n;
const ignored = 1n;
const word = 8n;

export const clockTraps: readonly Trap[] = [
  { call: "clock_gettime", when: [{ argument: 0, mask: 0xffff_ffff, values: [realTime, realTimeCoarse] }] },
  { call: "gettimeofday" },
  { call: "time" },
  { call: "futex", when: [{ argument: 1, mask: untilTimeOfDay }] },
];

export class Clock {
  readonly #control: Control;

  constructor(control: Control) {
    this.#control = control;
  }

  /** Hides the vDSO: the auxiliary vector behind the environment on the new program's stack tells the place. */
  executed(tid: number): void {
    let at = stackPointer(tid);
    const read = (address: bigint): bigint => new DataView(readMemory(tid, address, 8).buffer).getBigUint64(0, true);
    at += (read(at) + 2n) * word;
    while (read(at) !== 0n) at += word;
    at += word;
    for (let type = read(at); type !== 0n; type = read(at)) {
      if (type === vdso) writeMemory(tid, at, new Uint8Array(new BigUint64Array([ignored]).buffer));
      at += 2n * word;
    }
  }

  /** Answers a call about the time of day; null for any other call. */
  entered(entry: Entry): Verdict | null {
    switch (entry.call) {
      case "clock_gettime":
        return this.#answer(entry, { argument: 1, unit: 1_000_000 });
      case "gettimeofday":
        return this.#answer(entry, { argument: 0, unit: 1_000 });
      case "time": {
        this.#answer(entry, { argument: 0, unit: null });
        skip(entry.tid, Math.floor(this.#now() / 1_000));
        return { kind: "skipped" };
      }
      case "futex":
        return { kind: "go", atExit: this.#moveWait(entry) };
    }
    return null;
  }

  #now(): number {
    return performance.timeOrigin + performance.now() + this.#control.clockOffsetMs;
  }

  /** @param unit how many of the second word are a millisecond; null for seconds alone. */
  #answer(entry: Entry, { argument: index, unit }: { argument: number; unit: number | null }): Verdict {
    const address = entry.args[index] ?? 0n;
    const now = this.#now();
    const seconds = Math.floor(now / 1_000);
    const words = [BigInt(seconds)];
    if (unit !== null) words.push(BigInt(Math.floor((now - seconds * 1_000) * unit)));
    if (address !== 0n) writeMemory(entry.tid, address, new Uint8Array(new BigInt64Array(words).buffer));
    skip(entry.tid, 0);
    return { kind: "skipped" };
  }

  #moveWait(entry: Entry): AtExit | null {
    const address = entry.args[3] ?? 0n;
    const offset = this.#control.clockOffsetMs;
    if (address === 0n || offset === 0 || !isWait(entry)) return null;
    const original = readMemory(entry.tid, address, 16);
    const view = new DataView(original.slice().buffer);
    const until = view.getBigInt64(0, true) * 1_000_000_000n + view.getBigInt64(8, true);
    const moved = until - BigInt(Math.round(offset * 1_000_000));
    const earliest = moved < 0n ? 0n : moved;
    const words = new BigInt64Array([earliest / 1_000_000_000n, earliest % 1_000_000_000n]);
    writeMemory(entry.tid, address, new Uint8Array(words.buffer));
    return (result) => {
      if (result !== null) writeMemory(entry.tid, address, original);
    };
  }
}

/** FUTEX_WAIT_BITSET and FUTEX_LOCK_PI2 wait until a time; other operations have no time argument. */
function isWait(entry: Entry): boolean {
  const operation = argument(entry, 1) & 0x7f;
  return operation === 9 || operation === 13 || operation === 11;
}
