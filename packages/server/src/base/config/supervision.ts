/**
 * Supervision: the variables by which a service manager like systemd tells its processes how to report (sd_notify, sd_watchdog).
 */

/** The variables of supervision, which are for this process alone. */
export const supervisionVariables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] as const;

export interface Supervision {
  /** The socket to which this process tells its state: a path, or with `@` in front a name of Linux without a file. */
  readonly socket: string;
  /** The time within which the manager wants a sign of life; null for a manager that wants no sign. */
  readonly watchdogMs: number | null;
}

/** Null without a manager that wants reports. */
export function supervisionOf(environment: { readonly [name: string]: string | undefined }): Supervision | null {
  const socket = environment["NOTIFY_SOCKET"] ?? "";
  if (!/^[/@]./.test(socket)) return null;
  const microseconds = Number(environment["WATCHDOG_USEC"]);
  return { socket, watchdogMs: microseconds > 0 ? microseconds / 1_000 : null };
}
