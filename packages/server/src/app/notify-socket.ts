/**
 * A datagram to a socket of the file system: Bun has no API for datagrams of this kind, so the C library is called.
 * Linux alone. Both C libraries of Linux answer to the name `libc.so.6`: musl takes every `libc.` for itself.
 */

const unix = 1;
/** SOCK_DGRAM, closed in processes that are started. */
const datagram = 2 | 0o2000000;
/** MSG_DONTWAIT and MSG_NOSIGNAL: a manager that does not read holds nothing up. */
const sendFlags = 0x40 | 0x4000;
const monotonic = 1;
/** The bytes of a path in an address, its NUL included. */
const longestPath = 108;

export interface NotifySocket {
  /** @throws Error for a message that is not taken. */
  send(message: string): void;
  /** CLOCK_MONOTONIC, which the manager counts by, in microseconds. */
  now(): bigint;
}

/** The address of a socket: its family, and its path; with `@` in front a name that no file has. */
function addressOf(path: string): Buffer {
  const isAbstract = path.startsWith("@");
  const name = Buffer.from(isAbstract ? `\0${path.slice(1)}` : `${path}\0`);
  if (name.length > longestPath) throw new Error(`the path of the socket is too long: ${path}`);
  // Both processors of the executables are little-endian.
  return Buffer.concat([Buffer.from([unix, 0]), name]);
}

/** @throws Error when the C library or a socket is not available. */
export async function openNotifySocket(path: string): Promise<NotifySocket> {
  const address = addressOf(path);
  // Loaded only for a manager that wants reports.
  const { dlopen, ptr } = await import("bun:ffi");
  const { symbols } = dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    sendto: { args: ["i32", "ptr", "usize", "i32", "ptr", "u32"], returns: "i64" },
    clock_gettime: { args: ["i32", "ptr"], returns: "i32" },
  });
  const descriptor = symbols.socket(unix, datagram, 0);
  if (descriptor < 0) throw new Error("no socket can be opened");
  return {
    send(message) {
      const bytes = Buffer.from(message);
      const sent = symbols.sendto(descriptor, ptr(bytes), bytes.length, sendFlags, ptr(address), address.length);
      if (Number(sent) !== bytes.length) throw new Error(`${path} does not take a message`);
    },
    now() {
      const time = new BigInt64Array(2);
      symbols.clock_gettime(monotonic, ptr(time));
      const [seconds = 0n, nanoseconds = 0n] = time;
      return seconds * 1_000_000n + nanoseconds / 1_000n;
    },
  };
}
