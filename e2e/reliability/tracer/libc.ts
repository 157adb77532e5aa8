/** The part of the C library for the tracer: ptrace, waiting, and reading and writing the memory of another process. */
import { dlopen, ptr } from "bun:ffi";

const signatures = {
  ptrace: { args: ["i32", "i32", "u64", "u64"], returns: "i32" },
  waitpid: { args: ["i32", "ptr", "i32"], returns: "i32" },
  kill: { args: ["i32", "i32"], returns: "i32" },
  usleep: { args: ["u32"], returns: "i32" },
  prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
  execvp: { args: ["ptr", "ptr"], returns: "i32" },
  process_vm_readv: { args: ["i32", "ptr", "u64", "ptr", "u64", "u64"], returns: "i64" },
  process_vm_writev: { args: ["i32", "ptr", "u64", "ptr", "u64", "u64"], returns: "i64" },
} as const;

/** glibc, or musl without glibc. */
function open() {
  try {
    return dlopen("libc.so.6", signatures).symbols;
  } catch {
    return dlopen("libc.so", signatures).symbols;
  }
}

export const libc = open();

const page = 4_096;
const local = new BigUint64Array(2);
const remote = new BigUint64Array(2);

/** Bytes of another process's memory. @throws Error when the bytes cannot be read. */
export function readMemory(tid: number, address: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const count = transfer("process_vm_readv", { tid, address: address + BigInt(at), bytes: bytes.subarray(at) });
    if (count <= 0) throw new Error(`The memory of thread ${tid} cannot be read`);
    at += count;
  }
  return bytes;
}

/** @throws Error when the memory cannot be written. */
export function writeMemory(tid: number, address: bigint, bytes: Uint8Array): void {
  if (transfer("process_vm_writev", { tid, address, bytes }) !== bytes.byteLength)
    throw new Error(`The memory of thread ${tid} cannot be written`);
}

/** A text that ends with a zero byte. The text is read page by page: the next page may be unmapped. */
export function readText(tid: number, address: bigint): string {
  const parts: Uint8Array[] = [];
  for (let from = address; ; ) {
    const length = page - Number(from % BigInt(page));
    const bytes = readMemory(tid, from, length);
    const end = bytes.indexOf(0);
    parts.push(end === -1 ? bytes : bytes.subarray(0, end));
    if (end !== -1) return Buffer.concat(parts).toString();
    from += BigInt(length);
  }
}

function transfer(
  name: "process_vm_readv" | "process_vm_writev",
  { tid, address, bytes }: { tid: number; address: bigint; bytes: Uint8Array },
): number {
  if (bytes.byteLength === 0) return 0;
  local[0] = BigInt(ptr(bytes));
  local[1] = BigInt(bytes.byteLength);
  remote[0] = address;
  remote[1] = BigInt(bytes.byteLength);
  return Number(libc[name](tid, ptr(local), 1, ptr(remote), 1, 0));
}
