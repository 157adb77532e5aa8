/** A stopped thread of the traced command, with the requests of ptrace. */

import { ptr } from "bun:ffi";
import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { libc, readText } from "./libc.ts";
import { type CallName, describe, machine, nameOf } from "./syscalls.ts";

const request = {
  continue: 7,
  syscall: 24,
  getRegisters: 0x4204,
  setRegisters: 0x4205,
  listen: 0x4208,
  syscallInfo: 0x420e,
} as const;
const registerSet = { general: 1, systemCall: 0x404 } as const;
const workingFolder = -100;

/** A call that is about to be made. */
export interface Entry {
  readonly tid: number;
  readonly call: CallName;
  readonly args: readonly bigint[];
}

/** A thread continues to its next trap, or to the end of its current call. */
export type Way = "continue" | "syscall";

export function go(tid: number, way: Way, signal = 0): void {
  // A thread that was killed meanwhile is awaited like any other.
  libc.ptrace(request[way], tid, 0, signal);
}

/** Leaves a thread stopped until its process is continued. */
export function listen(tid: number): void {
  libc.ptrace(request.listen, tid, 0, 0);
}

const info = new Uint8Array(88);
const view = new DataView(info.buffer);

function readInfo(tid: number): boolean {
  return libc.ptrace(request.syscallInfo, tid, info.byteLength, ptr(info)) > 0;
}

/** The call at which a thread was trapped, or null when the thread was killed meanwhile. */
export function entryOf(tid: number): Entry | null {
  if (!readInfo(tid)) return null;
  const args = Array.from({ length: 6 }, (_, i) => view.getBigUint64(32 + i * 8, true));
  return { tid, call: nameOf(Number(view.getBigUint64(24, true))), args };
}

/** The answer of a call: a negative number is an error. */
export function resultOf(tid: number): number | null {
  return readInfo(tid) ? Number(view.getBigInt64(24, true)) : null;
}

const registers = new BigUint64Array(machine.registers.count);
const vector = new BigUint64Array(2);

function useVector(bytes: BigUint64Array | Int32Array): number {
  vector[0] = BigInt(ptr(bytes));
  vector[1] = BigInt(bytes.byteLength);
  return ptr(vector);
}

export function stackPointer(tid: number): bigint {
  libc.ptrace(request.getRegisters, tid, registerSet.general, useVector(registers));
  return registers[machine.registers.stack] ?? 0n;
}

/** Has a trapped call not be made; the thread sees `result`. */
export function skip(tid: number, result: number): void {
  libc.ptrace(request.getRegisters, tid, registerSet.general, useVector(registers));
  registers[machine.registers.result] = BigInt.asUintN(64, BigInt(result));
  // On x86_64 the number of the call is a register like others, on arm64 a separate set.
  const none = new Int32Array([-1]);
  if (machine.processor === "x64") registers[15] = 0xffff_ffff_ffff_ffffn;
  libc.ptrace(request.setRegisters, tid, registerSet.general, useVector(registers));
  if (machine.processor === "arm64") libc.ptrace(request.setRegisters, tid, registerSet.systemCall, useVector(none));
}

export function argument({ args }: Entry, index: number): number {
  return Number(BigInt.asIntN(64, args[index] ?? 0n));
}

/** A descriptor: the upper half of the register means nothing. */
export function descriptor({ args }: Entry, index: number): number {
  return Number(BigInt.asIntN(32, args[index] ?? 0n));
}

/** The path in /proc of a thread's descriptor. */
export function descriptorPath(tid: number, fd: number): string {
  return `/proc/${tid}/fd/${fd}`;
}

/** The path of an open file, or the kernel's text instead, for example `socket:[1234]`; null for a closed descriptor. */
export function pathOfDescriptor(tid: number, fd: number): string | null {
  try {
    return readlinkSync(descriptorPath(tid, fd));
  } catch {
    return null;
  }
}

function absolutePath(tid: number, folder: number, path: string): string | null {
  const from =
    folder === workingFolder || path.startsWith("/") ? readlinkSync(`/proc/${tid}/cwd`) : pathOfDescriptor(tid, folder);
  if (from === null) return null;
  const joined = path.startsWith("/") ? join(path) : join(from, path);
  try {
    // The name may be a link; the call means the link and not the target.
    return join(realpathSync(dirname(joined)), basename(joined));
  } catch {
    return joined;
  }
}

/** The absolute paths of the files that a call names, links in the folders resolved. */
export function pathsOf(entry: Entry): string[] {
  const { fd, paths = [] } = describe(entry.call);
  if (fd !== undefined) {
    const path = pathOfDescriptor(entry.tid, descriptor(entry, fd));
    return path === null ? [] : [path];
  }
  return paths.flatMap(([folder, address]) => {
    const name = readText(entry.tid, entry.args[address] ?? 0n);
    const path = absolutePath(entry.tid, folder === null ? workingFolder : descriptor(entry, folder), name);
    return path === null ? [] : [path];
  });
}
