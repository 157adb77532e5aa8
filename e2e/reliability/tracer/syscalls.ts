/** The system calls that the tracer knows: the numbers, and which of their arguments name a file. */

interface Call {
  /** Numbers on x86_64 and arm64; without a number the processor has no such call. */
  readonly x64?: number;
  readonly arm64?: number;
  /** The argument with the descriptor of the file. */
  readonly fd?: number;
  /** Pairs of arguments: a folder's descriptor (null is the working folder) and a path's address. */
  readonly paths?: readonly (readonly [folder: number | null, path: number])[];
}

const calls = {
  read: { x64: 0, arm64: 63, fd: 0 },
  write: { x64: 1, arm64: 64, fd: 0 },
  open: { x64: 2, paths: [[null, 0]] },
  pread64: { x64: 17, arm64: 67, fd: 0 },
  pwrite64: { x64: 18, arm64: 68, fd: 0 },
  readv: { x64: 19, arm64: 65, fd: 0 },
  writev: { x64: 20, arm64: 66, fd: 0 },
  preadv: { x64: 295, arm64: 69, fd: 0 },
  pwritev: { x64: 296, arm64: 70, fd: 0 },
  preadv2: { x64: 327, arm64: 286, fd: 0 },
  pwritev2: { x64: 328, arm64: 287, fd: 0 },
  mmap: { x64: 9, arm64: 222, fd: 4 },
  ioctl: { x64: 16, arm64: 29, fd: 0 },
  sendfile: { x64: 40, arm64: 71, fd: 0 },
  splice: { x64: 275, arm64: 76, fd: 2 },
  copy_file_range: { x64: 326, arm64: 285, fd: 2 },
  fsync: { x64: 74, arm64: 82, fd: 0 },
  fdatasync: { x64: 75, arm64: 83, fd: 0 },
  truncate: { x64: 76, arm64: 45, paths: [[null, 0]] },
  ftruncate: { x64: 77, arm64: 46, fd: 0 },
  fallocate: { x64: 285, arm64: 47, fd: 0 },
  rename: {
    x64: 82,
    paths: [
      [null, 0],
      [null, 1],
    ],
  },
  renameat: {
    x64: 264,
    arm64: 38,
    paths: [
      [0, 1],
      [2, 3],
    ],
  },
  renameat2: {
    x64: 316,
    arm64: 276,
    paths: [
      [0, 1],
      [2, 3],
    ],
  },
  mkdir: { x64: 83, paths: [[null, 0]] },
  mkdirat: { x64: 258, arm64: 34, paths: [[0, 1]] },
  rmdir: { x64: 84, paths: [[null, 0]] },
  creat: { x64: 85, paths: [[null, 0]] },
  link: {
    x64: 86,
    paths: [
      [null, 0],
      [null, 1],
    ],
  },
  linkat: {
    x64: 265,
    arm64: 37,
    paths: [
      [0, 1],
      [2, 3],
    ],
  },
  unlink: { x64: 87, paths: [[null, 0]] },
  unlinkat: { x64: 263, arm64: 35, paths: [[0, 1]] },
  symlink: { x64: 88, paths: [[null, 1]] },
  symlinkat: { x64: 266, arm64: 36, paths: [[1, 2]] },
  openat: { x64: 257, arm64: 56, paths: [[0, 1]] },
  openat2: { x64: 437, arm64: 437, paths: [[0, 1]] },
  stat: { x64: 4, paths: [[null, 0]] },
  lstat: { x64: 6, paths: [[null, 0]] },
  newfstatat: { x64: 262, arm64: 79, paths: [[0, 1]] },
  statx: { x64: 332, arm64: 291, paths: [[0, 1]] },
  getdents64: { x64: 217, arm64: 61, fd: 0 },
  futex: { x64: 202, arm64: 98 },
  gettimeofday: { x64: 96, arm64: 169 },
  time: { x64: 201 },
  clock_gettime: { x64: 228, arm64: 113 },
  io_uring_setup: { x64: 425, arm64: 425 },
} as const satisfies { readonly [name: string]: Call };

export type CallName = keyof typeof calls;

export function isCallName(name: string): name is CallName {
  return Object.hasOwn(calls, name);
}

/** The differences between the processors. */
interface Machine {
  readonly processor: "x64" | "arm64";
  /** The processor's number in seccomp. */
  readonly audit: number;
  /** The general registers, as 64-bit words, and the places of some. */
  readonly registers: { readonly count: number; readonly result: number; readonly stack: number };
}

const machines: { readonly [name: string]: Machine } = {
  x64: { processor: "x64", audit: 0xc000003e, registers: { count: 27, result: 10, stack: 19 } },
  arm64: { processor: "arm64", audit: 0xc00000b7, registers: { count: 34, result: 0, stack: 31 } },
};

function thisMachine(): Machine {
  const machine = machines[process.arch];
  if (machine === undefined || process.platform !== "linux")
    throw new Error(`The tracer knows Linux on x64 and arm64, not ${process.platform} on ${process.arch}`);
  return machine;
}

export const machine = thisMachine();

/** The number of a call on this processor, or null without this call. */
export function numberOf(name: CallName): number | null {
  const call: Call = calls[name];
  return call[machine.processor] ?? null;
}

const names = new Map<number, CallName>();
for (const name of Object.keys(calls))
  if (isCallName(name)) {
    const number = numberOf(name);
    if (number !== null) names.set(number, name);
  }

/** The call that a number means here. @throws Error for a call that no filter asks for. */
export function nameOf(number: number): CallName {
  const name = names.get(number);
  if (name === undefined) throw new Error(`The system call ${number} was trapped but is not known`);
  return name;
}

export function describe(name: CallName): Call {
  return calls[name];
}
