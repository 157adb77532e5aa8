/**
 * The traced command with all the threads and children, from the start to the end. One thread of the tracer makes all calls
 * of ptrace, because the kernel answers no other.
 */

import { ptr } from "bun:ffi";
import { join } from "node:path";
import { filterProgram, type Trap } from "./filter.ts";
import { libc } from "./libc.ts";
import { type Entry, entryOf, go, listen, resultOf } from "./thread.ts";

const seize = 0x4206;
/** TRACESYSGOOD, the events of fork, vfork, clone, exec and seccomp, and EXITKILL: the command ends with the tracer. */
const options = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x100000;
const event = { exec: 4, seccomp: 7, stop: 128 } as const;
const anyThread = 0x4000_0000;
const noHang = 1;
const untraced = 2;
const trapSignal = 5;
const stopSignals = new Set([19, 20, 21, 22]);

/** Called with the result of a call; with null when the thread ended in the call, which may have been made or not. */
export type AtExit = (result: number | null) => void;

/** The fate of a trapped call. A `skipped` call is not made; `atExit` makes the thread stop once more, after the call. */
export type Verdict =
  | { readonly kind: "go"; readonly atExit?: AtExit | null }
  | { readonly kind: "skipped" }
  | { readonly kind: "later"; readonly delayMs: number; readonly next: () => Verdict };

export interface Follower {
  readonly traps: readonly Trap[];
  /** Called with the thread stopped before the call. */
  entered(entry: Entry): Verdict;
  /** Called when a process has executed a program, before the program's first instruction. */
  executed(tid: number): void;
}

/** Starts a command below the launcher and follows the command to its end; answers its exit code, 128 and more for a signal. */
export function trace(command: readonly string[], follower: Follower, started: (pid: number) => void): number {
  const program = Buffer.from(filterProgram(follower.traps)).toString("base64");
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "launcher.ts"), program, ...command], {
    stdio: ["inherit", "inherit", "inherit"],
  });
  const status = new Int32Array(1);
  if (libc.waitpid(child.pid, ptr(status), untraced) !== child.pid || ((status[0] ?? 0) & 0xff) !== 0x7f)
    throw new Error("The launcher of the traced command has ended");
  if (libc.ptrace(seize, child.pid, 0, options) !== 0)
    throw new Error("PTRACE_SEIZE was refused: this system does not let a process trace its own children");
  libc.kill(child.pid, 18);
  started(child.pid);
  return new Tracees(follower, child.pid).run();
}

class Tracees {
  readonly #follower: Follower;
  readonly #leader: number;
  readonly #calls = new Map<number, AtExit>();
  #delayed: { readonly tid: number; readonly until: number; readonly next: () => Verdict }[] = [];
  #code = 0;

  constructor(follower: Follower, leader: number) {
    this.#follower = follower;
    this.#leader = leader;
  }

  run(): number {
    const status = new Int32Array(1);
    for (;;) {
      const tid = libc.waitpid(-1, ptr(status), anyThread | (this.#delayed.length > 0 ? noHang : 0));
      if (tid < 0) return this.#code;
      if (tid > 0) this.#stopped(tid, status[0] ?? 0);
      else libc.usleep(500);
      this.#resumeDelayed();
    }
  }

  #stopped(tid: number, status: number): void {
    if ((status & 0xff) !== 0x7f) {
      this.#ended(tid, status);
      return;
    }
    const signal = (status >> 8) & 0xff;
    switch (status >> 16) {
      case 0:
        if (signal === (trapSignal | 0x80)) this.#left(tid);
        else go(tid, "continue", signal);
        return;
      case event.seccomp:
        this.#entered(tid);
        return;
      case event.exec:
        // The threads of the old program are gone, and so are the calls.
        this.#calls.delete(tid);
        this.#follower.executed(tid);
        break;
      case event.stop:
        if (stopSignals.has(signal)) {
          listen(tid);
          return;
        }
        break;
    }
    go(tid, "continue");
  }

  #ended(tid: number, status: number): void {
    this.#calls.get(tid)?.(null);
    this.#calls.delete(tid);
    this.#delayed = this.#delayed.filter((delayed) => delayed.tid !== tid);
    if (tid !== this.#leader) return;
    const signal = status & 0x7f;
    this.#code = signal === 0 ? (status >> 8) & 0xff : 128 + signal;
  }

  #entered(tid: number): void {
    const entry = entryOf(tid);
    if (entry === null) go(tid, "continue");
    else this.#follow(tid, this.#follower.entered(entry));
  }

  #follow(tid: number, verdict: Verdict): void {
    if (verdict.kind === "later") {
      this.#delayed.push({ tid, until: performance.now() + verdict.delayMs, next: verdict.next });
      return;
    }
    const atExit = verdict.kind === "go" ? (verdict.atExit ?? null) : null;
    if (atExit !== null) this.#calls.set(tid, atExit);
    go(tid, atExit === null ? "continue" : "syscall");
  }

  #left(tid: number): void {
    const result = resultOf(tid);
    if (result !== null) {
      const atExit = this.#calls.get(tid);
      this.#calls.delete(tid);
      atExit?.(result);
    }
    go(tid, "continue");
  }

  #resumeDelayed(): void {
    const now = performance.now();
    const due = this.#delayed.filter(({ until }) => until <= now);
    if (due.length === 0) return;
    this.#delayed = this.#delayed.filter(({ until }) => until > now);
    for (const { tid, next } of due) this.#follow(tid, next());
  }
}
