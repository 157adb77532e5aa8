/**
 * The service manager that started this process, such as systemd: hears that the service is ready, loads again or
 * stops, and, as a watchdog, that the service works. Without a manager nothing is done.
 */
import type { Supervision } from "../base/config/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { type NotifySocket, openNotifySocket } from "./notify-socket.ts";

/** Signs of life within the time of the watchdog. */
const signs = 2;

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
   * The service listens. From now on the manager gets signs of life, each after `works` was true; a question that is
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

  /**
   * Says that the service loads again, and then that the service is ready: also when `load` has failed, because the old
   * state goes on.
   */
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
