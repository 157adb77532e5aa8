/**
 * The service manager that started this process, for example systemd: hears that the service is ready, loads again or
 * stops, and, as a watchdog, that the service works. Without a manager nothing is done.
 */
import type { Supervision } from "../base/config/index.ts";
import type { Logger } from "../base/logging/index.ts";

/** Signs of life within the time of the watchdog. */
const signs = 2;

const unix = 1;
/** SOCK_DGRAM, closed in processes that are started. */
const datagram = 2 | 0o2000000;
/** MSG_DONTWAIT and MSG_NOSIGNAL: a manager that does not read holds nothing up. */
const sendFlags = 0x40 | 0x4000;
const monotonic = 1;
/** The bytes of a path in an address, the NUL included. */
const longestPath = 108;

export class ServiceManager {
  readonly #socket: NotifySocket | null;
  readonly #watchdogMs: number | null;
  readonly #logger: Logger;

  private constructor(socket: NotifySocket | null, watchdogMs: number | null, logger: Logger) {
    this.#socket = socket;
    this.#watchdogMs = watchdogMs;
    this.#logger = logger;
  }

  /** A manager that cannot be reached is a WARN, and is left alone. */
  static async open(supervision: Supervision | null, logger: Logger): Promise<ServiceManager> {
    if (supervision === null || process.platform !== "linux") return new ServiceManager(null, null, logger);
    const socket = await openNotifySocket(supervision.socket).catch((error: unknown) => {
      logger.warn("The service manager cannot be reached", { error });
      return null;
    });
    return new ServiceManager(socket, supervision.watchdogMs, logger);
  }

  /**
   * The service listens. From now on the manager gets signs of life, each sign after `works` was true; a question that is
   * not answered is not asked again.
   */
  ready(url: string, works: () => Promise<boolean>): void {
    this.#tell("READY=1", `STATUS=Listening on ${url}`);
    if (this.#socket === null || this.#watchdogMs === null) return;
    let isAsked = false;
    const sign = async (): Promise<void> => {
      if (isAsked) return;
      isAsked = true;
      if (await works()) this.#tell("WATCHDOG=1");
      isAsked = false;
    };
    void sign();
    setInterval(() => void sign(), this.#watchdogMs / signs).unref();
  }

  /** Says that the service loads again, and then is ready, also after a failed `load`: the old state goes on. */
  async reloading(load: () => Promise<void>): Promise<void> {
    if (this.#socket !== null) this.#tell("RELOADING=1", `MONOTONIC_USEC=${this.#socket.now()}`);
    try {
      await load();
    } finally {
      this.#tell("READY=1");
    }
  }

  stopping(): void {
    this.#tell("STOPPING=1", "STATUS=Stopping");
  }

  #tell(...lines: readonly string[]): void {
    try {
      this.#socket?.send(lines.join("\n"));
    } catch (error) {
      this.#logger.warn("The service manager did not get a message", { message: lines[0], error });
    }
  }
}

interface NotifySocket {
  /** @throws Error for a message that is not taken. */
  send(message: string): void;
  /** CLOCK_MONOTONIC, which the manager counts by, in microseconds. */
  now(): bigint;
}

/** The address of a socket: the family, and the path; with `@` in front a name that no file has. */
function addressOf(path: string): Buffer {
  const isAbstract = path.startsWith("@");
  const name = Buffer.from(isAbstract ? `\0${path.slice(1)}` : `${path}\0`);
  if (name.length > longestPath) throw new Error(`the path of the socket is too long: ${path}`);
  // Both processors of the executables are little-endian.
  return Buffer.concat([Buffer.from([unix, 0]), name]);
}

/**
 * Bun has no API for datagrams to a socket of the file system, so the C library is called: on Linux alone. Both C libraries
 * of Linux answer to the name `libc.so.6`: musl takes every `libc.` as its own.
 * @throws Error when the C library or a socket is not available.
 */
async function openNotifySocket(path: string): Promise<NotifySocket> {
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
